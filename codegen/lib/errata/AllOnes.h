// SPDX-License-Identifier: Apache-2.0
// `or` with all ones, which LLVM's folding of operands gets wrong.
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The pass of LLVM's back end that folds operands.
constexpr llvm::StringLiteral kFoldOperands = "SI Fold Operands";

/// A pass to be run right before that one (docs/errata.md).
llvm::Pass *makeAllOnes();

} // namespace rubia::codegen
