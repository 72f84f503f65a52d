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

Error AccessNotes::readWarpSyncs(ArrayRef<uint8_t> section) {
  if (section.size() % 8)
    return malformed(".rubia.warpsyncs ends within an address");
  for (; !section.empty(); section = section.drop_front(8))
    warpSyncs.insert(support::endian::read64le(section.data()));
  return Error::success();
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
    step.isAsync = note >> 7;
    step.strength = Strength(note >> 3 & 3);
    if (step.strength == Strength::Unknown)
      continue;
    step.alignment = uint8_t(1u << (note & 7));
    step.elementBytes = uint8_t(1u << (note >> 5 & 3));
  }
}

// The register that a name with a zero behind it tells, `v12`; the section goes on behind it.
static Expected<uint16_t> takeVectorRegister(ArrayRef<uint8_t> &section) {
  const StringRef rest = toStringRef(section);
  const size_t end = rest.find('\0');
  if (end == StringRef::npos)
    return malformed(".rubia.async ends within an entry");
  StringRef name = rest.take_front(end);
  uint16_t number = 0;
  if (!name.consume_front("v") || name.getAsInteger(10, number) || number > 255)
    return malformed(".rubia.async has an entry with a register that is no VGPR");
  section = section.drop_front(end + 1);
  return number;
}

// Each entry: an address in 64 bits, a byte for the kind and one for the count; behind those of
// copies that are held back, and of parts of warps, a register.
Expected<AsyncNotes> AsyncNotes::read(ArrayRef<uint8_t> section) {
  constexpr size_t kEntry = 10;
  AsyncNotes result;
  while (!section.empty()) {
    if (section.size() < kEntry)
      return malformed(".rubia.async ends within an entry");
    const uint64_t address = support::endian::read64le(section.data());
    const uint8_t kind = section[8];
    AsyncMark mark{AsyncMark::Kind(kind), section[9]};
    section = section.drop_front(kEntry);
    if (kind < uint8_t(AsyncMark::Kind::Commit) || kind > uint8_t(AsyncMark::Kind::ByWarp))
      return malformed(".rubia.async has an entry of kind " + Twine(unsigned(kind)));
    if (mark.kind == AsyncMark::Kind::Held || mark.kind == AsyncMark::Kind::PartOfWarp) {
      Expected<uint16_t> number = takeVectorRegister(section);
      if (!number)
        return number.takeError();
      mark.vectorReg = *number;
    }
    if (address != DenseMapInfo<uint64_t>::getEmptyKey() &&
        address != DenseMapInfo<uint64_t>::getTombstoneKey())
      result.marks[address] = mark;
  }
  return result;
}

} // namespace rubia::emulator
