// SPDX-License-Identifier: Apache-2.0
#include "lowering/lib/analysis/PartialWarps.h"
#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/InstructionEffects.h"

using namespace llvm;

namespace rubia::lowering {

// Whether the instruction says that all threads of the warp take part.
static bool isForWholeWarp(const ptx::Instruction &instruction, const Definitions &definitions) {
  return does(instruction, effects::MeetsCta) ? isAligned(instruction)
                                              : namesWholeWarp(instruction, definitions);
}

std::vector<PartialWarp> findPartialWarps(const Unit &unit, const WarpMeetings &meetings,
                                          RowWarps &warps) {
  std::vector<PartialWarp> result;
  auto look = [&](const ptx::Function &function) {
    DenseSet<uint32_t> met;
    if (auto found = meetings.find(&function); found != meetings.end()) {
      for (const auto &place : found->second.places)
        met.insert(place.begin(), place.end());
      for (const Meetings::LongWays &ways : found->second.longWays)
        met.insert(ways.instructions.begin(), ways.instructions.end());
    }
    Definitions definitions(function);
    for (auto [number, instruction] : enumerate(function.body)) {
      const uint32_t index = uint32_t(number);
      if (!isForWholeWarp(instruction, definitions) || met.contains(index))
        continue;
      Uniformity::Answer answer = warps.get().executesTogether(function, index);
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
