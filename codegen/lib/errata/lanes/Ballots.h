// SPDX-License-Identifier: Apache-2.0
// Masks of the lanes in which two numbers differ.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Rewrites ballots that the back end would get wrong for NaNs (docs/errata.md). It has to come
/// after the optimiser, which would undo it.
void protectBallots(llvm::Module &module);

} // namespace rubia::codegen
