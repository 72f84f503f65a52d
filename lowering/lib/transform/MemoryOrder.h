// SPDX-License-Identifier: Apache-2.0
// What LLVM's code for atomics and fences leaves out of what PTX's memory model asks for.
#pragma once

#include "lowering/lib/analysis/Target.h"

namespace llvm {
class Function;
}

namespace rubia::lowering {

/// Rewrites the function's atomics and fences so that LLVM's code for them keeps PTX's order. To be
/// called when everything is lowered.
void makeOrderExplicit(llvm::Function &function, const Target &target);

} // namespace rubia::lowering
