// SPDX-License-Identifier: Apache-2.0
// Judges products of matrices that need not have the bits of the recorded device: `--mma=ieee`.
// PTX asks for exact products and sums of at least f32; integers, f64 and sums that are exact in
// every order have one right answer.
#pragma once

#include "KernelCommands.h"
#include <memory>

namespace rubia::golden {

/// An element of D is right if it is as recorded. Of other kinds of factors than "exact" it may
/// also be within
///   (K + 2) 2^-23 (|c| + sum |ab|), a denormal factor counted as the smallest normal number,
/// of the exact sum, of wgmma with factors of 8 bits (K + 2) 2^-13; with D of f16 further by an ulp
/// of f16, of factors of 8 bits at the size of the largest partial sum. A sum that may leave f32's
/// or f16's range on the way may be infinite, or NaN: such elements are counted apart. Of kernels
/// with several products, or of which D is not stored as it is, there is no judgement.
std::unique_ptr<KernelJudge> makeMatrixJudge();

} // namespace rubia::golden
