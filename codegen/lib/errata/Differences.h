// SPDX-License-Identifier: Apache-2.0
// Differences of unsigned numbers of 64 bits.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Rewrites differences without sign that the back end would get wrong (docs/errata.md). It has to
/// come after the optimiser, which would undo it.
void protectDifferences(llvm::Module &module);

} // namespace rubia::codegen
