// SPDX-License-Identifier: Apache-2.0
// Loops in which threads wait for one another.
//
// AMD has no independent thread scheduling: a thread that has left a loop waits for those of its
// warp that are still in it. If one of these waits for something that the first has yet to do, the
// loop never ends. Two things are done about that:
//
//  - The classic lock, `while (atomicCAS(&lock, 0, 1)); ... atomicExch(&lock, 0);`, is brought into
//    the form that works: whoever has the lock goes through the critical section within the loop,
//    and leaves the loop behind the release. Where a program is in that form, it is kept so.
//  - In every other loop that may wait for a thread of its own warp the rounds are counted in which
//    the same threads stay while others are not in the loop (any more). At Options::spinLimit the
//    kernel ends with abi::TrapReason::NeedsIndependentScheduling, and the record names the loop.
//
// A loop waits if one of its exits depends on a volatile, relaxed or acquiring load or on the
// result of an atomic operation, at an address that stays the same; not if it is only the end of a
// count, `i < *end`, which comes by itself. Where all threads of the warp
// load from one address they leave together; then, and for threads that never came to the loop, it
// matters whether those outside may write what is waited for. docs/synchronization.md has the
// limits of this.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseSet.h"

namespace llvm {
class BasicBlock;
}

namespace rubia::lowering {

class FunctionLowering;

/// The instructions that may release what an atomic operation of the function takes, by index: a
/// block of its own has to follow each.
llvm::DenseSet<uint32_t> possibleReleases(const ptx::Function &function);

/// To be called when the body is complete. `starts`: the block that each instruction begins in;
/// `released`: the block that follows each of possibleReleases().
void treatSpinLoops(FunctionLowering &fn, llvm::ArrayRef<llvm::BasicBlock *> starts,
                    const llvm::DenseMap<uint32_t, llvm::BasicBlock *> &released);

} // namespace rubia::lowering
