// SPDX-License-Identifier: Apache-2.0
// Which bits of a wave's registers, of LDS and of private memory somebody has written, for the
// check `uninitialised`. A bit that is set is undefined.
#pragma once

#include "emulator/lib/machine/Wave.h"
#include "llvm/ADT/DenseMap.h"
#include <array>
#include <cstring>
#include <vector>

namespace rubia::emulator {

/// Undefined bits and where they come from (a number of UninitialisedCheck's, 0: nobody knows).
struct Undefined {
  uint32_t bits = 0, origin = 0;
  uint32_t computed = 0; // those of `bits` that are not just copies of what nobody has written

  Undefined operator>>(unsigned n) const { return {bits >> n, origin, computed >> n}; }
  Undefined operator<<(unsigned n) const { return {bits << n, origin, computed << n}; }
  Undefined operator&(uint32_t mask) const { return {bits & mask, origin, computed & mask}; }
  Undefined operator|(Undefined other) const {
    return {bits | other.bits,
            bits && origin ? origin
            : other.bits   ? other.origin
                           : origin,
            computed | other.computed};
  }
};

/// Laid out as the wave's register file is.
class VectorDefinedness {
public:
  VectorDefinedness(const Wave &wave)
      : stride(wave.blockStride), blocks(wave.blocks), bits(size_t(stride) * blocks),
        origins(size_t(stride) * blocks), computed(size_t(stride) * blocks),
        suspicious(stride / kBlockLanes + 1) {}

  /// `offset`: of the register in a block's file, as MicroOp has it.
  Undefined at(uint32_t offset, unsigned lane) const {
    const size_t i = index(offset, lane);
    return {bits[i], origins[i], computed[i] & bits[i]};
  }
  void set(uint32_t offset, unsigned lane, Undefined value) {
    const size_t i = index(offset, lane);
    bits[i] = value.bits;
    origins[i] = value.origin;
    computed[i] = value.computed;
    if (value.bits)
      suspicious[offset / kBlockLanes] = true;
  }
  /// Marks what holds `pattern`, which nobody has written.
  void markUnwritten(const Wave &wave, uint32_t pattern);
  /// Marks the lanes of EXEC as defined.
  void define(uint32_t offset, const Wave &wave);
  /// Whether a lane of `lanes` has an undefined bit.
  bool any(uint32_t offset, uint64_t lanes) const;
  bool contains(uint32_t offset) const { return offset / kBlockLanes < stride / kBlockLanes; }

private:
  size_t index(uint32_t offset, unsigned lane) const {
    return lane / kBlockLanes * stride + offset + lane % kBlockLanes;
  }
  uint32_t stride, blocks;
  std::vector<uint32_t> bits, origins, computed;
  std::vector<uint8_t> suspicious; // per register: some lane may have undefined bits
};

/// LDS, or the private memory of a wave's lanes, in dwords.
class MemoryDefinedness {
public:
  /// The 32 bits of a dword; without an origin if nobody has read them yet.
  Undefined load(uint64_t dword) const {
    auto found = places.find(dword / kPageDwords);
    return found == places.end() ? Undefined{~0u} : pages[found->second][dword % kPageDwords];
  }
  /// Replaces the bits of `mask`.
  void store(uint64_t dword, uint32_t mask, Undefined value) {
    auto [found, isNew] = places.try_emplace(dword / kPageDwords, uint32_t(pages.size()));
    if (isNew)
      pages.emplace_back().fill(Undefined{~0u});
    Undefined &place = pages[found->second][dword % kPageDwords];
    place.bits = (place.bits & ~mask) | (value.bits & mask);
    place.computed = (place.computed & ~mask) | (value.computed & mask);
    if (value.bits & mask)
      place.origin = value.origin;
  }

private:
  /// Each lane's private memory lies together. A map of single dwords is larger than the host's
  /// caches: looking them up took a third of the check's time.
  static constexpr unsigned kPageDwords = 32;
  using Page = std::array<Undefined, kPageDwords>;
  llvm::DenseMap<uint64_t, uint32_t> places; // in `pages`; absent: nobody has written there
  std::vector<Page> pages;
};

} // namespace rubia::emulator
