// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/BlockPieces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kMost = 100; // instructions

/// Whether the block was too long.
bool divide(BasicBlock &block) {
  SmallVector<Instruction *> firsts;
  unsigned length = 0;
  for (Instruction &inst : block)
    if (!isa<PHINode>(inst) && ++length > kMost && !inst.isTerminator()) {
      firsts.push_back(&inst);
      length = 1;
    }
  for (Instruction *first : reverse(firsts)) // a division moves all that is behind it
    block.splitBasicBlock(first);
  return !firsts.empty();
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
