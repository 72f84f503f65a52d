// SPDX-License-Identifier: Apache-2.0
// Loads that LLVM sinks past fences and barriers.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

inline constexpr llvm::StringLiteral kMachineSinking = "Machine code sinking";

/// Passes to be run right before and right behind LLVM's pass that sinks instructions
/// (docs/errata.md).
llvm::Pass *makeFencesStore();
llvm::Pass *makeFencesAsTheyWere();

} // namespace rubia::codegen
