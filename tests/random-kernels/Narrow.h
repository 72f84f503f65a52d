// SPDX-License-Identifier: Apache-2.0
// Random kernels whose integers have few bits, as indices and fields have: compilers have other
// ways for what they know to be small. Seeds and recordings stay what they are, since the
// kernels are changed behind the generator.
#pragma once

#include "Kernel.h"

namespace rubia::random_kernels {

/// Limits sources of integer instructions by masks and shifts, and adds divisions of numbers next
/// to multiples of the divisor. Always the same for a seed.
void narrow(Kernel &kernel);

} // namespace rubia::random_kernels
