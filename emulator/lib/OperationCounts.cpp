#include "emulator/lib/OperationCounts.h"
#include "emulator/lib/Instructions.h"
#include "llvm/ADT/STLExtras.h"
#include <mutex>

using namespace llvm;

namespace rubia::emulator {

static Exactness exactnessOf(StringRef name) {
  const Semantics *row = findVectorAlu(name);
  return row ? exactnessOf(row->flags) : Exactness::Exact;
}

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

/// "v_add_f32" of "v_add_f32_e32 v0, v1, v2"; both names of a pair.
static std::string mnemonics(StringRef printed) {
  std::string names;
  SmallVector<StringRef> halves;
  printed.split(halves, "::");
  for (StringRef half : halves) {
    StringRef name = half.trim().take_until([](char c) { return c == ' ' || c == '\t'; });
    for (StringRef encoding : {"_dpp", "_sdwa", "_e32", "_e64"})
      name.consume_back(encoding);
    names += (names.empty() ? "" : " :: ") + name.str();
  }
  return names;
}

std::vector<OperationCount> nameOperations(const Program &program, ArrayRef<uint64_t> counts) {
  std::map<std::string, OperationCount> byName;
  uint64_t previous = ~uint64_t(0);
  static std::mutex mutex; // LLVM's disassembler keeps state
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < counts.size(); ++i) {
    const uint64_t pc = program.operations[i].pc;
    if (pc == previous)
      continue;
    previous = pc;
    MCInst inst;
    if (!counts[i] || pc >= program.image.size() ||
        !program.target->disassemble(inst, program.image.drop_front(pc), pc))
      continue;
    const std::string printed = program.target->print(inst, pc);
    Exactness exactness = exactnessOf(program.target->name(inst.getOpcode()));
    if (StringRef(printed).contains("::")) {
      const auto [first, second] = program.target->dualNames(inst.getOpcode());
      exactness = std::max(exactnessOf(first), exactnessOf(second));
    }
    OperationCount &count = byName[mnemonics(printed)];
    count.exactness = textOf(exactness);
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

} // namespace rubia::emulator
