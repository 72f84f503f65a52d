// SPDX-License-Identifier: Apache-2.0
// Keeps the signs of all elements of negated vectors.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Takes negations of vectors apart that the back end would get wrong (docs/errata.md). It has to
/// come after the optimiser, which would undo it.
void protectNegations(llvm::Module &module);

} // namespace rubia::codegen
