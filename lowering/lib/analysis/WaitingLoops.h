// SPDX-License-Identifier: Apache-2.0
// Does a loop wait for somebody? Two things depend on it, and each wants another strength.
//
// For another warp, asked before two warps share a wave, which cannot wait for each other: an exit
// depends on a value that the loop itself reads with a volatile or atomic access, so that another
// warp may have to write it first. What it reads may go through functions and memory, and a plain
// load counts too where the loop has a fence or an atomic operation: when in doubt, it waits. A
// loop in which the whole CTA meets at a barrier each round hands on through memory what it likes:
// at a barrier no warp of a wave waits for the other alone.
//
// For a thread of its own warp, asked by transform/SpinLoops.h: an exit depends on what the loop
// reads so at an address that stays the same, and threads that are not in the loop (any more) may
// have to write there. Where all threads of the warp read at one address they leave together; then
// it matters whether threads that went another way before the loop may write there. A loop that is
// found wrongly costs instructions, one that is missed hangs as it does without treatment.
//
// Neither takes it for waiting that a compare-and-swap is repeated until the old value is what it
// was computed from, and the second not that a count comes to its end, `i < *end` (LoopValues.h).
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace rubia::lowering {

// ---------- For another warp

struct WaitingLoop {
  const ptx::Function *function;
  const ptx::Instruction *exit; // leaves the loop
  const ptx::Instruction *read; // what it depends on
};

/// The first one in a unit. `addressTaken`: functions that calls through an address may reach.
std::optional<WaitingLoop>
findWaitingLoop(const Unit &unit, const llvm::DenseSet<const ptx::Function *> &addressTaken);

// ---------- For the own warp

/// Instructions are indexes into the body.
struct OwnWarpWait {
  uint32_t header = 0; // a block of the graph
  uint32_t poll = 0;   // what is waited with
  uint32_t first = 0;  // of the loop's code in one piece before the poll
  /// Branches before the loop of which one way leads to it, and another one to where what is waited
  /// for may be written, without coming to the loop or to where all meet.
  llvm::SmallVector<uint32_t> answered;

  /// What the loop waits for is a lock that it also releases itself; what leaves it:
  bool releasesInside = false;
  llvm::SmallVector<uint32_t> exits;
  /// Or a lock that is released after the loop, always by this instruction, and nothing between is
  /// for all.
  std::optional<uint32_t> release;
};

/// What the function's unit says about calls.
struct CallFacts {
  bool mayMeet; // whoever is called may come to a barrier
  llvm::function_ref<bool(const ptx::Instruction &)> mayExit;
};

/// The instructions that may release what an atomic operation of the function takes.
llvm::DenseSet<uint32_t> possibleReleases(const ptx::Function &function);

/// In the order in which they are to be treated: the innermost first. A block of the graph ends
/// behind each of possibleReleases(). The graph follows the treatment: a loop whose lock is kept
/// until its release goes on to there, and one that is watched may end the kernel. In what order
/// the ways of a branch are executed is not followed: who answers whom is as the program has it.
std::vector<OwnWarpWait> findOwnWarpWaits(const ptx::Function &function, ControlFlowGraph &graph,
                                          const CallFacts &calls);

} // namespace rubia::lowering
