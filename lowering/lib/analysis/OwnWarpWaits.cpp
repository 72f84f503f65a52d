// SPDX-License-Identifier: Apache-2.0
// Loops that wait for a thread of their own warp.
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/Locks.h"
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/analysis/UniformValues.h"
#include "lowering/lib/analysis/WaitingLoops.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace llvm;

namespace rubia::ptx::Mod {
extern const Modifier Cas;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {
namespace {

using Kind = ptx::Operand::Kind;

// Whether an operand is made of the address of a cooperative launch's workspace.
bool isGridWorkspace(const ptx::Function &function, const Definitions &definitions,
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

// A loop, and an instruction in it that may poll.
class Poll {
public:
  Poll(const LoopValues &loop, ArrayRef<uint32_t> branches, uint32_t index)
      : loop(loop), branches(branches), index(index), instruction(loop.function.body[index]) {}

  bool waitsAtOneAddress() const {
    const ptx::Operand *address = addressOf(instruction);
    return address && loop.isFixed(*address) && (!isRepeatedSwap() || decidesAnExit());
  }

  // Whether the loop waits at all, for whomever.
  bool decidesAnExit() const {
    return any_of(branches,
                  [&](uint32_t branch) { return leaves(branch) && decides(conditionOf(branch)); });
  }

  // grid.sync() waits for other CTAs, however long they take, when its own has arrived.
  bool isBarrierOfGrid() const {
    SmallDenseSet<ptx::RegisterId> visited;
    return isGridWorkspace(loop.function, loop.definitions, *addressOf(instruction), visited);
  }

  // Whether all of a warp that enter the loop leave it in the same round: none of its branches
  // divides them, so that they come to the exit together.
  bool leaveTogether() const {
    return all_of(branches, [&](uint32_t branch) {
      return !loop.isIn(branch) ||
             isUniformJump(loop.function, loop.definitions, loop.function.body[branch]);
    });
  }

  SmallVector<uint32_t> exits() const {
    SmallVector<uint32_t> result;
    copy_if(branches, std::back_inserter(result), [&](uint32_t branch) { return leaves(branch); });
    return result;
  }

private:
  // Whether a branch of the loop may leave it.
  bool leaves(uint32_t branch) const {
    if (!loop.isIn(branch))
      return false;
    const auto *block = find_if(loop.loop.blocks, [&](uint32_t block) {
      return loop.graph.blocks[block].first < loop.graph.blocks[block].end &&
             loop.graph.blocks[block].branch() == branch;
    });
    return any_of(loop.graph.blocks[*block].successors,
                  [&](uint32_t next) { return !loop.blocks.test(next); });
  }

  ptx::RegisterId conditionOf(uint32_t branch) const {
    const ptx::Instruction &jump = loop.function.body[branch];
    const ptx::Operand *choice = choiceOf(jump);
    return choice ? choice->reg : jump.guard.reg;
  }

  // A compare and swap that expects another value each round: what was there a moment ago.
  bool isRepeatedSwap() const {
    return instruction.spelling->has(ptx::Mod::Cas) && !loop.isFixed(instruction.operands[2]);
  }

  // Whether a condition depends on what the poll gives, or on what it expects there, by values
  // computed in the loop.
  bool decides(ptx::RegisterId condition) const {
    if (condition == ptx::kNone)
      return false;
    const ptx::RegisterId expected = isRepeatedSwap() ? instruction.operands[2].reg : ptx::kNone;
    SmallSetVector<ptx::RegisterId, 16> registers;
    registers.insert(condition);
    for (size_t i = 0; i < registers.size(); ++i) {
      if (registers[i] == expected)
        return true;
      for (uint32_t writer : loop.definitions.of(registers[i])) {
        if (writer == index)
          return true;
        if (!loop.isIn(writer))
          continue;
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

  const LoopValues &loop;
  ArrayRef<uint32_t> branches;
  const uint32_t index;
  const ptx::Instruction &instruction;
};

// ---------- Threads that do not come to the loop

class Answers {
public:
  Answers(const LoopValues &loop, uint32_t poll) : loop(loop), function(loop.function) {
    findRoots(*addressOf(function.body[poll]), awaited);
  }

  // Whether threads that take another way at a branch, while some of their warp come to the loop,
  // may write what is waited for: by an address that is made of the same variable.
  bool mayComeFrom(uint32_t branch) const {
    const ptx::Instruction &jump = function.body[branch];
    if (!does(jump, effects::Jumps) || loop.isIn(branch) ||
        isUniformJump(function, loop.definitions, jump))
      return false;
    auto block = find_if(loop.graph.blocks, [&](const ControlFlowGraph::Block &code) {
      return code.first <= branch && branch < code.end;
    });
    ArrayRef<uint32_t> ways = block->successors;
    return any_of(ways, [&](uint32_t way) {
      return comesTo(way, Goal::Loop) && any_of(ways, [&](uint32_t other) {
               return other != way && comesTo(other, Goal::Answer);
             });
    });
  }

private:
  void findRoots(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &roots,
                 unsigned depth = 0) const;
  bool isAnswer(uint32_t index) const;
  enum class Goal { Loop, Answer };
  bool comesTo(uint32_t way, Goal goal) const;
  BitVector blocksThatComeTo(Goal goal) const;

  const LoopValues &loop;
  const ptx::Function &function;
  SmallPtrSet<const void *, 8> awaited;
  mutable std::optional<BitVector> coming[2]; // by goal
};

// The variables and registers that an address is made of.
void Answers::findRoots(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &roots,
                        unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    roots.insert(variable);
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    ArrayRef<uint32_t> writers = loop.definitions.of(reg);
    const ptx::Instruction *writer = writers.size() == 1 && writers[0] < function.body.size()
                                         ? &function.body[writers[0]]
                                         : nullptr;
    if (!writer || depth == kMaxValueSteps || !isRepeatable(*writer))
      roots.insert(&function.registers[reg]);
    else
      for (const ptx::Operand &source : writer->operands.drop_front())
        findRoots(source, roots, depth + 1);
  });
}

// Copies write at several addresses: what they copy to, and the mbarrier that counts them.
bool Answers::isAnswer(uint32_t index) const {
  const ptx::Instruction &instruction = function.body[index];
  if (loop.isIn(index) || !does(instruction, effects::Writes))
    return false;
  return any_of(instruction.operands, [&](const ptx::Operand &operand) {
    if (operand.kind != Kind::Address && operand.kind != Kind::AddressList)
      return false;
    SmallPtrSet<const void *, 8> roots;
    findRoots(operand, roots);
    return any_of(roots, [&](const void *root) { return awaited.contains(root); });
  });
}

// Whether there is a way from a block to the loop, or to an answer without coming to the loop; in
// either case without coming to where all meet.
bool Answers::comesTo(uint32_t way, Goal goal) const {
  std::optional<BitVector> &blocks = coming[size_t(goal)];
  if (!blocks)
    blocks = blocksThatComeTo(goal);
  return blocks->test(way);
}

// Backwards from where the goal is reached.
BitVector Answers::blocksThatComeTo(Goal goal) const {
  const std::vector<ControlFlowGraph::Block> &blocks = loop.graph.blocks;
  BitVector result(unsigned(blocks.size())), passes(unsigned(blocks.size()));
  std::vector<SmallVector<uint32_t, 2>> before(blocks.size());
  SmallVector<uint32_t> open;
  for (uint32_t block = 0; block < blocks.size(); ++block) {
    for (uint32_t next : blocks[block].successors)
      before[next].push_back(block);
    const bool isLoop = block == loop.loop.header;
    bool found = isLoop && goal == Goal::Loop, goesOn = !isLoop;
    for (uint32_t index = blocks[block].first; index < blocks[block].end && goesOn; ++index) {
      found |= goal == Goal::Answer && isAnswer(index);
      goesOn = !isMeeting(function.body[index]);
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

// ---------- The search

class Search {
public:
  Search(const ptx::Function &function, ControlFlowGraph &graph, const CallFacts &calls)
      : function(function), graph(graph), calls(calls), definitions(function),
        found(unsigned(function.body.size())) {
    for (auto [index, instruction] : enumerate(function.body)) {
      if (mayPoll(instruction))
        polls.push_back(uint32_t(index));
      if (choiceOf(instruction) ||
          (instruction.guard.reg != ptx::kNone &&
           does(instruction, effects::Jumps | effects::Returns | effects::Exits)))
        branches.push_back(uint32_t(index));
    }
  }

  std::vector<OwnWarpWait> run() {
    std::vector<OwnWarpWait> result;
    if (!polls.empty())
      while (std::optional<OwnWarpWait> wait = next())
        result.push_back(std::move(*wait));
    return result;
  }

private:
  std::optional<OwnWarpWait> next() {
    std::vector<ControlFlowGraph::Loop> loops = graph.naturalLoops();
    // The innermost first, else in the order of the text.
    sort(loops, [](const ControlFlowGraph::Loop &a, const ControlFlowGraph::Loop &b) {
      return std::tuple(a.blocks.size(), a.latches[0], a.header) <
             std::tuple(b.blocks.size(), b.latches[0], b.header);
    });
    for (const ControlFlowGraph::Loop &loop : loops) {
      LoopValues values(function, definitions, graph, loop);
      for (uint32_t poll : polls) {
        if (!values.isIn(poll) || found.test(poll))
          continue;
        std::optional<OwnWarpWait> wait = check(values, poll);
        if (!wait)
          continue;
        for (uint32_t other : polls)
          if (values.isIn(other))
            found.set(other);
        followTreatment(loop, *wait);
        return wait;
      }
    }
    return std::nullopt;
  }

  std::optional<OwnWarpWait> check(const LoopValues &loop, uint32_t index) const {
    Poll poll(loop, branches, index);
    if (!poll.waitsAtOneAddress())
      return std::nullopt;
    OwnWarpWait wait;
    wait.header = loop.loop.header;
    wait.poll = wait.first = index;
    while (wait.first != 0 && loop.isIn(wait.first - 1))
      --wait.first;
    wait.exits = poll.exits();
    wait.releasesInside = releasesInside(loop, index);
    if (wait.releasesInside)
      return wait;
    if (poll.isBarrierOfGrid() || !poll.decidesAnExit())
      return std::nullopt;
    Answers answers(loop, index);
    copy_if(branches, std::back_inserter(wait.answered),
            [&](uint32_t branch) { return answers.mayComeFrom(branch); });
    if (wait.answered.empty() && poll.leaveTogether())
      return std::nullopt;
    wait.release = releaseOf(loop, index, calls);
    return wait;
  }

  // Makes of the graph what becomes of the code.
  void followTreatment(const ControlFlowGraph::Loop &loop, const OwnWarpWait &wait) {
    if (wait.releasesInside)
      return;
    SmallVector<uint32_t> back = loop.latches;
    if (!wait.release) {
      uint32_t again = graph.addBlock(back, loop.header);
      graph.blocks[again].successors.push_back(graph.ended());
      return;
    }
    auto releasing = find_if(graph.blocks, [&](const ControlFlowGraph::Block &block) {
      return block.first < block.end && block.branch() == *wait.release;
    });
    const uint32_t behind = releasing->successors[0];
    releasing->successors = {loop.header};
    back.push_back(uint32_t(releasing - graph.blocks.begin()));
    uint32_t park = graph.addBlock(back, loop.header);
    graph.blocks[park].successors.push_back(behind);
  }

  const ptx::Function &function;
  ControlFlowGraph &graph;
  const CallFacts &calls;
  const Definitions definitions;
  std::vector<uint32_t> polls, branches; // branches that have a condition
  BitVector found;                       // polls
};

} // namespace

std::vector<OwnWarpWait> findOwnWarpWaits(const ptx::Function &function, ControlFlowGraph &graph,
                                          const CallFacts &calls) {
  return Search(function, graph, calls).run();
}

} // namespace rubia::lowering
