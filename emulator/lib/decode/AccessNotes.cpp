// SPDX-License-Identifier: Apache-2.0
// For each function: its address in 64 bits, a number in 32 bits, and as many bytes, one for each
// instruction in a memory encoding, in the order of the code.
#include "emulator/lib/decode/AccessNotes.h"
#include "emulator/lib/object/ElfFile.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::emulator {

Expected<AccessNotes> AccessNotes::read(ArrayRef<uint8_t> section) {
  constexpr size_t kHeader = 12;
  AccessNotes result;
  while (!section.empty()) {
    if (section.size() < kHeader)
      return malformed(".rubia.accesses ends within a function");
    const uint64_t address = support::endian::read64le(section.data());
    const uint32_t count = support::endian::read32le(section.data() + 8);
    section = section.drop_front(kHeader);
    if (count > section.size())
      return malformed(".rubia.accesses ends within a function");
    if (address != DenseMapInfo<uint64_t>::getEmptyKey() &&
        address != DenseMapInfo<uint64_t>::getTombstoneKey())
      result.functions[address] = section.take_front(count).vec();
    section = section.drop_front(count);
  }
  return result;
}

void AccessNotes::apply(uint64_t address, size_t count,
                        MutableArrayRef<InstructionStep> steps) const {
  const auto found = functions.find(address);
  if (found == functions.end() || found->second.size() != count)
    return;
  for (InstructionStep &step : steps) {
    if (!step.memoryIndex)
      continue;
    const uint8_t note = found->second[*step.memoryIndex];
    step.strength = Strength(note >> 3 & 3);
    if (step.strength == Strength::Unknown)
      continue;
    step.alignment = uint8_t(1u << (note & 7));
    step.elementBytes = uint8_t(1u << (note >> 5 & 3));
  }
}

} // namespace rubia::emulator
