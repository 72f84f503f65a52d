// SPDX-License-Identifier: Apache-2.0
// What a mask of lanes tells the scalar unit, beside the branch that it is for.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// LLVM's last pass over branches.
constexpr llvm::StringLiteral kPreEmitPeephole = "SI peephole optimizations";

/// A pass that sets SCC on its own where that one could remove what sets it (docs/errata.md). It is
/// to be run right before.
llvm::Pass *makeBranchMasks();

} // namespace rubia::codegen
