// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/MeetingLoops.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

using Blocks = SmallSetVector<BasicBlock *, 16>;

// What ways from (or to) a block come to within some blocks.
template <typename Next> Blocks reached(BasicBlock *from, const Blocks &within, Next next) {
  Blocks found;
  SmallVector<BasicBlock *> open(next(from));
  while (!open.empty()) {
    BasicBlock *block = open.pop_back_val();
    if (within.contains(block) && found.insert(block))
      append_range(open, next(block));
  }
  return found;
}

class LoopJoiner {
public:
  explicit LoopJoiner(FunctionLowering &fn) : fn(fn) {}

  // Of the loops that lie within some blocks.
  void join(ArrayRef<BasicBlock *> meetings, const Blocks &within) {
    Blocks left(meetings.begin(), meetings.end());
    while (!left.empty()) {
      BasicBlock *meeting = left.front();
      left.remove(meeting);
      Blocks loop = reached(meeting, within, [](BasicBlock *block) { return successors(block); });
      const Blocks before =
          reached(meeting, within, [](BasicBlock *block) { return predecessors(block); });
      loop.remove_if([&](const BasicBlock *block) { return !before.contains(block); });
      if (loop.empty())
        continue;
      SmallVector<BasicBlock *> inside;
      copy_if(meetings, std::back_inserter(inside),
              [&](BasicBlock *block) { return loop.contains(block); });
      for (BasicBlock *block : inside)
        left.remove(block);
      // Loops within it do not go through its entry.
      Blocks inner = loop;
      if (BasicBlock *entry = onlyEntry(loop))
        inner.remove(entry);
      join(inside, inner);
    }
  }

private:
  // Makes one if there are several, and then gives null: it is none of the blocks.
  BasicBlock *onlyEntry(const Blocks &loop) {
    SmallVector<BasicBlock *> entries;
    copy_if(loop, std::back_inserter(entries), [&](BasicBlock *block) {
      return any_of(predecessors(block),
                    [&](BasicBlock *before) { return !loop.contains(before); });
    });
    if (entries.size() < 2)
      return entries.empty() ? nullptr : entries.front();
    AllocaInst *to = fn.newSlot(fn.builder().getInt32Ty());
    BasicBlock *header = fn.newBlock("meeting.loop");
    IRBuilder<> b(header);
    b.SetCurrentDebugLocation(entries.front()->getTerminator()->getDebugLoc());
    // Keeps the optimiser from going round it.
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
    SwitchInst *ways = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), to), entries.front());
    for (auto [number, entry] : enumerate(entries)) {
      const Blocks before(pred_begin(entry), pred_end(entry));
      for (BasicBlock *block : before) {
        if (block == header)
          continue;
        BasicBlock *edge = fn.newBlock("meeting.entry");
        block->getTerminator()->replaceSuccessorWith(entry, edge);
        b.SetInsertPoint(edge);
        b.CreateStore(b.getInt32(uint32_t(number)), to);
        b.CreateBr(header);
      }
      if (number)
        ways->addCase(b.getInt32(uint32_t(number)), entry);
    }
    return nullptr;
  }

  FunctionLowering &fn;
};

} // namespace

void joinLoopsOfMeetings(FunctionLowering &fn, ArrayRef<BasicBlock *> meetings) {
  if (meetings.empty())
    return;
  Blocks all;
  for (BasicBlock &block : fn.llvmFunction())
    all.insert(&block);
  LoopJoiner(fn).join(meetings, all);
}

} // namespace rubia::lowering
