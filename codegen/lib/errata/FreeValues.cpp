// SPDX-License-Identifier: Apache-2.0
// Before LLVM makes control flow structured, it moves a value that costs nothing (a cast, an
// element of a vector) out of the block before a phi, up to where its block and the other branch
// part. Then it makes it what another phi has on an edge that had no value. Where the block can be
// reached on several ways, that other phi may have the value of a branch that was not taken
// (docs/errata.md).
//
// It moves what stands in the block before the phi alone. So such values are moved up here, to the
// block that dominates theirs: they are the same there, and LLVM leaves them and the phi alone.
// LLVM's own mend is for phis of more than two edges, but two are enough to go wrong.
#include "codegen/lib/errata/FreeValues.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/Pass.h"

using namespace llvm;

namespace rubia::codegen {

namespace {

/// By whatever measure: the one that LLVM asks may change.
bool isFree(const Instruction &inst, const TargetTransformInfo &costs) {
  constexpr TargetTransformInfo::TargetCostKind kMeasures[] = {
      TargetTransformInfo::TCK_RecipThroughput, TargetTransformInfo::TCK_Latency,
      TargetTransformInfo::TCK_CodeSize, TargetTransformInfo::TCK_SizeAndLatency};
  return any_of(kMeasures, [&](TargetTransformInfo::TargetCostKind measure) {
    return costs.getInstructionCost(&inst, measure) == TargetTransformInfo::TCC_Free;
  });
}

/// Of a block before a phi, and computed from what stands before the block.
bool isMoved(const Instruction &inst, const BasicBlock &block, const TargetTransformInfo &costs) {
  return inst.getParent() == &block && !isa<PHINode>(inst) && isFree(inst, costs) &&
         isSafeToSpeculativelyExecute(&inst) && none_of(inst.operands(), [&](const Use &use) {
           const auto *operand = dyn_cast<Instruction>(use.get());
           return operand && operand->getParent() == &block;
         });
}

class FreeValues : public FunctionPass {
public:
  static char ID;
  FreeValues() : FunctionPass(ID) {}
  StringRef getPassName() const override { return "Rubia Free Values"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.addRequired<DominatorTreeWrapperPass>();
    usage.addRequired<TargetTransformInfoWrapperPass>();
    usage.setPreservesCFG();
  }
  bool runOnFunction(Function &function) override;
};

char FreeValues::ID = 0;

bool FreeValues::runOnFunction(Function &function) {
  const auto &dominators = getAnalysis<DominatorTreeWrapperPass>().getDomTree();
  const TargetTransformInfo &costs = getAnalysis<TargetTransformInfoWrapperPass>().getTTI(function);
  SmallVector<PHINode *> phis;
  for (BasicBlock &block : function)
    for (PHINode &phi : block.phis())
      phis.push_back(&phi);
  bool isChanged = false, isAgain = true; // what was moved lets others of its block move
  while (std::exchange(isAgain, false))
    for (PHINode *phi : phis)
      for (const auto &[value, block] : zip(phi->incoming_values(), phi->blocks())) {
        auto *inst = dyn_cast<Instruction>(value.get());
        const DomTreeNode *node = dominators.getNode(block);
        if (!inst || !node || !node->getIDom() || !isMoved(*inst, *block, costs))
          continue;
        inst->moveBefore(node->getIDom()->getBlock()->getTerminator()->getIterator());
        isChanged = isAgain = true;
      }
  return isChanged;
}

} // namespace

Pass *makeFreeValues() { return new FreeValues; }

} // namespace rubia::codegen
