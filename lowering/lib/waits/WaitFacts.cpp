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

// Whether an instruction writes those at an activemask, or none but threads of a mask that it
// reads.
static bool isPartOf(const ptx::Instruction &writer,
                     function_ref<bool(const ptx::Operand &)> isMask) {
  if (writer.op() == ptx::Op::Match || writer.op() == ptx::Op::Vote) {
    const ptx::Operand *own = membersOf(writer);
    return own && isMask(*own);
  }
  return writer.op() == ptx::Op::Activemask ||
         ((writer.op() == ptx::Op::And || writer.op() == ptx::Op::Mov) &&
          any_of(drop_begin(writer.operands), isMask));
}

// Whether a membermask names nobody but threads that were there at an activemask. Masks may be made
// of themselves: all that it may be made of are taken for such until one is found not to be.
static bool isOfThoseThere(const WaitFacts &facts, const ptx::Operand &members) {
  if (members.kind != ptx::Operand::Kind::Register)
    return false;
  const auto &body = facts.function.body;
  SmallSetVector<ptx::RegisterId, 8> masks;
  masks.insert(members.reg);
  for (size_t i = 0; i < masks.size() && masks.size() <= kMaxValueSteps; ++i)
    for (uint32_t writer : facts.definitions.of(masks[i]))
      if (writer < body.size())
        isPartOf(body[writer], [&](const ptx::Operand &source) {
          if (source.kind == ptx::Operand::Kind::Register)
            masks.insert(source.reg);
          return false;
        });
  auto isMask = [&](const ptx::Operand &source) {
    return source.kind == ptx::Operand::Kind::Register && masks.contains(source.reg);
  };
  auto isAnother = [&](ptx::RegisterId mask) {
    const ArrayRef<uint32_t> writers = facts.definitions.of(mask);
    return writers.empty() || any_of(writers, [&](uint32_t writer) {
             return writer >= body.size() || !isPartOf(body[writer], isMask);
           });
  };
  while (masks.remove_if(isAnother))
    ;
  return masks.contains(members.reg);
}

bool WaitFacts::mayMeet(uint32_t instruction) const {
  if (!ask(instruction, Question::Meets))
    return false;
  const ptx::Operand *members = membersOf(function.body[instruction]);
  return !members || !isOfThoseThere(*this, *members);
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
