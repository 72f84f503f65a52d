// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/HeldCopies.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/Definitions.h"
#include "llvm/ADT/STLExtras.h"
#include <optional>
#include <set>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Call, CpAsync, CpAsyncCommitGroup, CpAsyncMbarrierArrive, CpAsyncWait;
} // namespace rubia::ptx::Op

namespace rubia::lowering {

namespace {

constexpr unsigned kMaxHeld = 8;     // at one wait: 16 bytes and an address each
constexpr unsigned kMaxVisits = 512; // blocks that are looked at for one copy
constexpr unsigned kMaxGroups = 16;  // more are not counted

class Search {
public:
  explicit Search(const ptx::Function &function)
      : function(function), graph(function), definitions(function) {}

  // The waits that all ways from a copy come to first, and the copy itself if one comes there
  // before; empty: not all come to one.
  std::vector<uint32_t> waitsFor(uint32_t copy) {
    waits.clear();
    seen.clear();
    const auto block =
        find_if(graph.blocks, [&](const auto &b) { return b.first <= copy && copy < b.end; });
    std::vector<std::pair<uint32_t, unsigned>> open; // block, groups that have been closed since
    auto follow = [&](uint32_t from, uint32_t end, ArrayRef<uint32_t> next, unsigned groups) {
      const Passed passed = pass(copy, from, end, groups);
      if (passed == Passed::NotHeld)
        return false;
      if (passed == Passed::On)
        for (uint32_t successor : next)
          open.emplace_back(successor, groupsPassed);
      return true;
    };
    bool isHeld = block != graph.blocks.end() && follow(copy + 1, block->end, block->successors, 0);
    while (isHeld && !open.empty()) {
      const auto [index, groups] = open.back();
      open.pop_back();
      if (!seen.emplace(index, groups).second)
        continue;
      const ControlFlowGraph::Block &next = graph.blocks[index];
      isHeld = index < graph.codeBlocks() && seen.size() < kMaxVisits &&
               follow(next.first, next.end, next.successors, groups);
    }
    return isHeld ? std::vector<uint32_t>(waits.begin(), waits.end()) : std::vector<uint32_t>();
  }

private:
  enum class Passed { On, Waited, NotHeld };

  Passed pass(uint32_t copy, uint32_t from, uint32_t end, unsigned groups) {
    for (uint32_t i = from; i < end; ++i) {
      const ptx::Instruction &inst = function.body[i];
      const bool isWait = inst.op() == ptx::Op::CpAsyncWait,
                 isCommit = inst.op() == ptx::Op::CpAsyncCommitGroup;
      if (i == copy) {
        waits.insert(i);
        return Passed::Waited;
      }
      if (inst.op() == ptx::Op::Call || inst.op() == ptx::Op::CpAsyncMbarrierArrive ||
          ((isWait || isCommit) && inst.guard.reg != ptx::kNone))
        return Passed::NotHeld;
      if (isCommit)
        groups = std::min(groups + 1, kMaxGroups);
      if (!isWait || !covers(inst, groups))
        continue;
      waits.insert(i);
      return Passed::Waited;
    }
    groupsPassed = groups;
    return Passed::On;
  }

  // Whether a wait is for a copy behind which so many groups have been closed.
  bool covers(const ptx::Instruction &wait, unsigned groups) const {
    if (wait.operands.empty())
      return true;
    std::optional<uint64_t> allowed = definitions.constant(wait.operands[0]);
    // Nobody knows how many there are from this one on: to store the copy too early is right.
    return groups == kMaxGroups || (allowed && groups > *allowed);
  }

  const ptx::Function &function;
  const ControlFlowGraph graph;
  const Definitions definitions;
  std::set<uint32_t> waits;
  std::set<std::pair<uint32_t, unsigned>> seen;
  unsigned groupsPassed = 0;
};

} // namespace

HeldCopies::HeldCopies(const ptx::Function &function) {
  std::optional<Search> search;
  std::map<uint32_t, std::vector<uint32_t>> waitsOf; // by copy
  for (auto [i, inst] : enumerate(function.body)) {
    if (inst.op() != ptx::Op::CpAsync)
      continue;
    if (!search)
      search.emplace(function);
    std::vector<uint32_t> waits = search->waitsFor(uint32_t(i));
    if (waits.empty())
      continue;
    for (uint32_t wait : waits)
      finished[wait].push_back(uint32_t(i));
    waitsOf[uint32_t(i)] = std::move(waits);
  }
  // Where too many meet, none is held: the last load that is waited for at once costs what all do.
  std::set<uint32_t> tooMany;
  for (const auto &[wait, copies] : finished)
    if (copies.size() > kMaxHeld)
      tooMany.insert(copies.begin(), copies.end());
  for (const auto &[copy, waits] : waitsOf)
    if (!tooMany.contains(copy))
      held.insert(copy);
  for (auto &[wait, copies] : finished)
    erase_if(copies, [&](uint32_t copy) { return tooMany.contains(copy); });
}

} // namespace rubia::lowering
