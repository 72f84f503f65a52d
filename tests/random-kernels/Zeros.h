// SPDX-License-Identifier: Apache-2.0
// Random kernels that compute with zeros of both signs: compilers take for equal what is not.
#pragma once

#include "Kernel.h"

namespace rubia::random_kernels {

/// Gives the kernel another body: floating-point computations whose operands are 0, -0, 1 and -1.
/// Always the same for a seed.
void computeWithZeros(Kernel &kernel);

} // namespace rubia::random_kernels
