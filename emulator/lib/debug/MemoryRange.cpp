// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/debug/MemoryRange.h"
#include "emulator/lib/machine/ScratchLayout.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace rubia::emulator {

uint8_t &MemoryRange::at(uint64_t index) const {
  return base ? base[index] : *scratchByte(*focus.wave, focus.lane, first + index);
}

Expected<MemoryRange> MemoryRange::find(const Memory &memory, const Focus &focus, StringRef space,
                                        uint64_t address, uint64_t count) {
  const Wave &wave = *focus.wave;
  constexpr uint64_t kMost = 1 << 20;
  count = std::min(count, kMost);
  if (space == "generic") {
    const uint32_t aperture = uint32_t(address >> 32);
    space = aperture == kSharedAperture    ? "shared"
            : aperture == kPrivateAperture ? "local"
                                           : "global";
    if (space != "global")
      address = uint32_t(address);
  }
  MemoryRange range;
  range.focus = focus;
  if (space == "global") {
    const std::optional<Allocation> at = memory.lookup(address);
    if (!at)
      return createStringError("nothing is allocated at 0x" + utohexstr(address, true));
    range.base = reinterpret_cast<uint8_t *>(address);
    range.bytes = std::min(count, at->end() - address);
  } else if (space == "shared") {
    if (address >= wave.ldsSize)
      return createStringError("the workgroup has " + std::to_string(wave.ldsSize) +
                               " bytes of shared memory");
    range.base = wave.lds + address;
    range.bytes = std::min<uint64_t>(count, wave.ldsSize - address);
  } else if (space == "local") {
    if (address >= wave.scratchPerLane)
      return createStringError("a thread has " + std::to_string(wave.scratchPerLane) +
                               " bytes of local memory");
    range.first = address;
    range.bytes = std::min<uint64_t>(count, wave.scratchPerLane - address);
  } else {
    return createStringError("'" + space + "' is none of global, shared, local, generic");
  }
  return range;
}

} // namespace rubia::emulator
