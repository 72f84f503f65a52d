// SPDX-License-Identifier: Apache-2.0
// Upper halves of registers that instructions of gfx9 with a half as their result keep.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass of LLVM's back end before which all modifiers have been folded, and which functions are
/// left without when nothing is optimised.
constexpr llvm::StringLiteral kShrinkInstructions = "SI Shrink Instructions";

/// A pass that clears upper halves which LLVM takes for zero (docs/errata.md). It is to be run
/// behind instruction selection, and in front of the first pass of the name above.
llvm::Pass *makeHalfResults();

} // namespace rubia::codegen
