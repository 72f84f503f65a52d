// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/PartialWarps.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/InstructionEffects.h"
#include "llvm/ADT/SmallPtrSet.h"

using namespace llvm;

namespace rubia::lowering {

// Whether the instruction says that all threads of the warp take part.
static bool isForWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  return does(instruction, effects::MeetsCta) ? isAligned(instruction)
                                              : namesWholeWarp(instruction, definitions);
}

/// Marks those of a function whose branch has such an instruction on each of its two ways. Barriers
/// are none: those of the CTA count waves on AMD, and those of the warp give nothing that could be
/// wrong.
static void markBothWays(const ptx::Function &function, MutableArrayRef<PartialWarp> found) {
  const ControlFlowGraph graph(function);
  auto blockOf = [&](const ptx::Instruction *instruction) {
    const uint32_t number = uint32_t(instruction - function.body.begin());
    const auto blocks = ArrayRef(graph.blocks).take_front(graph.codeBlocks());
    return uint32_t(partition_point(blocks, [&](auto &block) { return block.end <= number; }) -
                    blocks.begin());
  };
  SmallPtrSet<const ptx::Instruction *, 8> seen;
  for (const PartialWarp &one : found) {
    if (!seen.insert(one.divides).second)
      continue;
    const uint32_t branch = one.dividingFunction == &function ? blockOf(one.divides) : 0;
    const auto &ways = graph.blocks[branch].successors;
    if (ways.size() != 2 || &function.body[graph.blocks[branch].branch()] != one.divides)
      continue;
    BitVector first = graph.reachedFrom(ways[0], branch),
              second = graph.reachedFrom(ways[1], branch);
    BitVector both = first;
    both &= second;
    auto isOn = [&](const BitVector &way, const PartialWarp &other) {
      const uint32_t block = blockOf(other.instruction);
      return other.divides == one.divides && way.test(block) && !both.test(block) &&
             !does(*other.instruction, effects::MeetsCta | effects::Renews);
    };
    auto isOnFirst = [&](const PartialWarp &other) { return isOn(first, other); };
    auto isOnSecond = [&](const PartialWarp &other) { return isOn(second, other); };
    if (any_of(found, isOnFirst) && any_of(found, isOnSecond))
      for (PartialWarp &other : found)
        other.isOnBothWays |= isOnFirst(other) || isOnSecond(other);
  }
}

std::vector<PartialWarp> findPartialWarps(const Unit &unit) {
  std::vector<PartialWarp> result;
  std::unique_ptr<Uniformity> uniformity; // costs time, and most kernels have no such instruction
  auto look = [&](const ptx::Function &function) {
    const size_t before = result.size();
    Definitions definitions(function);
    for (auto [index, instruction] : enumerate(function.body)) {
      if (!isForWholeWarp(instruction, definitions))
        continue;
      if (!uniformity)
        uniformity = std::make_unique<Uniformity>(unit, functionsWithAddress(unit), Group::RowWarp);
      Uniformity::Answer answer = uniformity->executesTogether(function, uint32_t(index));
      if (!answer.together && answer.cause)
        result.push_back({&function, &instruction, answer.function, answer.cause});
    }
    if (result.size() > before + 1)
      markBothWays(function, MutableArrayRef(result).drop_front(before));
  };
  for (const ptx::Function *kernel : unit.kernels)
    look(*kernel);
  for (const ptx::Function *function : unit.functions)
    look(*function);
  return result;
}

} // namespace rubia::lowering
