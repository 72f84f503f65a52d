// SPDX-License-Identifier: Apache-2.0
// Loops that wait for a thread of their own warp.
#include "lowering/lib/waits/OwnWarpWaits.h"
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/Polls.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// ---------- The search

class Search {
public:
  Search(const WaitFacts &facts, ControlFlowGraph &graph, const BitVector &done)
      : facts(facts), function(facts.function), graph(graph), polls(facts.polls), found(done) {}

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
      LoopValues values(function, facts.definitions, graph, loop);
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
    std::optional<Waiting> waiting = waitingWith(facts, loop, index);
    if (!waiting || !waiting->isAtOneAddress)
      return std::nullopt;
    OwnWarpWait &wait = waiting->wait;
    if (wait.releasesInside)
      return wait;
    const Answers answers(facts, loop, index, /*endsAreAnswers=*/!waiting->leaveTogether);
    copy_if(facts.branches, std::back_inserter(wait.answered),
            [&](uint32_t branch) { return answers.mayComeFrom(branch); });
    if (wait.answered.empty() && waiting->leaveTogether)
      return std::nullopt;
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

  const WaitFacts &facts;
  const ptx::Function &function;
  ControlFlowGraph &graph;
  const ArrayRef<uint32_t> polls;
  BitVector found; // polls
};

} // namespace

std::vector<OwnWarpWait> findOwnWarpWaits(const WaitFacts &facts, ControlFlowGraph &graph,
                                          const BitVector &done) {
  return Search(facts, graph, done).run();
}

} // namespace rubia::lowering
