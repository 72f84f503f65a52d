// SPDX-License-Identifier: Apache-2.0
// Values that travel between the lanes of a warp. All patterns stay within 32 lanes, so in the
// packed form each half of the wave has its own exchange. What a lane gets from one that does not
// take part is not defined.
#pragma once

#include "lowering/lib/frame/FunctionLowering.h"
#include <array>

namespace rubia::lowering {

/// Each lane's value from a lane that it names, 0 to 31. Through LDS's crossbar.
llvm::Value *pullFromLane(FunctionLowering &fn, llvm::Value *value, llvm::Value *lane);

/// For an i32, where the pattern is constant. Null if only pullFromLane() can do it.
/// Each lane's value from lane ^ mask; 1 to 31. Never null.
llvm::Value *exchangeByXor(FunctionLowering &fn, llvm::Value *value, unsigned mask);
/// Within each four lanes, from lane sources[i] of the four for the i-th. Never null.
llvm::Value *permuteQuads(FunctionLowering &fn, llvm::Value *value,
                          std::array<unsigned, 4> sources);
/// From lane + distance, -31 to 31 and not 0; any value where that lane is not in the warp.
llvm::Value *shiftLanes(FunctionLowering &fn, llvm::Value *value, int distance);
/// From lane `lane` of each group of `width` lanes (4, 8, 16, 32).
llvm::Value *broadcastLane(FunctionLowering &fn, llvm::Value *value, unsigned lane, unsigned width);

} // namespace rubia::lowering
