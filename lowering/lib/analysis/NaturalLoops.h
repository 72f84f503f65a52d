// SPDX-License-Identifier: Apache-2.0
// The natural loops of a function while it is lowered.
#pragma once

#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Dominators.h"
#include <vector>

namespace rubia::lowering {

using BlockSet = llvm::SmallSetVector<llvm::BasicBlock *, 8>;

struct NaturalLoop {
  llvm::BasicBlock *header;
  BlockSet latches, body;
};

/// The loop of some of the blocks that jump back to a header.
NaturalLoop loopOf(llvm::BasicBlock *header, const BlockSet &latches,
                   const llvm::DominatorTree &tree);

/// All loops, each with all that jump back to its header.
std::vector<NaturalLoop> naturalLoops(llvm::Function &function, const llvm::DominatorTree &tree);

} // namespace rubia::lowering
