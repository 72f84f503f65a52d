// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/run/OperationCounts.h"
#include "emulator/lib/decode/Decoder.h"
#include "emulator/lib/decode/Disassembly.h"
#include "emulator/lib/decode/InstructionClass.h"
#include "emulator/lib/decode/Instructions.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::emulator {

static StringRef textOf(Exactness exactness) {
  switch (exactness) {
  case Exactness::Exact:
    return "exact";
  case Exactness::WithinUlp:
    return "within 1 ulp";
  case Exactness::Approximation:
    return "approximation";
  case Exactness::UnorderedSum:
    return "order of a sum";
  }
  return "";
}

std::vector<OperationCount> nameOperations(const Program &program, ArrayRef<uint64_t> counts) {
  std::map<std::string, OperationCount> byName;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (!counts[i] || continuesInstruction(program, i))
      continue;
    const auto found = disassembleAt(program, program.operations[i].pc);
    if (!found)
      continue;
    const unsigned opcode = found->inst.getOpcode();
    Exactness exactness = exactnessOf(program.target->name(opcode));
    if (StringRef(found->text).contains("::")) {
      const auto [first, second] = program.target->dualNames(opcode);
      exactness = std::max(exactnessOf(first), exactnessOf(second));
    }
    OperationCount &count = byName[mnemonics(found->text)];
    count.exactness = textOf(exactness);
    count.kind = classify(*program.target, found->inst);
    count.waves += counts[i];
  }
  std::vector<OperationCount> result;
  for (auto &[name, count] : byName) {
    count.name = name;
    result.push_back(std::move(count));
  }
  llvm::sort(result, [](const auto &a, const auto &b) {
    return a.waves != b.waves ? a.waves > b.waves : a.name < b.name;
  });
  return result;
}

uint64_t laneOperations(const Program &program, ArrayRef<uint64_t> lanes) {
  constexpr uint64_t kScalar = kFlagSalu | kFlagSmrd;
  uint64_t sum = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i] || continuesInstruction(program, i))
      continue;
    const auto found = disassembleAt(program, program.operations[i].pc);
    if (!found || program.target->description(found->inst.getOpcode()).TSFlags & kScalar)
      continue;
    sum += StringRef(found->text).contains("::") ? 2 * lanes[i] : lanes[i];
  }
  return sum;
}

} // namespace rubia::emulator
