// SPDX-License-Identifier: Apache-2.0
// A loop with several entries gets a block in front, through which the ways to all entries lead
// that come from outside, and those within to one of them, the header. Phis move to that block with
// the values of all blocks that lead there. A block within may branch to the header and to another
// entry: its way to the latter stays, but LLVM takes that entry's value for it away as well. It is
// undefined from then on (docs/errata.md).
//
// A block that ends with a jump has one way only. So every edge of such a loop that leaves a branch
// and meets others gets a block.
//
// The phis that were moved are undefined on the ways to other entries. LLVM takes a phi of one
// uniform value, and of undefined ones, for uniform: it lies in a scalar register. Lanes that come
// on another way later may use that register for something else, which those that wait for them at
// the phi then find there. So all edges get a value.
#include "codegen/lib/errata/LoopEntries.h"
#include "llvm/ADT/DepthFirstIterator.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

bool hasSeveralEntries(Cycle &cycle) {
  return any_of(depth_first(&cycle), [](const Cycle *inner) { return !inner->isReducible(); });
}

constexpr StringLiteral kAttribute = "rubia-loops-of-several-entries";

class LoopEntries : public FunctionPass {
public:
  static char ID;
  LoopEntries() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Loop Entries"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<DominatorTreeWrapperPass>();
    usage.addRequired<CycleInfoWrapperPass>();
    usage.addPreserved<DominatorTreeWrapperPass>();
    usage.addPreserved<CycleInfoWrapperPass>();
    usage.addPreserved<LoopInfoWrapperPass>();
  }
  bool runOnFunction(Function &function) override;
};

char LoopEntries::ID = 0;

bool LoopEntries::runOnFunction(Function &function) {
  CycleInfo &cycles = getAnalysis<CycleInfoWrapperPass>().getResult();
  SmallVector<BasicBlock *> blocks;
  for (Cycle *cycle : cycles.toplevel_cycles())
    if (hasSeveralEntries(*cycle))
      append_range(blocks, cycle->blocks());
  if (!blocks.empty())
    function.addFnAttr(kAttribute);
  auto *loops = getAnalysisIfAvailable<LoopInfoWrapperPass>();
  const CriticalEdgeSplittingOptions options(&getAnalysis<DominatorTreeWrapperPass>().getDomTree(),
                                             loops ? &loops->getLoopInfo() : nullptr);
  bool isChanged = false;
  for (BasicBlock *block : blocks)
    for (unsigned i = 0; i != block->getTerminator()->getNumSuccessors(); ++i)
      isChanged |= SplitCriticalEdge(block->getTerminator(), i, options) != nullptr;
  if (isChanged) {
    cycles.clear();
    cycles.compute(function);
  }
  return isChanged;
}

class WholePhis : public FunctionPass {
public:
  static char ID;
  WholePhis() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Whole Phis"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override { usage.setPreservesCFG(); }

  bool runOnFunction(Function &function) override {
    if (!function.hasFnAttribute(kAttribute))
      return false;
    function.removeFnAttr(kAttribute);
    for (BasicBlock &block : function)
      for (PHINode &phi : block.phis())
        for (Use &value : phi.incoming_values())
          if (isa<UndefValue>(value))
            value = Constant::getNullValue(phi.getType());
    return true;
  }
};

char WholePhis::ID = 0;

} // namespace

Pass *makeLoopEntries() { return new LoopEntries; }
Pass *makeWholePhis() { return new WholePhis; }

} // namespace rubia::codegen
