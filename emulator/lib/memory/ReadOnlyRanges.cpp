// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/ReadOnlyRanges.h"
#include <atomic>
#include <map>
#include <mutex>
#include <shared_mutex>

namespace rubia::emulator {
namespace {

struct Ranges {
  std::atomic<size_t> count = 0;
  mutable std::shared_mutex mutex;
  struct Range {
    uint64_t end;
    DeviceSet devices;
  };
  std::map<std::pair<const Memory *, uint64_t>, Range> all; // by memory and first byte
};
Ranges &ranges() {
  static auto *all = new Ranges;
  return *all;
}

} // namespace

void setReadOnly(Memory &memory, uint64_t address, uint64_t bytes, DeviceSet devices) {
  Ranges &known = ranges();
  std::unique_lock lock(known.mutex);
  if (devices)
    known.all[{&memory, address}] = {address + bytes, devices};
  else
    known.all.erase({&memory, address});
  known.count = known.all.size();
}

bool isReadOnly(const Memory &memory, uint64_t address, DeviceSet devices) {
  const Ranges &known = ranges();
  if (!known.count.load(std::memory_order_relaxed))
    return false;
  std::shared_lock lock(known.mutex);
  auto after = known.all.upper_bound({&memory, address});
  if (after == known.all.begin())
    return false;
  const auto &[start, range] = *std::prev(after);
  return start.first == &memory && address < range.end && (range.devices & devices);
}

} // namespace rubia::emulator
