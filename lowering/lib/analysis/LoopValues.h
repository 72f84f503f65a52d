// SPDX-License-Identifier: Apache-2.0
// What the values in one loop are to it: for every analysis that asks what a loop waits for, so
// that all of them mean the same by a count and by a compare-and-swap that is tried again.
#pragma once

#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "llvm/ADT/DenseMap.h"

namespace rubia::lowering {

class LoopValues {
public:
  LoopValues(const ptx::Function &function, const Definitions &definitions,
             const ControlFlowGraph &graph, const ControlFlowGraph::Loop &loop);

  const ptx::Function &function;
  const Definitions &definitions;
  const ControlFlowGraph &graph;
  const ControlFlowGraph::Loop &loop;
  llvm::BitVector blocks, instructions; // of the loop

  bool isIn(uint32_t instruction) const {
    return instruction < instructions.size() && instructions.test(instruction);
  }

  /// Whether an operand has the same value in every round.
  bool isFixed(const ptx::Operand &operand) const;

  /// Whether an instruction asks if a count has come to its end. A thread that waits for nothing
  /// else is through some time, whatever the end that it reads each round.
  bool isEndOfCount(const ptx::Instruction &instruction) const;

  /// Whether an instruction asks if a compare-and-swap has to be tried again: setp.eq/ne of its old
  /// value and of the value that it was compared with, which is the old value of the round before,
  /// or loaded anew from the same place. That waits for nobody: there is another round only after
  /// somebody else has got through.
  bool isRetry(const ptx::Instruction &instruction) const;

  /// The blocks of the loop that decide whether a round comes to one of it, by another branch than
  /// one that leaves the loop.
  llvm::ArrayRef<uint32_t> decidersOf(uint32_t block) const;

private:
  llvm::BitVector blocksBefore(llvm::ArrayRef<uint32_t> ends, uint32_t without) const;
  bool isFixed(ptx::RegisterId reg, unsigned depth) const;
  bool isCount(const ptx::Operand &operand) const;
  const ptx::Instruction *onlyWriterInLoop(ptx::RegisterId reg) const;
  bool isPassedEachRound(uint32_t instruction) const;
  ptx::RegisterId originOf(ptx::RegisterId reg) const;
  bool isCopyOfOld(const ptx::Instruction &swap) const;
  bool isRenewed(const ptx::Instruction &swap) const;

  mutable llvm::DenseMap<uint32_t, llvm::SmallVector<uint32_t>> deciders; // that were asked for
  mutable std::optional<llvm::SmallVector<uint32_t>> swaps; // all compare-and-swaps of the loop
};

} // namespace rubia::lowering
