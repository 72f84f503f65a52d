// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/PartialWarps.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {

// Whether the instruction says that all threads of the warp take part.
static bool isForWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  return does(instruction, effects::MeetsCta) ? isAligned(instruction)
                                              : namesWholeWarp(instruction, definitions);
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
