// SPDX-License-Identifier: Apache-2.0
// Random kernels that compute the same again, later or in other blocks: compilers keep what they
// have computed before.
#pragma once

#include "Kernel.h"

namespace rubia::random_kernels {

/// Always the same for a seed.
void repeat(Kernel &kernel);

} // namespace rubia::random_kernels
