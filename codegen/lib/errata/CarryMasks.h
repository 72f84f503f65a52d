// SPDX-License-Identifier: Apache-2.0
// Carries that come into scalar additions as masks of lanes.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
}

namespace rubia::codegen {

/// The pass of LLVM's back end that expands what instruction selection leaves.
constexpr llvm::StringLiteral kFinalizeSelection = "Finalize ISel and expand pseudo-instructions";

/// A pass to be run before that one (docs/errata.md).
llvm::Pass *makeCarryMasks();

} // namespace rubia::codegen
