// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/WarpTurns.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

constexpr uint32_t kShared = ptx::kNone; // of several blocks of the graph

class Turns {
public:
  Turns(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
        const DenseMap<uint32_t, BasicBlock *> &headers, const BasicBlock *leave,
        ControlFlowGraph &graph, const OwnWarpTurns &turns)
      : fn(fn), starts(starts), addedHeaders(headers), leave(leave), graph(graph), turns(turns) {}

  BasicBlock *make(ArrayRef<std::string> names) {
    if (!findOwners() || !findEdges())
      return nullptr;
    makeFrame();
    for (const Edge &edge : edges)
      divert(edge);
    fillTurn();
    fillLeft();
    fillAgain(names);
    changeGraph();
    return enter;
  }

private:
  struct Edge {
    BasicBlock *from;
    uint32_t to; // a target
    bool enters; // from outside
    bool getsOn; // is no round of a wait
  };

  BasicBlock *startOf(uint32_t block) const {
    return block < graph.codeBlocks() ? starts[graph.blocks[block].first]
                                      : addedHeaders.lookup(block);
  }
  bool isInside(const BasicBlock *block) const {
    const auto found = owner.find(block);
    return found != owner.end() && found->second != kShared && turns.blocks.test(found->second);
  }
  bool findOwners();
  bool findEdges();
  bool getsOn(const BasicBlock *from, uint32_t header) const;
  uint32_t target(BasicBlock *block) {
    return targets.insert({block, uint32_t(targets.size())}).first->second;
  }

  void makeFrame();
  AllocaInst *slot(Type *type) { return fn.newSlot(type); }
  void divert(const Edge &edge);
  void fillTurn();
  void fillLeft();
  void fillAgain(ArrayRef<std::string> names);
  void changeGraph();
  void begin(IRBuilder<> &b, BasicBlock *block) const {
    b.SetInsertPoint(block);
    b.SetCurrentDebugLocation(location);
  }
  static void meet(IRBuilder<> &b) {
    // Keeps the optimiser from giving each of the ways through a block its own one.
    b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  }
  Value *ballot(IRBuilder<> &b, Value *condition) const {
    return b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {fn.intType(fn.target().waveSize)},
                             {condition});
  }

  FunctionLowering &fn;
  ArrayRef<BasicBlock *> starts;
  const DenseMap<uint32_t, BasicBlock *> &addedHeaders;
  const BasicBlock *leave;
  ControlFlowGraph &graph;
  const OwnWarpTurns &turns;

  DenseMap<const BasicBlock *, uint32_t> owner; // the block of the graph that one was made for
  MapVector<BasicBlock *, uint32_t> targets;    // headers, where one enters, and where one leaves
  uint32_t numHeaders = 0, numInside = 0;       // of these
  std::vector<Edge> edges;
  std::map<std::tuple<uint32_t, BasicBlock *, bool>, BasicBlock *> diversions;

  BasicBlock *enter = nullptr, *turn = nullptr, *again = nullptr, *left = nullptr;
  AllocaInst *where = nullptr, *moved = nullptr, *entered = nullptr, *rounds = nullptr;
  DebugLoc location;
};

// Each block of LLVM's is of the block of the graph from whose start it is come to, without coming
// to another start. Where the function ends is none of it: who comes there is through.
bool Turns::findOwners() {
  auto isEnd = [&](const BasicBlock *block) {
    return block == leave || isa<ReturnInst>(block->getTerminator());
  };
  SmallVector<BasicBlock *> open;
  DenseMap<const BasicBlock *, uint32_t> startedBy;
  for (uint32_t block = 0; block < graph.blocks.size(); ++block) {
    if (block < graph.codeBlocks() ? graph.blocks[block].first == graph.blocks[block].end
                                   : !addedHeaders.contains(block))
      continue;
    BasicBlock *start = startOf(block);
    if (turns.blocks.test(block) && isEnd(start))
      return false;
    auto [found, isNew] = startedBy.insert({start, block});
    if (!isNew) { // LLVM has one block for both
      if (turns.blocks.test(found->second) != turns.blocks.test(block))
        return false;
      continue;
    }
    owner[start] = block;
    open.push_back(start);
  }
  while (!open.empty()) {
    BasicBlock *block = open.pop_back_val();
    const uint32_t of = owner.lookup(block);
    for (BasicBlock *next : successors(block)) {
      if (startedBy.contains(next) || isEnd(next))
        continue;
      auto [found, isNew] = owner.insert({next, of});
      if (isNew || (found->second != of && found->second != kShared)) {
        if (!isNew)
          found->second = kShared;
        open.push_back(next);
      }
    }
  }
  return true;
}

// Whether somebody who comes to a header has got on: no waiting loop has both.
bool Turns::getsOn(const BasicBlock *from, uint32_t header) const {
  return none_of(turns.rounds, [&](const BitVector &round) {
    return round.test(header) && round.test(owner.lookup(from));
  });
}

bool Turns::findEdges() {
  for (uint32_t header : turns.headers)
    if (!isInside(startOf(header)) || target(startOf(header)) != numHeaders++)
      return false;
  numInside = numHeaders;
  std::vector<std::pair<BasicBlock *, BasicBlock *>> leaving;
  for (BasicBlock &block : fn.llvmFunction()) {
    SmallPtrSet<BasicBlock *, 4> seen;
    for (BasicBlock *next : successors(&block)) {
      if (!seen.insert(next).second)
        continue;
      const bool from = isInside(&block), to = isInside(next);
      const auto header = targets.find(next);
      const bool isHeader = header != targets.end() && header->second < numHeaders;
      if ((from != to || isHeader) && isa<PHINode>(next->front()))
        return false;
      if (from && !to)
        leaving.push_back({&block, next});
      else if (from && isHeader)
        edges.push_back(
            {&block, header->second, false, getsOn(&block, turns.headers[header->second])});
      else if (!from && to) {
        edges.push_back({&block, target(next), true, true});
        numInside = uint32_t(targets.size());
      }
    }
  }
  for (auto [from, to] : leaving)
    edges.push_back({from, target(to), false, true});
  return !leaving.empty(); // who never ends takes no turns
}

void Turns::makeFrame() {
  BasicBlock *first = targets.front().first;
  location = first->getTerminator()->getDebugLoc();
  enter = fn.newBlock("turns.enter");
  turn = fn.newBlock("turns.turn");
  again = fn.newBlock("turns.again");
  left = fn.newBlock("turns.left");
  for (BasicBlock *block : {enter, turn})
    block->moveBefore(first);
  IRBuilder<> b(fn.context());
  IntegerType *maskType = fn.intType(fn.target().waveSize);
  where = slot(b.getInt32Ty());
  moved = slot(b.getInt1Ty());
  entered = slot(maskType);
  rounds = slot(b.getInt32Ty());
  begin(b, enter);
  meet(b); // or a loop around the turns would begin where they do, and be one with theirs
  Value *all = ballot(b, b.getTrue());
  // Those that never come there may be the ones who have to answer.
  if (any_of(turns.waits, [](const OwnWarpWait &wait) { return !wait.answered.empty(); })) {
    BasicBlock &entry = fn.llvmFunction().getEntryBlock();
    IRBuilder<> atEntry(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    all = ballot(atEntry, b.getTrue());
  }
  b.CreateStore(all, entered);
  b.CreateStore(b.getInt32(0), rounds);
  b.CreateBr(turn);
}

// Each who enters has a way of its own: one that is come to from a loop around the turns, and from
// in front of it, would be a second entry of that loop.
void Turns::divert(const Edge &edge) {
  BasicBlock *&way = diversions[{edge.to, edge.enters ? edge.from : nullptr, edge.getsOn}];
  if (!way) {
    way = fn.newBlock("turns.way");
    IRBuilder<> b(fn.context());
    begin(b, way);
    b.CreateStore(b.getInt32(edge.to), where);
    b.CreateStore(b.getInt1(edge.getsOn), moved);
    b.CreateBr(edge.enters ? enter : again);
  }
  edge.from->getTerminator()->replaceSuccessorWith((targets.begin() + edge.to)->first, way);
}

void Turns::fillTurn() {
  IRBuilder<> b(fn.context());
  begin(b, turn);
  meet(b);
  SwitchInst *ways = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), where), left, numInside);
  for (auto [block, number] : ArrayRef(targets.getArrayRef()).take_front(numInside))
    ways->addCase(b.getInt32(number), block);
}

void Turns::fillLeft() {
  IRBuilder<> b(fn.context());
  begin(b, left);
  const auto exits = ArrayRef(targets.getArrayRef()).drop_front(numInside);
  meet(b);
  SwitchInst *ways = b.CreateSwitch(b.CreateLoad(b.getInt32Ty(), where), exits[0].first);
  for (auto [block, number] : exits.drop_front())
    ways->addCase(b.getInt32(number), block);
}

void Turns::fillAgain(ArrayRef<std::string> names) {
  UnitLowering &unit = fn.unit();
  BasicBlock *stuck = fn.newBlock("turns.stuck");
  IRBuilder<> b(fn.context());
  begin(b, again);
  meet(b);
  Value *at = b.CreateLoad(b.getInt32Ty(), where);
  Value *waiting = ballot(b, b.CreateICmpULT(at, b.getInt32(numHeaders)));
  Value *noneMoved = b.CreateIsNull(ballot(b, b.CreateLoad(b.getInt1Ty(), moved)));
  Value *someLeft = b.CreateICmpNE(waiting, b.CreateLoad(waiting->getType(), entered));
  Value *first = b.CreateIntrinsic(Intrinsic::amdgcn_readfirstlane, {b.getInt32Ty()}, {at});
  Value *elsewhere = b.CreateIsNotNull(ballot(b, b.CreateICmpNE(at, first)));
  Value *count = b.CreateSelect(b.CreateAnd(noneMoved, b.CreateOr(someLeft, elsewhere)),
                                b.CreateAdd(b.CreateLoad(b.getInt32Ty(), rounds), b.getInt32(1)),
                                b.getInt32(0));
  b.CreateStore(count, rounds);
  b.CreateCondBr(b.CreateICmpEQ(count, b.getInt32(fn.options().mostRounds())), stuck, turn);

  // Nobody has moved: all are in waits, which come first of the headers, or in loops around them.
  begin(b, stuck);
  at = b.CreateSelect(b.CreateICmpULT(at, b.getInt32(uint32_t(names.size()))), at, b.getInt32(0));
  const unsigned place = unit.addTrap(names[0]);
  for (const std::string &name : names.drop_front())
    unit.addTrap(name);
  append_range(unit.spinLoops, names);
  emitTrapOf(b, unit, abi::TrapReason::NeedsIndependentScheduling,
             b.CreateAdd(at, b.getInt32(place)));
  b.CreateUnreachable();
}

// One block takes all in, and leads wherever they go on.
void Turns::changeGraph() {
  const uint32_t none = graph.blocks[graph.ended()].first;
  const uint32_t added = uint32_t(graph.blocks.size());
  SmallVector<uint32_t, 2> ways(turns.headers.begin(), turns.headers.end());
  for (uint32_t block = 0; block < added; ++block) {
    const bool from = turns.blocks.size() > block && turns.blocks.test(block);
    for (uint32_t &next : graph.blocks[block].successors) {
      const bool to = turns.blocks.size() > next && turns.blocks.test(next);
      if (from == to && (!from || !is_contained(turns.headers, next)))
        continue;
      if (!is_contained(ways, next))
        ways.push_back(next);
      next = added;
    }
  }
  graph.blocks.push_back({none, none, ways});
  if (graph.entry < turns.blocks.size() && turns.blocks.test(graph.entry))
    graph.entry = added;
}

} // namespace

BasicBlock *takeTurns(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
                      const DenseMap<uint32_t, BasicBlock *> &headers, const BasicBlock *leave,
                      ControlFlowGraph &graph, const OwnWarpTurns &turns,
                      ArrayRef<std::string> names) {
  return Turns(fn, starts, headers, leave, graph, turns).make(names);
}

} // namespace rubia::lowering
