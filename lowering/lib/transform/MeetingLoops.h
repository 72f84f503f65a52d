// SPDX-License-Identifier: Apache-2.0
// Two loops whose threads meet in their middle (frame/MeetingPlaces.h) are one loop with two
// entries. LLVM would make one of them an inner loop, whose lanes would not wait for those of the
// other. So all ways to its entries get one block that they go through, in each round.
#pragma once

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
class BasicBlock;
} // namespace llvm

namespace rubia::lowering {

class FunctionLowering;

/// Gives every loop around one of these blocks one entry. The body of the function is complete.
void joinLoopsOfMeetings(FunctionLowering &fn, llvm::ArrayRef<llvm::BasicBlock *> meetings);

} // namespace rubia::lowering
