// SPDX-License-Identifier: Apache-2.0
// The rows of matrix instructions. They stand apart from Semantics.h, since the functions behind
// them take long to compile and need nothing of it; VectorAluMatrices.cpp puts the two together.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"
#include <cstddef>

namespace rubia::emulator {

struct MatrixFunction {
  WaveFunction function;
  uint8_t blocks = 1; // V_MFMA_*: that CBSZ may broadcast to
};

struct MatrixRow {
  const char *name;
  MatrixFunction operation;
  Exactness exactness = Exactness::Exact;
};

struct MatrixTable {
  const MatrixRow *rows;
  size_t count;
};
template <size_t N> constexpr MatrixTable table(const MatrixRow (&rows)[N]) { return {rows, N}; }

} // namespace rubia::emulator
