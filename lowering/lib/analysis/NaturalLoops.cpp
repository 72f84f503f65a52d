// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/NaturalLoops.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/CFG.h"

using namespace llvm;

namespace rubia::lowering {

NaturalLoop loopOf(BasicBlock *header, const BlockSet &latches, const DominatorTree &tree) {
  NaturalLoop loop{header, latches, latches};
  loop.body.insert(header);
  for (size_t i = 0; i < loop.body.size(); ++i)
    if (loop.body[i] != header)
      for (BasicBlock *before : predecessors(loop.body[i]))
        if (tree.isReachableFromEntry(before))
          loop.body.insert(before);
  return loop;
}

std::vector<NaturalLoop> naturalLoops(Function &function, const DominatorTree &tree) {
  MapVector<BasicBlock *, BlockSet> latches;
  for (BasicBlock &block : function)
    if (tree.isReachableFromEntry(&block))
      for (BasicBlock *successor : successors(&block))
        if (tree.dominates(successor, &block))
          latches[successor].insert(&block);
  std::vector<NaturalLoop> loops;
  for (const auto &[header, back] : latches)
    loops.push_back(loopOf(header, back, tree));
  return loops;
}

} // namespace rubia::lowering
