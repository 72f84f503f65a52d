// SPDX-License-Identifier: Apache-2.0
// Values that LLVM's instruction selection cannot look into.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// The same value, of which instruction selection knows nothing: no fold of it with what computed
/// it, no known bits. To be made right before selection. It costs nothing but such folds.
llvm::Value *makeOpaque(llvm::IRBuilder<> &b, llvm::Value *value);

/// A pass to be run right behind selection: opaque values become plain copies.
llvm::Pass *makeOpaqueCopies();

/// A pass to be run right before selection: addresses of atomic loads that may be of private memory
/// are different ones for each lane, for all that selection knows (docs/errata.md).
llvm::Pass *makeOpaqueAddresses();

} // namespace rubia::codegen
