// SPDX-License-Identifier: Apache-2.0
// Keeps the signs of zeros.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Hides from selection what it would get wrong for zeros of one sign (docs/errata.md). It has to
/// come after the optimiser.
void protectZeros(llvm::Module &module);

} // namespace rubia::codegen
