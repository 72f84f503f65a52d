// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "lowering/lib/analysis/UniformValues.h"

using namespace llvm;

namespace rubia::ptx::Op {
extern const Operation Atom, IAdd, ISub, Ld, Mov, Setp;
} // namespace rubia::ptx::Op
namespace rubia::ptx::Mod {
extern const Modifier Cas, Eq, Ne;
} // namespace rubia::ptx::Mod

namespace rubia::lowering {

using Kind = ptx::Operand::Kind;

LoopValues::LoopValues(const ptx::Function &function, const Definitions &definitions,
                       const ControlFlowGraph &graph, const ControlFlowGraph::Loop &loop)
    : function(function), definitions(definitions), graph(graph), loop(loop),
      blocks(unsigned(graph.blocks.size())), instructions(unsigned(function.body.size())) {
  for (uint32_t block : loop.blocks) {
    blocks.set(block);
    instructions.set(graph.blocks[block].first, graph.blocks[block].end);
  }
}

// ---------- What stays the same

bool LoopValues::isFixed(ptx::RegisterId reg, unsigned depth) const {
  for (uint32_t writer : definitions.of(reg)) {
    if (!isIn(writer))
      continue;
    if (depth == kMaxValueSteps || !isRepeatable(function, function.body[writer]))
      return false;
    bool fixed = true;
    for (const ptx::Operand &source : function.body[writer].operands.drop_front())
      forEachRegister(source, [&](ptx::RegisterId r) { fixed = fixed && isFixed(r, depth + 1); });
    if (!fixed)
      return false;
  }
  return true;
}

bool LoopValues::isFixed(const ptx::Operand &operand) const {
  bool fixed = true;
  forEachRegister(operand, [&](ptx::RegisterId reg) { fixed = fixed && isFixed(reg, 0); });
  return fixed;
}

// ---------- Which way a round goes

// The blocks of the loop from which a round comes to one of some, these too, without another one.
BitVector LoopValues::blocksBefore(ArrayRef<uint32_t> ends, uint32_t without) const {
  BitVector result(unsigned(graph.blocks.size()));
  for (uint32_t block : ends)
    if (block != without)
      result.set(block);
  for (bool changed = true; std::exchange(changed, false);)
    for (uint32_t block : loop.blocks)
      if (block != without && !result.test(block) &&
          any_of(graph.blocks[block].successors,
                 [&](uint32_t next) { return next != loop.header && result.test(next); })) {
        result.set(block);
        changed = true;
      }
  return result;
}

ArrayRef<uint32_t> LoopValues::decidersOf(uint32_t block) const {
  auto [found, isNew] = deciders.try_emplace(block);
  if (!isNew)
    return found->second;
  const BitVector coming = blocksBefore({block}, ptx::kNone),
                  passing = blocksBefore(loop.latches, block);
  // What is decided is decided before: who comes to a way passes the block, or may not.
  for (uint32_t from : loop.blocks) {
    bool comes = false, mayPass = false;
    for (uint32_t next : graph.blocks[from].successors) {
      if (!blocks.test(next))
        continue;
      const bool ends = next == loop.header;
      comes |= !ends && coming.test(next) && !passing.test(next);
      mayPass |= ends || passing.test(next);
    }
    if (from != block && comes && mayPass)
      found->second.push_back(from);
  }
  return found->second;
}

// ---------- Counts

bool LoopValues::isPassedEachRound(uint32_t instruction) const {
  const auto *at = find_if(loop.blocks, [&](uint32_t block) {
    return graph.blocks[block].first <= instruction && instruction < graph.blocks[block].end;
  });
  BitVector others = graph.reachedFrom(loop.header, *at);
  return none_of(loop.latches, [&](uint32_t latch) { return others.test(latch); });
}

// Without a guard and on the way of all; null: there is none, or several.
const ptx::Instruction *LoopValues::onlyWriterInLoop(ptx::RegisterId reg) const {
  const ptx::Instruction *only = nullptr;
  for (uint32_t writer : definitions.of(reg)) {
    if (!isIn(writer))
      continue;
    if (only || function.body[writer].guard.reg != ptx::kNone || !isPassedEachRound(writer))
      return nullptr;
    only = &function.body[writer];
  }
  return only;
}

// Whether a register grows or shrinks by a constant in every round, whatever happens: it is made of
// itself by additions, without a condition and on the way of all.
bool LoopValues::isCount(const ptx::Operand &operand) const {
  bool adds = false;
  SmallDenseSet<ptx::RegisterId> visited;
  for (const ptx::Operand *at = &operand; at->kind == Kind::Register && !at->negated;) {
    if (!visited.insert(at->reg).second)
      return adds;
    const ptx::Instruction *writer = onlyWriterInLoop(at->reg);
    if (!writer)
      return false;
    if (writer->op() == ptx::Op::IAdd || writer->op() == ptx::Op::ISub) {
      std::optional<uint64_t> step = definitions.constant(writer->operands[2]);
      if (!step || *step == 0)
        return false;
      adds = true;
    } else if (writer->op() != ptx::Op::Mov) {
      return false;
    }
    at = &writer->operands[1];
  }
  return false;
}

bool LoopValues::isEndOfCount(const ptx::Instruction &instruction) const {
  return instruction.op() == ptx::Op::Setp && instruction.operands.size() == 3 &&
         !instruction.spelling->has(ptx::Mod::Eq) && !instruction.spelling->has(ptx::Mod::Ne) &&
         (isCount(instruction.operands[1]) || isCount(instruction.operands[2]));
}

// ---------- Compare and swap

static bool isMove(const ptx::Instruction &instruction) {
  return instruction.op() == ptx::Op::Mov && instruction.guard.reg == ptx::kNone &&
         instruction.operands.size() == 2 && instruction.operands[1].kind == Kind::Register;
}

static bool isCompareAndSwap(const ptx::Instruction &instruction) {
  return instruction.op() == ptx::Op::Atom && instruction.spelling->has(ptx::Mod::Cas) &&
         instruction.operands.size() >= 4 && instruction.operands[0].kind == Kind::Register &&
         instruction.operands[2].kind == Kind::Register;
}

// Through copies that are made once.
ptx::RegisterId LoopValues::originOf(ptx::RegisterId reg) const {
  for (unsigned steps = 0; steps < kMaxValueSteps; ++steps) {
    ArrayRef<uint32_t> writers = definitions.of(reg);
    if (writers.size() != 1 || writers[0] >= function.body.size() ||
        !isMove(function.body[writers[0]]))
      break;
    reg = function.body[writers[0]].operands[1].reg;
  }
  return reg;
}

// Whether what is compared is a copy of the old value's own register, made in each round:
// `mov c, o; atom.cas o, [a], c, n; setp.ne p, o, c`.
bool LoopValues::isCopyOfOld(const ptx::Instruction &swap) const {
  const ptx::RegisterId old = swap.operands[0].reg;
  ArrayRef<uint32_t> writers = definitions.of(swap.operands[2].reg);
  if (writers.size() != 1 || !isIn(writers[0]) || !isMove(function.body[writers[0]]) ||
      function.body[writers[0]].operands[1].reg != old || !isPassedEachRound(writers[0]))
    return false;
  return all_of(definitions.of(old),
                [&](uint32_t writer) { return !isIn(writer) || &function.body[writer] == &swap; });
}

// Whether each round compares with the old value of the round before, or with what it loads itself.
// A round that may go by both compares with what was there long ago.
bool LoopValues::isRenewed(const ptx::Instruction &swap) const {
  const ptx::Operand &place = swap.operands[1];
  auto isWritten = [&](ptx::RegisterId reg) {
    return any_of(definitions.of(reg), [&](uint32_t writer) { return isIn(writer); });
  };
  bool renewed = false;
  for (uint32_t writer : definitions.of(originOf(swap.operands[2].reg))) {
    if (!isIn(writer))
      continue;
    const ptx::Instruction &write = function.body[writer];
    const bool isOld = isMove(write) && originOf(write.operands[1].reg) == swap.operands[0].reg;
    const bool isReload = write.op() == ptx::Op::Ld && write.guard.reg == ptx::kNone &&
                          isSamePlace(write.operands[1], place) &&
                          (place.reg == ptx::kNone || !isWritten(place.reg));
    if (!isOld && !isReload)
      return false;
    renewed |= isPassedEachRound(writer);
  }
  return renewed;
}

bool LoopValues::isRetry(const ptx::Instruction &instruction) const {
  if (instruction.op() != ptx::Op::Setp || instruction.operands.size() != 3 ||
      !(instruction.spelling->has(ptx::Mod::Eq) || instruction.spelling->has(ptx::Mod::Ne)) ||
      instruction.operands[1].kind != Kind::Register ||
      instruction.operands[2].kind != Kind::Register)
    return false;
  auto asksFor = [](ptx::RegisterId one, ptx::RegisterId other, ptx::RegisterId old,
                    ptx::RegisterId compared) {
    return (one == old && other == compared) || (one == compared && other == old);
  };
  const ptx::RegisterId one = instruction.operands[1].reg, other = instruction.operands[2].reg;
  if (!swaps) {
    swaps.emplace();
    copy_if(instructions.set_bits(), std::back_inserter(*swaps),
            [&](uint32_t index) { return isCompareAndSwap(function.body[index]); });
  }
  return any_of(*swaps, [&](uint32_t index) {
    const ptx::Instruction &swap = function.body[index];
    const ptx::RegisterId old = swap.operands[0].reg, compared = swap.operands[2].reg;
    if (asksFor(one, other, old, compared) && isCopyOfOld(swap))
      return true;
    return asksFor(originOf(one), originOf(other), old, originOf(compared)) && isRenewed(swap);
  });
}

} // namespace rubia::lowering
