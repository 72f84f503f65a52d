// SPDX-License-Identifier: Apache-2.0
#include "lowering/Complexity.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {

namespace {

// Each is several times what the kernels of CUDA's libraries need: 0, 8,210, 18 and 22,062,178.
// What they cost: docs/performance.md.
constexpr uint64_t kMaxSideEntries = 16, kMaxJoinedPairs = 1u << 19, kMaxPredicateDepth = 256,
                   kMaxRewrites = 200'000'000;

// Blocks in the order of a walk in depth, and where each has been seen.
struct Walk {
  std::vector<uint32_t> order, number; // preorder; kNone: not reached
  std::vector<uint32_t> last;          // the highest number below a block in the tree of the walk
  std::vector<SmallVector<uint32_t, 2>> predecessors;

  explicit Walk(const ControlFlowGraph &graph)
      : number(graph.blocks.size(), ptx::kNone), last(graph.blocks.size()),
        predecessors(graph.blocks.size()) {
    SmallVector<std::pair<uint32_t, unsigned>> stack;
    auto enter = [&](uint32_t block) {
      number[block] = uint32_t(order.size());
      order.push_back(block);
      stack.push_back({block, 0});
    };
    enter(0);
    while (!stack.empty()) {
      auto &[block, position] = stack.back();
      if (position == graph.blocks[block].successors.size()) {
        last[block] = uint32_t(order.size() - 1);
        stack.pop_back();
        continue;
      }
      uint32_t next = graph.blocks[block].successors[position++];
      predecessors[next].push_back(block);
      if (number[next] == ptx::kNone)
        enter(next);
    }
  }
  bool isAncestor(uint32_t block, uint32_t of) const {
    return number[block] <= number[of] && number[of] <= last[block];
  }
};

// A jump back to an ancestor in the walk enters a loop at its head only if every path from the
// entry to the jump passes the head: if no path from outside of the head's subtree leads to a block
// from which the jump is reached without passing the head.
class SideEntries {
public:
  explicit SideEntries(const Walk &walk) : walk(walk), seen(walk.number.size()) {}

  uint64_t count() {
    uint64_t entries = 0;
    for (uint32_t block : walk.order) {
      ++search;
      for (uint32_t from : walk.predecessors[block])
        if (walk.isAncestor(block, from)) {
          entries += isEnteredBeside(block, from);
          if (steps > kMaxSteps || entries > kMaxSideEntries)
            return std::max(entries, kMaxSideEntries + 1);
        }
    }
    return entries;
  }

private:
  static constexpr uint64_t kMaxSteps = 1u << 26;
  const Walk &walk;
  std::vector<uint32_t> seen; // the search that a block was met in last
  uint32_t search = 0;
  uint64_t steps = 0;

  bool isEnteredBeside(uint32_t head, uint32_t from) {
    SmallVector<uint32_t> open;
    auto visit = [&](uint32_t block) {
      if (block == head || seen[block] == search)
        return true;
      seen[block] = search;
      open.push_back(block);
      return walk.isAncestor(head, block);
    };
    bool isInside = visit(from);
    while (isInside && !open.empty()) {
      uint32_t block = open.pop_back_val();
      for (uint32_t predecessor : walk.predecessors[block]) {
        ++steps;
        isInside &= visit(predecessor);
      }
    }
    search += !isInside; // what was met need not be inside
    return !isInside;
  }
};

// A failed assertion ends its warp, and is lowered as a call that returns.
bool isAssertion(const ptx::Function &function, const ControlFlowGraph &graph, uint32_t block) {
  return block < graph.codeBlocks() &&
         does(function.body[graph.blocks[block].branch()], effects::Calls);
}

uint64_t joinedPairs(const ptx::Function &function, const ControlFlowGraph &graph,
                     const Walk &walk) {
  uint64_t pairs = 0;
  for (auto [block, predecessors] : enumerate(walk.predecessors)) {
    uint64_t count = predecessors.size();
    if (block == graph.ended())
      count -=
          count_if(predecessors, [&](uint32_t from) { return isAssertion(function, graph, from); });
    if (count > 2)
      pairs += count * (count - 1) / 2;
  }
  return pairs;
}

// In the order of the text; what is carried round loops does not count.
uint64_t predicateDepth(const ptx::Function &function) {
  std::vector<uint64_t> depth(function.registers.size());
  uint64_t most = 0;
  for (const ptx::Instruction &instruction : function.body) {
    if (!writesFirstOperand(instruction))
      continue;
    uint64_t deepest = instruction.guard.reg == ptx::kNone ? 0 : depth[instruction.guard.reg];
    bool isPredicate = false;
    for (auto [index, operand] : enumerate(instruction.operands))
      forEachRegister(operand, [&](ptx::RegisterId reg) {
        bool is = function.registers[reg].type == ptx::Type::Pred;
        if (index == 0)
          isPredicate |= is;
        else if (is)
          deepest = std::max(deepest, depth[reg]);
      });
    if (!isPredicate)
      continue;
    most = std::max(most, deepest + 1);
    forEachRegister(instruction.operands[0],
                    [&](ptx::RegisterId reg) { depth[reg] = deepest + 1; });
  }
  return most;
}

uint64_t rewrites(const ptx::Function &function, uint64_t blocks) {
  std::vector<uint8_t> writers(function.registers.size());
  for (const ptx::Instruction &instruction : function.body) {
    blocks += instruction.guard.reg != ptx::kNone;
    if (writesFirstOperand(instruction))
      forEachRegister(instruction.operands[0], [&](ptx::RegisterId reg) {
        writers[reg] =
            uint8_t(std::min(writers[reg] + 1 + (instruction.guard.reg != ptx::kNone), 2));
      });
  }
  return uint64_t(count(writers, 2)) * blocks;
}

} // namespace

Complexity complexityOf(const ptx::Function &function) {
  if (function.body.empty())
    return {};
  ControlFlowGraph graph(function);
  Walk walk(graph);
  return {SideEntries(walk).count(), joinedPairs(function, graph, walk), predicateDepth(function),
          rewrites(function, graph.blocks.size())};
}

std::string excessOf(const Complexity &complexity) {
  auto excess = [](const Twine &what, uint64_t limit) {
    return ("it has more " + what + " than are compiled, " + Twine(limit)).str();
  };
  if (complexity.sideEntries > kMaxSideEntries)
    return excess("jumps into the middle of loops", kMaxSideEntries);
  if (complexity.joinedPairs > kMaxJoinedPairs)
    return excess("pairs of jumps to one place", kMaxJoinedPairs);
  if (complexity.predicateDepth > kMaxPredicateDepth)
    return excess("predicates that are computed from one another", kMaxPredicateDepth);
  if (complexity.rewrites > kMaxRewrites)
    return excess("registers with several definitions, times blocks,", kMaxRewrites);
  return "";
}

} // namespace rubia::lowering
