// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::lowering {

ControlFlowGraph::ControlFlowGraph(const ptx::Function &function) {
  uint32_t size = uint32_t(function.body.size());
  BitVector starts(size + 1);
  starts.set(0);
  starts.set(size);
  for (const ptx::Label &label : function.labels)
    starts.set(label.instruction);
  for (uint32_t index = 0; index < size; ++index)
    if (endsBlock(function.body[index]))
      starts.set(index + 1);

  std::vector<uint32_t> blockAt(size + 1);
  for (uint32_t first = 0; first < size;) {
    int next = starts.find_next(first);
    blockAt[first] = uint32_t(blocks.size());
    blocks.push_back({first, uint32_t(next), {}});
    first = uint32_t(next);
  }
  blockAt[size] = uint32_t(blocks.size()); // returned()
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

std::vector<ControlFlowGraph::Loop> ControlFlowGraph::loops() const {
  std::vector<SmallVector<uint32_t, 2>> predecessors(blocks.size());
  MapVector<uint32_t, SmallVector<uint32_t>> latches; // by header
  BitVector seen(unsigned(blocks.size())), open(unsigned(blocks.size()));
  SmallVector<std::pair<uint32_t, unsigned>> stack{{0, 0}};
  seen.set(0);
  open.set(0);
  while (!stack.empty()) {
    auto &[block, position] = stack.back();
    if (position == blocks[block].successors.size()) {
      open.reset(block);
      stack.pop_back();
      continue;
    }
    uint32_t next = blocks[block].successors[position++];
    predecessors[next].push_back(block);
    if (open.test(next))
      latches[next].push_back(block);
    if (!seen.test(next)) {
      seen.set(next);
      open.set(next);
      stack.push_back({next, 0});
    }
  }

  std::vector<Loop> result;
  auto add = [&](uint32_t header, SmallVector<uint32_t> pending) {
    Loop &loop = result.emplace_back();
    loop.header = header;
    loop.blocks.push_back(header);
    BitVector inside(unsigned(blocks.size()));
    inside.set(header);
    while (!pending.empty()) {
      uint32_t block = pending.pop_back_val();
      if (inside.test(block))
        continue;
      inside.set(block);
      loop.blocks.push_back(block);
      loop.hasOneEntry &= block != 0;
      pending.append(predecessors[block]);
    }
  };
  for (const auto &[header, from] : latches) {
    for (uint32_t latch : from)
      add(header, {latch});
    if (from.size() > 1)
      add(header, from);
  }
  return result;
}

} // namespace rubia::lowering
