// SPDX-License-Identifier: Apache-2.0
// Copies of scalar registers in a loop that are read behind it.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass to be run right before LLVM's pass that folds operands (docs/errata.md).
llvm::Pass *makeLoopCopies();

} // namespace rubia::codegen
