// SPDX-License-Identifier: Apache-2.0
// Shared memory of workgroups that a host keeps in device memory, where a launch asks for more than
// LDS has: slots, of which a workgroup has one while it runs. The checks treat an access to a slot
// as one to LDS.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace rubia::emulator {

class Memory;

struct SharedSlots {
  /// Of u32, one for each slot: a workgroup writes there how many bytes it uses, when it takes the
  /// slot, and 0 when it gives it back. From bit 24 on: the logarithm of the number of slots that
  /// the workgroups of a cluster have together.
  uint64_t used = 0;
  uint64_t first = 0; // the first slot
  uint64_t stride = 0;
  uint32_t count = 0;

  /// The slot that an address is in.
  std::optional<uint32_t> slotAt(uint64_t address) const {
    const uint64_t offset = address - first;
    return offset < stride * count ? std::optional(uint32_t(offset / stride)) : std::nullopt;
  }
  uint32_t usedOf(uint32_t slot) const { return wordOf(slot) & 0xffffff; }
  uint32_t runOf(uint32_t slot) const { return wordOf(slot) >> 24 & 31; }

  /// The slot that an address among `used` belongs to.
  std::optional<uint32_t> slotUsedAt(uint64_t address) const {
    const uint64_t offset = address - used;
    return offset < uint64_t(4) * count ? std::optional(uint32_t(offset / 4)) : std::nullopt;
  }

private:
  uint32_t wordOf(uint32_t slot) const {
    return __atomic_load_n(reinterpret_cast<const uint32_t *>(used) + slot, __ATOMIC_RELAXED);
  }
};

/// Whether an address is in a slot of workgroups that have several together.
inline bool isOfCluster(const std::vector<SharedSlots> &all, uint64_t address) {
  for (const SharedSlots &slots : all)
    if (std::optional<uint32_t> slot = slots.slotAt(address))
      return slots.runOf(*slot) != 0;
  return false;
}

/// May be called from any thread. Slots at the same place are replaced, by none if `count` is 0.
void setSharedSlots(const SharedSlots &slots);

/// Those whose memory is live.
std::vector<SharedSlots> sharedSlotsIn(const Memory &memory);

} // namespace rubia::emulator
