// SPDX-License-Identifier: Apache-2.0
// For each access that it makes, the vectorizer numbers all instructions of the block again. Of one
// block of 128,000 instructions that is 30 % of the time. So long blocks are divided for it, and
// joined behind it: two accesses of different pieces stay apart.
#include "codegen/lib/speed/PiecewiseVectorizer.h"
#include "codegen/lib/BlockPieces.h"
#include "llvm/Analysis/DomTreeUpdater.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/LegacyPassManagers.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include <memory>

using namespace llvm;

namespace rubia::codegen {
namespace {

constexpr unsigned kMost = 4'000; // instructions

class PiecewiseVectorizer : public FunctionPass {
public:
  static char ID;
  explicit PiecewiseVectorizer(FunctionPass *pass) : FunctionPass(ID), pass(pass) {}

  StringRef getPassName() const override { return "Rubia Piecewise Vectorizer"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { pass->getAnalysisUsage(usage); }

  bool runOnFunction(Function &function) override {
    PMDataManager &manager = getResolver()->getPMDataManager();
    if (!pass->getResolver())
      pass->setResolver(new AnalysisResolver(manager)); // the pass owns it
    pass->getResolver()->clearAnalysisImpls();
    manager.initializeAnalysisImpl(pass.get());

    DominatorTree &dominators = getAnalysis<DominatorTreeWrapperPass>().getDomTree();
    auto *loopPass = getAnalysisIfAvailable<LoopInfoWrapperPass>();
    LoopInfo *loops = loopPass ? &loopPass->getLoopInfo() : nullptr;
    SmallVector<BasicBlock *> pieces;
    for (BasicBlock &block : make_early_inc_range(function))
      for (Instruction *start : pieceStarts(block, kMost))
        pieces.push_back(SplitBlock(&block, start, &dominators, loops));
    const bool isChanged = pass->runOnFunction(function);
    DomTreeUpdater updater(dominators, DomTreeUpdater::UpdateStrategy::Eager);
    for (BasicBlock *piece : pieces)
      MergeBlockIntoPredecessor(piece, &updater, loops);
    return isChanged || !pieces.empty();
  }

private:
  std::unique_ptr<FunctionPass> pass;
};

char PiecewiseVectorizer::ID = 0;

} // namespace

Pass *makePiecewiseVectorizer(Pass *pass) {
  return new PiecewiseVectorizer(static_cast<FunctionPass *>(pass));
}

} // namespace rubia::codegen
