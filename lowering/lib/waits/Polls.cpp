// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Polls.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/UniformValues.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "ptx-frontend/Types.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation And, Atom, Cvt, Cvta, IAdd, IMad, ISub, Ld, Mov, Or, Red, Selp, St;
} // namespace rubia::ptx::Op
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

std::vector<uint32_t> pollsOf(const ptx::Function &function) {
  std::vector<uint32_t> polls;
  for (auto [index, instruction] : enumerate(function.body))
    if (mayPoll(instruction))
      polls.push_back(uint32_t(index));
  return polls;
}

std::vector<uint32_t> branchesOf(const ptx::Function &function) {
  std::vector<uint32_t> branches;
  for (auto [index, instruction] : enumerate(function.body))
    if (choiceOf(instruction) ||
        (instruction.guard.reg != ptx::kNone &&
         does(instruction, effects::Jumps | effects::Returns | effects::Exits)))
      branches.push_back(uint32_t(index));
  return branches;
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
// in the loop.
bool Poll::decides(uint32_t branch) const {
  const ptx::Instruction &jump = loop.function.body[branch];
  const ptx::Operand *choice = choiceOf(jump);
  const ptx::RegisterId condition = choice ? choice->reg : jump.guard.reg;
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

// ---------- Who may write what is waited for

Answers::Answers(const LoopValues &loop, uint32_t poll, bool endsAreAnswers,
                 const BitVector *meetings)
    : loop(loop), function(loop.function), poll(loop.function.body[poll]),
      endsAreAnswers(endsAreAnswers), meetings(meetings) {
  findRoots(*addressOf(function.body[poll]), awaited);
  findPointers(*addressOf(function.body[poll]), pointers);
}

bool Answers::mayComeFrom(uint32_t branch) const {
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

BitVector Answers::waysFrom(uint32_t branch, const BitVector &others) const {
  const std::vector<ControlFlowGraph::Block> &blocks = loop.graph.blocks;
  BitVector ways(unsigned(blocks.size()));
  SmallVector<uint32_t> open{loop.graph.blockOf(branch)};
  while (!open.empty())
    for (uint32_t next : blocks[open.pop_back_val()].successors)
      if (!ways.test(next) && !others.test(next) && !loop.blocks.test(next) &&
          comesTo(next, Goal::Answer)) {
        ways.set(next);
        open.push_back(next);
      }
  return ways;
}

bool Answers::mayBe(uint32_t instruction) const {
  return mayWrite(instruction) && isSamePointer(function.body[instruction]) &&
         !isElsewhere(function.body[instruction]);
}

bool Answers::isMadeOfItsSources(uint32_t writer) const {
  return writer < function.body.size() && isRepeatable(function.body[writer]);
}

bool Answers::isMadeOfOthers(ArrayRef<uint32_t> writers, unsigned depth) const {
  return writers.size() == 1 && depth != kMaxValueSteps && isMadeOfItsSources(writers[0]);
}

// The variables and registers that an address is made of. A register that is written at several
// places may be made of what each of them takes.
void Answers::findRoots(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &roots,
                        unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    roots.insert(variable);
  forEachRegister(operand, [&](ptx::RegisterId reg) {
    const ArrayRef<uint32_t> writers = loop.definitions.of(reg);
    const void *self = &function.registers[reg];
    if ((!isMadeOfOthers(writers, depth) && !roots.insert(self).second) || depth == kMaxValueSteps)
      return;
    for (uint32_t writer : writers)
      if (isMadeOfItsSources(writer))
        for (const ptx::Operand &source : function.body[writer].operands.drop_front())
          findRoots(source, roots, depth + 1);
  });
}

// The variables and registers that an address points into, but not what is scaled to an index.
void Answers::findPointers(const ptx::Operand &operand, SmallPtrSetImpl<const void *> &found,
                           bool onlyVariables, unsigned depth) const {
  if (const ptx::Variable *variable = operand.variable())
    found.insert(variable);
  if (operand.reg == ptx::kNone)
    return;
  const ArrayRef<uint32_t> writers = loop.definitions.of(operand.reg);
  if (!isMadeOfOthers(writers, depth) &&
      (onlyVariables || !found.insert(&function.registers[operand.reg]).second))
    return;
  if (depth == kMaxValueSteps)
    return;
  for (uint32_t writer : writers)
    if (isMadeOfItsSources(writer))
      findPointersOfSources(function.body[writer], found, onlyVariables, depth);
}

void Answers::findPointersOfSources(const ptx::Instruction &writer,
                                    SmallPtrSetImpl<const void *> &found, bool onlyVariables,
                                    unsigned depth) const {
  const ptx::Operation op = writer.op();
  ArrayRef<ptx::Operand> sources = ArrayRef(writer.operands).drop_front();
  if (op == ptx::Op::IMad)
    sources = sources.take_back(1);
  else if (op == ptx::Op::Selp)
    sources = sources.drop_back(1);
  else if (op == ptx::Op::Cvt)
    onlyVariables = true;
  else if (!is_contained({ptx::Op::Mov, ptx::Op::Cvta, ptx::Op::IAdd, ptx::Op::ISub, ptx::Op::And,
                          ptx::Op::Or, ptx::Op::Ld},
                         op))
    return;
  for (const ptx::Operand &source : sources)
    findPointers(source, found, onlyVariables, depth + 1);
}

bool Answers::isSamePointer(const ptx::Instruction &instruction) const {
  return pointers.empty() || any_of(instruction.operands, [&](const ptx::Operand &operand) {
           if (operand.kind != Kind::Address && operand.kind != Kind::AddressList)
             return false;
           SmallPtrSet<const void *, 8> into;
           for (const ptx::Operand &element : operand.elements())
             findPointers(element, into);
           if (operand.kind == Kind::Address)
             findPointers(operand, into);
           return into.empty() ||
                  any_of(into, [&](const void *pointer) { return pointers.contains(pointer); });
         });
}

// Copies write at several addresses: what they copy to, and the mbarrier that counts them.
bool Answers::mayWrite(uint32_t index) const {
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
    bool found = isLoop && goal == Goal::Loop,
         goesOn = !isLoop && !(meetings && meetings->test(block));
    for (uint32_t index = blocks[block].first; index < blocks[block].end && goesOn; ++index) {
      found |= goal == Goal::Answer &&
               (mayWrite(index) || (endsAreAnswers && does(function.body[index], effects::Traps)));
      goesOn = meetings || !isMeeting(function.body[index]);
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

namespace {

// A variable or register, and a distance from there.
struct Place {
  const void *base = nullptr;
  ptx::RegisterId reg = ptx::kNone;
  int64_t offset = 0;
};

// The address of an access, back through constant steps.
Place placeOf(const ptx::Function &function, const Definitions &definitions,
              const ptx::Operand &address) {
  Place place{nullptr, address.reg, address.offset};
  if (const ptx::Variable *variable = address.variable()) {
    place.base = variable;
    return place;
  }
  for (unsigned step = 0; place.reg != ptx::kNone && step < kMaxValueSteps; ++step) {
    place.base = &function.registers[place.reg];
    ArrayRef<uint32_t> writers = definitions.of(place.reg);
    if (writers.size() != 1 || writers[0] >= function.body.size())
      break;
    const ptx::Instruction &writer = function.body[writers[0]];
    if (writer.guard.reg != ptx::kNone)
      break;
    if (writer.op() == ptx::Op::IAdd) {
      std::optional<uint64_t> distance = definitions.constant(writer.operands[2]);
      if (!distance)
        break;
      place.offset += int64_t(*distance);
    } else if (writer.op() != ptx::Op::Mov && writer.op() != ptx::Op::Cvta) {
      break;
    }
    const ptx::Operand &source = writer.operands[1];
    if (source.kind == Kind::Variable)
      return {source.variable(), ptx::kNone, place.offset + source.offset};
    if (source.kind != Kind::Register || source.negated)
      break;
    place.reg = source.reg;
  }
  return place;
}

// 0: not known.
uint64_t bytesOf(const ptx::Instruction &access) {
  for (const ptx::Operation op : {ptx::Op::Atom, ptx::Op::Ld, ptx::Op::Red, ptx::Op::St})
    if (access.op() == op)
      return uint64_t(ptx::sizeInBits(access.spelling->type())) / 8 *
             access.spelling->vectorWidth();
  return 0;
}

} // namespace

bool Answers::isElsewhere(const ptx::Instruction &instruction) const {
  const uint64_t bytes = bytesOf(instruction), awaitedBytes = bytesOf(poll);
  if (!bytes || !awaitedBytes)
    return false;
  const Place there = placeOf(function, loop.definitions, *addressOf(instruction)),
              here = placeOf(function, loop.definitions, *addressOf(poll));
  if (!there.base || there.base != here.base ||
      (here.reg != ptx::kNone && !isUniform(function, loop.definitions, here.reg)))
    return false;
  return here.offset + int64_t(awaitedBytes) <= there.offset ||
         there.offset + int64_t(bytes) <= here.offset;
}

} // namespace rubia::lowering
