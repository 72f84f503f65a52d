// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/BranchWays.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {

BranchWays::BranchWays(const ptx::Function &function, const ControlFlowGraph &graph,
                       uint32_t branch)
    : function(function), graph(graph), from(graph.blockOf(branch)) {
  for (uint32_t way : graph.blocks[from].successors) {
    reached.push_back(graph.reachedFrom(way, from));
    if (function.isKernel && reached.back().test(graph.ended()))
      reached.back().set(graph.returned());
  }
}

bool BranchWays::oneLeadsOnlyTo(uint32_t block, uint32_t other) const {
  return any_of(reached,
                [&](const BitVector &blocks) { return blocks.test(block) && !blocks.test(other); });
}

bool BranchWays::keepBothWaiting(uint32_t header, const BitVector &answers) const {
  if (reached.size() != 2 || reached[0].test(header) == reached[1].test(header))
    return false; // who comes there has been where both meet
  return !mayGoFirst(reached[0].test(header) ? 1 : 0, answers);
}

// Where a kernel ends by a trap nobody meets, where threads end all do.
SmallVector<uint32_t, 2> BranchWays::nextOf(uint32_t block) const {
  SmallVector<uint32_t, 2> result;
  for (uint32_t next : graph.blocks[block].successors)
    if (next != graph.ended())
      result.push_back(next);
    else if (block < graph.codeBlocks() && function.isKernel &&
             !does(function.body[graph.blocks[block].branch()], effects::Traps))
      result.push_back(graph.returned());
  return result;
}

// Ways that never meet are those round a loop, who goes there comes to the branch again, and those
// to a trap.
bool BranchWays::mayGoFirst(unsigned way, const BitVector &answers) const {
  BitVector own = reached[way], either = reached[way], meetings = reached[way];
  own.reset(reached[1 - way]);
  either |= reached[1 - way];
  meetings &= reached[1 - way];
  BitVector met(unsigned(graph.blocks.size())), ends = met, elsewhere = answers;
  elsewhere.reset(own);
  bool isShared = false;
  for (uint32_t block = 0; block < graph.blocks.size(); ++block)
    for (uint32_t next : nextOf(block)) {
      if (meetings.test(next) && (block == from || (either.test(block) && !meetings.test(block))))
        met.set(next);
      if (own.test(block) && meetings.test(next))
        ends.set(next);
      const bool isBranch = block == from && next == graph.blocks[from].successors[way];
      isShared |= own.test(next) && !own.test(block) && !isBranch;
    }
  return met.none() || (!isShared && (met.count() == 1 || (ends.count() == 1 && elsewhere.none())));
}

} // namespace rubia::lowering
