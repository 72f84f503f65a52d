// SPDX-License-Identifier: Apache-2.0
// Loops within loops, where threads meet in the outer one behind the inner one:
//
//   L: ...; @p bra L; bar.sync 0; ...; @q bra L;
//
// The threads of a warp come to the barrier together (Uniformity.h): who is through with the inner
// loop waits there for the others. To LLVM both branches back are ways round of one loop, of which
// each lane takes its own in each round, so that some pass the barrier while others are still in
// the inner loop. Hence an outer loop gets a header of its own, with a convergent operation, which
// keeps the optimiser from merging it with that of the inner loop. Which loops that is done to is
// found by analysis/SharedHeaders.h.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/DenseMap.h"

namespace llvm {
class BasicBlock;
}

namespace rubia::lowering {

class FunctionLowering;
struct ControlFlowGraph;

/// To be called when the body is complete. `starts`: the block that each instruction begins in.
/// Returns the headers that were added, by their block of the graph, which gets them too.
llvm::DenseMap<uint32_t, llvm::BasicBlock *>
keepLoopsApart(FunctionLowering &fn, llvm::ArrayRef<llvm::BasicBlock *> starts,
               ControlFlowGraph &graph);

} // namespace rubia::lowering
