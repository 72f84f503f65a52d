// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Polls.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/UniformValues.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Cas;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

// Whether an operand is made of the address of a cooperative launch's workspace.
static bool isGridWorkspace(const ptx::Function &function, const Definitions &definitions,
                            const ptx::Operand &operand, SmallDenseSet<ptx::RegisterId> &visited) {
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
          found = found || isGridWorkspace(function, definitions, source, visited);
  });
  return found;
}

// ---------- Which exits depend on what is polled

Poll::Poll(const LoopValues &loop, ArrayRef<uint32_t> branches, uint32_t index)
    : loop(loop), branches(branches), index(index), instruction(loop.function.body[index]) {}

bool Poll::waitsAtOneAddress() const {
  const ptx::Operand *address = addressOf(instruction);
  return address && loop.isFixed(*address) && (!isRepeatedSwap() || decidesAnExit());
}

bool Poll::decidesAnExit() const {
  return any_of(branches, [&](uint32_t branch) {
    return (leaves(branch) || goesRound(branch)) && decides(branch);
  });
}

bool Poll::isBarrierOfGrid() const {
  SmallDenseSet<ptx::RegisterId> visited;
  return isGridWorkspace(loop.function, loop.definitions, *addressOf(instruction), visited);
}

bool Poll::leaveTogether() const {
  return all_of(branches, [&](uint32_t branch) {
    return !loop.isIn(branch) ||
           isUniformJump(loop.function, loop.definitions, loop.function.body[branch]);
  });
}

SmallVector<uint32_t> Poll::exits() const {
  SmallVector<uint32_t> result;
  copy_if(branches, std::back_inserter(result), [&](uint32_t branch) { return leaves(branch); });
  return result;
}

// Whether a branch of the loop may leave it.
bool Poll::leaves(uint32_t branch) const {
  if (!loop.isIn(branch))
    return false;
  const ControlFlowGraph::Block &block = loop.graph.blocks[loop.graph.blockOf(branch)];
  return any_of(block.successors, [&](uint32_t next) { return !loop.blocks.test(next); });
}

// Whether a branch of the loop, which does not leave it, sends some to the next round before they
// come to where the loop may be left, and others not.
bool Poll::goesRound(uint32_t branch) const {
  if (!loop.isIn(branch) || leaves(branch))
    return false;
  const std::vector<ControlFlowGraph::Block> &blocks = loop.graph.blocks;
  if (!early) {
    early.emplace(unsigned(blocks.size()));
    auto mayLeave = [&](uint32_t block) {
      return any_of(blocks[block].successors,
                    [&](uint32_t next) { return !loop.blocks.test(next); });
    };
    for (bool changed = true; std::exchange(changed, false);)
      for (uint32_t block : loop.loop.blocks)
        if (!early->test(block) && !mayLeave(block) &&
            any_of(blocks[block].successors,
                   [&](uint32_t next) { return next == loop.loop.header || early->test(next); })) {
          early->set(block);
          changed = true;
        }
  }
  auto isEarly = [&](uint32_t next) { return next == loop.loop.header || early->test(next); };
  const ControlFlowGraph::Block &block = blocks[loop.graph.blockOf(branch)];
  return any_of(block.successors, isEarly) && !all_of(block.successors, isEarly);
}

// A compare and swap that expects another value each round: what was there a moment ago.
bool Poll::isRepeatedSwap() const {
  return instruction.spelling->has(ptx::Mod::Cas) && !loop.isFixed(instruction.operands[2]);
}

// Whether a branch depends on what the poll gives, or on what it expects there, by values computed
// in the loop. A register that has several values depends on what decides whether it gets one, too:
// `if (*flag) done = true;`.
bool Poll::decides(uint32_t branch) const {
  const ptx::RegisterId expected = isRepeatedSwap() ? instruction.operands[2].reg : ptx::kNone;
  SmallSetVector<ptx::RegisterId, 16> registers;
  SmallSetVector<uint32_t, 8> deciding; // blocks
  auto addCondition = [&](uint32_t jump) {
    const ptx::Instruction &by = loop.function.body[jump];
    const ptx::Operand *choice = choiceOf(by);
    const ptx::RegisterId condition = choice ? choice->reg : by.guard.reg;
    if (condition != ptx::kNone)
      registers.insert(condition);
  };
  addCondition(branch);
  size_t followed = 0;
  for (size_t i = 0; i < registers.size(); ++i) {
    if (registers[i] == expected)
      return true;
    const ArrayRef<uint32_t> writers = loop.definitions.of(registers[i]);
    for (uint32_t writer : writers) {
      if (writer == index)
        return true;
      if (!loop.isIn(writer))
        continue;
      if (writers.size() > 1)
        for (uint32_t decider : loop.decidersOf(loop.graph.blockOf(writer)))
          deciding.insert(decider);
      for (; followed < deciding.size(); ++followed) {
        if (loop.graph.blocks[deciding[followed]].first < loop.graph.blocks[deciding[followed]].end)
          addCondition(loop.graph.blocks[deciding[followed]].branch());
        for (uint32_t decider : loop.decidersOf(deciding[followed]))
          deciding.insert(decider);
      }
      const ptx::Instruction &by = loop.function.body[writer];
      if (by.guard.reg != ptx::kNone)
        registers.insert(by.guard.reg);
      if (loop.isEndOfCount(by) || loop.isRetry(by))
        continue;
      for (const ptx::Operand &operand : by.operands)
        forEachRegister(operand, [&](ptx::RegisterId reg) { registers.insert(reg); });
    }
  }
  return false;
}

// ---------- Who may write what is waited for

Answers::Answers(const WaitFacts &facts, const LoopValues &loop, uint32_t poll, bool endsAreAnswers,
                 const BitVector *meetings)
    : facts(facts), loop(loop), function(loop.function), poll(poll), endsAreAnswers(endsAreAnswers),
      meetings(meetings), writers(facts.addresses.writersTo(poll)) {
  writers.reset(loop.instructions);
}

bool Answers::mayBe(uint32_t instruction) const {
  return mayWrite(instruction) && facts.addresses.isSamePointer(instruction, poll) &&
         !facts.addresses.isElsewhere(instruction, poll);
}

bool Answers::mayComeFrom(uint32_t branch) const {
  const ptx::Instruction &jump = function.body[branch];
  if (!does(jump, effects::Jumps) || loop.isIn(branch) ||
      isUniformJump(function, loop.definitions, jump))
    return false;
  ArrayRef<uint32_t> ways = loop.graph.blocks[loop.graph.blockOf(branch)].successors;
  return any_of(ways, [&](uint32_t way) {
    return comingTo(Goal::Loop).test(way) && any_of(ways, [&](uint32_t other) {
             return other != way && comingTo(Goal::Answer).test(other);
           });
  });
}

BitVector Answers::ways(const BitVector &others) const {
  BitVector result = comingTo(Goal::Answer);
  result.reset(others);
  result.reset(loop.blocks);
  return result;
}

// The blocks from which there is a way to the loop, or to an answer without coming to the loop; in
// either case without coming to where all meet.
const BitVector &Answers::comingTo(Goal goal) const {
  std::optional<BitVector> &blocks = coming[size_t(goal)];
  if (!blocks)
    blocks = blocksThatComeTo(goal);
  return *blocks;
}

// Backwards from where the goal is reached.
BitVector Answers::blocksThatComeTo(Goal goal) const {
  const std::vector<ControlFlowGraph::Block> &blocks = loop.graph.blocks;
  const bool isAnswer = goal == Goal::Answer;
  BitVector result(unsigned(blocks.size())), passes(unsigned(blocks.size()));
  std::vector<SmallVector<uint32_t, 2>> before(blocks.size());
  SmallVector<uint32_t> open;
  for (uint32_t block = 0; block < blocks.size(); ++block) {
    for (uint32_t next : blocks[block].successors)
      before[next].push_back(block);
    const bool isLoop = block == loop.loop.header;
    bool found = isLoop && !isAnswer,
         goesOn = !isLoop && !(isAnswer && meetings && meetings->test(block));
    for (uint32_t index = blocks[block].first; index < blocks[block].end && goesOn; ++index) {
      found |= isAnswer &&
               (mayWrite(index) || (endsAreAnswers && does(function.body[index], effects::Traps)));
      goesOn = (isAnswer && meetings) || !facts.mayMeet(index);
    }
    if (goesOn)
      passes.set(block);
    if (found)
      open.push_back(block);
  }
  while (!open.empty()) {
    uint32_t block = open.pop_back_val();
    if (result.test(block))
      continue;
    result.set(block);
    copy_if(before[block], std::back_inserter(open),
            [&](uint32_t previous) { return passes.test(previous); });
  }
  return result;
}

} // namespace rubia::lowering
