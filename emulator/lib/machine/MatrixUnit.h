// SPDX-License-Identifier: Apache-2.0
// What matrix instructions need of a wave beyond WaveOperands: registers as arrays of lanes, and
// how the processor's unit adds products.
#pragma once

#include "emulator/lib/machine/WaveOperands.h"
#include "targets/Target.h"

namespace rubia::emulator {

using targets::ProductSum;

/// Vector registers of an operand, or none: 32 lanes lie together.
struct VectorRegisters {
  uint32_t *first = nullptr; // of lane 0
  size_t blockStride = 0;    // from lane 0 to lane 32
  /// Register `dword` of `lane` and the next lanes up to a multiple of 32.
  uint32_t *lanes(unsigned lane, unsigned dword) const {
    return first + lane / kBlockLanes * blockStride + dword * kBlockLanes + lane % kBlockLanes;
  }
};

/// The registers of source `i`, or none if it is a scalar or constant.
VectorRegisters sourceRegisters(const WaveOperands &w, unsigned i);
VectorRegisters resultRegisters(const WaveOperands &w);
/// How the processor adds (MatrixSums.h): the decoder keeps it in MicroOp::immediate.
ProductSum productSum(const WaveOperands &w);

} // namespace rubia::emulator
