// SPDX-License-Identifier: Apache-2.0
// The ways that the threads of a warp take from a branch, each without coming to it again.
#pragma once

#include "lowering/lib/analysis/ControlFlowGraph.h"

namespace rubia::lowering {

class BranchWays {
public:
  BranchWays(const ptx::Function &function, const ControlFlowGraph &graph, uint32_t branch);

  /// Whether a way leads to one block, and not to another.
  bool oneLeadsOnlyTo(uint32_t block, uint32_t other) const;

  /// Whether those who are on one of two ways, and wait there in a loop that the other one does not
  /// lead to, wait in vain for those on the other one: these cannot go first, since they have no
  /// way of their own with the answers, and to where both meet (letAnswersGoFirst() of
  /// transform/SpinLoops.cpp). `answers`: blocks.
  bool keepBothWaiting(uint32_t header, const llvm::BitVector &answers) const;

private:
  llvm::SmallVector<uint32_t, 2> nextOf(uint32_t block) const;
  bool mayGoFirst(unsigned way, const llvm::BitVector &answers) const;

  const ptx::Function &function;
  const ControlFlowGraph &graph;
  const uint32_t from;
  std::vector<llvm::BitVector> reached; // by each way
};

} // namespace rubia::lowering
