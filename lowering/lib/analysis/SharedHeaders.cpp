// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/SharedHeaders.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/ThreadFacts.h"
#include "llvm/ADT/MapVector.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// The threads who all take part in an instruction: those of a warp or of the CTA, if any. Of a
// call, that of what is called: `called`.
std::optional<Group> whoMeet(const ptx::Instruction &instruction, const Definitions &definitions,
                             std::optional<Group> called) {
  if (does(instruction, effects::Calls))
    return called;
  if (does(instruction, effects::MeetsCta | effects::ArrivesCta))
    return Group::Cta;
  if (does(instruction, effects::MeetsCluster))
    return isMeeting(instruction) ? std::optional(Group::Cta) : std::nullopt;
  // Without .sync: of all who come.
  if (does(instruction, effects::MeetsWarp) &&
      (!membersOf(instruction) || namesWholeWarp(instruction, definitions)))
    return Group::Warp;
  return std::nullopt;
}

class Splitting {
public:
  Splitting(const ptx::Function &function, std::optional<Group> called, ControlFlowGraph &graph)
      : graph(graph) {
    Definitions definitions(function);
    for (uint32_t block = 0; block < graph.codeBlocks(); ++block)
      for (uint32_t index = graph.blocks[block].first; index < graph.blocks[block].end; ++index)
        if (std::optional<Group> who = whoMeet(function.body[index], definitions, called)) {
          Group &group = meetings.try_emplace(block, *who).first->second;
          group = std::max(group, *who);
        }
  }

  std::vector<SharedHeader> run() {
    std::vector<SharedHeader> result;
    if (!meetings.empty())
      while (std::optional<SharedHeader> split = next())
        result.push_back(std::move(*split));
    return result;
  }

private:
  std::optional<SharedHeader> next() {
    for (const ControlFlowGraph::Loop &loop : graph.naturalLoops()) {
      SmallVector<uint32_t> inner = innerLatches(loop);
      if (inner.empty())
        continue;
      SmallVector<uint32_t> others;
      for (uint32_t block = 0; block < graph.blocks.size(); ++block)
        if (is_contained(graph.blocks[block].successors, loop.header) &&
            !is_contained(inner, block))
          others.push_back(block);
      uint32_t outer = graph.addBlock(others, loop.header, /*enters=*/true);
      return SharedHeader{loop.header, outer, inner};
    }
    return std::nullopt;
  }

  // The edges back of which the loops lie before a meeting in the loop of all of them; none: there
  // is no such meeting.
  SmallVector<uint32_t> innerLatches(const ControlFlowGraph::Loop &loop) const {
    if (loop.latches.size() < 2)
      return {};
    SmallVector<ControlFlowGraph::Loop> ways; // one for each latch
    for (uint32_t latch : loop.latches)
      ways.push_back(graph.loopOf(loop.header, latch));
    for (const auto &[meeting, group] : meetings) {
      if (!is_contained(loop.blocks, meeting))
        continue;
      SmallVector<uint32_t> inner;
      bool meetInside = false;
      for (const ControlFlowGraph::Loop &way : ways)
        if (!is_contained(way.blocks, meeting)) {
          inner.push_back(way.latches[0]);
          meetInside |= meetIn(way, group);
        }
      if (!inner.empty() && !meetInside)
        return inner;
    }
    return {};
  }

  // Whether all of a group, or of a larger one, meet in a loop.
  bool meetIn(const ControlFlowGraph::Loop &loop, Group group) const {
    return any_of(loop.blocks, [&](uint32_t block) {
      const auto *meeting = meetings.find(block);
      return meeting != meetings.end() && meeting->second >= group;
    });
  }

  ControlFlowGraph &graph;
  SmallMapVector<uint32_t, Group, 8> meetings; // blocks in which all of a group take part
};

} // namespace

std::optional<Group> meetingInFunctions(const Unit &unit) {
  std::optional<Group> result;
  for (const ptx::Function *function : unit.functions) {
    static constexpr auto kMeets =
        effects::MeetsCta | effects::ArrivesCta | effects::MeetsCluster | effects::MeetsWarp;
    if (none_of(function->body, [](const ptx::Instruction &i) { return does(i, kMeets); }))
      continue; // as in most functions of Rubia's own
    Definitions definitions(*function);
    for (const ptx::Instruction &instruction : function->body)
      if (std::optional<Group> who = whoMeet(instruction, definitions, std::nullopt))
        result = result ? std::max(*result, *who) : who;
  }
  return result;
}

std::vector<SharedHeader> splitSharedHeaders(const ptx::Function &function,
                                             std::optional<Group> called, ControlFlowGraph &graph) {
  return Splitting(function, called, graph).run();
}

} // namespace rubia::lowering
