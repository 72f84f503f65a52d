// SPDX-License-Identifier: Apache-2.0
// Keeps the sign of products that are rounded to half precision.
#pragma once

namespace llvm {
class Module;
} // namespace llvm

namespace rubia::codegen {

/// Rewrites products whose -0 the back end would lose (docs/errata.md). It has to come after the
/// optimiser, which would undo it.
void protectRoundedProducts(llvm::Module &module);

} // namespace rubia::codegen
