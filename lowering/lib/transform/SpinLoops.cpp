// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/SpinLoops.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "lowering/lib/transform/WarpTurns.h"
#include "lowering/lib/waits/WaitFacts.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include <functional>

using namespace llvm;

namespace rubia::lowering {

namespace {

using Blocks = SmallSetVector<BasicBlock *, 8>;

AllocaInst *variable(FunctionLowering &fn, Type *type) {
  BasicBlock &entry = fn.llvmFunction().getEntryBlock();
  return IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
}

// ---------- Who does not wait goes first

// The blocks that one leads to, without passing another one.
Blocks reachedFrom(BasicBlock *first, BasicBlock *end) {
  Blocks reached;
  reached.insert(first);
  for (size_t i = 0; i < reached.size(); ++i)
    for (BasicBlock *next : successors(reached[i]))
      if (next != end)
        reached.insert(next);
  return reached;
}

// What lies on each of the two ways from a branch alone.
void findWays(BasicBlock *branch, Blocks (&ways)[2]) {
  Blocks reached[2];
  for (unsigned side : {0, 1})
    reached[side] = reachedFrom(branch->getTerminator()->getSuccessor(side), branch);
  for (unsigned side : {0, 1})
    for (BasicBlock *block : reached[side])
      if (!reached[1 - side].contains(block))
        ways[side].insert(block);
}

// The block that a way from a branch leads to; null if there are several. Where a kernel ends by a
// trap it leads nowhere.
BasicBlock *endOf(const Blocks &way, const BasicBlock *branch) {
  SmallPtrSet<BasicBlock *, 4> ends;
  for (BasicBlock *block : way)
    for (BasicBlock *next : successors(block))
      if (next != branch && !way.contains(next))
        ends.insert(next);
  return ends.size() == 1 ? *ends.begin() : nullptr;
}

// Where some threads of a warp wait in a loop for what others do on the other way of a branch,
// before both meet, the others have to go first. LLVM executes the ways in the order that it likes,
// so the branch becomes two, one after the other. Whether it did.
bool letAnswersGoFirst(FunctionLowering &fn, BasicBlock *header, BasicBlock *from) {
  auto *jump = dyn_cast<BranchInst>(from->getTerminator());
  if (!jump || !jump->isConditional())
    return false;
  Blocks ways[2];
  findWays(from, ways);
  const bool first = ways[0].contains(header), second = ways[1].contains(header);
  if (first == second)
    return false;
  const Blocks &answering = ways[first ? 1 : 0];
  BasicBlock *meet = endOf(answering, from);
  if (!meet || isa<PHINode>(meet->front()))
    return false;
  BasicBlock *waiting = jump->getSuccessor(first ? 0 : 1),
             *answer = jump->getSuccessor(first ? 1 : 0);
  for (BasicBlock *block : answering)
    for (BasicBlock *before : predecessors(block))
      if (!answering.contains(before) && (block != answer || before != from))
        return false;
  const bool answers = any_of(answering, [](BasicBlock *block) {
    return any_of(*block, [](const Instruction &inst) { return inst.mayWriteToMemory(); });
  });
  if (!answers || isa<PHINode>(waiting->front()))
    return false;

  BasicBlock *behind = fn.newBlock("answered");
  behind->moveBefore(meet);
  AllocaInst *mustWait = variable(fn, IntegerType::getInt1Ty(fn.context()));
  IRBuilder<> b(jump);
  Value *waits = first ? jump->getCondition() : b.CreateNot(jump->getCondition());
  b.CreateStore(waits, mustWait);
  b.CreateCondBr(waits, behind, answer);
  jump->eraseFromParent();
  for (BasicBlock *block : answering)
    block->getTerminator()->replaceSuccessorWith(meet, behind);
  // A convergent operation keeps the optimiser from making one branch of both again.
  b.SetInsertPoint(behind);
  b.SetCurrentDebugLocation(header->getTerminator()->getDebugLoc());
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), mustWait), waiting, meet);
  return true;
}

// ---------- Locks

// Keeps the optimiser from finding out at which ends of the loop's body its exit is decided, which
// would bring the critical section out of the loop: convergent operations are not duplicated.
void keepTogether(ArrayRef<BasicBlock *> starts, const OwnWarpWait &wait) {
  for (uint32_t exit : wait.exits) {
    IRBuilder<> b(starts[exit]->getTerminator());
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  }
}

// Everybody comes to `back` instead of the header but who enters the loop: they pass a block of
// their own, which is returned.
BasicBlock *makePreheader(FunctionLowering &fn, BasicBlock *header, BasicBlock *back) {
  BasicBlock *preheader = fn.newBlock("spin.enter");
  preheader->moveBefore(header);
  const DominatorTree tree(fn.llvmFunction());
  SmallVector<BasicBlock *> before(predecessors(header));
  for (BasicBlock *block : before) {
    const bool isLatch = tree.isReachableFromEntry(block) && tree.dominates(header, block);
    block->getTerminator()->replaceSuccessorWith(header, isLatch ? back : preheader);
  }
  return preheader;
}

void keepUntilRelease(FunctionLowering &fn, BasicBlock *header, BasicBlock *release) {
  AllocaInst *isDone = variable(fn, IntegerType::getInt1Ty(fn.context()));
  BasicBlock *park = fn.newBlock("spin.park");
  IRBuilder<> b(makePreheader(fn, header, park));
  b.SetCurrentDebugLocation(header->getTerminator()->getDebugLoc());
  b.CreateStore(b.getFalse(), isDone);
  b.CreateBr(header);

  BasicBlock *next = release->getTerminator()->getSuccessor(0);
  release->getTerminator()->eraseFromParent();
  b.SetInsertPoint(release);
  b.CreateStore(b.getTrue(), isDone);
  b.CreateBr(park);

  // A convergent operation keeps the optimiser from giving each of the two ways its own branch.
  b.SetInsertPoint(park);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), isDone), next, header);
}

// ---------- The watch

std::string describe(FunctionLowering &fn, const OwnWarpWait &wait) {
  const ptx::Function &function = fn.ptxFunction();
  const ptx::Instruction &poll = function.body[wait.poll];
  std::string place = fn.unit().describe(function, function.body[wait.first], &poll);
  return place + ": the loop that waits for '" + poll.spelling->text.str() + "' of line " +
         std::to_string(fn.unit().diagnosticAt(poll.place, function, "", false).line);
}

void watch(FunctionLowering &fn, BasicBlock *header, const OwnWarpWait &wait) {
  UnitLowering &unit = fn.unit();
  std::string what = describe(fn, wait);
  unit.spinLoops.push_back(what);
  IntegerType *maskType = fn.intType(fn.target().waveSize), *i32 = fn.intType(32);
  AllocaInst *entered = variable(fn, maskType), *last = variable(fn, maskType),
             *rounds = variable(fn, i32);

  BasicBlock *again = fn.newBlock("spin.again"), *stuck = fn.newBlock("spin.stuck");
  IRBuilder<> b(makePreheader(fn, header, again));
  b.SetCurrentDebugLocation(header->getTerminator()->getDebugLoc());
  auto active = [&] {
    return b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {maskType}, {b.getTrue()});
  };
  Value *all = active();
  Value *expected = all;
  if (!wait.answered.empty()) { // then not only those count that came to the loop
    BasicBlock &entry = fn.llvmFunction().getEntryBlock();
    IRBuilder<> atEntry(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    expected = atEntry.CreateIntrinsic(Intrinsic::amdgcn_ballot, {maskType}, {b.getTrue()});
  }
  b.CreateStore(expected, entered);
  b.CreateStore(all, last);
  b.CreateStore(b.getInt32(0), rounds);
  b.CreateBr(header);

  b.SetInsertPoint(again);
  Value *now = active();
  Value *someLeft = b.CreateICmpNE(now, b.CreateLoad(maskType, entered));
  Value *noneLeft = b.CreateICmpEQ(now, b.CreateLoad(maskType, last));
  Value *count =
      b.CreateSelect(b.CreateAnd(someLeft, noneLeft),
                     b.CreateAdd(b.CreateLoad(i32, rounds), b.getInt32(1)), b.getInt32(0));
  b.CreateStore(now, last);
  b.CreateStore(count, rounds);
  b.CreateCondBr(b.CreateICmpEQ(count, b.getInt32(fn.options().mostRounds())), stuck, header);

  b.SetInsertPoint(stuck);
  emitTrap(b, unit, abi::TrapReason::NeedsIndependentScheduling, unit.addTrap(what));
  b.CreateUnreachable();
}

// Whether a call may end its thread.
bool mayEndThread(UnitLowering &unit, const ptx::Instruction &call) {
  for (const ptx::Operand &operand : call.operands)
    if (operand.function())
      return unit.mayExit(*operand.function());
  return unit.indirectMayExit;
}

// What the searches ask of the unit.
struct UnitFacts {
  explicit UnitFacts(FunctionLowering &fn)
      : mayExit([&](const auto &call) { return mayEndThread(fn.unit(), call); }),
        mayDivide([&](uint32_t branch) {
          return fn.unit().rowWarps.get().divides(fn.ptxFunction(), branch);
        }),
        calls{!fn.unit().barriers.uses.empty(), mayExit, mayDivide} {}

  const std::function<bool(const ptx::Instruction &)> mayExit;
  const std::function<bool(uint32_t)> mayDivide;
  const CallFacts calls;
};

} // namespace

FoundWaits waitsIn(FunctionLowering &fn) {
  const UnitFacts unit(fn);
  FoundWaits found;
  if (any_of(fn.ptxFunction().body, mayPoll))
    found = findWaits(WaitFacts(fn.ptxFunction(), unit.calls));
  const DenseSet<uint32_t> releases = possibleReleases(fn.ptxFunction());
  found.ends.insert(releases.begin(), releases.end());
  return found;
}

void treatSpinLoops(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
                    const DenseMap<uint32_t, BasicBlock *> &released,
                    const DenseMap<uint32_t, BasicBlock *> &headers, const BasicBlock *leave,
                    ControlFlowGraph &graph) {
  if (none_of(fn.ptxFunction().body, mayPoll))
    return;
  const UnitFacts unit(fn);
  const WaitFacts facts(fn.ptxFunction(), unit.calls);
  DenseSet<uint32_t> ordered; // branches
  auto order = [&](uint32_t branch, BasicBlock *header) {
    if (!ordered.contains(branch) && letAnswersGoFirst(fn, header, starts[branch]))
      ordered.insert(branch);
  };
  DenseMap<uint32_t, BasicBlock *> added = headers;
  BitVector done(unsigned(fn.ptxFunction().body.size()));
  for (const OwnWarpTurns &turns : findOwnWarpTurns(facts, graph)) {
    std::vector<std::string> names;
    for (const OwnWarpWait &wait : turns.waits)
      names.push_back(describe(fn, wait));
    const uint32_t number = uint32_t(graph.blocks.size());
    BasicBlock *enter = takeTurns(fn, starts, headers, leave, graph, turns, names);
    if (!enter)
      continue;
    added[number] = enter; // loops around the turns begin there
    for (unsigned block : turns.blocks.set_bits())
      if (block < graph.codeBlocks())
        done.set(graph.blocks[block].first, graph.blocks[block].end);
    for (const OwnWarpWait &wait : turns.waits)
      for (uint32_t branch : wait.answered)
        if (!done.test(branch))
          order(branch, enter);
  }
  for (const OwnWarpWait &wait : findOwnWarpWaits(facts, graph, done)) {
    BasicBlock *header = wait.header < graph.codeBlocks() ? starts[graph.blocks[wait.header].first]
                                                          : added.lookup(wait.header);
    for (uint32_t branch : wait.answered)
      order(branch, header);
    if (wait.releasesInside)
      keepTogether(starts, wait);
    else if (wait.release)
      keepUntilRelease(fn, header, released.lookup(*wait.release));
    else
      watch(fn, header, wait);
  }
}

} // namespace rubia::lowering
