// SPDX-License-Identifier: Apache-2.0
// Scalar `and` and `or` that LLVM takes for masks of lanes, and joins wrongly.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// LLVM's pass that ends the SSA form, behind which masks are joined, and the analysis before it
/// where LLVM optimises.
constexpr llvm::StringLiteral kPhiElimination = "Eliminate PHI nodes for register allocation",
                              kLiveVariables = "Live Variable Analysis";

/// A pass to be run right before these (docs/errata.md).
llvm::Pass *makeJoinedMasks();

} // namespace rubia::codegen
