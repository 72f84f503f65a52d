// SPDX-License-Identifier: Apache-2.0
#include "codegen/lib/fragments/Context.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"

using namespace llvm;

namespace rubia::codegen::fragments {

namespace {

DenseSet<BasicBlock *> dividedBlocks(Function &function, UniformityInfo &uniformity,
                                     const PostDominatorTree &postDominators) {
  DenseSet<BasicBlock *> divided;
  for (BasicBlock &block : function) {
    if (!uniformity.hasDivergentTerminator(block))
      continue;
    // What lies between the branch and the block where all its ways meet.
    auto *node = postDominators.getNode(&block);
    BasicBlock *meeting = node && node->getIDom() ? node->getIDom()->getBlock() : nullptr;
    SmallVector<BasicBlock *> worklist(successors(&block));
    DenseSet<BasicBlock *> seen;
    while (!worklist.empty()) {
      BasicBlock *next = worklist.pop_back_val();
      if (next == meeting || !seen.insert(next).second)
        continue;
      divided.insert(next);
      append_range(worklist, successors(next));
    }
  }
  return divided;
}

} // namespace

Context::Context(Function &function, FunctionAnalysisManager &analyses)
    : function(function), module(*function.getParent()),
      uniformity(analyses.getResult<UniformityInfoAnalysis>(function)),
      dominators(analyses.getResult<DominatorTreeAnalysis>(function)),
      loops(analyses.getResult<LoopAnalysis>(function)),
      divided(dividedBlocks(function, uniformity,
                            analyses.getResult<PostDominatorTreeAnalysis>(function))) {}

bool Context::isDivided(BasicBlock *block) const {
  return divided.contains(block) ||
         any_of(predecessors(block), [&](BasicBlock *from) { return divided.contains(from); });
}

Function *Context::called(const Twine &name) const {
  SmallString<64> buffer;
  Function *found = module.getFunction(name.toStringRef(buffer));
  assert(found && "lowering makes all of them");
  return found;
}

StringRef calleeOf(const Instruction &inst) {
  const auto *call = dyn_cast<CallInst>(&inst);
  Function *callee = call ? call->getCalledFunction() : nullptr;
  return callee ? callee->getName() : StringRef();
}

Native split(IRBuilder<> &b, Value *structure) {
  Native native;
  for (unsigned i = 0; i < structure->getType()->getStructNumElements(); ++i)
    native.push_back(b.CreateExtractValue(structure, i));
  return native;
}

} // namespace rubia::codegen::fragments
