// SPDX-License-Identifier: Apache-2.0
// What kernels do about barriers before their own code starts.
#pragma once

#include "llvm/IR/IRBuilder.h"

namespace rubia::lowering {

class FunctionLowering;

/// Zeroes the words of LDS that the unit's barriers need, if there are any, and waits for that.
void emitBarrierSetup(FunctionLowering &kernel, llvm::IRBuilder<> &builder);

} // namespace rubia::lowering
