// SPDX-License-Identifier: Apache-2.0
// AMDGPUUsage "Memory Model" (each generation's section), SIInsertWaitcnts' view of the counters,
// and the ISA manuals' chapters on memory scopes.
#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/MC/MCInstrDesc.h"

using namespace llvm;

namespace rubia::emulator {
namespace {

// Bits of the cache policy operand.
enum : unsigned { kGlc = 1, kDlc = 4, kSc0 = 1, kSc1 = 16 };

constexpr uint8_t bit(Counter counter) { return uint8_t(1u << unsigned(counter)); }

class Describer {
public:
  Describer(const Target &target, const MCInst &inst)
      : target(target), inst(inst), name(target.name(inst.getOpcode())), major(target.row().isa),
        policy(unsigned(immediate(OperandName::cpol))),
        byLevels(target.row().cachePolicy == targets::CachePolicy::ScBits) {}

  InstructionStep describe();

private:
  int64_t immediate(OperandName operand) const {
    const int at = target.operand(inst, operand);
    return at >= 0 && inst.getOperand(unsigned(at)).isImm() ? inst.getOperand(unsigned(at)).getImm()
                                                            : 0;
  }
  bool describeWait();
  bool describeCacheOperation();
  void describeScalar();
  void describeLds();
  void describeVector();
  void describeImage();
  void describeScope();
  bool isCoherent() const;
  void narrowToHalf();
  void describeNarrow(StringRef action);
  void describeRegisters();
  void limit(Counter counter, unsigned value, unsigned most);
  void count(Counter counter) { step.counters |= bit(counterOf(counter)); }
  /// The counter that stands for `counter` on this generation.
  Counter counterOf(Counter counter) const {
    if (counter == Counter::Store && major == 9)
      return Counter::Load;
    if (counter == Counter::Scalar && major < 12)
      return Counter::Lds;
    if (counter == Counter::Sample && major < 12)
      return Counter::Load;
    return counter;
  }
  /// gfx12's SCOPE field.
  Reach scope() const { return Reach(policy >> 3 & 3); }
  /// sc1 and sc0 of gfx940 and later: wave, workgroup, agent, system.
  Reach level() const {
    return policy & kSc1 ? (policy & kSc0 ? Reach::System : Reach::Agent) : Reach::Workgroup;
  }

  const Target &target;
  const MCInst &inst;
  const StringRef name;
  const unsigned major;
  const unsigned policy;
  const bool byLevels; // sc0 and sc1 instead of glc
  InstructionStep step;
};

/// A limit that the counter can never exceed is none.
void Describer::limit(Counter counter, unsigned value, unsigned most) {
  if (value < most) {
    uint8_t &limit = step.limit[unsigned(counterOf(counter))];
    limit = uint8_t(std::min<unsigned>(limit, value));
  }
}

bool Describer::describeWait() {
  if (name == "S_WAIT_IDLE") {
    step.limit.fill(0);
    return true;
  }
  const int at = target.operand(inst, OperandName::simm16);
  const unsigned operand = at >= 0 ? unsigned(at) : 0;
  if (!name.starts_with("S_WAIT") || operand >= inst.getNumOperands() ||
      !inst.getOperand(operand).isImm())
    return false;
  const unsigned value = unsigned(inst.getOperand(operand).getImm()) & 0xffff;
  if (name == "S_WAITCNT") { // RDNA3 ISA, RDNA2 ISA, CDNA3 ISA "S_WAITCNT"
    if (major >= 11) {
      limit(Counter::Load, value >> 10 & 63, 63);
      limit(Counter::Lds, value >> 4 & 63, 63);
    } else {
      limit(Counter::Load, (value & 15) | (value >> 14 & 3) << 4, 63);
      limit(Counter::Lds, value >> 8 & (major == 9 ? 15 : 63), major == 9 ? 15 : 63);
    }
    return true;
  }
  if (name == "S_WAIT_LOADCNT_DSCNT" || name == "S_WAIT_STORECNT_DSCNT") {
    limit(name.contains("LOAD") ? Counter::Load : Counter::Store, value >> 8 & 63, 63);
    limit(Counter::Lds, value & 63, 63);
    return true;
  }
  const auto counter = StringSwitch<std::optional<Counter>>(name)
                           .Cases({"S_WAITCNT_VMCNT", "S_WAIT_LOADCNT"}, Counter::Load)
                           .Cases({"S_WAITCNT_VSCNT", "S_WAIT_STORECNT"}, Counter::Store)
                           .Cases({"S_WAITCNT_LGKMCNT", "S_WAIT_DSCNT"}, Counter::Lds)
                           .Case("S_WAIT_KMCNT", Counter::Scalar)
                           .Case("S_WAIT_SAMPLECNT", Counter::Sample)
                           .Default(std::nullopt);
  if (!counter)
    return false; // of exports, ray tracing, hazards
  limit(*counter, value & 63, 63);
  return true;
}

bool Describer::describeCacheOperation() {
  if (name == "BUFFER_GL0_INV" || name == "BUFFER_WBINVL1" || name == "BUFFER_WBINVL1_VOL") {
    step.invalidatesL0 = true;
  } else if (name == "BUFFER_GL1_INV") {
    step.invalidatesL1 = true;
  } else if (name == "BUFFER_INVL2") {
    step.invalidatesL2 = Reach::System;
  } else if (name == "BUFFER_INV") {
    // At workgroup level only what tgsplit execution needs.
    if (level() != Reach::Workgroup) {
      step.invalidatesL0 = true;
      step.invalidatesL2 = level();
    }
  } else if (name == "BUFFER_WBL2") {
    step.writesBackL2 = byLevels ? level() : Reach::System;
    count(Counter::Load);
  } else if (name == "GLOBAL_INV") {
    step.invalidatesL0 = scope() >= Reach::ShaderArray;
    step.invalidatesL1 = scope() >= Reach::Agent;
    if (scope() == Reach::System)
      step.invalidatesL2 = Reach::System;
    count(Counter::Load);
  } else if (name == "GLOBAL_WB" || name == "GLOBAL_WBINV") {
    if (scope() == Reach::System)
      step.writesBackL2 = Reach::System;
    if (name == "GLOBAL_WBINV") {
      step.invalidatesL0 = scope() >= Reach::ShaderArray;
      step.invalidatesL1 = scope() >= Reach::Agent;
    }
    count(Counter::Store);
  } else {
    return false;
  }
  step.kind = StepKind::Cache;
  return true;
}

unsigned dwordsAtEnd(StringRef name) {
  const size_t at = name.rfind('X');
  unsigned count = 1;
  if (at == StringRef::npos || name.substr(at + 1).getAsInteger(10, count))
    return 1;
  return count;
}

/// Bytes that a lane loads or stores, from the name behind its prefix.
unsigned bytesOf(StringRef action) {
  action.consume_back("_LDS");
  if (action.contains("ATOMIC"))
    return action.ends_with("_X2") || action.contains("_F64") ? 8 : 4;
  if (action.contains("BYTE"))
    return 1;
  if (action.contains("SHORT"))
    return 2;
  action.consume_back("_ADDTID");
  return 4 * dwordsAtEnd(action);
}

/// Bytes at one address of a DS instruction: its name ends in a type, but for a few suffixes.
unsigned ldsBytesOf(StringRef action) {
  action = action.take_front(action.find("_TR_")); // DS_READ_B64_TR_B16
  action.consume_back("_HI");
  action.consume_back("_D16");
  action.consume_back("_RTN");
  const bool packed = action.contains("PK_");
  const StringRef bits = action.take_back(3).ltrim("_BUIF");
  unsigned count = 32;
  bits.getAsInteger(10, count);
  return packed ? 4 : count / 8;
}

void Describer::describeScalar() {
  if (name.contains("PREFETCH") || name.contains("DCACHE") || name.contains("MEM") ||
      name.contains("PROBE") || name == "S_GL1_INV")
    return; // nothing is read from memory that programs share
  step.kind = StepKind::Scalar;
  step.reads = !name.contains("_STORE_");
  step.writes = !step.reads || name.contains("_ATOMIC_");
  step.direct = !name.starts_with("S_LOAD_");
  if (name.contains("_U8") || name.contains("_I8"))
    step.bytes = 1;
  else if (name.contains("_U16") || name.contains("_I16"))
    step.bytes = 2;
  else
    step.bytes = uint16_t(4 * dwordsAtEnd(name));
  step.signExtends = name.contains("_I8") || name.contains("_I16");
  count(Counter::Scalar);
}

void Describer::describeLds() {
  step.gridBarrier = name == "DS_GWS_BARRIER";
  if (name == "DS_NOP" || name.starts_with("DS_GWS_"))
    return;
  step.kind = StepKind::Lds;
  count(Counter::Lds);
  narrowToHalf();
  const StringRef action = name.drop_front(StringRef("DS_").size());
  if (action.contains("PERMUTE") || action.starts_with("SWIZZLE"))
    return;
  const bool two =
      action.starts_with("READ2") || action.starts_with("WRITE2") || action.starts_with("WRXCHG2");
  const bool counter = action.starts_with("APPEND") || action.starts_with("CONSUME");
  step.lds = two                         ? LdsForm::Two
             : action.contains("ADDTID") ? LdsForm::ByThread
             : counter                   ? LdsForm::Counter
                                         : LdsForm::One;
  step.reads = !action.starts_with("WRITE");
  step.writes = !action.starts_with("READ");
  step.bytes = uint16_t(counter ? 4 : ldsBytesOf(action));
  describeNarrow(action);
}

/// Where less than a dword lies in its register.
void Describer::describeNarrow(StringRef action) {
  step.highHalf = action.contains("D16_HI");
  step.signExtends = action.contains("SBYTE") || action.contains("SSHORT") ||
                     action.contains("_I8") || action.contains("_I16");
}

/// *_D16 loads fill one half of a register, and some targets keep the other (LoadStore.h).
void Describer::narrowToHalf() {
  if (target.row().loadsOf16BitsClear || !name.contains("D16"))
    return;
  for (RegisterRange &range : step.registers)
    if (range.written)
      range.halves = name.contains("D16_HI") ? 2 : 1;
}

/// How far an access must go (AMDGPUUsage "Memory Model", "Monotonic Atomic" rows).
void Describer::describeScope() {
  const bool load = step.reads && !step.writes;
  if (major >= 12) {
    step.reach = scope();
    step.passesL0 = step.reach >= Reach::ShaderArray;
    step.passesL1 = step.reach >= Reach::Agent;
  } else if (byLevels) {
    // An atomic's sc0 says whether it returns the old value; it is at least of agent reach.
    if (step.reads && step.writes)
      step.reach = policy & kSc1 ? Reach::System : Reach::Agent;
    else
      step.reach = level();
    step.passesL0 = step.reach >= Reach::Agent;
  } else if (major == 9) { // system reach is the memory's own affair
    step.passesL0 = load && policy & kGlc;
    step.reach = Reach::Agent;
  } else {
    step.passesL0 = load && policy & kGlc;
    step.passesL1 = load && policy & (major == 10 ? kDlc : kGlc);
    step.reach = Reach::Agent;
  }
}

/// Whether the cache policy is one that plain accesses never have. Relaxed atomic stores of gfx90a
/// to gfx11, and all accesses to LDS, look like plain ones.
bool Describer::isCoherent() const {
  if (major >= 12)
    return scope() != Reach::Workgroup; // SCOPE_CU
  if (byLevels)
    return policy & (kSc0 | kSc1);
  return step.reads && policy & kGlc;
}

void Describer::describeVector() {
  step.kind = StepKind::Vector;
  const StringRef action = name.split('_').second;
  const bool atomic = action.contains("ATOMIC");
  const bool store = action.starts_with("STORE");
  step.reads = !store;
  step.writes = store || atomic;
  step.bytes = uint16_t(bytesOf(action));
  step.byThread = action.contains("ADDTID");
  step.direct = action.contains("BLOCK");
  step.toLds = action.contains("LDS");
  step.space = name.starts_with("GLOBAL_")    ? Space::Global
               : name.starts_with("SCRATCH_") ? Space::Scratch
               : name.starts_with("BUFFER_")  ? Space::Buffer
                                              : Space::Flat;
  const MCInstrDesc &description = target.description(inst.getOpcode());
  const bool returns = !store && (!atomic || description.getNumDefs() != 0);
  count(returns ? Counter::Load : Counter::Store);
  narrowToHalf();
  if (step.space == Space::Flat)
    count(Counter::Lds);
  describeScope();
  step.coherent = isCoherent();
  describeNarrow(action);
}

/// Queries of an image's sizes touch no memory.
void Describer::describeImage() {
  const StringRef action = name.drop_front(StringRef("IMAGE_").size());
  const bool atomic = action.starts_with("ATOMIC"), store = action.starts_with("STORE"),
             load = action.starts_with("LOAD"),
             sample = action.starts_with("SAMPLE") || action.starts_with("GATHER4");
  if (!atomic && !store && !load && !sample)
    return;
  step.kind = StepKind::Vector;
  step.image = true;
  step.reads = !store;
  step.writes = store || atomic;
  const bool returns = atomic && policy & kGlc; // TH_ATOMIC_RETURN is the same bit
  count(sample ? Counter::Sample : load || returns ? Counter::Load : Counter::Store);
  describeScope();
  step.coherent = isCoherent();
}

void Describer::describeRegisters() {
  const MCInstrDesc &description = target.description(inst.getOpcode());
  auto add = [&](unsigned reg, bool written) {
    const RegisterOperand operand = target.reg(reg);
    if (operand.kind == RegisterOperand::Scc)
      (written ? step.writesScc : step.readsScc) = true;
    const bool vector = operand.kind == RegisterOperand::Vector;
    if (!vector && operand.kind != RegisterOperand::Scalar)
      return;
    const uint8_t halves = !target.isHalfRegister(reg) ? 3 : operand.highHalf ? 2 : 1;
    step.registers.push_back(
        {operand.index, uint8_t(target.registerDwords(reg)), vector, written, halves});
  };
  for (unsigned i = 0; i < inst.getNumOperands(); ++i)
    if (inst.getOperand(i).isReg() && inst.getOperand(i).getReg())
      add(inst.getOperand(i).getReg(), i < description.getNumDefs());
  for (MCPhysReg reg : description.implicit_uses())
    add(reg, false);
  for (MCPhysReg reg : description.implicit_defs())
    add(reg, true);
}

Meaning meaningOf(StringRef name) {
  if (!name.consume_front("V_") && !name.consume_front("S_"))
    return Meaning::Copies;
  name.consume_front("PK_");
  constexpr const char *kCopies[] = {
      "MOV",      "CMOV",     "AND",     "OR",       "XOR",         "XNOR",       "NAND",
      "NOR",      "NOT",      "LSHL",    "LSHR",     "ASHR",        "BFE",        "BFI",
      "BREV",     "BFREV",    "BITOP",   "BITSET",   "PERM",        "ALIGN",      "PACK_",
      "BITR",     "CNDMASK",  "CSELECT", "READLANE", "READF",       "WRITELANE",  "SWAP",
      "ACCVGPR_", "QUADMASK", "WQM",     "SEXT",     "CVT_U32_U16", "CVT_I32_I16"};
  if (!name.contains("_ADD") &&
      any_of(kCopies, [&](const char *prefix) { return name.starts_with(prefix); }))
    return Meaning::Copies;
  const bool ofFloats = name.contains("_F16") || name.contains("_F32") || name.contains("_F64") ||
                        name.contains("BF16");
  return ofFloats ? Meaning::Floats : Meaning::Integers;
}

// llvm/lib/Target/AMDGPU/SIDefines.h, SIInstrFlags.
constexpr uint64_t kFlagMubuf = 1ull << 17, kFlagSmrd = 1ull << 19, kFlagFlat = 1ull << 24,
                   kFlagDs = 1ull << 25;

InstructionStep Describer::describe() {
  const uint64_t flags = target.description(inst.getOpcode()).TSFlags;
  if (describeWait()) {
    step.kind = StepKind::Wait;
    return step;
  }
  if (describeCacheOperation())
    return step;
  describeRegisters();
  step.barrier = name.starts_with("S_BARRIER");
  step.writesExec = any_of(step.registers, [](const RegisterRange &range) {
    return range.written && !range.vector && range.first <= kExec &&
           kExec < range.first + range.count;
  });
  step.opensWholeWave =
      step.writesExec && (name.starts_with("S_MOV_B") || name.contains("_SAVEEXEC")) &&
      any_of(inst,
             [](const MCOperand &operand) { return operand.isImm() && operand.getImm() == -1; });
  step.dual = target.fullName(inst.getOpcode()).starts_with("V_DUAL_");
  step.meaning = meaningOf(name);
  step.ofHalves = name.contains("16");
  step.scales = !step.dual && !step.ofHalves &&
                (name.starts_with("V_LSHLREV_B") || name.starts_with("S_LSHL_B")) &&
                any_of(inst, [](const MCOperand &operand) {
                  return operand.isImm() && operand.getImm() % 8 != 0;
                });
  if (step.dual) { // both halves must agree, or be of floats, which their elements tell
    const auto [x, y] = target.dualNames(inst.getOpcode());
    auto adds = [](StringRef half) { return half.contains("ADD_NC_U32"); };
    auto isOther = [](StringRef half) { return half.contains("LSHL") || half.contains("AND_B32"); };
    step.meaning =
        (adds(x) || adds(y)) && !isOther(x) && !isOther(y) ? Meaning::Integers : Meaning::Copies;
    step.ofHalves = false;
  }
  step.movesRelative = name.contains("MOVREL") || name.contains("SWAPREL");
  step.ends = name.starts_with("S_ENDPGM");
  step.compares = name.contains("CMPSWAP") || name.contains("CMPST");
  step.barrierSignals = name == "S_BARRIER" || name.starts_with("S_BARRIER_SIGNAL");
  step.barrierWaits = name == "S_BARRIER" || name == "S_BARRIER_WAIT";
  step.branch = name.starts_with("S_CBRANCH") || name == "S_BRANCH";
  // Where texels lie, resources say.
  step.endsAtFault = name.starts_with("IMAGE_") || name.contains("_FORMAT_");
  if (flags & kFlagSmrd)
    describeScalar();
  else if (flags & (kFlagFlat | kFlagMubuf) && !step.endsAtFault)
    describeVector();
  else if (name.starts_with("IMAGE_"))
    describeImage();
  else if (flags & kFlagDs)
    describeLds();
  return step;
}

} // namespace

bool isMemoryEncoding(const Target &target, const MCInst &inst) {
  return target.description(inst.getOpcode()).TSFlags &
         (kFlagMubuf | kFlagSmrd | kFlagFlat | kFlagDs);
}

InstructionStep describeStep(const Target &target, const MCInst &inst) {
  return Describer(target, inst).describe();
}

} // namespace rubia::emulator
