// SPDX-License-Identifier: Apache-2.0
// AMD's instructions do not tell a relaxed or volatile access from a plain one everywhere, nor
// which alignment the program promised. LLVM's memory operands do, up to the end: they outlive
// legalisation, and what merges or splits accesses makes operands for what comes out.
//
// The section has one byte for each instruction in a memory encoding, in the order of the code,
// which is all that a reader needs to find an instruction's byte: labels cannot be placed within
// the bundles that LLVM makes of memory instructions, and would make the section large.
//
// A __syncwarp() is no instruction: waves run in lockstep, so it only stops the compiler. What is
// left of it in the end is a pseudo instruction without code, whose place the section
// .rubia.warpsyncs keeps: addresses of 64 bits.
//
// Where a target has no instruction for an atomic operation, LLVM makes a loop of compare-and-swap.
// The load before the loop is plain, and of a whole dword also where the operation is of a half.
// What it reads the program does not read plainly, so it is noted as strong.
#include "codegen/lib/AccessNotes.h"
#include "codegen/lib/errata/MachineNames.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/CodeGen/AsmPrinter.h"
#include "llvm/CodeGen/AsmPrinterHandler.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineInstr.h"
#include "llvm/CodeGen/TargetInstrInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCSectionELF.h"
#include "llvm/MC/MCStreamer.h"
#include "llvm/Pass.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

// llvm/lib/Target/AMDGPU/SIDefines.h, SIInstrFlags: MUBUF, SMRD, FLAT, DS.
constexpr uint64_t kMemoryEncodings = 1ull << 17 | 1ull << 19 | 1ull << 24 | 1ull << 25;

// What a mark on an access is called. The first is lowering/lib/frame/AsyncNotes.cpp's.
constexpr StringLiteral kAsyncStore = "rubia.async.store", kExpandedLoad = "rubia.expanded.load";

/// Whether an access is marked by the type that it has for alias analysis. TBAA's access tag is
/// {base type, access type, offset}, a type begins with its name.
bool isMarked(const MachineMemOperand &operand, StringRef mark) {
  const MDNode *tag = operand.getAAInfo().TBAA;
  if (!tag || tag->getNumOperands() < 2)
    return false;
  const auto *type = dyn_cast_or_null<MDNode>(tag->getOperand(1).get());
  if (!type || type->getNumOperands() == 0)
    return false;
  const auto *name = dyn_cast_or_null<MDString>(type->getOperand(0).get());
  return name && name->getString() == mark;
}

/// Bits 0 to 2: log2 of the alignment in bytes; 3 and 4: 0 unknown, 1 weak, 2 strong, 3 strong in
/// its CTA only; 5 and 6: log2 of an element's bytes; 7: a store of an asynchronous copy, or a load
/// or an atomic operation of an arrival, which have a scope of one address space.
uint8_t noteOf(const MachineInstr &inst) {
  constexpr unsigned kMaxAlignment = 7, kWeak = 1, kStrong = 2, kStrongInCta = 3;
  if (inst.memoperands_empty())
    return 0;
  LLVMContext &context = inst.getMF()->getFunction().getContext();
  const SyncScope::ID cta = context.getOrInsertSyncScopeID("workgroup"),
                      arrivalInCta = context.getOrInsertSyncScopeID("workgroup-one-as"),
                      arrival = context.getOrInsertSyncScopeID("agent-one-as");
  unsigned alignment = kMaxAlignment, element = 3;
  bool isStrong = false, isStrongInCta = false, isAsync = false;
  for (const MachineMemOperand *operand : inst.memoperands()) {
    const SyncScope::ID scope = operand->getSyncScopeID();
    if (operand->isAtomic() && !operand->isVolatile() && (scope == cta || scope == arrivalInCta))
      isStrongInCta = true;
    else if (operand->isAtomic() || operand->isVolatile() || isMarked(*operand, kExpandedLoad))
      isStrong = true;
    isAsync |= isMarked(*operand, kAsyncStore) || scope == arrivalInCta || scope == arrival;
    alignment = std::min(alignment, Log2(operand->getAlign()));
    const LLT type = operand->getMemoryType();
    const unsigned bits = type.isValid() ? unsigned(type.getScalarSizeInBits()) : 8;
    element = std::min(element, Log2_32(std::max(bits, 8u)) - 3);
  }
  const unsigned strength = isStrong ? kStrong : isStrongInCta ? kStrongInCta : kWeak;
  return uint8_t(alignment | strength << 3 | element << 5 | unsigned(isAsync) << 7);
}

/// Assembly says what it accesses itself, in a comment: two digits for each instruction.
std::string notesOfAssembly(const MachineInstr &inst) {
  StringRef text = inst.getOperand(InlineAsm::MIOp_AsmString).getSymbolName();
  if (!text.consume_front("; rubia.accesses "))
    return "";
  return fromHex(text.take_while(isHexDigit));
}

class AccessNotes : public AsmPrinterHandler {
public:
  explicit AccessNotes(AsmPrinter &printer) : printer(printer) {}

  void beginFunction(const MachineFunction *function) override {
    warpSync = findOpcode(*function->getSubtarget().getInstrInfo(), "WAVE_BARRIER");
  }
  void beginInstruction(const MachineInstr *inst) override {
    auto isSync = [&](const MachineInstr &one) { return one.getOpcode() == warpSync; };
    bool found = isSync(*inst);
    if (inst->isBundle())
      for (auto at = std::next(inst->getIterator());
           at != inst->getParent()->instr_end() && at->isBundledWithPred(); ++at)
        found |= isSync(*at);
    if (!found)
      return;
    warpSyncs.push_back(printer.OutContext.createTempSymbol("rubia_warpsync"));
    printer.OutStreamer->emitLabel(warpSyncs.back());
  }
  void endFunction(const MachineFunction *function) override {
    std::string notes;
    for (const MachineBasicBlock &block : *function)
      for (const MachineInstr &inst : block.instrs())
        if (inst.isInlineAsm())
          notes += notesOfAssembly(inst);
        else if (!inst.isBundle() && inst.getDesc().TSFlags & kMemoryEncodings)
          notes += char(noteOf(inst));
    if (!notes.empty())
      functions.push_back({printer.CurrentFnSym, std::move(notes)});
  }
  void endModule() override {
    if (functions.empty() && warpSyncs.empty())
      return;
    MCStreamer &out = *printer.OutStreamer;
    auto open = [&](const char *name) {
      out.switchSection(printer.OutContext.getELFSection(name, ELF::SHT_PROGBITS, 0));
    };
    out.pushSection();
    open(".rubia.warpsyncs");
    for (const MCSymbol *place : warpSyncs)
      out.emitSymbolValue(place, 8);
    open(".rubia.accesses");
    for (const auto &[symbol, notes] : functions) {
      out.emitSymbolValue(symbol, 8);
      out.emitInt32(uint32_t(notes.size()));
      out.emitBytes(notes);
    }
    out.popSection();
    functions.clear();
    warpSyncs.clear();
  }

private:
  AsmPrinter &printer;
  unsigned warpSync = 0; // the opcode
  std::vector<MCSymbol *> warpSyncs;
  std::vector<std::pair<const MCSymbol *, std::string>> functions;
};

/// The loads of the program have a mark of their own while LLVM expands atomic operations.
constexpr StringLiteral kOfProgram = "rubia.of.program";

template <class F> bool forPlainLoads(Function &function, F visit) {
  if (none_of(instructions(function),
              [](const Instruction &inst) { return isa<AtomicRMWInst, AtomicCmpXchgInst>(inst); }))
    return false;
  for (Instruction &inst : instructions(function))
    if (auto *load = dyn_cast<LoadInst>(&inst); load && load->isSimple())
      visit(*load);
  return true;
}

class ProgramLoads : public FunctionPass {
public:
  static char ID;
  ProgramLoads() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Program Loads"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(Function &function) override {
    LLVMContext &context = function.getContext();
    MDNode *mark = MDNode::get(context, {});
    return forPlainLoads(function, [&](LoadInst &load) { load.setMetadata(kOfProgram, mark); });
  }
};

class ExpandedLoads : public FunctionPass {
public:
  static char ID;
  ExpandedLoads() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Expanded Loads"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesAll(); }

  bool runOnFunction(Function &function) override {
    MDBuilder metadata(function.getContext());
    // A tree of its own, so that the load may be of anything.
    MDNode *type =
        metadata.createTBAAScalarTypeNode(kExpandedLoad, metadata.createTBAARoot("rubia.expanded"));
    MDNode *tag = metadata.createTBAAStructTagNode(type, type, 0);
    return forPlainLoads(function, [&](LoadInst &load) {
      if (load.getMetadata(kOfProgram))
        load.setMetadata(kOfProgram, nullptr);
      else
        load.setMetadata(LLVMContext::MD_tbaa, tag);
    });
  }
};

char ProgramLoads::ID = 0, ExpandedLoads::ID = 0;

} // namespace

Pass *makeProgramLoads() { return new ProgramLoads; }
Pass *makeExpandedLoads() { return new ExpandedLoads; }

std::unique_ptr<AsmPrinterHandler> makeAccessNotes(AsmPrinter &printer) {
  return std::make_unique<AccessNotes>(printer);
}

} // namespace rubia::codegen
