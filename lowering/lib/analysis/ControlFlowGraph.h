// SPDX-License-Identifier: Apache-2.0
// The basic blocks of a PTX function, for what has to be known of the program as it was written:
// which blocks a branch decides about, and what its loops are. Every analysis that asks for loops
// asks here.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace rubia::lowering {

struct ControlFlowGraph {
  /// `lasts`: instructions that end their block too.
  explicit ControlFlowGraph(const ptx::Function &function,
                            const llvm::DenseSet<uint32_t> &lasts = {});

  struct Block {
    uint32_t first, end; // instructions
    llvm::SmallVector<uint32_t, 2> successors;

    /// The instruction that decides which successor it is.
    uint32_t branch() const { return end - 1; }
    bool decides() const { return successors.size() > 1; }
  };
  /// In the order of the text, then two without instructions: what follows when the function has
  /// returned, and when the thread has ended. Of a kernel that is the same. Last come those that
  /// were added.
  std::vector<Block> blocks;
  uint32_t entry = 0;
  uint32_t returned() const { return numCodeBlocks; }
  uint32_t ended() const { return numCodeBlocks + 1; }
  uint32_t codeBlocks() const { return numCodeBlocks; }
  /// The block that an instruction is in.
  uint32_t blockOf(uint32_t instruction) const;

  /// Adds a block without instructions that the edges from some blocks to another one go through,
  /// and, if that is the entry and `enters`, the way into the function too.
  uint32_t addBlock(llvm::ArrayRef<uint32_t> from, uint32_t to, bool enters = false);

  /// The blocks that ways from a block come to, itself too. None goes through `without`.
  llvm::BitVector reachedFrom(uint32_t block, uint32_t without) const;

  /// The block that all paths from a block meet first, for each block.
  std::vector<uint32_t> immediatePostDominators() const;

  /// Calls visit(block) for the blocks that a deciding block decides about: those that some paths
  /// from it pass before all of them meet again.
  template <typename Visit>
  void forEachDecided(uint32_t block, llvm::ArrayRef<uint32_t> postDominators, Visit visit) const {
    llvm::BitVector seen(unsigned(blocks.size()));
    llvm::SmallVector<uint32_t> open(llvm::ArrayRef<uint32_t>(blocks[block].successors));
    while (!open.empty()) {
      uint32_t next = open.pop_back_val();
      if (next == postDominators[block] || next >= codeBlocks() || seen.test(next))
        continue;
      seen.set(next);
      visit(next);
      open.append(blocks[next].successors);
    }
  }

  struct Loop {
    uint32_t header;
    llvm::SmallVector<uint32_t> latches; // blocks with an edge back to the header
    llvm::SmallVector<uint32_t> blocks;  // the header too
    bool hasOneEntry = true;
  };
  /// One for each edge backwards, and one of all edges back to one block: whether those are loops
  /// within each other, or ways round of one, the edges do not say.
  std::vector<Loop> loops() const;

  /// The loops with one entry, as LLVM sees them: all edges back to one block make one loop. In the
  /// order of their first edges back.
  std::vector<Loop> naturalLoops() const;
  /// The loop that some of the edges back of such a loop make.
  Loop loopOf(uint32_t header, llvm::ArrayRef<uint32_t> latches) const;

private:
  struct BackEdges;
  BackEdges findBackEdges() const;

  uint32_t numCodeBlocks;
};

} // namespace rubia::lowering
