// SPDX-License-Identifier: Apache-2.0
// Sets up LLVM's disassembler. Two facts about AMDGPU opcodes are not in LLVM's public headers and
// are taken from its tables by name and position: the MODE register, and the flag of vector ALU
// instructions.
#include "codegen/lib/Disassembler.h"
#include "codegen/Codegen.h"
#include "targets/Encodings.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/MC/MCAsmInfo.h"
#include "llvm/MC/MCContext.h"
#include "llvm/MC/MCDisassembler/MCDisassembler.h"
#include "llvm/MC/MCInst.h"
#include "llvm/MC/MCInstPrinter.h"
#include "llvm/MC/MCInstrInfo.h"
#include "llvm/MC/MCRegisterInfo.h"
#include "llvm/MC/MCSubtargetInfo.h"
#include "llvm/MC/MCTargetOptions.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/TargetParser/Triple.h"
#include <mutex>

using namespace llvm;

namespace rubia::codegen {

namespace {

constexpr uint64_t kVectorAluFlag = 1 << 1; ///< SIInstrFlags::VALU

/// The registers in one of LLVM's names: "SGPR4_SGPR5", "VCC_LO", "VGPR7_HI16", "M0_gfx11plus". A
/// tuple has all of its registers in the name, one after the other.
RegisterRange rangeOfName(StringRef name) {
  struct Special {
    StringLiteral name;
    RegisterRange range;
  };
  static constexpr Special kSpecial[] = {
      {"VCC_LO", {RegisterRange::Scalar, kVcc, 1}},
      {"VCC_HI", {RegisterRange::Scalar, kVcc + 1, 1}},
      {"VCC", {RegisterRange::Scalar, kVcc, 2}},
      {"EXEC_LO", {RegisterRange::Scalar, kExec, 1}},
      {"EXEC_HI", {RegisterRange::Scalar, kExec + 1, 1}},
      {"EXEC", {RegisterRange::Scalar, kExec, 2}},
      {"M0", {RegisterRange::Scalar, kM0, 1}},
      {"FLAT_SCR_LO", {RegisterRange::Scalar, kFlatScratch, 1}},
      {"FLAT_SCR_HI", {RegisterRange::Scalar, kFlatScratch + 1, 1}},
      {"FLAT_SCR", {RegisterRange::Scalar, kFlatScratch, 2}},
  };
  for (const Special &special : kSpecial)
    if (name == special.name || name.starts_with((special.name + "_gfx").str()) ||
        name.starts_with((special.name + "_vi").str()))
      return special.range;
  RegisterRange range;
  uint16_t offset = 0;
  if (name.starts_with("SGPR") && !name.starts_with("SGPR_"))
    range.file = RegisterRange::Scalar;
  else if (name.starts_with("TTMP"))
    range.file = RegisterRange::Scalar, offset = 108;
  else if (name.starts_with("VGPR"))
    range.file = RegisterRange::Vector;
  else if (name.starts_with("AGPR"))
    range.file = RegisterRange::Accumulation;
  else
    return {};
  StringRef numbers = name.drop_front(4);
  unsigned first = 0;
  if (numbers.consumeInteger(10, first))
    return {};
  range.first = first + offset;
  range.count = std::max<uint16_t>(1, name.count(name.take_front(4)));
  return range;
}

class LlvmDisassembler : public Disassembler {
public:
  Error initialize(StringRef processor, bool isWave64);

  uint64_t decode(ArrayRef<uint8_t> bytes, uint64_t address, MCInst &inst) const override {
    if (bytes.size() < 8)
      return decodeAnew(bytes, address, inst);
    // The first word tells whether more follow.
    const uint64_t word = support::endian::read32le(bytes.data());
    const uint64_t pair = support::endian::read64le(bytes.data());
    if (auto known = words.find(word); known != words.end())
      return inst = *known->second, 4;
    if (auto known = pairs.find(pair); known != pairs.end())
      return inst = *known->second, 8;
    const uint64_t third = bytes.size() < 12 ? 0 : support::endian::read32le(bytes.data() + 8);
    if (auto known = triples.find({pair, third}); known != triples.end() && bytes.size() >= 12)
      return inst = *known->second, 12;
    const uint64_t size = decodeAnew(bytes, address, inst);
    if (size == 4)
      remember(words, word, inst);
    else if (pair >= ~uint64_t(1))
      return size; // the two greatest numbers are the maps' own
    else if (size == 8)
      remember(pairs, pair, inst);
    else if (size == 12)
      remember(triples, std::pair(pair, third), inst);
    return size;
  }

  std::string print(const MCInst &inst, uint64_t address) const override {
    std::string text;
    raw_string_ostream os(text);
    printer->printInst(&inst, address, "", *subtarget, os);
    for (char &c : text)
      if (c == '\t' || c == '\n')
        c = ' ';
    return StringRef(text).trim().str();
  }

  StringRef name(unsigned opcode) const override { return instructions->getName(opcode); }
  bool isVectorAlu(unsigned opcode) const override {
    return instructions->get(opcode).TSFlags & kVectorAluFlag;
  }
  bool usesMode(unsigned opcode) const override {
    return instructions->get(opcode).hasImplicitUseOfPhysReg(mode);
  }
  const MCInstrDesc &description(unsigned opcode) const override {
    return instructions->get(opcode);
  }
  RegisterRange range(MCRegister reg) const override {
    auto [entry, isNew] = ranges.try_emplace(reg.id());
    if (isNew)
      entry->second = rangeOfName(registers->getName(reg));
    return entry->second;
  }

private:
  template <class Bytes> using Known = DenseMap<Bytes, std::unique_ptr<MCInst>>;

  uint64_t decodeAnew(ArrayRef<uint8_t> bytes, uint64_t address, MCInst &inst) const {
    uint64_t size = 0;
    if (decoder->getInstruction(inst, size, targets::bytesOfFirst(*row, bytes), address, nulls()) !=
        MCDisassembler::Success)
      return 0;
    return size;
  }

  template <class Bytes>
  static void remember(Known<Bytes> &known, const Bytes &bytes, const MCInst &inst) {
    constexpr size_t kMostKnown = 1 << 14; // some 4 MB
    if (known.size() == kMostKnown)
      known.clear();
    known.try_emplace(bytes, std::make_unique<MCInst>(inst));
  }

  /// Instructions of up to three words that have been decoded: LLVM tries a dozen tables for each,
  /// and programs repeat themselves and each other.
  mutable Known<uint64_t> words, pairs;
  mutable Known<std::pair<uint64_t, uint64_t>> triples;
  const targets::Target *row = nullptr;
  std::unique_ptr<MCRegisterInfo> registers;
  std::unique_ptr<MCAsmInfo> syntax;
  std::unique_ptr<MCInstrInfo> instructions;
  std::unique_ptr<MCSubtargetInfo> subtarget;
  std::unique_ptr<MCContext> context;
  std::unique_ptr<MCDisassembler> decoder;
  std::unique_ptr<MCInstPrinter> printer;
  MCRegister mode;
  mutable DenseMap<unsigned, RegisterRange> ranges; ///< those that have been asked for
};

/// One table has the registers of all processors.
MCRegister findMode(const MCRegisterInfo &registers) {
  for (unsigned i = 1; i < registers.getNumRegs(); ++i)
    if (StringRef(registers.getName(i)) == "MODE")
      return i;
  return {};
}

Error LlvmDisassembler::initialize(StringRef processor, bool isWave64) {
  static std::once_flag once;
  std::call_once(once, [] {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUDisassembler();
  });
  Triple triple("amdgcn-amd-amdhsa");
  std::string error;
  const Target *target = TargetRegistry::lookupTarget(triple, error);
  if (!target)
    return make_error<CodegenError>(Fault::System, error);
  // The 16-bit halves of registers are operands of their own from gfx11 on, whether the compiler
  // used them or not.
  row = targets::find(processor);
  if (!row)
    return make_error<CodegenError>(Fault::Unsupported, targets::messageForUnknown(processor));
  std::string features = row->isa >= 11 ? "+real-true16," : "";
  isWave32 = row->hasWave32 && !isWave64;
  if (row->hasWave32)
    features += isWave64 ? "+wavefrontsize64" : "+wavefrontsize32";
  registers.reset(target->createMCRegInfo(triple));
  syntax.reset(target->createMCAsmInfo(*registers, triple, MCTargetOptions()));
  instructions.reset(target->createMCInstrInfo());
  subtarget.reset(target->createMCSubtargetInfo(triple, processor, features));
  context = std::make_unique<MCContext>(triple, syntax.get(), registers.get(), subtarget.get());
  decoder.reset(target->createMCDisassembler(*subtarget, *context));
  printer.reset(target->createMCInstPrinter(triple, 0, *syntax, *instructions, *registers));
  if (!decoder || !printer)
    return make_error<CodegenError>(Fault::System, "LLVM has no disassembler for AMDGPU");
  static const MCRegister modeOfAll = findMode(*registers);
  mode = modeOfAll;
  if (!mode.isValid())
    return make_error<CodegenError>(Fault::System, "LLVM's AMDGPU registers have no MODE");
  return Error::success();
}

} // namespace

void Disassembler::forEachWritten(const MCInst &inst,
                                  function_ref<void(RegisterRange)> action) const {
  const MCInstrDesc &desc = description(inst.getOpcode());
  for (unsigned i = 0; i < desc.getNumDefs() && i < inst.getNumOperands(); ++i)
    if (inst.getOperand(i).isReg())
      action(range(inst.getOperand(i).getReg()));
  for (MCPhysReg reg : desc.implicit_defs()) {
    RegisterRange written = range(reg);
    // The tables are those of waves of 64 lanes. A comparison of 32 lanes leaves VCC_HI alone.
    if (isWave32 && written.overlaps(RegisterRange::Scalar, kVcc, 2))
      written.count = 1;
    action(written);
  }
}

void Disassembler::forEachRead(const MCInst &inst,
                               function_ref<void(RegisterRange, bool)> action) const {
  const MCInstrDesc &desc = description(inst.getOpcode());
  for (unsigned i = desc.getNumDefs(); i < inst.getNumOperands(); ++i)
    if (inst.getOperand(i).isReg())
      action(range(inst.getOperand(i).getReg()),
             i < desc.getNumOperands() && desc.getOperandConstraint(i, MCOI::TIED_TO) != -1);
  for (MCPhysReg reg : desc.implicit_uses())
    action(range(reg), false);
}

Expected<std::unique_ptr<Disassembler>> Disassembler::create(StringRef processor, bool isWave64) {
  auto disassembler = std::make_unique<LlvmDisassembler>();
  if (Error error = disassembler->initialize(processor, isWave64))
    return error;
  return disassembler;
}

} // namespace rubia::codegen
