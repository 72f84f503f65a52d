// SPDX-License-Identifier: Apache-2.0
// Loops that wait for a thread of their own warp.
#include "lowering/lib/waits/OwnWarpWaits.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/waits/Polls.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// ---------- The search

class Search {
public:
  Search(const ptx::Function &function, ControlFlowGraph &graph, const CallFacts &calls,
         const BitVector &done)
      : function(function), graph(graph), calls(calls), definitions(function),
        polls(pollsOf(function)), branches(branchesOf(function)), found(done) {}

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
    const bool together = poll.leaveTogether();
    const Answers answers(loop, index, /*endsAreAnswers=*/!together);
    copy_if(branches, std::back_inserter(wait.answered),
            [&](uint32_t branch) { return answers.mayComeFrom(branch); });
    if (wait.answered.empty() && together)
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
  const std::vector<uint32_t> polls, branches;
  BitVector found; // polls
};

} // namespace

std::vector<OwnWarpWait> findOwnWarpWaits(const ptx::Function &function, ControlFlowGraph &graph,
                                          const CallFacts &calls, const BitVector &done) {
  return Search(function, graph, calls, done).run();
}

} // namespace rubia::lowering
