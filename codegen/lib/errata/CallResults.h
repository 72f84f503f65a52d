// SPDX-License-Identifier: Apache-2.0
// Exchanges of registers that LLVM sees across a call.
#pragma once

#include "codegen/lib/errata/HalfResults.h"

namespace rubia::codegen {

/// A pass that ends LLVM's search for exchanges at calls (docs/errata.md). It is to be run right
/// before kShrinkInstructions, behind register allocation.
llvm::Pass *makeCallResults();

} // namespace rubia::codegen
