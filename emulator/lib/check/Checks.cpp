// SPDX-License-Identifier: Apache-2.0
// The slow sides of the memory checks: look-ups in the registry, and noting a fault.
#include "emulator/lib/machine/Addressing.h"
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/memory/MemoryRegistry.h"
#include "emulator/lib/memory/ReadOnlyRanges.h"
#include <algorithm>
#include <cstring>

namespace rubia::emulator {

void raise(Wave &wave, const MicroOp &op, FaultKind kind, unsigned lane, uint64_t address,
           uint32_t size, bool isWrite) {
  wave.halt(WaveStatus::Faulted);
  FaultRecord &record = wave.group->fault;
  if (record.set)
    return;
  if (size == 0 && wave.exec() != 0 &&
      lane == 0) // not about a certain lane: the first active one stands for the wave
    lane = unsigned(std::countr_zero(wave.exec()));
  record = {true, kind, wave.indexInGroup, lane, op.pc, address, size, isWrite};
}

const AccessWindow *findWindow(Wave &wave, uint64_t address, uint32_t size) {
  const Memory &memory = *wave.group->memory;
  const uint64_t generation = memory.generation();
  std::optional<Allocation> allocation = memory.lookup(address);
  if (!allocation || allocation->end() - address < size ||
      !(allocation->devices & wave.group->device))
    return nullptr;
  // What may only be read is looked up for each access: windows are for reading and writing.
  static thread_local AccessWindow notKept;
  AccessWindow &window =
      isReadOnly(memory, address, wave.group->device)
          ? notKept
          : wave.group->window[wave.group->nextWindow++ % std::size(wave.group->window)];
  const bool ofHost =
      allocation->kind == MemoryKind::HostPinned || allocation->kind == MemoryKind::Managed;
  window = {allocation->address, allocation->end(), generation,
            ofHost && !allocation->coarseGrained};
  return &window;
}

bool readsThreeOfAllocation(const Wave &w, uint64_t address, uint32_t size) {
  const std::optional<Allocation> found = w.group->memory->lookup(address);
  return found && (found->devices & w.group->device) &&
         readsThreeAsFour(address, size, found->end());
}

bool checkGlobalSlow(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                     const LaneAddresses &addresses, uint32_t size, bool isWrite) {
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint64_t address = addresses.at[lane];
    uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
    if (inWindow(w, generation, address, address, size) ||
        (findWindow(w, address, size) &&
         !(isWrite && isReadOnly(*w.group->memory, address, w.group->device))) ||
        (!isWrite && readsThreeOfAllocation(w, address, size)))
      continue;
    raise(w, op, FaultKind::OutOfBounds, block * kBlockLanes + lane, address, size, isWrite);
    return false;
  }
  return true;
}

bool checkLdsSlow(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                  LaneAddresses &addresses, uint32_t size, bool isWrite, unsigned which) {
  const uint32_t hole = w.group ? w.group->ldsHole : 0;
  if (!hole) {
    // The last element is there (Dispatch.cpp).
    uint32_t others = mask;
    for (uint32_t rest = isWrite ? 0 : mask; rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      if (readsThreeAsFour(addresses.at[lane], size, w.ldsSize))
        others &= ~(1u << lane);
    }
    return checkWithin(w.ldsSize, FaultKind::LdsOutOfBounds, w, op, block, others, addresses, size,
                       isWrite);
  }
  constexpr uint32_t kWidest = kLdsHoleBytes / (2 * kBlockLanes);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    if (addresses.at[lane] + size <= w.ldsSize)
      continue;
    addresses.at[lane] = hole + (which * kBlockLanes + lane) * kWidest;
    std::memset(w.lds + addresses.at[lane], 0, kWidest);
  }
  return true;
}

bool checkDeviceMemory(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                       const LaneAddresses &addresses, uint32_t size) {
  if (w.group->target->atomicsReachHost)
    return true;
  const uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    const uint64_t address = addresses.at[lane];
    auto holds = [&](const AccessWindow &window) {
      return window.generation == generation && address >= window.begin && address < window.end;
    };
    const AccessWindow *window =
        std::find_if(std::begin(w.group->window), std::end(w.group->window), holds);
    if (window == std::end(w.group->window))
      window = findWindow(w, address, size);
    if (!window || !window->ofHost)
      continue;
    raise(w, op, FaultKind::AtomicOnHostMemory, block * kBlockLanes + lane, address, size, true);
    return false;
  }
  return true;
}

} // namespace rubia::emulator
