// SPDX-License-Identifier: Apache-2.0
// Which blocks of a function all ways to another block lead through, and its loops.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <vector>

namespace rubia::codegen {

class Dominators {
public:
  /// Of each block; the function begins with the first.
  explicit Dominators(llvm::ArrayRef<llvm::SmallVector<size_t, 2>> successors);

  /// The last block that all ways to a block lead through, but for loops that have ended there: the
  /// last one in front of them. None for the first block, and for what is never reached.
  std::optional<size_t> beforeBranchOrLoop(size_t block) const;

private:
  void findOrder(llvm::ArrayRef<llvm::SmallVector<size_t, 2>> successors);
  void findDominators();
  void findLoops();
  bool dominates(size_t a, size_t b) const;
  size_t common(size_t a, size_t b) const;

  std::vector<size_t> order;     ///< every block behind those that dominate it
  std::vector<size_t> place;     ///< in that order; kNone: never reached
  std::vector<size_t> dominator; ///< the last one, of each block
  std::vector<llvm::SmallVector<size_t>> predecessors;
  struct Loop {
    size_t header;
    std::vector<bool> blocks;
  };
  std::vector<Loop> loops;
};

} // namespace rubia::codegen
