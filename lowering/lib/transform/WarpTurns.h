// SPDX-License-Identifier: Apache-2.0
// Loops that the threads of a warp wait in by turns (OwnWarpTurns of waits/OwnWarpWaits.h).
//
// All of a warp that are in such loops, or in what follows up to the last answer, are in one loop.
// A round of it is their turn: each goes on until it comes to the beginning of a round of a waiting
// loop, or is through. So whoever waits lets the others go on, wherever they are.
//
//   enter --> turn --(where each is)--> the code --> again --> turn
//              |                                       |
//              +--> left, when all are through         +--> stuck
//
// Rounds are counted in which nobody gets on, while some are through or wait in another loop.
#pragma once

#include "lowering/lib/waits/OwnWarpWaits.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
} // namespace llvm

namespace rubia::lowering {

class FunctionLowering;

/// Gives the block through which all come there, and changes the graph likewise; null: what the
/// function was lowered to does not allow it, and nothing is changed. `starts`, `headers` and
/// `leave` are those of treatSpinLoops(), `names` what each wait is in a report.
llvm::BasicBlock *takeTurns(FunctionLowering &fn, llvm::ArrayRef<llvm::BasicBlock *> starts,
                            const llvm::DenseMap<uint32_t, llvm::BasicBlock *> &headers,
                            const llvm::BasicBlock *leave, ControlFlowGraph &graph,
                            const OwnWarpTurns &turns, llvm::ArrayRef<std::string> names);

} // namespace rubia::lowering
