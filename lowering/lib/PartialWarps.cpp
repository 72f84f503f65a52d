#include "lowering/lib/PartialWarps.h"
#include "lowering/lib/BarrierPlan.h"

using namespace llvm;

namespace rubia::lowering {

bool namesWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  switch (instruction.op()) {
  case ptx::Op::Shfl:
  case ptx::Op::Vote:
  case ptx::Op::Match:
  case ptx::Op::Redux:
  case ptx::Op::Elect:
    if (!instruction.spelling->has(ptx::Mod::Sync))
      return false;
    break;
  case ptx::Op::BarWarpSync:
    break;
  default:
    return false;
  }
  std::optional<uint64_t> members = definitions.constant(instruction.operands.back());
  return members && uint32_t(*members) == ~0u;
}

// Whether the instruction says that all threads of the warp take part.
static bool isForWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  switch (instruction.op()) {
  case ptx::Op::BarSync:
  case ptx::Op::BarRed:
    return isAligned(instruction);
  default:
    return namesWholeWarp(instruction, definitions);
  }
}

std::vector<PartialWarp> findPartialWarps(const Unit &unit) {
  std::vector<PartialWarp> result;
  std::unique_ptr<Uniformity> uniformity; // costs time, and most kernels have no such instruction
  auto look = [&](const ptx::Function &function) {
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
  };
  for (const ptx::Function *kernel : unit.kernels)
    look(*kernel);
  for (const ptx::Function *function : unit.functions)
    look(*function);
  return result;
}

} // namespace rubia::lowering
