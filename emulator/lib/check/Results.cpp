// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/check/Results.h"

using namespace llvm;

namespace rubia::emulator {

Meaning meaningOf(const InstructionStep &step, const MicroOp &op) {
  if (!step.dual)
    return step.meaning;
  const Shape &shape = op.detail->shape;
  const bool adds = shape.sourceCount == 2 && !shape.carryIn;
  return shape.result == Element::F32 ? Meaning::Floats : adds ? step.meaning : Meaning::Copies;
}

uint32_t widened(uint32_t differs, Meaning meaning, bool ofHalves) {
  if (meaning == Meaning::Copies || differs == 0)
    return differs;
  const uint32_t halves[] = {ofHalves ? 0xffffu : ~0u, ofHalves ? 0xffff0000u : 0};
  uint32_t result = 0;
  for (const uint32_t half : halves)
    if (const uint32_t bits = differs & half)
      result |= meaning == Meaning::Floats ? half : half & ~((bits & -bits) - 1);
  return result;
}

SmallVector<RegisterRange, 4> registersOfHalf(const MicroOp &op) {
  SmallVector<RegisterRange, 4> ranges;
  auto vector = [](uint64_t offset, unsigned count, bool written) {
    const auto first = offset == kTemporaryRegister ? kTemporaryVgpr : offset / kBlockLanes - 1;
    return RegisterRange{uint16_t(first), uint8_t(count), true, written, 3};
  };
  const Shape &shape = op.detail->shape;
  for (unsigned i = 0; i < shape.sourceCount; ++i)
    if (op.kind[i] == OperandKind::Vector)
      ranges.push_back(vector(op.source[i], shape.sourceRegisters[i], false));
    else if (op.kind[i] == OperandKind::Scalar)
      ranges.push_back({uint16_t(op.source[i]), shape.sourceRegisters[i], false, false, 3});
  if (shape.carryIn)
    ranges.push_back({op.maskSource, 1, false, false, 3});
  ranges.push_back(vector(op.result, shape.resultRegisters, true));
  return ranges;
}

} // namespace rubia::emulator
