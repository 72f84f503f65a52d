// SPDX-License-Identifier: Apache-2.0
#include "tests/litmus/Mutants.h"
#include "emulator/lib/decode/InstructionStep.h"
#include "emulator/lib/machine/Target.h"
#include "targets/Target.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/MC/MCInst.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;

namespace rubia::litmus {

namespace {

constexpr uint32_t kNop = 0xbf800000; // s_nop 0, on all generations

class CodeMutator {
public:
  CodeMutator(const emulator::Target &target, ArrayRef<uint8_t> code,
              std::vector<CodeMutant> &mutants)
      : target(target), code(code), mutants(mutants) {}

  /// The kernel's bytes are those from `begin` to `end` of the file; they are executed at
  /// `address`.
  void mutate(const std::string &kernel, uint64_t begin, uint64_t end, uint64_t address);

private:
  void add(std::string kind, ArrayRef<uint8_t> bytes) {
    MCInst inst;
    std::optional<emulator::InstructionStep> step;
    if (target.disassemble(inst, bytes, 0) == size)
      step = emulator::describeStep(target, inst);
    mutants.push_back({kernel,
                       std::move(kind),
                       offset,
                       {bytes.begin(), bytes.end()},
                       uint32_t(offset - begin + address),
                       std::move(step)});
  }
  void addNops(const std::string &kind);
  void mutateWait(const emulator::InstructionStep &step);
  void mutateCachePolicy(const MCInst &inst);

  const emulator::Target &target;
  ArrayRef<uint8_t> code;
  std::vector<CodeMutant> &mutants;
  std::string kernel, mnemonic;
  uint64_t begin = 0, address = 0, offset = 0, size = 0;
};

void CodeMutator::addNops(const std::string &kind) {
  std::vector<uint8_t> bytes(size);
  for (uint64_t i = 0; i < size; i += 4)
    memcpy(&bytes[i], &kNop, 4);
  add(kind, bytes);
}

/// A wait for several counters loses one at a time: its bits are set until it waits for the rest
/// only.
void CodeMutator::mutateWait(const emulator::InstructionStep &step) {
  static constexpr const char *kNames[] = {"loads", "stores", "LDS", "scalar loads"};
  std::vector<unsigned> counters;
  for (unsigned i = 0; i < emulator::kCounters; ++i)
    if (step.limit[i] != emulator::InstructionStep::kNoLimit)
      counters.push_back(i);
  if (counters.size() == 1)
    return addNops(mnemonic + " without " + kNames[counters[0]]);
  for (unsigned counter : counters) {
    std::vector<uint8_t> bytes(code.begin() + ptrdiff_t(offset),
                               code.begin() + ptrdiff_t(offset + size));
    for (unsigned bit = 0; bit < 16; ++bit) {
      std::vector<uint8_t> changed = bytes;
      changed[bit / 8] |= uint8_t(1 << bit % 8);
      MCInst inst;
      if (!target.disassemble(inst, changed, 0))
        continue;
      const emulator::InstructionStep now = emulator::describeStep(target, inst);
      bool othersAreKept = true;
      for (unsigned other : counters)
        othersAreKept &= other == counter || now.limit[other] == step.limit[other];
      if (now.kind == emulator::StepKind::Wait && othersAreKept)
        bytes = changed;
    }
    add(mnemonic + " without " + kNames[counter], bytes);
  }
}

/// The bits of the cache policy are found by trying all: one that makes it a smaller number and
/// leaves everything else alone.
void CodeMutator::mutateCachePolicy(const MCInst &inst) {
  const int at = target.operand(inst, emulator::OperandName::cpol);
  if (at < 0 || !inst.getOperand(unsigned(at)).isImm())
    return;
  const uint64_t policy = uint64_t(inst.getOperand(unsigned(at)).getImm());
  for (uint64_t bit = 0; bit < 8 * size; ++bit) {
    std::vector<uint8_t> bytes(code.begin() + ptrdiff_t(offset),
                               code.begin() + ptrdiff_t(offset + size));
    if (!(bytes[bit / 8] >> bit % 8 & 1))
      continue;
    bytes[bit / 8] &= uint8_t(~(1 << bit % 8));
    MCInst changed;
    if (target.disassemble(changed, bytes, 0) != size || changed.getOpcode() != inst.getOpcode() ||
        changed.getNumOperands() != inst.getNumOperands())
      continue;
    bool same = true;
    for (unsigned i = 0; i < inst.getNumOperands(); ++i) {
      const MCOperand &a = inst.getOperand(i), &b = changed.getOperand(i);
      same &= int(i) == at || (a.isReg() && b.isReg() && a.getReg() == b.getReg()) ||
              (a.isImm() && b.isImm() && a.getImm() == b.getImm());
    }
    const uint64_t now = uint64_t(changed.getOperand(unsigned(at)).getImm());
    if (same && now < policy)
      add(mnemonic + " with policy " + std::to_string(now) + " for " + std::to_string(policy),
          bytes);
  }
}

void CodeMutator::mutate(const std::string &name, uint64_t first, uint64_t end, uint64_t at) {
  kernel = name;
  begin = first;
  address = at;
  for (offset = begin; offset < end; offset += size) {
    MCInst inst;
    size = target.disassemble(inst, code.slice(offset, end - offset), 0);
    if (size == 0) {
      size = 4;
      continue;
    }
    mnemonic = StringRef(target.print(inst, 0)).split(' ').first.str();
    const emulator::InstructionStep step = emulator::describeStep(target, inst);
    if (step.kind == emulator::StepKind::Wait)
      mutateWait(step);
    else if (step.kind == emulator::StepKind::Cache)
      addNops("without " + mnemonic);
    if (step.kind == emulator::StepKind::Cache || step.kind == emulator::StepKind::Vector)
      mutateCachePolicy(inst);
  }
}

} // namespace

Expected<std::vector<CodeMutant>> codeMutants(ArrayRef<uint8_t> code, const std::string &arch) {
  const unsigned waveSize = targets::find(arch)->waveSize();
  auto target = emulator::Target::create(arch, waveSize);
  if (!target)
    return target.takeError();
  auto file = object::ELFFile<object::ELF64LE>::create(
      StringRef(reinterpret_cast<const char *>(code.data()), code.size()));
  if (!file)
    return file.takeError();
  auto sections = file->sections();
  if (!sections)
    return sections.takeError();
  std::vector<CodeMutant> mutants;
  CodeMutator mutator(**target, code, mutants);
  for (const auto &section : *sections) {
    if (section.sh_type != ELF::SHT_DYNSYM)
      continue;
    auto symbols = file->symbols(&section);
    auto names = file->getStringTableForSymtab(section);
    if (!symbols || !names)
      return joinErrors(symbols.takeError(), names.takeError());
    for (const auto &symbol : *symbols) {
      if (symbol.getType() != ELF::STT_FUNC)
        continue;
      auto home = file->getSection(symbol.st_shndx);
      auto name = symbol.getName(*names);
      if (!home || !name)
        return joinErrors(home.takeError(), name.takeError());
      const uint64_t begin = symbol.st_value - (*home)->sh_addr + (*home)->sh_offset;
      mutator.mutate(name->str(), begin, begin + symbol.st_size, symbol.st_value);
    }
  }
  return mutants;
}

// IR.

namespace {

/// Finds the mutation with the number that is asked for.
class ModuleMutator {
public:
  ModuleMutator(LLVMContext &context, unsigned index) : context(context), left(index) {}

  /// Returns whether this was it.
  bool mutate(Instruction &instruction);
  std::string kind;

private:
  bool isIt(const std::string &what) {
    if (left-- != 0)
      return false;
    kind = what;
    return true;
  }
  SyncScope::ID narrower(SyncScope::ID scope) {
    const SyncScope::ID agent = context.getOrInsertSyncScopeID("agent"),
                        workgroup = context.getOrInsertSyncScopeID("workgroup");
    return scope == SyncScope::System ? agent
           : scope == agent           ? workgroup
                                      : SyncScope::ID(SyncScope::SingleThread);
  }
  std::string nameOf(SyncScope::ID scope) {
    SmallVector<StringRef> names;
    context.getSyncScopeNames(names);
    return names[scope].empty() ? "system" : names[scope].str();
  }
  template <class T> bool narrow(T &instruction, const char *what) {
    const SyncScope::ID scope = instruction.getSyncScopeID(), next = narrower(scope);
    if (scope == SyncScope::SingleThread ||
        !isIt(std::string(what) + " of scope " + nameOf(next) + " for " + nameOf(scope)))
      return false;
    instruction.setSyncScopeID(next);
    return true;
  }
  template <class T> bool weaken(T &instruction, AtomicOrdering ordering, const char *what) {
    if (instruction.getOrdering() == ordering ||
        !isIt(std::string(what) + " " + toIRString(ordering) + " for " +
              toIRString(instruction.getOrdering())))
      return false;
    instruction.setOrdering(ordering);
    return true;
  }
  bool mutateFence(FenceInst &fence);

  LLVMContext &context;
  unsigned left;
};

bool ModuleMutator::mutateFence(FenceInst &fence) {
  if (narrow(fence, "fence"))
    return true;
  const AtomicOrdering ordering = fence.getOrdering();
  if (ordering == AtomicOrdering::AcquireRelease ||
      ordering == AtomicOrdering::SequentiallyConsistent)
    if (weaken(fence, AtomicOrdering::Acquire, "fence") ||
        weaken(fence, AtomicOrdering::Release, "fence"))
      return true;
  if (!isIt(std::string("no fence ") + toIRString(ordering) + " of scope " +
            nameOf(fence.getSyncScopeID())))
    return false;
  fence.eraseFromParent();
  return true;
}

bool ModuleMutator::mutate(Instruction &instruction) {
  if (auto *fence = dyn_cast<FenceInst>(&instruction))
    return mutateFence(*fence);
  if (auto *call = dyn_cast<IntrinsicInst>(&instruction);
      call && call->getIntrinsicID() == Intrinsic::amdgcn_s_waitcnt) {
    if (!isIt("no wait behind a release"))
      return false;
    call->eraseFromParent();
    return true;
  }
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->isAtomic())
    return narrow(*load, "load") || weaken(*load, AtomicOrdering::Monotonic, "load");
  if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->isAtomic())
    return narrow(*store, "store") || weaken(*store, AtomicOrdering::Monotonic, "store");
  // Vectors of 16 bytes: lowering/lib/transform/WholeAccesses.cpp.
  if (auto *load = dyn_cast<LoadInst>(&instruction); load && load->isVolatile())
    return isIt("plain vector load") && (load->setVolatile(false), true);
  if (auto *store = dyn_cast<StoreInst>(&instruction); store && store->isVolatile())
    return isIt("plain vector store") && (store->setVolatile(false), true);
  if (auto *update = dyn_cast<AtomicRMWInst>(&instruction))
    return narrow(*update, "atomicrmw") || weaken(*update, AtomicOrdering::Monotonic, "atomicrmw");
  return false;
}

} // namespace

std::string mutateModule(Module &module, const std::string &kernel, unsigned index) {
  ModuleMutator mutator(module.getContext(), index);
  for (Instruction &instruction : make_early_inc_range(instructions(module.getFunction(kernel))))
    if (mutator.mutate(instruction))
      return mutator.kind;
  return "";
}

} // namespace rubia::litmus
