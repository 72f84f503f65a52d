// SPDX-License-Identifier: Apache-2.0
// What changes an mbarrier object: arrivals, and the bytes of asynchronous copies.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"

namespace rubia::lowering {

/// i32 each; null: none.
struct MbarrierChange {
  llvm::Value *arrivals = nullptr;
  llvm::Value *drops = nullptr; // arrivals that later phases do not wait for
  llvm::Value *tx = nullptr;    // added to the tx-count
  bool releases = false;        // what the thread did before is seen by who waits for the phase
};

/// Gives the object before the change, which is what `mbarrier.arrive` returns as the state.
llvm::Value *changeMbarrier(FunctionLowering &fn, const ptx::Instruction &inst, llvm::Value *place,
                            const MbarrierChange &change);

} // namespace rubia::lowering
