// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/transform/SpinLoops.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/NaturalLoops.h"
#include "lowering/lib/analysis/ThreadFacts.h"
#include "lowering/lib/frame/FunctionLowering.h"
#include "lowering/lib/frame/LaunchState.h"
#include "lowering/lib/frame/UnitLowering.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

using Kind = ptx::Operand::Kind;
using Loop = NaturalLoop;
using Blocks = BlockSet;

// ---------- Instructions

// Whether every execution with the same operands gives the same result: parameters do not change.
bool isRepeatable(const ptx::Instruction &inst) {
  return inst.guard.reg == ptx::kNone &&
         (isPure(inst) ||
          (does(inst, effects::Loads) && inst.spelling->space() == ptx::StateSpace::Param));
}

class Treatment {
public:
  Treatment(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
            const DenseMap<uint32_t, BasicBlock *> &released)
      : fn(fn), function(fn.ptxFunction()), starts(starts), released(released),
        definitions(function) {
    for (uint32_t i = 0; i < starts.size(); ++i) {
      auto [entry, isNew] = instructionsOf.try_emplace(starts[i], i, i + 1);
      entry->second.second = i + 1;
      const ptx::Instruction &inst = function.body[i];
      if (mayPoll(inst))
        pollIndexes.push_back(i);
      if (choiceOf(inst) || (inst.guard.reg != ptx::kNone &&
                             does(inst, effects::Jumps | effects::Returns | effects::Exits)))
        branchIndexes.push_back(i);
    }
  }

  void run();

private:
  bool isIn(const Loop &loop, uint32_t instruction) const {
    return instruction < starts.size() && loop.body.contains(starts[instruction]);
  }
  bool isInvariant(const Loop &loop, ptx::RegisterId reg, unsigned depth = 0) const;
  bool isUniform(ptx::RegisterId reg, unsigned depth = 0) const;
  bool isUniform(const ptx::Operand &operand, unsigned depth = 0) const;
  bool leaveTogether(const Loop &loop) const;
  bool isFixed(const Loop &loop, const ptx::Operand &operand) const;
  bool waitsAtOneAddress(const Loop &loop, uint32_t poll) const;
  bool releasesInside(const Loop &loop, uint32_t poll) const;
  bool othersMayAnswer(const Loop &loop, uint32_t poll,
                       SmallVectorImpl<uint32_t> *branches = nullptr);
  Blocks reachedFrom(BasicBlock *first, BasicBlock *end) const;
  BasicBlock *waysFrom(BasicBlock *branch, Blocks (&ways)[2]) const;
  bool letAnswersGoFirst(const Loop &loop, uint32_t branch);
  bool isGridWorkspace(const ptx::Operand &operand, SmallDenseSet<ptx::RegisterId> &visited) const;
  bool comesTo(BasicBlock *from, const Loop &loop, function_ref<bool(uint32_t)> found) const;
  void findRoots(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &roots,
                 unsigned depth = 0) const;
  void keepTogether(const Loop &loop);
  bool mayWaitForOwnWarp(const Loop &loop, uint32_t poll);
  bool leaves(const Loop &loop, uint32_t branch) const;
  bool decides(const Loop &loop, uint32_t poll, ptx::RegisterId condition) const;
  bool isCount(const Loop &loop, const ptx::Operand &operand) const;
  bool isEndOfCount(const Loop &loop, const ptx::Instruction &inst) const;
  bool isRepeatedSwap(const Loop &loop, uint32_t poll) const;
  bool isLookedAt(const Loop &loop, uint32_t swap, ptx::RegisterId condition) const;
  std::optional<ptx::RegisterId> exitCondition(const Loop &loop, uint32_t branch) const;
  BasicBlock *releaseOf(const Loop &loop, uint32_t poll) const;
  BasicBlock *makePreheader(const Loop &loop, BasicBlock *back);
  void keepUntilRelease(const Loop &loop, BasicBlock *release);
  void watch(const Loop &loop, uint32_t poll);
  std::string describe(const Loop &loop, uint32_t poll) const;
  AllocaInst *variable(Type *type) {
    BasicBlock &entry = fn.llvmFunction().getEntryBlock();
    return IRBuilder<>(&entry, entry.begin()).CreateAlloca(type);
  }

  FunctionLowering &fn;
  const ptx::Function &function;
  ArrayRef<BasicBlock *> starts;
  const DenseMap<uint32_t, BasicBlock *> &released;
  Definitions definitions;
  DominatorTree tree;
  DenseMap<BasicBlock *, std::pair<uint32_t, uint32_t>> instructionsOf; // that begin in a block
  std::vector<uint32_t> pollIndexes, branchIndexes; // of body; branches that have a condition
};

constexpr unsigned kMaxSteps = 8; // of following values backwards

bool Treatment::isInvariant(const Loop &loop, ptx::RegisterId reg, unsigned depth) const {
  for (uint32_t writer : definitions.of(reg)) {
    if (!isIn(loop, writer))
      continue;
    if (depth == kMaxSteps || !isRepeatable(function.body[writer]))
      return false;
    bool invariant = true;
    for (const ptx::Operand &source : function.body[writer].operands.drop_front())
      forEachRegister(source, [&](ptx::RegisterId r) {
        invariant = invariant && isInvariant(loop, r, depth + 1);
      });
    if (!invariant)
      return false;
  }
  return true;
}

// Whether a register certainly has one value for all threads of the warp that are in the loop.
bool Treatment::isUniform(ptx::RegisterId reg, unsigned depth) const {
  ArrayRef<uint32_t> writers = definitions.of(reg);
  if (writers.size() != 1 || writers[0] >= function.body.size() || depth == kMaxSteps)
    return false;
  const ptx::Instruction &writer = function.body[writers[0]];
  bool isLoad = does(writer, effects::Loads);
  bool fromParameter = isLoad && writer.spelling->space() == ptx::StateSpace::Param;
  // What all load at once from one address is the same for all.
  bool isPoll = isLoad && mayPoll(writer) && writer.guard.reg == ptx::kNone;
  if ((!isRepeatable(writer) && !isPoll) || (fromParameter && !function.isKernel))
    return false;
  return all_of(writer.operands.drop_front(),
                [&](const ptx::Operand &source) { return isUniform(source, depth + 1); });
}

bool Treatment::isUniform(const ptx::Operand &operand, unsigned depth) const {
  if (operand.kind == Kind::SpecialRegister)
    return isSameFor(Group::Warp, operand.special);
  bool uniform = true;
  forEachRegister(operand, [&](ptx::RegisterId r) { uniform = uniform && isUniform(r, depth); });
  return uniform;
}

// Whether a guarded instruction may leave the loop, and may stay in it.
bool Treatment::leaves(const Loop &loop, uint32_t branch) const {
  const ptx::Instruction &inst = function.body[branch];
  auto isOutside = [&](ptx::LabelId label) { return !loop.body.contains(fn.blockOf(label)); };
  if (!does(inst, effects::Jumps))
    return does(inst, effects::Returns | effects::Exits | effects::Traps);
  const ptx::Operand &target = inst.operands.back();
  if (target.kind == Kind::LabelList)
    return any_of(target.labels(), isOutside);
  return isOutside(target.label) || !isIn(loop, branch + 1);
}

// Whether a register grows or shrinks by a constant in every round, whatever happens: it is made of
// itself by additions, without a condition and on the way of all.
bool Treatment::isCount(const Loop &loop, const ptx::Operand &operand) const {
  bool adds = false;
  SmallDenseSet<ptx::RegisterId> visited;
  for (const ptx::Operand *at = &operand; at->kind == Kind::Register && !at->negated;) {
    if (!visited.insert(at->reg).second)
      return adds;
    const ptx::Instruction *writer = nullptr;
    for (uint32_t i : definitions.of(at->reg)) {
      if (!isIn(loop, i))
        continue;
      if (writer || function.body[i].guard.reg != ptx::kNone ||
          !all_of(loop.latches,
                  [&](BasicBlock *latch) { return tree.dominates(starts[i], latch); }))
        return false;
      writer = &function.body[i];
    }
    if (!writer)
      return false;
    if (writer->op() == ptx::Op::IAdd || writer->op() == ptx::Op::ISub) {
      std::optional<uint64_t> step = definitions.constant(writer->operands[2]);
      if (!step || *step == 0)
        return false;
      adds = true;
    } else if (writer->op() != ptx::Op::Mov) {
      return false;
    }
    at = &writer->operands[1];
  }
  return false;
}

// Whether an instruction asks if a count has come to its end. A thread that waits for nothing else
// is through some time, whatever the end that it reads each round.
bool Treatment::isEndOfCount(const Loop &loop, const ptx::Instruction &inst) const {
  return inst.op() == ptx::Op::Setp && inst.operands.size() == 3 &&
         !inst.spelling->has(ptx::Mod::Eq) && !inst.spelling->has(ptx::Mod::Ne) &&
         (isCount(loop, inst.operands[1]) || isCount(loop, inst.operands[2]));
}

// Whether a condition depends on what the poll gives, by values computed in the loop.
bool Treatment::decides(const Loop &loop, uint32_t poll, ptx::RegisterId condition) const {
  SmallSetVector<ptx::RegisterId, 16> registers;
  registers.insert(condition);
  for (size_t i = 0; i < registers.size(); ++i)
    for (uint32_t writer : definitions.of(registers[i])) {
      if (writer == poll)
        return true;
      if (!isIn(loop, writer))
        continue;
      const ptx::Instruction &inst = function.body[writer];
      if (inst.guard.reg != ptx::kNone)
        registers.insert(inst.guard.reg);
      if (isEndOfCount(loop, inst))
        continue;
      for (const ptx::Operand &operand : inst.operands)
        forEachRegister(operand, [&](ptx::RegisterId r) { registers.insert(r); });
    }
  return false;
}

// What a compare and swap expects is another value each time: it expects what was there a moment
// ago.
bool Treatment::isRepeatedSwap(const Loop &loop, uint32_t poll) const {
  const ptx::Instruction &inst = function.body[poll];
  return inst.spelling->has(ptx::Mod::Cas) && !isFixed(loop, inst.operands[2]);
}

// Whether a condition depends on what a compare and swap expects or gives, by anything but the
// question whether both are equal: that only says whether to try again, and waits for nobody.
bool Treatment::isLookedAt(const Loop &loop, uint32_t swap, ptx::RegisterId condition) const {
  const ptx::Instruction &inst = function.body[swap];
  const ptx::RegisterId old = inst.operands[0].reg, expected = inst.operands[2].reg;
  SmallSetVector<ptx::RegisterId, 16> registers;
  registers.insert(condition);
  for (size_t i = 0; i < registers.size(); ++i) {
    if (registers[i] == old || registers[i] == expected)
      return true;
    for (uint32_t writer : definitions.of(registers[i])) {
      if (!isIn(loop, writer))
        continue;
      const ptx::Instruction &by = function.body[writer];
      if (by.guard.reg != ptx::kNone)
        registers.insert(by.guard.reg);
      bool isEquality = old != ptx::kNone && by.op() == ptx::Op::Setp && by.operands.size() == 3 &&
                        (by.spelling->has(ptx::Mod::Eq) || by.spelling->has(ptx::Mod::Ne)) &&
                        ((by.operands[1].reg == old && by.operands[2].reg == expected) ||
                         (by.operands[1].reg == expected && by.operands[2].reg == old));
      if (!isEquality)
        for (const ptx::Operand &operand : by.operands)
          forEachRegister(operand, [&](ptx::RegisterId r) { registers.insert(r); });
    }
  }
  return false;
}

// The register by which a branch of the loop may leave it.
std::optional<ptx::RegisterId> Treatment::exitCondition(const Loop &loop, uint32_t branch) const {
  if (!isIn(loop, branch) || !leaves(loop, branch))
    return std::nullopt;
  const ptx::Instruction &inst = function.body[branch];
  const ptx::Operand *choice = choiceOf(inst);
  ptx::RegisterId condition = choice ? choice->reg : inst.guard.reg;
  return condition == ptx::kNone ? std::nullopt : std::optional(condition);
}

// Whether all of a warp that enter the loop leave it in the same round: none of its branches
// divides them, so that they come to the exit together.
bool Treatment::leaveTogether(const Loop &loop) const {
  for (uint32_t i : branchIndexes) {
    if (!isIn(loop, i))
      continue;
    const ptx::Instruction &branch = function.body[i];
    if (branch.guard.reg != ptx::kNone && !isUniform(branch.guard.reg))
      return false;
    if (choiceOf(branch) && !isUniform(*choiceOf(branch)))
      return false;
  }
  return true;
}

bool Treatment::isFixed(const Loop &loop, const ptx::Operand &operand) const {
  bool fixed = true;
  forEachRegister(operand, [&](ptx::RegisterId reg) { fixed = fixed && isInvariant(loop, reg); });
  return fixed;
}

bool Treatment::waitsAtOneAddress(const Loop &loop, uint32_t poll) const {
  const ptx::Instruction &inst = function.body[poll];
  const ptx::Operand *address = addressOf(inst);
  if (!address || !isFixed(loop, *address))
    return false;
  return !isRepeatedSwap(loop, poll) || any_of(branchIndexes, [&](uint32_t branch) {
    std::optional<ptx::RegisterId> condition = exitCondition(loop, branch);
    return condition && isLookedAt(loop, poll, *condition);
  });
}

// Whether an operand is made of the address of a cooperative launch's workspace.
bool Treatment::isGridWorkspace(const ptx::Operand &operand,
                                SmallDenseSet<ptx::RegisterId> &visited) const {
  if (operand.kind == Kind::SpecialRegister)
    return operand.special == ptx::SpecialRegister::EnvReg1 ||
           operand.special == ptx::SpecialRegister::EnvReg2;
  bool found = false;
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    if (!visited.insert(reg).second)
      return;
    for (uint32_t writer : definitions.of(reg))
      if (writer < function.body.size())
        for (const ptx::Operand &source : function.body[writer].operands.drop_front())
          found = found || isGridWorkspace(source, visited);
  });
  return found;
}

bool Treatment::mayWaitForOwnWarp(const Loop &loop, uint32_t poll) {
  // grid.sync() waits for other CTAs, however long they take, when its own has arrived.
  SmallDenseSet<ptx::RegisterId> visited;
  const ptx::Operand *address = addressOf(function.body[poll]);
  if (address && isGridWorkspace(*address, visited))
    return false;
  const bool isSwap = isRepeatedSwap(loop, poll);
  bool mayWait = any_of(branchIndexes, [&](uint32_t branch) {
    std::optional<ptx::RegisterId> condition = exitCondition(loop, branch);
    return condition &&
           (isSwap ? isLookedAt(loop, poll, *condition) : decides(loop, poll, *condition));
  });
  return mayWait && (!leaveTogether(loop) || othersMayAnswer(loop, poll));
}

// ---------- Threads that do not come to the loop

// Whether there is a way from the start of a block to an instruction, without coming to the loop or
// to where all meet.
bool Treatment::comesTo(BasicBlock *from, const Loop &loop,
                        function_ref<bool(uint32_t)> found) const {
  Blocks reached;
  reached.insert(from);
  for (size_t i = 0; i < reached.size(); ++i) {
    BasicBlock *block = reached[i];
    if (block == loop.header)
      continue;
    bool goesOn = true;
    auto [first, last] = instructionsOf.lookup(block);
    for (uint32_t at = first; at < last && goesOn; ++at) {
      if (found(at))
        return true;
      goesOn = !isMeeting(function.body[at]);
    }
    if (goesOn)
      for (BasicBlock *successor : successors(block))
        reached.insert(successor);
  }
  return false;
}

// The variables and registers that an address is made of.
void Treatment::findRoots(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &roots,
                          unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    roots.insert(variable);
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    ArrayRef<uint32_t> writers = definitions.of(reg);
    const ptx::Instruction *writer = writers.size() == 1 && writers[0] < function.body.size()
                                         ? &function.body[writers[0]]
                                         : nullptr;
    if (!writer || depth == kMaxSteps || !isRepeatable(*writer))
      roots.insert(&function.registers[reg]);
    else
      for (const ptx::Operand &source : writer->operands.drop_front())
        findRoots(source, roots, depth + 1);
  });
}

// Whether threads that take another way at a branch, while some of their warp come to the loop, may
// write what is waited for: by an address that is made of the same variable.
// `branches`: all of these branches.
bool Treatment::othersMayAnswer(const Loop &loop, uint32_t poll,
                                SmallVectorImpl<uint32_t> *branches) {
  SmallPtrSet<const void *, 8> awaited;
  findRoots(*addressOf(function.body[poll]), awaited);
  auto answers = [&](uint32_t i) {
    const ptx::Instruction &inst = function.body[i];
    if (isIn(loop, i) || !does(inst, effects::Writes))
      return false;
    // Copies write at several addresses: what they copy to, and the mbarrier that counts them.
    return any_of(inst.operands, [&](const ptx::Operand &operand) {
      if (operand.kind != Kind::Address && operand.kind != Kind::AddressList)
        return false;
      SmallPtrSet<const void *, 8> roots;
      findRoots(operand, roots);
      return any_of(roots, [&](const void *root) { return awaited.contains(root); });
    });
  };
  for (uint32_t i : branchIndexes) {
    const ptx::Instruction &branch = function.body[i];
    if (!does(branch, effects::Jumps) || isIn(loop, i))
      continue;
    const ptx::Operand *choice = choiceOf(branch);
    const bool isGuarded = branch.guard.reg != ptx::kNone;
    if ((!isGuarded || isUniform(branch.guard.reg)) && (!choice || isUniform(*choice)))
      continue;
    Blocks ways;
    const ptx::Operand &target = branch.operands.back();
    if (target.kind == Kind::Label)
      ways.insert(fn.blockOf(target.label));
    for (ptx::LabelId label : target.labels())
      ways.insert(fn.blockOf(label));
    if (isGuarded && i + 1 < starts.size())
      ways.insert(starts[i + 1]);
    auto isLoop = [&](uint32_t at) { return starts[at] == loop.header; };
    for (BasicBlock *way : ways) {
      if (way != loop.header && !comesTo(way, Loop{nullptr, {}, {}}, isLoop))
        continue;
      if (none_of(ways,
                  [&](BasicBlock *other) { return other != way && comesTo(other, loop, answers); }))
        continue;
      if (!branches)
        return true;
      branches->push_back(i);
      break;
    }
  }
  return branches && !branches->empty();
}

// The blocks that one leads to, without passing another one.
Blocks Treatment::reachedFrom(BasicBlock *first, BasicBlock *end) const {
  Blocks reached;
  reached.insert(first);
  for (size_t i = 0; i < reached.size(); ++i)
    for (BasicBlock *next : successors(reached[i]))
      if (next != end)
        reached.insert(next);
  return reached;
}

// The block where the two ways from a branch meet, and what lies on each before; null if they do
// not meet, or at several blocks. Where a kernel ends by a trap nobody meets.
BasicBlock *Treatment::waysFrom(BasicBlock *branch, Blocks (&ways)[2]) const {
  Blocks reached[2];
  for (unsigned side : {0, 1})
    reached[side] = reachedFrom(branch->getTerminator()->getSuccessor(side), branch);
  SmallPtrSet<BasicBlock *, 4> meetings;
  auto noteMeetings = [&](BasicBlock *block) {
    for (BasicBlock *next : successors(block))
      if (reached[0].contains(next) && reached[1].contains(next))
        meetings.insert(next);
  };
  noteMeetings(branch);
  for (unsigned side : {0, 1})
    for (BasicBlock *block : reached[side])
      if (!reached[1 - side].contains(block)) {
        ways[side].insert(block);
        noteMeetings(block);
      }
  return meetings.size() == 1 ? *meetings.begin() : nullptr;
}

// Where some threads of a warp wait in a loop for what others do on the other way of a branch,
// before both meet, the others have to go first. LLVM executes the ways in the order that it likes,
// so the branch becomes two, one after the other.
bool Treatment::letAnswersGoFirst(const Loop &loop, uint32_t branch) {
  BasicBlock *from = starts[branch];
  auto *jump = dyn_cast<BranchInst>(from->getTerminator());
  if (!jump || !jump->isConditional())
    return false;
  Blocks ways[2];
  BasicBlock *meet = waysFrom(from, ways);
  if (!meet || isa<PHINode>(meet->front()))
    return false;
  const bool first = ways[0].contains(loop.header), second = ways[1].contains(loop.header);
  if (first == second)
    return false;
  const Blocks &answering = ways[first ? 1 : 0];
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
  AllocaInst *mustWait = variable(IntegerType::getInt1Ty(fn.context()));
  IRBuilder<> b(jump);
  Value *waits = first ? jump->getCondition() : b.CreateNot(jump->getCondition());
  b.CreateStore(waits, mustWait);
  b.CreateCondBr(waits, behind, answer);
  jump->eraseFromParent();
  for (BasicBlock *block : answering)
    block->getTerminator()->replaceSuccessorWith(meet, behind);
  // A convergent operation keeps the optimiser from making one branch of both again.
  b.SetInsertPoint(behind);
  b.SetCurrentDebugLocation(loop.header->getTerminator()->getDebugLoc());
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), mustWait), waiting, meet);
  return true;
}

// ---------- Locks

// The block behind the instruction that releases what the loop takes with `poll`, if whoever leaves
// the loop comes there without doing anything that the others have to take part in; else null.
BasicBlock *Treatment::releaseOf(const Loop &loop, uint32_t poll) const {
  const ptx::Operand *lock = addressOf(function.body[poll]);
  if (!isExchange(function.body[poll]))
    return nullptr;
  Blocks exits;
  for (BasicBlock *block : loop.body)
    for (BasicBlock *successor : successors(block))
      if (!loop.body.contains(successor))
        exits.insert(successor);
  if (exits.size() != 1 || !tree.dominates(loop.header, exits[0]))
    return nullptr;

  Blocks releases;
  for (uint32_t i = 0; i < function.body.size(); ++i)
    if (BasicBlock *behind = released.lookup(i))
      if (!isIn(loop, i) && isSamePlace(*addressOf(function.body[i]), *lock))
        releases.insert(behind);

  // The critical section: from the exit to the releases.
  BasicBlock *release = nullptr;
  Blocks section = exits;
  for (size_t i = 0; i < section.size(); ++i) {
    BasicBlock *block = section[i];
    if (loop.body.contains(block) || !tree.dominates(exits[0], block) ||
        isa<ReturnInst>(block->getTerminator()))
      return nullptr;
    if (releases.contains(block)) {
      if (release && release != block)
        return nullptr;
      release = block;
      continue;
    }
    for (BasicBlock *successor : successors(block))
      section.insert(successor);
  }
  // The register may not move on to another address in it.
  if (lock->reg != ptx::kNone)
    for (uint32_t writer : definitions.of(lock->reg))
      if (writer < starts.size() && section.contains(starts[writer]))
        return nullptr;
  // Nor may they meet in it; whoever is called may do so.
  for (uint32_t i = 0; i < starts.size(); ++i) {
    if (!section.contains(starts[i]))
      continue;
    const ptx::Instruction &inst = function.body[i];
    if (does(inst, effects::Calls) ? !fn.unit().barriers.uses.empty()
                                   : isMeeting(inst) || does(inst, effects::ArrivesCta))
      return nullptr;
  }
  return release;
}

// Whether the loop itself releases what it takes.
bool Treatment::releasesInside(const Loop &loop, uint32_t poll) const {
  if (!isExchange(function.body[poll]))
    return false;
  const ptx::Operand &lock = *addressOf(function.body[poll]);
  for (uint32_t i = 0; i < starts.size(); ++i) {
    if (i != poll && isIn(loop, i) && does(function.body[i], effects::Writes))
      if (const ptx::Operand *address = addressOf(function.body[i]))
        if (isSamePlace(*address, lock))
          return true;
  }
  return false;
}

// Keeps the optimiser from finding out at which ends of the loop's body its exit is decided, which
// would bring the critical section out of the loop: convergent operations are not duplicated.
void Treatment::keepTogether(const Loop &loop) {
  for (uint32_t i : branchIndexes)
    if (isIn(loop, i) && leaves(loop, i)) {
      IRBuilder<> b(starts[i]->getTerminator());
      b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
    }
}

// Everybody comes to `back` instead of the header but who enters the loop: they pass a block of
// their own, which is returned.
BasicBlock *Treatment::makePreheader(const Loop &loop, BasicBlock *back) {
  BasicBlock *preheader = fn.newBlock("spin.enter");
  preheader->moveBefore(loop.header);
  SmallVector<BasicBlock *> before(predecessors(loop.header));
  for (BasicBlock *block : before)
    block->getTerminator()->replaceSuccessorWith(loop.header,
                                                 loop.latches.contains(block) ? back : preheader);
  return preheader;
}

void Treatment::keepUntilRelease(const Loop &loop, BasicBlock *release) {
  AllocaInst *isDone = variable(IntegerType::getInt1Ty(fn.context()));
  BasicBlock *park = fn.newBlock("spin.park");
  IRBuilder<> b(makePreheader(loop, park));
  b.SetCurrentDebugLocation(loop.header->getTerminator()->getDebugLoc());
  b.CreateStore(b.getFalse(), isDone);
  b.CreateBr(loop.header);

  BasicBlock *next = release->getTerminator()->getSuccessor(0);
  release->getTerminator()->eraseFromParent();
  b.SetInsertPoint(release);
  b.CreateStore(b.getTrue(), isDone);
  b.CreateBr(park);

  // A convergent operation keeps the optimiser from giving each of the two ways its own branch.
  b.SetInsertPoint(park);
  b.CreateIntrinsic(b.getVoidTy(), Intrinsic::amdgcn_wave_barrier, {});
  b.CreateCondBr(b.CreateLoad(b.getInt1Ty(), isDone), next, loop.header);
}

// ---------- The watch

std::string Treatment::describe(const Loop &loop, uint32_t poll) const {
  uint32_t first = poll;
  while (first != 0 && isIn(loop, first - 1))
    --first;
  const ptx::Instruction &inst = function.body[poll];
  std::string place = fn.unit().describe(function, function.body[first], &inst);
  return place + ": the loop that waits for '" + inst.spelling->text.str() + "' of line " +
         std::to_string(fn.unit().diagnosticAt(inst.place, function, "", false).line);
}

void Treatment::watch(const Loop &loop, uint32_t poll) {
  UnitLowering &unit = fn.unit();
  std::string what = describe(loop, poll);
  unit.spinLoops.push_back(what);
  IntegerType *maskType = fn.intType(fn.target().waveSize), *i32 = fn.intType(32);
  AllocaInst *entered = variable(maskType), *last = variable(maskType), *rounds = variable(i32);
  const bool othersCount = othersMayAnswer(loop, poll); // asks for ways to the loop as it is

  BasicBlock *again = fn.newBlock("spin.again"), *stuck = fn.newBlock("spin.stuck");
  IRBuilder<> b(makePreheader(loop, again));
  b.SetCurrentDebugLocation(loop.header->getTerminator()->getDebugLoc());
  auto active = [&] {
    return b.CreateIntrinsic(Intrinsic::amdgcn_ballot, {maskType}, {b.getTrue()});
  };
  Value *all = active();
  Value *expected = all;
  if (othersCount) { // then not only those count that came to the loop
    BasicBlock &entry = fn.llvmFunction().getEntryBlock();
    IRBuilder<> atEntry(&entry, entry.getFirstNonPHIOrDbgOrAlloca());
    expected = atEntry.CreateIntrinsic(Intrinsic::amdgcn_ballot, {maskType}, {b.getTrue()});
  }
  b.CreateStore(expected, entered);
  b.CreateStore(all, last);
  b.CreateStore(b.getInt32(0), rounds);
  b.CreateBr(loop.header);

  b.SetInsertPoint(again);
  Value *now = active();
  Value *someLeft = b.CreateICmpNE(now, b.CreateLoad(maskType, entered));
  Value *noneLeft = b.CreateICmpEQ(now, b.CreateLoad(maskType, last));
  Value *count =
      b.CreateSelect(b.CreateAnd(someLeft, noneLeft),
                     b.CreateAdd(b.CreateLoad(i32, rounds), b.getInt32(1)), b.getInt32(0));
  b.CreateStore(now, last);
  b.CreateStore(count, rounds);
  b.CreateCondBr(b.CreateICmpEQ(count, b.getInt32(fn.options().spinLimit)), stuck, loop.header);

  b.SetInsertPoint(stuck);
  emitTrap(b, unit, abi::TrapReason::NeedsIndependentScheduling, unit.addTrap(what));
  b.CreateUnreachable();
}

void Treatment::run() {
  DenseSet<uint32_t> treated, ordered;
  for (bool changed = true; changed;) {
    changed = false;
    tree.recalculate(fn.llvmFunction());
    std::vector<Loop> loops = naturalLoops(fn.llvmFunction(), tree);
    // The innermost first.
    sort(loops, [](const Loop &a, const Loop &b) { return a.body.size() < b.body.size(); });
    for (const Loop &loop : loops) {
      for (uint32_t i : pollIndexes) {
        if (!isIn(loop, i) || treated.contains(i) || !waitsAtOneAddress(loop, i))
          continue;
        const bool inside = releasesInside(loop, i);
        if (!inside && !mayWaitForOwnWarp(loop, i))
          continue;
        SmallVector<uint32_t> branches;
        if (!inside && othersMayAnswer(loop, i, &branches))
          for (uint32_t branch : branches)
            changed = changed || (ordered.insert(branch).second && letAnswersGoFirst(loop, branch));
        if (changed)
          break; // the blocks are others now
        for (uint32_t other : pollIndexes)
          if (isIn(loop, other))
            treated.insert(other);
        if (inside)
          keepTogether(loop);
        else if (BasicBlock *release = releaseOf(loop, i))
          keepUntilRelease(loop, release);
        else
          watch(loop, i);
        changed = true; // the blocks are others now
        break;
      }
      if (changed)
        break;
    }
  }
}

} // namespace

DenseSet<uint32_t> possibleReleases(const ptx::Function &function) {
  SmallVector<const ptx::Operand *> locks;
  for (const ptx::Instruction &inst : function.body)
    if (isExchange(inst))
      if (const ptx::Operand *address = addressOf(inst))
        locks.push_back(address);
  DenseSet<uint32_t> releases;
  if (locks.empty())
    return releases;
  for (uint32_t i = 0; i < function.body.size(); ++i) {
    const ptx::Instruction &inst = function.body[i];
    const ptx::Operand *address = addressOf(inst);
    if (!address || inst.guard.reg != ptx::kNone || !does(inst, effects::Writes))
      continue;
    if (any_of(locks, [&](const ptx::Operand *lock) { return isSamePlace(*address, *lock); }))
      releases.insert(i);
  }
  return releases;
}

void treatSpinLoops(FunctionLowering &fn, ArrayRef<BasicBlock *> starts,
                    const DenseMap<uint32_t, BasicBlock *> &released) {
  if (any_of(fn.ptxFunction().body, mayPoll))
    Treatment(fn, starts, released).run();
}

} // namespace rubia::lowering
