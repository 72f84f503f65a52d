// SPDX-License-Identifier: Apache-2.0
// Keeps values that cost nothing away from what LLVM gets wrong about them where branches meet.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass that makes control flow of divergent branches structured.
constexpr llvm::StringLiteral kStructurizer = "Structurize control flow";

/// A pass that moves such values out of the blocks before phis (docs/errata.md). It is to be run
/// right before that one: others move casts back.
llvm::Pass *makeFreeValues();

} // namespace rubia::codegen
