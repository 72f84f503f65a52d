// SPDX-License-Identifier: Apache-2.0
// Which waiting loops the threads of a warp go through in turns, with what follows them.
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/BranchWays.h"
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/waits/OwnWarpWaits.h"
#include "lowering/lib/waits/Polls.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/Sequence.h"
#include <map>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Atom, Ld;
} // namespace rubia::ptx::Op

namespace rubia::lowering {
namespace {

// Who may answer a poll: those who take other ways at these branches.
struct Answering {
  SmallVector<uint32_t> branches;
  BitVector ways; // blocks beside from which an answer may be come to
};

// A loop that waits for whomever, and what follows it up to the last answer.
struct Candidate {
  OwnWarpWait wait;
  BitVector loop, blocks;
  SmallVector<uint32_t> answers; // instructions that may be come to from the loop
  SmallVector<uint32_t> answersBeside;
  BitVector answering;           // blocks beside with an answer by the same pointer
  std::vector<Answering> beside; // of each poll
  bool isKept = false;           // until its release, unless it needs turns
  bool needsTurns = false;       // what follows may answer those who are still in the loop
  bool isWatched = false;        // unless it is kept, or threads go on in turns

  /// The same loop, which looks at another place too.
  void add(const Candidate &other) {
    blocks |= other.blocks;
    append_range(answers, other.answers);
    append_range(answersBeside, other.answersBeside);
    answering |= other.answering;
    for (uint32_t branch : other.wait.answered)
      if (!is_contained(wait.answered, branch))
        wait.answered.push_back(branch);
    append_range(beside, other.beside);
    isKept &= !other.needsTurns;
    needsTurns |= other.needsTurns;
    isWatched |= other.isWatched;
  }
};

// Candidates whose threads go on in turns together.
struct Group {
  BitVector blocks, members;
};

// No block is of two groups.
void add(std::vector<Group> &groups, Group group) {
  erase_if(groups, [&](const Group &other) {
    if (!group.blocks.anyCommon(other.blocks))
      return false;
    group.blocks |= other.blocks;
    group.members |= other.members;
    return true;
  });
  groups.push_back(std::move(group));
}

class Search {
public:
  Search(const WaitFacts &facts, const ControlFlowGraph &graph)
      : facts(facts), function(facts.function), graph(graph), branches(facts.branches) {
    if (!facts.polls.empty())
      findCandidates();
  }

  bool any() const { return !candidates.empty(); }

  std::vector<OwnWarpTurns> run() const;

  DenseSet<uint32_t> answers() const {
    DenseSet<uint32_t> result;
    for (const Candidate &candidate : candidates) {
      result.insert(candidate.answers.begin(), candidate.answers.end());
      result.insert(candidate.answersBeside.begin(), candidate.answersBeside.end());
    }
    return result;
  }

private:
  // The threads of a warp arrive at an mbarrier before they wait there.
  bool isOfMemory(uint32_t poll) const {
    return function.body[poll].op() == ptx::Op::Ld || function.body[poll].op() == ptx::Op::Atom;
  }
  void findCandidates();
  std::optional<Candidate> candidateFor(const ControlFlowGraph::Loop &loop) const;
  std::optional<Candidate> candidateFor(const LoopValues &loop, uint32_t index) const;
  void followFrom(const LoopValues &loop, Candidate &candidate) const;
  BitVector reachedFrom(ArrayRef<uint32_t> from, const BitVector &blocks) const;
  const BitVector &blocksBeside(size_t candidate, uint32_t branch) const;
  bool keptMayWaitFor(const Candidate &kept, const Candidate &other) const;
  Group emptyGroup() const {
    return {BitVector(unsigned(graph.blocks.size())), BitVector(unsigned(candidates.size()))};
  }
  void addWays(std::vector<Group> &groups) const;
  bool grow(Group &group) const;
  void addBetween(Group &group) const;
  std::vector<Group> findGroups() const;
  void addLoops(OwnWarpTurns &turns) const;
  void addTraps(OwnWarpTurns &turns) const;

  const WaitFacts &facts;
  const ptx::Function &function;
  const ControlFlowGraph &graph;
  const ArrayRef<uint32_t> branches;
  std::vector<ControlFlowGraph::Loop> loops;
  BitVector forAll; // blocks with something that threads may have to take part in
  std::vector<Candidate> candidates;
  mutable std::map<std::pair<size_t, uint32_t>, BitVector> beside; // that were asked for
};

void Search::findCandidates() {
  forAll.resize(unsigned(graph.blocks.size()));
  for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
    forAll[block] = any_of(seq(graph.blocks[block].first, graph.blocks[block].end),
                           [&](uint32_t index) { return facts.isForAll(index); });
  loops = graph.naturalLoops();
  for (const ControlFlowGraph::Loop &loop : loops) {
    if (any_of(loop.blocks, [&](uint32_t block) { return forAll.test(block); }))
      continue;
    std::optional<Candidate> found = candidateFor(loop);
    // Of loops within each other that share a header, an inner one may wait for what the outer
    // does. To LLVM they are one: no lock can be kept in the inner one alone.
    if (loop.latches.size() > 1 && !(found && found->needsTurns))
      for (uint32_t latch : loop.latches) {
        std::optional<Candidate> inner = candidateFor(graph.loopOf(loop.header, latch));
        if (inner && inner->needsTurns) {
          found = std::move(inner);
          found->isKept = false;
          break;
        }
      }
    if (found)
      candidates.push_back(std::move(*found));
  }
  for (Candidate &candidate : candidates)
    if (candidate.isKept)
      candidate.needsTurns = any_of(
          candidates, [&](const Candidate &other) { return keptMayWaitFor(candidate, other); });
}

// Whether whoever has a lock that is kept until its release may be one that another loop waits for.
bool Search::keptMayWaitFor(const Candidate &kept, const Candidate &other) const {
  const uint32_t header = other.wait.header;
  if (kept.loop.test(header)) // a loop that is watched may end
    return header != kept.wait.header && other.isWatched;
  const ptx::Operand &lock = *addressOf(function.body[kept.wait.poll]);
  return kept.blocks.test(header) && any_of(kept.answers, [&](uint32_t answer) {
           return !isSamePlace(*addressOf(function.body[answer]), lock);
         });
}

std::optional<Candidate> Search::candidateFor(const ControlFlowGraph::Loop &loop) const {
  const LoopValues values(function, facts.definitions, graph, loop);
  std::optional<Candidate> found;
  for (uint32_t poll : facts.polls)
    if (values.isIn(poll)) {
      std::optional<Candidate> candidate = candidateFor(values, poll);
      if (found && candidate)
        found->add(*candidate);
      else if (candidate)
        found = std::move(candidate);
    }
  return found;
}

std::optional<Candidate> Search::candidateFor(const LoopValues &loop, uint32_t index) const {
  std::optional<Waiting> waiting = waitingWith(facts, loop, index);
  if (!waiting)
    return std::nullopt;
  const bool releases = waiting->wait.releasesInside, together = waiting->leaveTogether;
  Candidate candidate;
  candidate.wait = std::move(waiting->wait);
  candidate.loop = loop.blocks;
  followFrom(loop, candidate);
  candidate.needsTurns = !releases && !together && !candidate.answers.empty() && isOfMemory(index);
  candidate.isKept = candidate.needsTurns && candidate.wait.release;
  const Answers answers(facts, loop, index, /*endsAreAnswers=*/!together, &forAll);
  candidate.answering.resize(unsigned(graph.blocks.size()));
  copy_if(branches, std::back_inserter(candidate.wait.answered),
          [&](uint32_t branch) { return answers.mayComeFrom(branch); });
  if (!candidate.wait.answered.empty()) {
    const ArrayRef<uint32_t> answered = candidate.wait.answered;
    candidate.beside.push_back({candidate.wait.answered, answers.ways(forAll)});
    SmallVector<uint32_t> from;
    transform(answered, std::back_inserter(from),
              [&](uint32_t branch) { return graph.blockOf(branch); });
    for (unsigned block : reachedFrom(from, candidate.beside.back().ways).set_bits())
      for (uint32_t at = graph.blocks[block].first; at < graph.blocks[block].end; ++at)
        if (answers.mayWrite(at)) {
          candidate.answersBeside.push_back(at);
          if (answers.mayBe(at))
            candidate.answering.set(block);
        }
  }
  candidate.isWatched = !releases && (!candidate.wait.answered.empty() || !together);
  return candidate;
}

// The blocks of some that are come to from others, by way of these alone.
BitVector Search::reachedFrom(ArrayRef<uint32_t> from, const BitVector &blocks) const {
  BitVector reached(unsigned(graph.blocks.size()));
  SmallVector<uint32_t> open(from);
  while (!open.empty())
    for (uint32_t next : graph.blocks[open.pop_back_val()].successors)
      if (blocks.test(next) && !reached.test(next)) {
        reached.set(next);
        open.push_back(next);
      }
  return reached;
}

// The blocks of those who may answer a candidate and take another way at a branch.
const BitVector &Search::blocksBeside(size_t candidate, uint32_t branch) const {
  auto [found, isNew] = beside.try_emplace({candidate, branch});
  if (!isNew)
    return found->second;
  BitVector &result = found->second;
  result.resize(unsigned(graph.blocks.size()));
  for (const Answering &answering : candidates[candidate].beside)
    if (is_contained(answering.branches, branch))
      result |= reachedFrom(graph.blockOf(branch), answering.ways);
  return result;
}

// What lies on ways from the loop to an answer, which come to nothing that is for all, nor to the
// loop again.
void Search::followFrom(const LoopValues &loop, Candidate &candidate) const {
  const uint32_t count = uint32_t(graph.blocks.size());
  const Answers answers(facts, loop, candidate.wait.poll, /*endsAreAnswers=*/false);
  BitVector reached(count);
  std::vector<SmallVector<uint32_t, 2>> before(count);
  SmallVector<uint32_t> open(loop.loop.blocks), answering;
  candidate.blocks = loop.blocks;
  while (!open.empty()) {
    const uint32_t block = open.pop_back_val();
    for (uint32_t next : graph.blocks[block].successors) {
      if (loop.blocks.test(next) || next == graph.returned() || next == graph.ended() ||
          forAll.test(next))
        continue;
      before[next].push_back(block);
      if (reached.test(next))
        continue;
      reached.set(next);
      open.push_back(next);
    }
  }
  for (unsigned block : reached.set_bits())
    for (uint32_t index = graph.blocks[block].first; index < graph.blocks[block].end; ++index)
      if (answers.mayBe(index)) {
        candidate.answers.push_back(index);
        if (answering.empty() || answering.back() != block)
          answering.push_back(block);
      }
  while (!answering.empty()) {
    const uint32_t block = answering.pop_back_val();
    if (candidate.blocks.test(block))
      continue;
    candidate.blocks.set(block);
    append_range(answering, before[block]);
  }
}

// Loops on two ways from a branch that may wait for each other: neither way can go first. Nor does
// one of a table's, nor one that others come to too, or that answers where both have met. Who is in
// a loop whose lock is kept until its release, or in it, waits for nobody meanwhile, but for a lock
// that is taken elsewhere in front of the turns. Wherever whole warps take one way at a branch, as
// where they have different tasks, nobody waits for who takes the other one.
void Search::addWays(std::vector<Group> &groups) const {
  auto takesTurns = [&](unsigned number) {
    const Candidate &candidate = candidates[number];
    return candidate.needsTurns || (candidate.isWatched && !candidate.isKept);
  };
  DenseMap<uint32_t, SmallVector<unsigned>> answering; // candidates, by branch
  for (auto [number, candidate] : enumerate(candidates))
    for (uint32_t branch : candidate.wait.answered)
      answering[branch].push_back(unsigned(number));
  for (uint32_t branch : branches) {
    std::optional<bool> divides;
    auto mayDivide = [&] {
      if (!divides)
        divides = facts.calls.mayDivide(branch);
      return *divides;
    };
    SmallVector<unsigned> waiting = answering.lookup(branch);
    erase_if(waiting, [&](unsigned number) {
      return !isOfMemory(candidates[number].wait.poll) && !mayDivide();
    });
    if (waiting.empty())
      continue;
    const BranchWays ways(function, graph, branch);
    const bool isTable = choiceOf(function.body[branch]);
    auto waitEachOther = [&](unsigned one, unsigned other) {
      const uint32_t header = candidates[one].wait.header,
                     otherHeader = candidates[other].wait.header;
      return (candidates[one].needsTurns || candidates[other].needsTurns ||
              (takesTurns(one) && takesTurns(other))) &&
             ways.oneLeadsOnlyTo(header, otherHeader) && ways.oneLeadsOnlyTo(otherHeader, header);
    };
    auto waitsInVain = [&](unsigned one) {
      if (!takesTurns(one) || isTable)
        return takesTurns(one);
      BitVector answers = blocksBeside(one, branch);
      answers &= candidates[one].answering;
      return answers.any() && ways.keepBothWaiting(candidates[one].wait.header, answers) &&
             mayDivide();
    };
    Group group = emptyGroup();
    for (unsigned one : waiting)
      if (waitsInVain(one) ||
          any_of(waiting, [&](unsigned other) { return waitEachOther(one, other); })) {
        group.members.set(one);
        group.blocks |= candidates[one].blocks;
        group.blocks |= blocksBeside(one, branch);
      }
    if (group.members.any())
      add(groups, std::move(group));
  }
}

// Takes in the waits whose loops are inside. Who leaves for another way than to a wait, and may
// answer there, does so before all are through. Whether anything was added.
bool Search::grow(Group &group) const {
  const Group before = group;
  for (auto [number, candidate] : enumerate(candidates)) {
    if (group.blocks.test(candidate.wait.header)) {
      group.members.set(unsigned(number));
      group.blocks |= candidate.blocks;
    }
    if (group.members.test(unsigned(number)))
      for (uint32_t branch : candidate.wait.answered)
        if (group.blocks.test(graph.blockOf(branch))) {
          const BitVector &ways = blocksBeside(number, branch);
          if (group.blocks.anyCommon(ways))
            group.blocks |= ways;
        }
  }
  addBetween(group);
  return group.blocks != before.blocks || group.members != before.members;
}

// Who leaves the others for what lies between, and then comes back, would have to wait for them
// there. What leads round a loop that some of them are in is not between.
void Search::addBetween(Group &group) const {
  const uint32_t count = uint32_t(graph.blocks.size());
  DenseSet<std::pair<uint32_t, uint32_t>> around;
  for (const ControlFlowGraph::Loop &loop : loops)
    if (any_of(loop.blocks, [&](uint32_t block) { return group.blocks.test(block); }))
      for (uint32_t latch : loop.latches)
        around.insert({latch, loop.header});
  std::vector<SmallVector<uint32_t, 2>> before(count);
  BitVector behind(count);
  SmallVector<uint32_t> open(group.blocks.set_bits());
  while (!open.empty()) {
    const uint32_t block = open.pop_back_val();
    for (uint32_t next : graph.blocks[block].successors) {
      if (forAll.test(next) || around.contains({block, next}))
        continue;
      before[next].push_back(block);
      if (!group.blocks.test(next) && !behind.test(next)) {
        behind.set(next);
        open.push_back(next);
      }
    }
  }
  append_range(open, group.blocks.set_bits());
  while (!open.empty())
    for (uint32_t block : before[open.pop_back_val()])
      if (!group.blocks.test(block)) {
        group.blocks.set(block);
        open.push_back(block);
      }
}

std::vector<Group> Search::findGroups() const {
  std::vector<Group> groups;
  for (auto [number, candidate] : enumerate(candidates))
    if (candidate.needsTurns) {
      Group group = emptyGroup();
      group.members.set(unsigned(number));
      group.blocks = candidate.blocks;
      add(groups, std::move(group));
    }
  addWays(groups);
  for (size_t number = 0; number < groups.size();) {
    Group group = groups[number];
    if (!grow(group)) {
      ++number;
      continue;
    }
    add(groups, std::move(group));
    number = 0;
  }
  return groups;
}

// Other loops that go round through the rounds of the waits: they are entered there too.
void Search::addLoops(OwnWarpTurns &turns) const {
  for (const ControlFlowGraph::Loop &loop : loops)
    if (turns.blocks.test(loop.header) && !is_contained(turns.headers, loop.header) &&
        any_of(turns.headers, [&](uint32_t header) { return is_contained(loop.blocks, header); }))
      turns.headers.push_back(loop.header);
}

// Who ends the kernel does so at once.
void Search::addTraps(OwnWarpTurns &turns) const {
  BitVector others(unsigned(graph.blocks.size())), traps = others;
  for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
    for (uint32_t next : graph.blocks[block].successors)
      (turns.blocks.test(block) ? traps : others).set(next);
  traps.reset(others);
  for (unsigned block : traps.set_bits())
    if (block < graph.codeBlocks() && !forAll.test(block) &&
        does(function.body[graph.blocks[block].branch()], effects::Traps))
      turns.blocks.set(block);
}

std::vector<OwnWarpTurns> Search::run() const {
  std::vector<OwnWarpTurns> result;
  for (Group &group : findGroups()) {
    OwnWarpTurns turns;
    turns.blocks = std::move(group.blocks);
    for (unsigned member : group.members.set_bits()) {
      turns.waits.push_back(candidates[member].wait);
      turns.headers.push_back(candidates[member].wait.header);
      turns.rounds.push_back(candidates[member].loop);
    }
    addLoops(turns);
    addTraps(turns);
    result.push_back(std::move(turns));
  }
  return result;
}

} // namespace

std::vector<OwnWarpTurns> findOwnWarpTurns(const WaitFacts &facts, const ControlFlowGraph &graph) {
  return Search(facts, graph).run();
}

FoundWaits findWaits(const WaitFacts &facts) {
  // What comes before that which is for all, in a block of its own.
  DenseSet<uint32_t> ends = possibleReleases(facts.function);
  for (uint32_t index = 1; index < facts.function.body.size(); ++index)
    if (facts.isForAll(index))
      ends.insert(index - 1);
  const ControlFlowGraph graph(facts.function, ends);
  const Search search(facts, graph);
  return {search.any(), search.run().empty() ? DenseSet<uint32_t>() : search.answers()};
}

} // namespace rubia::lowering
