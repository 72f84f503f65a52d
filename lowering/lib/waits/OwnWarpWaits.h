// SPDX-License-Identifier: Apache-2.0
// Does a loop wait for a thread of its own warp, and what is to be done about it? Asked by
// transform/SpinLoops.h: an exit depends on what the loop reads with a volatile or atomic access,
// at an address that stays the same, and threads that are not in the loop (any more) may have to
// write there. Where all threads of the warp read at one address they leave together; then it
// matters whether threads that went another way before the loop may write there. A loop that is
// found wrongly costs instructions, one that is missed hangs as it does without treatment.
#pragma once

#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <optional>

namespace rubia::lowering {

class WaitFacts;

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

/// What the function's unit says about calls and branches.
struct CallFacts {
  bool mayMeet; // whoever is called may come to a barrier
  llvm::function_ref<bool(const ptx::Instruction &)> mayExit;
  /// Whether a branch may divide a warp, as far as is known without proof (Group::RowWarp).
  llvm::function_ref<bool(uint32_t branch)> mayDivide;
};

/// Loops that wait for threads of their own warp which have left them, or wait in another one of
/// them: for what follows, up to the last instruction that may answer. All of a warp go on there
/// in turns: who comes round lets the others go on first.
struct OwnWarpTurns {
  std::vector<OwnWarpWait> waits;
  /// Of the graph: the loops, and what follows. Nothing there is for all of a warp.
  llvm::BitVector blocks;
  /// Where the rounds of the waits begin, in their order, and of other loops that these are in.
  llvm::SmallVector<uint32_t> headers;
  /// The blocks of the waits' loops, in their order.
  std::vector<llvm::BitVector> rounds;
};

/// In a graph whose blocks end behind each of possibleReleases() and findWaits().
std::vector<OwnWarpTurns> findOwnWarpTurns(const WaitFacts &facts, const ControlFlowGraph &graph);

struct FoundWaits {
  bool any = false;              // loops that wait, for whomever
  llvm::DenseSet<uint32_t> ends; // if some wait in turns: the instructions that may answer
};
FoundWaits findWaits(const WaitFacts &facts);

/// The instructions that may release what an atomic operation of the function takes.
llvm::DenseSet<uint32_t> possibleReleases(const ptx::Function &function);

/// In the order in which they are to be treated: the innermost first. A block of the graph ends
/// behind each of possibleReleases(). The graph follows the treatment: a loop whose lock is kept
/// until its release goes on to there, and one that is watched may end the kernel. In what order
/// the ways of a branch are executed is not followed: who answers whom is as the program has it.
/// `done`: instructions whose loops are treated already.
std::vector<OwnWarpWait> findOwnWarpWaits(const WaitFacts &facts, ControlFlowGraph &graph,
                                          const llvm::BitVector &done);

} // namespace rubia::lowering
