// SPDX-License-Identifier: Apache-2.0
// Constants of f64 that several blocks have. Selection makes each block's by themselves, in two
// instructions, as no operand has 64 bits: two polynomials with the same constants in two branches
// have them twice. Here they become values, in the nearest block that dominates all of their uses.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// So many at most in a function: each keeps two scalar registers for as long as it is used.
inline constexpr unsigned kMostSharedConstants = 32;

/// A pass right before selection.
llvm::Pass *makeSharedConstants();

} // namespace rubia::codegen
