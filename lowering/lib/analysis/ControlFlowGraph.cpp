// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::lowering {

ControlFlowGraph::ControlFlowGraph(const ptx::Function &function, const DenseSet<uint32_t> &lasts) {
  uint32_t size = uint32_t(function.body.size());
  BitVector starts(size + 1);
  starts.set(0);
  starts.set(size);
  for (const ptx::Label &label : function.labels)
    starts.set(label.instruction);
  for (uint32_t index = 0; index < size; ++index)
    if (endsBlock(function.body[index]) || lasts.contains(index))
      starts.set(index + 1);

  std::vector<uint32_t> blockAt(size + 1);
  for (uint32_t first = 0; first < size;) {
    int next = starts.find_next(first);
    blockAt[first] = uint32_t(blocks.size());
    blocks.push_back({first, uint32_t(next), {}});
    first = uint32_t(next);
  }
  numCodeBlocks = uint32_t(blocks.size());
  blockAt[size] = returned();
  blocks.push_back({size, size, {}});
  blocks.push_back({size, size, {}});
  blocks[returned()].successors.push_back(ended());

  for (uint32_t block = 0; block < codeBlocks(); ++block) {
    auto add = [&](uint32_t successor) {
      if (!is_contained(blocks[block].successors, successor))
        blocks[block].successors.push_back(successor);
    };
    auto addLabel = [&](ptx::LabelId label) { add(blockAt[function.labels[label].instruction]); };
    const ptx::Instruction &last = function.body[blocks[block].branch()];
    bool fallsThrough = last.guard.reg != ptx::kNone || !endsBlock(last);
    if (does(last, effects::Jumps)) {
      const ptx::Operand &target = last.operands.back();
      if (target.kind == ptx::Operand::Kind::Label)
        addLabel(target.label);
      for (ptx::LabelId label : target.labels())
        addLabel(label);
    } else if (does(last, effects::Returns))
      add(returned());
    else if (endsThread(last))
      add(ended());
    if (fallsThrough)
      add(blockAt[blocks[block].end]);
  }
}

uint32_t ControlFlowGraph::blockOf(uint32_t instruction) const {
  const auto code = llvm::ArrayRef(blocks).take_front(numCodeBlocks);
  return uint32_t(
      llvm::partition_point(code, [&](const Block &block) { return block.end <= instruction; }) -
      code.begin());
}

// Cooper, Harvey and Kennedy's iteration, on the edges backwards. A part that never leaves the
// function is given an edge out.
std::vector<uint32_t> ControlFlowGraph::immediatePostDominators() const {
  const uint32_t count = uint32_t(blocks.size()), root = ended();
  std::vector<SmallVector<uint32_t, 2>> successors(count), predecessors(count);
  for (uint32_t block = 0; block < count; ++block) {
    successors[block] = blocks[block].successors;
    for (uint32_t successor : blocks[block].successors)
      predecessors[successor].push_back(block);
  }

  // Postorder of the walk from the root.
  std::vector<uint32_t> order, number(count, ptx::kNone);
  BitVector seen(count);
  auto walk = [&](uint32_t start) {
    SmallVector<std::pair<uint32_t, unsigned>> stack{{start, 0}};
    seen.set(start);
    while (!stack.empty()) {
      auto &[block, position] = stack.back();
      if (position == predecessors[block].size()) {
        order.push_back(block);
        stack.pop_back();
        continue;
      }
      uint32_t next = predecessors[block][position++];
      if (!seen.test(next)) {
        seen.set(next);
        stack.push_back({next, 0});
      }
    }
  };
  walk(root);
  for (uint32_t block = count; block-- > 0;) {
    if (seen.test(block))
      continue;
    successors[block].push_back(root);
    order.pop_back(); // the root comes last
    walk(block);
    order.push_back(root);
  }
  for (auto [position, block] : enumerate(order))
    number[block] = uint32_t(position);

  std::vector<uint32_t> result(count, ptx::kNone);
  result[root] = root;
  auto meet = [&](uint32_t a, uint32_t b) {
    while (a != b) {
      while (number[a] < number[b])
        a = result[a];
      while (number[b] < number[a])
        b = result[b];
    }
    return a;
  };
  for (bool changed = true; changed;) {
    changed = false;
    for (uint32_t block : drop_begin(reverse(order))) {
      uint32_t next = ptx::kNone;
      for (uint32_t successor : successors[block])
        if (result[successor] != ptx::kNone)
          next = next == ptx::kNone ? successor : meet(next, successor);
      if (next != result[block]) {
        result[block] = next;
        changed = true;
      }
    }
  }
  return result;
}

uint32_t ControlFlowGraph::addBlock(ArrayRef<uint32_t> from, uint32_t to, bool enters) {
  const uint32_t added = uint32_t(blocks.size()), none = blocks[ended()].first;
  blocks.push_back({none, none, {to}});
  for (uint32_t block : from)
    std::replace(blocks[block].successors.begin(), blocks[block].successors.end(), to, added);
  if (enters && entry == to)
    entry = added;
  return added;
}

BitVector ControlFlowGraph::reachedFrom(uint32_t block, uint32_t without) const {
  BitVector reached(unsigned(blocks.size()));
  if (block == without)
    return reached;
  SmallVector<uint32_t> open{block};
  reached.set(block);
  while (!open.empty())
    for (uint32_t next : blocks[open.pop_back_val()].successors)
      if (next != without && !reached.test(next)) {
        reached.set(next);
        open.push_back(next);
      }
  return reached;
}

// ---------- Loops

using Edges = std::vector<SmallVector<uint32_t, 2>>; // to each block

struct ControlFlowGraph::BackEdges {
  Edges predecessors;                                 // those that are reached
  MapVector<uint32_t, SmallVector<uint32_t>> latches; // by header
};

// The edges that a walk into the depth finds to lead to a block on its own way.
ControlFlowGraph::BackEdges ControlFlowGraph::findBackEdges() const {
  BackEdges result{Edges(blocks.size()), {}};
  BitVector seen(unsigned(blocks.size())), open(unsigned(blocks.size()));
  SmallVector<std::pair<uint32_t, unsigned>> stack{{entry, 0}};
  seen.set(entry);
  open.set(entry);
  while (!stack.empty()) {
    auto &[block, position] = stack.back();
    if (position == blocks[block].successors.size()) {
      open.reset(block);
      stack.pop_back();
      continue;
    }
    uint32_t next = blocks[block].successors[position++];
    result.predecessors[next].push_back(block);
    if (open.test(next))
      result.latches[next].push_back(block);
    if (!seen.test(next)) {
      seen.set(next);
      open.set(next);
      stack.push_back({next, 0});
    }
  }
  return result;
}

static ControlFlowGraph::Loop makeLoop(uint32_t header, ArrayRef<uint32_t> latches,
                                       const Edges &predecessors, uint32_t entry) {
  ControlFlowGraph::Loop loop{header, SmallVector<uint32_t>(latches), {header}};
  BitVector inside(unsigned(predecessors.size()));
  inside.set(header);
  SmallVector<uint32_t> pending(latches);
  while (!pending.empty()) {
    uint32_t block = pending.pop_back_val();
    if (inside.test(block))
      continue;
    inside.set(block);
    loop.blocks.push_back(block);
    loop.hasOneEntry &= block != entry;
    pending.append(predecessors[block]);
  }
  return loop;
}

std::vector<ControlFlowGraph::Loop> ControlFlowGraph::loops() const {
  BackEdges edges = findBackEdges();
  std::vector<Loop> result;
  for (const auto &[header, from] : edges.latches) {
    for (uint32_t latch : from)
      result.push_back(makeLoop(header, latch, edges.predecessors, entry));
    if (from.size() > 1)
      result.push_back(makeLoop(header, from, edges.predecessors, entry));
  }
  return result;
}

std::vector<ControlFlowGraph::Loop> ControlFlowGraph::naturalLoops() const {
  BackEdges edges = findBackEdges();
  std::vector<Loop> result;
  for (auto &[header, from] : edges.latches) {
    erase_if(from, [&](uint32_t latch) {
      return !makeLoop(header, latch, edges.predecessors, entry).hasOneEntry;
    });
    sort(from);
    if (!from.empty())
      result.push_back(makeLoop(header, from, edges.predecessors, entry));
  }
  sort(result, [](const Loop &a, const Loop &b) {
    return std::pair(a.latches[0], a.header) < std::pair(b.latches[0], b.header);
  });
  return result;
}

ControlFlowGraph::Loop ControlFlowGraph::loopOf(uint32_t header, ArrayRef<uint32_t> latches) const {
  return makeLoop(header, latches, findBackEdges().predecessors, entry);
}

} // namespace rubia::lowering
