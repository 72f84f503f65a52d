// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/NestedLoops.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/NaturalLoops.h"
#include "lowering/lib/analysis/ThreadFacts.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

// The threads who all take part in an instruction: those of a warp or of the CTA, if any. Of a
// call, that of what is called: `called`.
std::optional<Group> whoMeet(const ptx::Instruction &instruction, const Definitions &definitions,
                             std::optional<Group> called) {
  if (does(instruction, effects::Calls))
    return called;
  if (does(instruction, effects::MeetsCta | effects::ArrivesCta))
    return Group::Cta;
  if (does(instruction, effects::MeetsCluster))
    return isMeeting(instruction) ? std::optional(Group::Cta) : std::nullopt;
  // Without .sync: of all who come.
  if (does(instruction, effects::MeetsWarp) &&
      (!membersOf(instruction) || namesWholeWarp(instruction, definitions)))
    return Group::Warp;
  return std::nullopt;
}

// The largest group that may meet in a function that is called.
std::optional<Group> whoMeetInCallees(const Unit &unit) {
  std::optional<Group> result;
  for (const ptx::Function *function : unit.functions) {
    Definitions definitions(*function);
    for (const ptx::Instruction &instruction : function->body)
      if (std::optional<Group> who = whoMeet(instruction, definitions, std::nullopt))
        result = result ? std::max(*result, *who) : who;
  }
  return result;
}

class NestedLoops {
public:
  NestedLoops(FunctionLowering &fn, ArrayRef<BasicBlock *> starts) : fn(fn) {
    const ptx::Function &function = fn.ptxFunction();
    Definitions definitions(function);
    std::optional<Group> called;
    if (any_of(function.body, [](const ptx::Instruction &i) { return does(i, effects::Calls); }))
      called = whoMeetInCallees(fn.unit().unit);
    for (auto [instruction, block] : zip(function.body, starts))
      if (std::optional<Group> who = whoMeet(instruction, definitions, called)) {
        Group &group = meetings.try_emplace(block, *who).first->second;
        group = std::max(group, *who);
      }
  }

  void run() {
    if (meetings.empty())
      return;
    DominatorTree tree;
    do
      tree.recalculate(fn.llvmFunction());
    while (any_of(naturalLoops(fn.llvmFunction(), tree),
                  [&](const NaturalLoop &loop) { return splitHeader(loop, tree); }));
  }

private:
  // Whether all of a group, or of a larger one, meet in a loop.
  bool meetIn(const NaturalLoop &loop, Group group) const {
    return any_of(loop.body, [&](BasicBlock *block) {
      auto meeting = meetings.find(block);
      return meeting != meetings.end() && meeting->second >= group;
    });
  }

  // Gives the loop that has a meeting behind another loop with the same header one of its own.
  bool splitHeader(const NaturalLoop &loop, const DominatorTree &tree) {
    if (loop.latches.size() < 2)
      return false;
    SmallVector<NaturalLoop> ways; // one for each latch
    for (BasicBlock *latch : loop.latches)
      ways.push_back(loopOf(loop.header, BlockSet(&latch, &latch + 1), tree));
    for (const auto &[meeting, group] : meetings) {
      if (!loop.body.contains(meeting))
        continue;
      SmallPtrSet<BasicBlock *, 4> inner;
      bool meetInside = false;
      for (const NaturalLoop &way : ways)
        if (!way.body.contains(meeting)) {
          inner.insert(way.latches[0]);
          meetInside |= meetIn(way, group);
        }
      if (inner.empty() || meetInside)
        continue;
      BasicBlock *outer = fn.newBlock("outer");
      outer->moveBefore(loop.header);
      SmallVector<BasicBlock *> before(predecessors(loop.header));
      for (BasicBlock *block : before)
        if (!inner.contains(block))
          block->getTerminator()->replaceSuccessorWith(loop.header, outer);
      IRBuilder<> b(outer);
      b.SetCurrentDebugLocation(loop.header->getTerminator()->getDebugLoc());
      b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
      b.CreateBr(loop.header);
      return true;
    }
    return false;
  }

  FunctionLowering &fn;
  SmallMapVector<BasicBlock *, Group, 8> meetings; // blocks in which all of a group take part
};

} // namespace

void keepLoopsApart(FunctionLowering &fn, ArrayRef<BasicBlock *> starts) {
  NestedLoops(fn, starts).run();
}

} // namespace rubia::lowering
