// SPDX-License-Identifier: Apache-2.0
// Functions in the place of their calls, in PTX.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Allocator.h"

namespace rubia::lowering {

/// Puts what a function calls in the place of the calls, if `isWanted` says so of the callee and
/// its parameters are passed in one of the usual ways. The callees' calls are calls of the function
/// then. Whether there was one. What is made lives in the arena.
bool inlineCalls(ptx::Function &function, llvm::function_ref<bool(const ptx::Function &)> isWanted,
                 llvm::BumpPtrAllocator &arena);

} // namespace rubia::lowering
