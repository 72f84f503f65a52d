// SPDX-License-Identifier: Apache-2.0
// Cooper, Harvey, Kennedy: A Simple, Fast Dominance Algorithm. LLVM's is made of templates for
// graphs of its own kind.
#include "codegen/lib/check/Dominators.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::codegen {

constexpr size_t kNone = ~size_t(0);

Dominators::Dominators(ArrayRef<SmallVector<size_t, 2>> successors)
    : place(successors.size(), kNone), dominator(successors.size(), kNone),
      predecessors(successors.size()) {
  for (const auto &[block, next] : enumerate(successors))
    for (size_t successor : next)
      predecessors[successor].push_back(block);
  findOrder(successors);
  findDominators();
  findLoops();
}

void Dominators::findOrder(ArrayRef<SmallVector<size_t, 2>> successors) {
  std::vector<bool> isSeen(successors.size());
  std::vector<std::pair<size_t, size_t>> open = {{0, 0}}; // block, successors that were visited
  isSeen[0] = true;
  while (!open.empty()) {
    auto &[block, visited] = open.back();
    if (visited == successors[block].size()) {
      order.push_back(block);
      open.pop_back();
      continue;
    }
    const size_t next = successors[block][visited++];
    if (!isSeen[next]) {
      isSeen[next] = true;
      open.emplace_back(next, 0);
    }
  }
  std::reverse(order.begin(), order.end());
  for (const auto &[i, block] : enumerate(order))
    place[block] = i;
}

size_t Dominators::common(size_t a, size_t b) const {
  while (a != b) {
    while (place[a] > place[b])
      a = dominator[a];
    while (place[b] > place[a])
      b = dominator[b];
  }
  return a;
}

void Dominators::findDominators() {
  dominator[order.front()] = order.front();
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t block : drop_begin(order)) {
      size_t found = kNone;
      for (size_t predecessor : predecessors[block])
        if (dominator[predecessor] != kNone)
          found = found == kNone ? predecessor : common(found, predecessor);
      changed |= dominator[block] != found;
      dominator[block] = found;
    }
  }
}

bool Dominators::dominates(size_t a, size_t b) const {
  while (place[b] > place[a])
    b = dominator[b];
  return a == b;
}

/// A way back to a block that dominates where it comes from makes a loop.
void Dominators::findLoops() {
  for (size_t header : order) {
    std::vector<size_t> pending;
    for (size_t predecessor : predecessors[header])
      if (place[predecessor] != kNone && dominates(header, predecessor))
        pending.push_back(predecessor);
    if (pending.empty())
      continue;
    std::vector<bool> blocks(place.size());
    blocks[header] = true;
    while (!pending.empty()) {
      const size_t block = pending.back();
      pending.pop_back();
      if (blocks[block])
        continue;
      blocks[block] = true;
      append_range(pending, make_filter_range(predecessors[block], [&](size_t predecessor) {
                     return place[predecessor] != kNone;
                   }));
    }
    loops.push_back({header, std::move(blocks)});
  }
}

std::optional<size_t> Dominators::beforeBranchOrLoop(size_t block) const {
  if (place[block] == kNone || block == order.front())
    return std::nullopt;
  size_t found = dominator[block];
  // Outer loops come first: their headers do in the order.
  for (const Loop &loop : loops)
    if (loop.blocks[found] && !loop.blocks[block])
      found = dominator[loop.header];
  return found;
}

} // namespace rubia::codegen
