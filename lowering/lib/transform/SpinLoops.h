// SPDX-License-Identifier: Apache-2.0
// Loops in which threads wait for one another.
//
// AMD has no independent thread scheduling: a thread that has left a loop waits for those of its
// warp that are still in it. If one of these waits for something that the first has yet to do, the
// loop never ends. Three things are done about that:
//
//  - The classic lock, `while (atomicCAS(&lock, 0, 1)); ... atomicExch(&lock, 0);`, is brought into
//    the form that works: whoever has the lock goes through the critical section within the loop,
//    and leaves the loop behind the release. Where a program is in that form, it is kept so.
//  - In other loops whose answer may come from what follows them, up to there, the threads go on in
//    turns (WarpTurns.h).
//  - In every other loop that may wait for a thread of its own warp the rounds are counted in which
//    the same threads stay while others are not in the loop (any more). After as many as
//    settings::WarpWaits says the kernel ends with abi::TrapReason::NeedsIndependentScheduling, and
//    the record names the loop.
//
// Which loops these are, and what they wait for, is found in the PTX (waits/OwnWarpWaits.h).
// docs/synchronization.md has the limits of this.
#pragma once

#include "lowering/lib/waits/OwnWarpWaits.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
}

namespace rubia::lowering {

class FunctionLowering;

/// What has to be known before the body is lowered. `ends`: the instructions behind which blocks
/// are to begin.
FoundWaits waitsIn(FunctionLowering &fn);

/// To be called when the body is complete. `starts`: the block that each instruction begins in;
/// `released`: the block that follows each of those ends; `headers`: those that
/// keepLoopsApart() has added to the graph; `leave`: where the kernel ends, if that is one place.
void treatSpinLoops(FunctionLowering &fn, llvm::ArrayRef<llvm::BasicBlock *> starts,
                    const llvm::DenseMap<uint32_t, llvm::BasicBlock *> &released,
                    const llvm::DenseMap<uint32_t, llvm::BasicBlock *> &headers,
                    const llvm::BasicBlock *leave, ControlFlowGraph &graph);

} // namespace rubia::lowering
