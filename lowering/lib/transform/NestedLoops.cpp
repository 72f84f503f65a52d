// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/NestedLoops.h"
#include "lowering/lib/analysis/SharedHeaders.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

class NestedLoops {
public:
  NestedLoops(FunctionLowering &fn, ArrayRef<BasicBlock *> starts, const ControlFlowGraph &graph)
      : fn(fn), starts(starts), graph(graph) {
    for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
      for (uint32_t index = graph.blocks[block].first; index < graph.blocks[block].end; ++index)
        blockOf[starts[index]] = block;
  }

  void split(const SharedHeader &loops) {
    BasicBlock *inner = headerAt(loops.header);
    BasicBlock *outer = added[loops.outer] = fn.newBlock("outer");
    blockOf[outer] = loops.outer;
    outer->moveBefore(inner);
    SmallVector<BasicBlock *> before(predecessors(inner));
    for (BasicBlock *block : before)
      if (!is_contained(loops.innerLatches, origin(block)))
        block->getTerminator()->replaceSuccessorWith(inner, outer);
    IRBuilder<> b(outer);
    b.SetCurrentDebugLocation(inner->getTerminator()->getDebugLoc());
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
    b.CreateBr(inner);
  }

  DenseMap<uint32_t, BasicBlock *> added; // headers, by block of the graph

private:
  BasicBlock *headerAt(uint32_t block) const {
    return block < graph.codeBlocks() ? starts[graph.blocks[block].first] : added.lookup(block);
  }

  // The block of the graph that a block of LLVM's was made for. An instruction may have several,
  // all behind the one that it begins in; none: it is before the first instruction.
  uint32_t origin(BasicBlock *block) const {
    SmallSetVector<BasicBlock *, 8> before;
    before.insert(block);
    for (size_t i = 0; i < before.size(); ++i) {
      if (auto found = blockOf.find(before[i]); found != blockOf.end())
        return found->second;
      before.insert(pred_begin(before[i]), pred_end(before[i]));
    }
    return ptx::kNone;
  }

  FunctionLowering &fn;
  ArrayRef<BasicBlock *> starts;
  const ControlFlowGraph &graph;
  DenseMap<BasicBlock *, uint32_t> blockOf;
};

} // namespace

DenseMap<uint32_t, BasicBlock *> keepLoopsApart(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
                                                ControlFlowGraph &graph) {
  std::vector<SharedHeader> shared =
      splitSharedHeaders(fn.ptxFunction(), fn.unit().calledMeeting, graph);
  if (shared.empty())
    return DenseMap<uint32_t, BasicBlock *>();
  NestedLoops loops(fn, starts, graph);
  for (const SharedHeader &header : shared)
    loops.split(header);
  return std::move(loops.added);
}

} // namespace rubia::lowering
