// SPDX-License-Identifier: Apache-2.0
// A wave to run the instructions on that look across lanes.
#pragma once

#include "emulator/lib/machine/MatrixUnit.h"
#include "emulator/lib/machine/WaveFunctions.h"
#include "emulator/lib/machine/Workgroup.h"
#include "tests/emulator/VectorAluCase.h"

namespace rubia::emulator::test {

/// A wave with vector registers; register r holds r * 100 + lane. Operands: the destination is
/// register 0, vector sources are registers, scalar ones SGPRs.
class TestWave {
public:
  explicit TestWave(unsigned lanes, unsigned count = 8) : registers(2 * count * kBlockLanes) {
    wave.vgprs = registers.data();
    wave.blockStride = count * kBlockLanes;
    wave.vgprCount = count;
    wave.blocks = uint8_t(lanes / kBlockLanes);
    wave.setMask(kExec, ~uint64_t(0));
    for (unsigned r = 0; r < count; ++r)
      for (unsigned lane = 0; lane < lanes; ++lane)
        wave.vgpr(r * kBlockLanes, lane) = r * 100 + lane;
  }
  TestWave &vector(unsigned source, unsigned r) {
    op.kind[source] = OperandKind::Vector;
    op.source[source] = r * kBlockLanes;
    return *this;
  }
  TestWave &result(unsigned r) {
    op.result = r * kBlockLanes;
    return *this;
  }
  TestWave &scalar(unsigned source, uint32_t value) {
    op.kind[source] = OperandKind::Scalar;
    op.source[source] = 10 + source;
    wave.scalars[10 + source] = value;
    return *this;
  }
  TestWave &modifiers(unsigned source, uint32_t bits) {
    detail.modifiers[source] = bits;
    return *this;
  }
  TestWave &clamp() {
    detail.clamp = true;
    return *this;
  }
  TestWave &matrix(const MatrixControl &control) {
    detail.matrix = control;
    return *this;
  }
  TestWave &unit(ProductSum sum) {
    op.immediate = int32_t(sum);
    return *this;
  }
  TestWave &reverseSums() {
    detail.perturbed = Exactness::UnorderedSum;
    return *this;
  }
  TestWave &sourceCount(unsigned count) {
    detail.sourceCount = uint8_t(count);
    return *this;
  }
  TestWave &exec(uint64_t mask) {
    wave.setMask(kExec, mask);
    return *this;
  }
  TestWave &m0(uint32_t value) {
    wave.scalars[kM0] = value;
    return *this;
  }
  TestWave &run(llvm::StringRef name) {
    op.function = functionOf(name);
    op.detail = &detail;
    callWaveFunction(wave, op);
    return *this;
  }
  uint32_t &at(unsigned r, unsigned lane) { return wave.vgpr(r * kBlockLanes, lane); }

  Wave wave;
  MicroOp op;

private:
  std::vector<uint32_t> registers;
  VectorDetail detail;
};

} // namespace rubia::emulator::test
