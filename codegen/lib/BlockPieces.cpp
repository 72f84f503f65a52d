// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/BlockPieces.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/Instructions.h"

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kMost = 100; // instructions

/// The block that is left to divide, null if it is short enough.
BasicBlock *divide(BasicBlock &block) {
  unsigned length = 0;
  for (Instruction &inst : block)
    if (!isa<PHINode>(inst) && ++length > kMost && !inst.isTerminator())
      return block.splitBasicBlock(&inst);
  return nullptr;
}

} // namespace

PreservedAnalyses DivideBlocksPass::run(Function &function, FunctionAnalysisManager &) {
  bool isChanged = false;
  for (BasicBlock &block : make_early_inc_range(function))
    for (BasicBlock *rest = divide(block); rest; rest = divide(*rest))
      isChanged = true;
  return isChanged ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace rubia::codegen
