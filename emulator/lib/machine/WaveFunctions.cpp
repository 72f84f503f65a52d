// SPDX-License-Identifier: Apache-2.0
// The operands of wavewise instructions.
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/machine/GprIndexing.h"
#include "emulator/lib/machine/MatrixUnit.h"
#include "emulator/lib/machine/Workgroup.h"
#include <cassert>

namespace rubia::emulator {

/// That ConstantPool has of each constant.
static constexpr unsigned kConstantRegisters = 4;

struct WaveOperandsAccess {
  static WaveOperands make(Wave &wave, const MicroOp &op) {
    WaveOperands operands;
    operands.wave = &wave;
    operands.op = &op;
    return operands;
  }
  static const MicroOp &op(const WaveOperands &w) { return *w.op; }
  static VectorRegisters registers(const WaveOperands &w, uint64_t offset) {
    return {&w.wave->vgpr(uint32_t(offset), 0), w.wave->blockStride};
  }
};

VectorRegisters sourceRegisters(const WaveOperands &w, unsigned i) {
  return w.sourceIsVector(i) ? WaveOperandsAccess::registers(w, WaveOperandsAccess::op(w).source[i])
                             : VectorRegisters();
}
VectorRegisters resultRegisters(const WaveOperands &w) {
  return WaveOperandsAccess::registers(w, WaveOperandsAccess::op(w).result);
}
ProductSum productSum(const WaveOperands &w) {
  return ProductSum(WaveOperandsAccess::op(w).immediate);
}

[[gnu::noinline]] static void callIndexed(Wave &wave, const MicroOp &op) {
  MicroOp indexed = op;
  if (!addGprIndex(wave, indexed))
    return;
  WaveOperands operands = WaveOperandsAccess::make(wave, indexed);
  op.function(operands);
}

void callWaveFunction(Wave &wave, const MicroOp &op) {
  if (wave.special & op.special & kGprIndex) [[unlikely]] {
    callIndexed(wave, op);
    if (!wave.stop)
      RUBIA_NEXT(wave, op);
    return;
  }
  WaveOperands operands = WaveOperandsAccess::make(wave, op);
  op.function(operands);
  if (!wave.stop)
    RUBIA_NEXT(wave, op);
}

unsigned WaveOperands::laneCount() const { return wave->lanes(); }
uint64_t WaveOperands::exec() const { return wave->exec(); }
unsigned WaveOperands::firstActiveLane() const {
  uint64_t mask = wave->exec();
  return mask ? unsigned(std::countr_zero(mask)) : 0;
}
unsigned WaveOperands::sourceCount() const { return op->detail->sourceCount; }
bool WaveOperands::sourceIsVector(unsigned i) const { return op->kind[i] == OperandKind::Vector; }

uint32_t WaveOperands::source(unsigned i, unsigned lane, unsigned dword) const {
  lane %= wave->lanes();
  switch (op->kind[i]) {
  case OperandKind::Vector:
    return wave->vgpr(uint32_t(op->source[i]) + dword * kBlockLanes, lane);
  // Only vector registers can hold operands that are wider than these (CDNA4 ISA "Packed Convert").
  case OperandKind::Constant:
    return dword >= kConstantRegisters
               ? 0
               : reinterpret_cast<const uint32_t *>(
                     op->source[i])[dword * kBlockLanes + lane % kBlockLanes];
  case OperandKind::Scalar: {
    const uint64_t index = op->source[i] + dword;
    return index < kScalarCount ? wave->scalars[index] : 0;
  }
  case OperandKind::None:
  case OperandKind::Scc:
  case OperandKind::Vccz:
  case OperandKind::Execz:
    return dword == 0 ? uint32_t(readScalar64(*wave, *op, i)) : 0;
  }
  return 0;
}

uint32_t WaveOperands::modifiers(unsigned i) const { return op->detail->modifiers[i]; }
bool WaveOperands::clamp() const { return op->detail->clamp; }
bool WaveOperands::boundControl() const { return op->detail->boundControl; }
bool WaveOperands::fetchInactive() const { return op->detail->fetchInactive; }
const MatrixControl &WaveOperands::matrix() const { return op->detail->matrix; }
bool WaveOperands::reversesSums() const { return op->detail->perturbed == Exactness::UnorderedSum; }
const FloatMode &WaveOperands::mode() const { return wave->lane.mode; }
uint32_t WaveOperands::m0() const { return wave->scalars[kM0]; }
uint64_t WaveOperands::vcc() const { return wave->mask(kVcc); }

void WaveOperands::setResult(unsigned lane, uint32_t value, unsigned dword) {
  wave->vgpr(op->result + dword * kBlockLanes, lane % wave->lanes()) = value;
}
uint32_t WaveOperands::result(unsigned lane, unsigned dword) const {
  return wave->vgpr(op->result + dword * kBlockLanes, lane % wave->lanes());
}
void WaveOperands::setScalarResult(uint32_t value) { wave->scalars[op->result] = value; }
void WaveOperands::setSource(unsigned i, unsigned lane, uint32_t value, unsigned dword) {
  assert(sourceIsVector(i)); // Decoder::decodeVector() sees to it
  wave->vgpr(uint32_t(op->source[i]) + dword * kBlockLanes, lane % wave->lanes()) = value;
}

uint32_t *WaveOperands::relative(uint64_t registerOffset, unsigned lane, uint32_t offset) const {
  uint64_t index = registerOffset / kBlockLanes + uint64_t(offset);
  if (index >= wave->vgprCount) {
    raise(*wave, *op, FaultKind::IllegalInstruction, lane, index);
    return nullptr;
  }
  if (wave->group)
    wave->group->movesRelative = true;
  return &wave->vgpr(uint32_t(index) * kBlockLanes, lane % wave->lanes());
}

uint32_t WaveOperands::sourceRelative(unsigned i, unsigned lane, uint32_t offset) const {
  const bool isVector = op->kind[i] == OperandKind::Vector;
  const uint32_t *found = relative(isVector ? op->source[i] : ~uint64_t(0), lane, offset);
  return found ? *found : 0;
}
uint32_t WaveOperands::resultRelative(unsigned lane, uint32_t offset) const {
  const uint32_t *found = relative(op->result, lane, offset);
  return found ? *found : 0;
}
void WaveOperands::setSourceRelative(unsigned i, unsigned lane, uint32_t offset, uint32_t value) {
  if (uint32_t *found = relative(op->source[i], lane, offset))
    *found = value;
}
void WaveOperands::setResultRelative(unsigned lane, uint32_t offset, uint32_t value) {
  if (uint32_t *found = relative(op->result, lane, offset))
    *found = value;
}

} // namespace rubia::emulator
