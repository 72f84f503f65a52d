// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/SharedSlots.h"
#include "emulator/Emulator.h"
#include <mutex>

namespace rubia::emulator {

// Never freed: programs call us after their static destructors have run.
static std::mutex &mutex = *new std::mutex;
static auto &all = *new std::vector<SharedSlots>;

void setSharedSlots(const SharedSlots &slots) {
  std::lock_guard<std::mutex> lock(mutex);
  std::erase_if(all, [&](const SharedSlots &old) { return old.first == slots.first; });
  if (slots.count)
    all.push_back(slots);
}

std::vector<SharedSlots> sharedSlotsIn(const Memory &memory) {
  std::lock_guard<std::mutex> lock(mutex);
  std::vector<SharedSlots> live;
  for (const SharedSlots &slots : all) {
    std::optional<Allocation> allocation = memory.find(reinterpret_cast<void *>(slots.first));
    if (allocation && allocation->end() - slots.first >= slots.stride * slots.count)
      live.push_back(slots);
  }
  return live;
}

} // namespace rubia::emulator
