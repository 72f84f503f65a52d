// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/WaitFacts.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/UniformValues.h"
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/waits/Polls.h"
#include "llvm/ADT/SetVector.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Activemask, And, Match, Mov, Vote;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

static std::vector<uint32_t> branchesOf(const ptx::Function &function) {
  std::vector<uint32_t> branches;
  for (auto [index, instruction] : enumerate(function.body))
    if (choiceOf(instruction) ||
        (instruction.guard.reg != ptx::kNone &&
         does(instruction, effects::Jumps | effects::Returns | effects::Exits)))
      branches.push_back(uint32_t(index));
  return branches;
}

static std::vector<uint32_t> pollsOf(const ptx::Function &function) {
  std::vector<uint32_t> polls;
  for (auto [index, instruction] : enumerate(function.body))
    if (mayPoll(instruction))
      polls.push_back(uint32_t(index));
  return polls;
}

// Whether a membermask names nobody but threads that were there at an activemask.
static bool isOfThoseThere(const WaitFacts &facts, const ptx::Operand &members,
                           SmallDenseSet<ptx::RegisterId> &visited) {
  if (members.kind != ptx::Operand::Kind::Register || visited.size() > kMaxValueSteps)
    return false;
  if (!visited.insert(members.reg).second)
    return true; // made of itself
  auto isMadeOf = [&](const ptx::Operand &source) {
    return isOfThoseThere(facts, source, visited);
  };
  const ArrayRef<uint32_t> writers = facts.definitions.of(members.reg);
  return !writers.empty() && all_of(writers, [&](uint32_t index) {
    if (index >= facts.function.body.size())
      return false;
    const ptx::Instruction &writer = facts.function.body[index];
    if (writer.op() == ptx::Op::Match || writer.op() == ptx::Op::Vote) {
      const ptx::Operand *own = membersOf(writer);
      return own && isMadeOf(*own);
    }
    return writer.op() == ptx::Op::Activemask ||
           ((writer.op() == ptx::Op::And || writer.op() == ptx::Op::Mov) &&
            any_of(drop_begin(writer.operands), isMadeOf));
  });
}

bool WaitFacts::mayMeet(uint32_t instruction) const {
  if (!ask(instruction, Question::Meets))
    return false;
  const ptx::Operand *members = membersOf(function.body[instruction]);
  SmallDenseSet<ptx::RegisterId> visited;
  return !members || !isOfThoseThere(*this, *members, visited);
}

WaitFacts::WaitFacts(const ptx::Function &function, const CallFacts &calls)
    : function(function), calls(calls), definitions(function), polls(pollsOf(function)),
      branches(branchesOf(function)), addresses(function, definitions) {}

bool WaitFacts::isOne(const ptx::Instruction &instruction, Question question) {
  return isMeeting(instruction) || (question == Question::IsForAll &&
                                    (instruction.op() == ptx::Op::Activemask ||
                                     does(instruction, effects::MeetsWarp | effects::ArrivesCta)));
}

// Functions without a body are the driver's.
bool WaitFacts::ask(uint32_t index, Question question) const {
  const ptx::Instruction &instruction = function.body[index];
  if (!does(instruction, effects::Calls))
    return isOne(instruction, question);
  const ptx::Function *callee = calleeOf(instruction);
  if (callee && !callee->hasBody)
    return false;
  return !callee || hasOne(*callee, question) ||
         (question == Question::IsForAll && calls.mayExit(instruction));
}

// Whether there is such an instruction in a function, or in one that is called there.
bool WaitFacts::hasOne(const ptx::Function &callee, Question question) const {
  auto [known, isNew] = callees.insert({{&callee, unsigned(question)}, false});
  if (!isNew)
    return known->second;
  SmallSetVector<const ptx::Function *, 8> called;
  called.insert(&callee);
  for (size_t i = 0; i < called.size(); ++i)
    for (const ptx::Instruction &instruction : called[i]->body) {
      const bool isCall = does(instruction, effects::Calls);
      const ptx::Function *next = isCall ? calleeOf(instruction) : nullptr;
      if (next)
        called.insert(next);
      else if (isCall || isOne(instruction, question))
        return callees[{&callee, unsigned(question)}] = true;
    }
  return false;
}

// ---------- Which loops wait

std::optional<Waiting> waitingWith(const WaitFacts &facts, const LoopValues &loop, uint32_t index) {
  const Poll poll(loop, facts.branches, index);
  Waiting waiting;
  OwnWarpWait &wait = waiting.wait;
  wait.releasesInside = releasesInside(loop, index);
  waiting.isAtOneAddress = poll.waitsAtOneAddress();
  if (!wait.releasesInside &&
      (!waiting.isAtOneAddress || poll.isBarrierOfGrid() || !poll.decidesAnExit()))
    return std::nullopt;
  wait.header = loop.loop.header;
  wait.poll = wait.first = index;
  while (wait.first != 0 && loop.isIn(wait.first - 1))
    --wait.first;
  wait.exits = poll.exits();
  waiting.leaveTogether = poll.leaveTogether();
  if (!wait.releasesInside)
    wait.release = releaseOf(loop, index, facts.calls);
  return waiting;
}

} // namespace rubia::lowering
