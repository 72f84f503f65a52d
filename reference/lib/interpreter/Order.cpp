// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/interpreter/Order.h"
#include "llvm/ADT/SmallVector.h"
#include <algorithm>
#include <limits>

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Bra, BrxIdx, Exit, Ret, Trap;
} // namespace rubia::ptx::Op

namespace rubia::reference::interpreter {
namespace {

bool endsBlock(ptx::Operation op) {
  return op == ptx::Op::Bra || op == ptx::Op::BrxIdx || op == ptx::Op::Ret || op == ptx::Op::Exit ||
         op == ptx::Op::Trap;
}

class Graph {
public:
  explicit Graph(const ptx::Function &function);
  std::vector<Block> order();

private:
  using Partition = std::vector<uint32_t>; // backwards: what comes first stands last
  uint32_t visit(uint32_t block, Partition &partition);
  void component(uint32_t head, Partition &partition);

  std::vector<Block> blocks;
  std::vector<SmallVector<uint32_t, 2>> successors;
  std::vector<uint32_t> numbers; // 0: not met; kDone: in the order
  std::vector<uint32_t> stack;
  uint32_t last = 0;
  static constexpr uint32_t kDone = std::numeric_limits<uint32_t>::max();
};

Graph::Graph(const ptx::Function &function) {
  const uint32_t count = uint32_t(function.body.size());
  std::vector<bool> leads(count + 1, false);
  leads[0] = true;
  for (const ptx::Label &label : function.labels)
    leads[label.instruction] = true;
  for (uint32_t i = 0; i < count; ++i)
    if (endsBlock(function.body[i].op()))
      leads[i + 1] = true;
  std::vector<uint32_t> blockAt(count + 1);
  for (uint32_t i = 0; i < count; ++i) {
    if (leads[i])
      blocks.push_back({i, i});
    blockAt[i] = uint32_t(blocks.size() - 1);
    blocks.back().end = i + 1;
  }
  blockAt[count] = uint32_t(blocks.size()); // the function's end
  blocks.push_back({count, count});
  successors.resize(blocks.size());
  for (uint32_t b = 0; b + 1 < blocks.size(); ++b) {
    const ptx::Instruction &inst = function.body[blocks[b].end - 1];
    const bool isGuarded = inst.guard.reg != ptx::kNone;
    // What follows is visited last, so that it stands before where the branch leads to.
    if (inst.op() == ptx::Op::Bra)
      successors[b].push_back(blockAt[function.labels[inst.operands[0].label].instruction]);
    if (inst.op() == ptx::Op::BrxIdx)
      for (ptx::LabelId label : inst.operands[1].labels())
        successors[b].push_back(blockAt[function.labels[label].instruction]);
    if (!endsBlock(inst.op()) || isGuarded)
      successors[b].push_back(b + 1);
  }
  numbers.resize(blocks.size());
}

void Graph::component(uint32_t head, Partition &partition) {
  Partition inner;
  for (uint32_t next : successors[head])
    if (numbers[next] == 0)
      visit(next, inner);
  partition.insert(partition.end(), inner.begin(), inner.end());
  partition.push_back(head);
}

uint32_t Graph::visit(uint32_t block, Partition &partition) {
  stack.push_back(block);
  uint32_t head = numbers[block] = ++last;
  bool isLoop = false;
  for (uint32_t next : successors[block]) {
    uint32_t least = numbers[next] == 0 ? visit(next, partition) : numbers[next];
    if (least <= head) {
      head = least;
      isLoop = true;
    }
  }
  if (head != numbers[block])
    return head;
  numbers[block] = kDone;
  uint32_t top = stack.back();
  stack.pop_back();
  if (!isLoop) {
    partition.push_back(block);
    return head;
  }
  while (top != block) {
    numbers[top] = 0;
    top = stack.back();
    stack.pop_back();
  }
  component(block, partition);
  return head;
}

std::vector<Block> Graph::order() {
  Partition partition;
  visit(0, partition);
  std::vector<Block> result;
  for (auto block = partition.rbegin(); block != partition.rend(); ++block)
    result.push_back(blocks[*block]);
  return result;
}

} // namespace

std::vector<Block> orderOf(const ptx::Function &function) { return Graph(function).order(); }

} // namespace rubia::reference::interpreter
