// SPDX-License-Identifier: Apache-2.0
// What matrix instructions need of a wave beyond WaveOperands: registers as arrays of lanes, and
// how the processor's unit adds products.
#pragma once

#include "emulator/lib/machine/Semantics.h"

namespace rubia::emulator {

/// How a unit adds products of XF32, F16 and smaller formats (MatrixSums.h). The decoder keeps it
/// in MicroOp::immediate.
enum class ProductSum : uint8_t {
  InOrder,  // nobody has published how
  Pairwise, // CDNA 1 and 2
  Aligned   // CDNA 3
};

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
ProductSum productSum(const WaveOperands &w);

} // namespace rubia::emulator
