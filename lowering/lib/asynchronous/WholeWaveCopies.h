// SPDX-License-Identifier: Apache-2.0
// Copies that all lanes of a wave make for one that starts them, in whatever branch that one is.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// Copies `bytes`, a multiple of 16, from global memory to an address in LDS, for each active lane.
/// Everything is stored when it ends, and is handed over to an mbarrier (AsyncMark::HandedOver).
void copyByWholeWave(FunctionLowering &fn, llvm::Value *shared, llvm::Value *from,
                     llvm::Value *bytes);

} // namespace rubia::lowering
