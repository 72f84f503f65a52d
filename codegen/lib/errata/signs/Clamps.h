// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Hides from selection what is clamped to between 0 and 1, where that may become -0 for it
/// (docs/errata.md). It has to come after the optimiser.
void protectClamps(llvm::Module &module);

} // namespace rubia::codegen
