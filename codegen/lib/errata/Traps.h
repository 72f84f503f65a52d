// SPDX-License-Identifier: Apache-2.0
// Traps that LLVM makes of several instructions.
#pragma once

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// A pass to be run right before the one that ends selection (docs/errata.md).
llvm::Pass *makeTraps();

} // namespace rubia::codegen
