// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/waits/Locks.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {
namespace {

// Whether an instruction may release what somebody takes at a place.
bool mayRelease(const ptx::Instruction &instruction, const ptx::Operand &lock) {
  const ptx::Operand *address = addressOf(instruction);
  return address && instruction.guard.reg == ptx::kNone && does(instruction, effects::Writes) &&
         isSamePlace(*address, lock);
}

// Whether an instruction does what another one does, with the same values: what takes a lock stands
// several times in a loop that was unrolled.
bool isSameAttempt(const Definitions &definitions, const ptx::Instruction &a,
                   const ptx::Instruction &b) {
  auto isSame = [&](const ptx::Operand &one, const ptx::Operand &other) {
    if (one.kind == ptx::Operand::Kind::Address)
      return isSamePlace(one, other);
    if (one.kind == ptx::Operand::Kind::Register && other.kind == one.kind && one.reg == other.reg)
      return definitions.of(one.reg).size() == 1;
    const std::optional<uint64_t> value = definitions.constant(one);
    return value && value == definitions.constant(other);
  };
  return a.spelling->text == b.spelling->text && a.operands.size() == b.operands.size() &&
         all_of(drop_begin(zip(a.operands, b.operands)),
                [&](const auto &pair) { return isSame(std::get<0>(pair), std::get<1>(pair)); });
}

// What follows a loop until its lock is released.
class CriticalSection {
public:
  CriticalSection(const LoopValues &loop, const ptx::Operand &lock, const CallFacts &calls)
      : loop(loop), graph(loop.graph), function(loop.function), lock(lock), calls(calls) {}

  std::optional<uint32_t> release() {
    std::optional<uint32_t> exit = onlyExit();
    if (!exit || !walk(*exit) || !released || movesLock() || isForAll())
      return std::nullopt;
    return released;
  }

private:
  ArrayRef<ptx::Instruction> codeOf(uint32_t block) const {
    const ControlFlowGraph::Block &code = graph.blocks[block];
    return ArrayRef(function.body).slice(code.first, code.end - code.first);
  }
  bool mayExit(uint32_t block) const {
    return any_of(codeOf(block), [&](const ptx::Instruction &instruction) {
      return does(instruction, effects::Calls) && calls.mayExit(instruction);
    });
  }

  // Where the loop's one edge out leads to.
  std::optional<uint32_t> onlyExit() const {
    std::optional<uint32_t> exit;
    for (uint32_t block : loop.loop.blocks) {
      if (mayExit(block))
        return std::nullopt;
      for (uint32_t next : graph.blocks[block].successors)
        if (!loop.blocks.test(next)) {
          if (exit)
            return std::nullopt;
          exit = next;
        }
    }
    return exit;
  }

  // Finds the blocks from the exit to the release, which nobody comes to but through the loop;
  // false: others do, or not all come to one release. Whoever traps ends the kernel, and all who
  // wait with it.
  bool walk(uint32_t exit) {
    const BitVector others = graph.reachedFrom(graph.entry, loop.loop.header);
    section.resize(unsigned(graph.blocks.size()));
    SmallVector<uint32_t> open{exit};
    while (!open.empty()) {
      uint32_t block = open.pop_back_val();
      if (section.test(block) || block == graph.ended())
        continue;
      section.set(block);
      if (loop.blocks.test(block) || others.test(block) || leavesFunction(block))
        return false;
      std::optional<uint32_t> end = releaseIn(block);
      if (end && released && released != end)
        return false;
      if (end)
        released = end;
      else
        append_range(open, graph.blocks[block].successors);
    }
    return true;
  }

  bool leavesFunction(uint32_t block) const {
    if (block >= graph.codeBlocks())
      return block == graph.returned();
    return does(function.body[graph.blocks[block].branch()], effects::Returns | effects::Exits) ||
           mayExit(block);
  }

  std::optional<uint32_t> releaseIn(uint32_t block) const {
    if (block >= graph.codeBlocks() ||
        !mayRelease(function.body[graph.blocks[block].branch()], lock))
      return std::nullopt;
    return graph.blocks[block].branch();
  }

  // The register may not move on to another address before the release.
  bool movesLock() const {
    return lock.reg != ptx::kNone && any_of(loop.definitions.of(lock.reg), [&](uint32_t writer) {
             return any_of(section.set_bits(), [&](unsigned block) {
               return graph.blocks[block].first <= writer && writer < graph.blocks[block].end;
             });
           });
  }

  // Nor may they meet; whoever is called may do so.
  bool isForAll() const {
    return any_of(section.set_bits(), [&](unsigned block) {
      return any_of(codeOf(block), [&](const ptx::Instruction &instruction) {
        return does(instruction, effects::Calls)
                   ? calls.mayMeet
                   : isMeeting(instruction) || does(instruction, effects::ArrivesCta);
      });
    });
  }

  const LoopValues &loop;
  const ControlFlowGraph &graph;
  const ptx::Function &function;
  const ptx::Operand &lock;
  const CallFacts &calls;
  BitVector section; // blocks
  std::optional<uint32_t> released;
};

} // namespace

DenseSet<uint32_t> possibleReleases(const ptx::Function &function) {
  SmallVector<const ptx::Operand *> locks;
  for (const ptx::Instruction &instruction : function.body)
    if (isExchange(instruction))
      if (const ptx::Operand *address = addressOf(instruction))
        locks.push_back(address);
  DenseSet<uint32_t> releases;
  if (!locks.empty())
    for (auto [index, instruction] : enumerate(function.body))
      if (any_of(locks, [&](const ptx::Operand *lock) { return mayRelease(instruction, *lock); }))
        releases.insert(uint32_t(index));
  return releases;
}

bool releasesInside(const LoopValues &loop, uint32_t take) {
  const ptx::Function &function = loop.function;
  if (!isExchange(function.body[take]))
    return false;
  const ptx::Operand &lock = *addressOf(function.body[take]);
  return any_of(loop.instructions.set_bits(), [&](unsigned index) {
    const ptx::Operand *address = addressOf(function.body[index]);
    return index != take && address && does(function.body[index], effects::Writes) &&
           isSamePlace(*address, lock) &&
           !isSameAttempt(loop.definitions, function.body[index], function.body[take]);
  });
}

std::optional<uint32_t> releaseOf(const LoopValues &loop, uint32_t take, const CallFacts &calls) {
  const ptx::Instruction &instruction = loop.function.body[take];
  if (!isExchange(instruction))
    return std::nullopt;
  return CriticalSection(loop, *addressOf(instruction), calls).release();
}

} // namespace rubia::lowering
