// SPDX-License-Identifier: Apache-2.0
// Scalar ALU, program flow and scalar loads.
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Instructions.h"
#include "emulator/lib/scalar/ControlFlow.h"
#include "emulator/lib/scalar/ScalarAlu.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;

namespace rubia::emulator {

/// Instructions without an effect on what a program computes here: waits (memory operations
/// complete at once and in order), scheduling hints, instruction cache and trace operations.
static bool isHint(StringRef name) {
  static constexpr StringLiteral kNames[] = {"S_NOP",
                                             "S_CLAUSE",
                                             "S_DELAY_ALU",
                                             "S_SETPRIO",
                                             "S_INST_PREFETCH",
                                             "S_SET_INST_PREFETCH_DISTANCE",
                                             "S_SENDMSG",
                                             "S_WAKEUP",
                                             "S_ICACHE_INV",
                                             "S_INCPERFLEVEL",
                                             "S_DECPERFLEVEL",
                                             "S_TTRACEDATA",
                                             "S_TTRACEDATA_IMM",
                                             "S_VERSION",
                                             "S_SETPRIO_INC_WG"};
  return is_contained(kNames, name) || name.starts_with("S_WAIT");
}

RegisterOperand Decoder::registerAt(unsigned operand) const {
  // Bytes that are no sound instruction may have an immediate where there should be a register.
  return at(operand).isReg() ? target.reg(at(operand).getReg()) : RegisterOperand();
}

int64_t Decoder::immediate(OperandName name, int64_t fallback) const {
  int i = index(name);
  return i >= 0 && at(unsigned(i)).isImm() ? at(unsigned(i)).getImm() : fallback;
}

uint64_t Decoder::flags() const { return target.description(inst->getOpcode()).TSFlags; }

MicroOp Decoder::start() const {
  MicroOp op;
  op.pc = uint32_t(pc);
  return op;
}

uint16_t Decoder::maskIndex(unsigned operand) const {
  RegisterOperand reg = registerAt(operand);
  return reg.kind == RegisterOperand::Scalar ? reg.index : uint16_t(kSink);
}

Diagnostic Decoder::scalarSource(MicroOp &op, unsigned i, unsigned operand) {
  const MCOperand &mc = at(operand);
  auto constant = [&](uint64_t value) {
    op.kind[i] = OperandKind::Constant;
    op.source[i] = value;
  };
  if (mc.isImm()) {
    uint64_t value = uint64_t(mc.getImm());
    // A literal has 32 bits. LLVM extends it with zeros; signed operations with signs.
    if (name.contains("_I64") && value >> 31 == 1)
      value |= 0xffffffff00000000;
    constant(value);
    return {};
  }
  if (!mc.isReg())
    return "unexpected operand";
  RegisterOperand reg = registerAt(operand);
  switch (reg.kind) {
  case RegisterOperand::Scalar:
    op.kind[i] = OperandKind::Scalar;
    op.source[i] = reg.index;
    return {};
  case RegisterOperand::Null:
    constant(0);
    return {};
  case RegisterOperand::Scc:
    op.kind[i] = OperandKind::Scc;
    return {};
  case RegisterOperand::Vccz:
    op.kind[i] = OperandKind::Vccz;
    return {};
  case RegisterOperand::Execz:
    op.kind[i] = OperandKind::Execz;
    return {};
  case RegisterOperand::SharedBase:
    constant(uint64_t(kSharedAperture) << 32);
    return {};
  case RegisterOperand::SharedLimit:
    constant(uint64_t(kSharedAperture) << 32 | 0xffffffff);
    return {};
  case RegisterOperand::PrivateBase:
    constant(uint64_t(kPrivateAperture) << 32);
    return {};
  case RegisterOperand::PrivateLimit:
    constant(uint64_t(kPrivateAperture) << 32 | 0xffffffff);
    return {};
  case RegisterOperand::Vector:
  case RegisterOperand::Other:
    break;
  }
  return "unsupported operand register";
}

Diagnostic Decoder::scalarResult(MicroOp &op, unsigned operand) {
  RegisterOperand reg = registerAt(operand);
  if (reg.kind == RegisterOperand::Null)
    op.result = kSink;
  else if (reg.kind == RegisterOperand::Scalar)
    op.result = reg.index;
  else
    return "unsupported destination";
  return {};
}

static ScalarHandlers findScalar(StringRef name) {
  static const StringMap<ScalarHandlers> index = [] {
    StringMap<ScalarHandlers> map;
    for (const ScalarTable &table :
         {kScalarAlu, kScalarFloat, kControlFlow, kBarriers, kHardwareRegisters})
      for (size_t i = 0; i < table.count; ++i)
        map[table.rows[i].name] = table.rows[i].handler;
    return map;
  }();
  return index.lookup(name);
}

Diagnostic Decoder::decodeScalar() {
  if (isHint(name))
    return {};
  MicroOp op = start();
  if (name == "S_CODE_END") {
    op.handler = illegalInstruction;
    emit(op);
    return {};
  }
  const ScalarHandlers handlers = findScalar(name);
  if (!handlers)
    return "no semantics for " + name.str();
  const MCInstrDesc &description = target.description(inst->getOpcode());
  // LLVM takes the destination of S_MOVRELD as a source: it names only where M0 starts to count.
  const unsigned results = name.starts_with("S_MOVRELD_") ? 1 : description.getNumDefs();
  op.source[3] = address + size; // where calls return to
  if (results > 0)
    if (Diagnostic diagnostic = scalarResult(op, 0); !diagnostic.empty())
      return diagnostic;

  const int simm16 = index(OperandName::simm16);
  const bool isBranch = name.starts_with("S_CBRANCH") || name.starts_with("S_SUBVECTOR_LOOP") ||
                        name == "S_BRANCH" || name == "S_CALL_B64";
  const bool isHardwareRegister = name.starts_with("S_GETREG") || name.starts_with("S_SETREG");
  const bool isProgramFlow = simm16 >= 0 && !name.starts_with("S_MOVK") &&
                             !name.starts_with("S_CMOVK") && !name.starts_with("S_ADDK") &&
                             !name.starts_with("S_MULK") && !name.starts_with("S_CMPK");
  unsigned next = 0;
  for (unsigned i = results; i < inst->getNumOperands(); ++i) {
    if (description.getOperandConstraint(i, MCOI::TIED_TO) != -1)
      continue;
    if (int(i) == simm16) {
      int64_t value = at(i).isImm() ? at(i).getImm() : 0;
      if (isProgramFlow)
        op.immediate = int32_t(value);
      else {
        bool isUnsigned = name.ends_with("_U32");
        op.kind[next] = OperandKind::Constant;
        op.source[next++] = isUnsigned ? uint16_t(value) : uint64_t(int64_t(int16_t(value)));
      }
      continue;
    }
    if (next == 3)
      return "too many operands";
    if (Diagnostic diagnostic = scalarSource(op, next++, i); !diagnostic.empty())
      return diagnostic;
  }
  if (isHardwareRegister) {
    unsigned id = unsigned(op.immediate) & 63;
    bool known = name.starts_with("S_GETREG") ? canReadHardwareRegister(id, target.row().isa)
                                              : canWriteHardwareRegister(id, target.row().isa);
    if (!known)
      return "hardware register " + std::to_string(id) + " is not supported";
  }
  if (isBranch)
    branches.emplace_back(uint32_t(program.operations.size()),
                          pc + 4 + 4 * int64_t(int16_t(op.immediate)));
  op.handler = handlers.chosenFor(op);
  emit(op);
  return {};
}

/// Cache maintenance, where only the order matters, and what has no effect at all here.
static bool isScalarFence(StringRef name) {
  static constexpr StringLiteral kNames[] = {"S_DCACHE_INV", "S_DCACHE_INV_VOL", "S_DCACHE_WB",
                                             "S_DCACHE_WB_VOL", "S_GL1_INV"};
  return is_contained(kNames, name);
}
static bool isScalarMemoryHint(StringRef name) {
  return name.starts_with("S_ATC_PROBE") || name.starts_with("S_DCACHE_DISCARD") ||
         name.starts_with("S_PREFETCH") || name.starts_with("S_BUFFER_PREFETCH");
}

static Handler findScalarAtomic(StringRef name) {
  const bool buffer = name.consume_front("S_BUFFER_ATOMIC_");
  if (!buffer && !name.consume_front("S_ATOMIC_"))
    return nullptr;
  const bool wide = name.consume_back("_X2");
  for (size_t i = 0; i < kScalarAtomics.count; ++i)
    if (name == kScalarAtomics.rows[i].name)
      return kScalarAtomics.rows[i].handlers[buffer][wide];
  return nullptr;
}

Diagnostic Decoder::decodeScalarMemory() {
  if (isScalarMemoryHint(name))
    return {};
  if (name == "S_MEMTIME" || name == "S_MEMREALTIME")
    return decodeScalar();
  if (isScalarFence(name)) {
    MicroOp op = start();
    op.handler = findScalar("S_FENCE");
    emit(op);
    return {};
  }
  MicroOp op = start();
  op.handler = findMemory(kScalarMemory, name);
  if (!op.handler) {
    op.handler = findScalarAtomic(name);
    op.data = target.fullName(inst->getOpcode()).contains("_RTN") ? kScalarAtomicReturns : 0;
  }
  if (!op.handler)
    return "no semantics for " + name.str();
  if (Diagnostic diagnostic = scalarResult(op, 0); !diagnostic.empty())
    return diagnostic;
  int base = index(OperandName::sbase), offset = index(OperandName::soffset);
  if (base < 0 || registerAt(unsigned(base)).kind != RegisterOperand::Scalar)
    return "unsupported base register";
  op.kind[0] = OperandKind::Scalar;
  op.source[0] = registerAt(unsigned(base)).index;
  if (offset >= 0)
    if (Diagnostic diagnostic = scalarSource(op, 1, unsigned(offset)); !diagnostic.empty())
      return diagnostic;
  op.immediate = int32_t(immediate(OperandName::offset));
  emit(op);
  return {};
}

} // namespace rubia::emulator
