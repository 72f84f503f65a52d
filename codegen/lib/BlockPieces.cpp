// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/BlockPieces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace rubia::codegen {

SmallVector<Instruction *> pieceStarts(BasicBlock &block, unsigned most) {
  SmallVector<Instruction *> starts;
  unsigned length = 0;
  for (Instruction &inst : block)
    if (!isa<PHINode>(inst) && ++length > most && !inst.isTerminator()) {
      starts.push_back(&inst);
      length = 1;
    }
  std::reverse(starts.begin(), starts.end());
  return starts;
}

namespace {

constexpr unsigned kMost = 100; // instructions

/// Whether the block was too long.
bool divide(BasicBlock &block) {
  const SmallVector<Instruction *> starts = pieceStarts(block, kMost);
  for (Instruction *start : starts)
    block.splitBasicBlock(start);
  return !starts.empty();
}

} // namespace

PreservedAnalyses DivideBlocksPass::run(Function &function, FunctionAnalysisManager &) {
  bool isChanged = false;
  for (BasicBlock &block : make_early_inc_range(function))
    isChanged |= divide(block);
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

PreservedAnalyses JoinBlocksPass::run(Function &function, FunctionAnalysisManager &) {
  bool isChanged = false;
  for (BasicBlock &block : make_early_inc_range(function))
    isChanged |= MergeBlockIntoPredecessor(&block);
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace rubia::codegen
