// SPDX-License-Identifier: Apache-2.0
// Kernels of matrices on the emulator, against the interpreter of reference/.
#pragma once

#include "EmulatorRun.h"

namespace rubia::random_kernels {

struct MatrixOptions {
  std::string family;
  uint64_t first = 0, count = 100, every = 1;
  Way way;
  /// Of reduceMatrices(): kernels are wanted that do not run for a reason with this text.
  std::string error = {};
};

// Each prints what it found, and returns the exit status.
int printMatrices(const MatrixOptions &options);
int checkMatrices(const MatrixOptions &options);
/// Of the first kernel: the fewest steps of which the two still think differently.
int reduceMatrices(const MatrixOptions &options);

} // namespace rubia::random_kernels
