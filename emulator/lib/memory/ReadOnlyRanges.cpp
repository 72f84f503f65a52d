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
  std::map<std::pair<const Memory *, uint64_t>, uint64_t> ends; // by memory and first byte
};
Ranges &ranges() {
  static auto *all = new Ranges;
  return *all;
}

} // namespace

void setReadOnly(Memory &memory, uint64_t address, uint64_t bytes, bool readOnly) {
  Ranges &all = ranges();
  std::unique_lock lock(all.mutex);
  if (readOnly)
    all.ends[{&memory, address}] = address + bytes;
  else
    all.ends.erase({&memory, address});
  all.count = all.ends.size();
}

bool isReadOnly(const Memory &memory, uint64_t address) {
  const Ranges &all = ranges();
  if (!all.count.load(std::memory_order_relaxed))
    return false;
  std::shared_lock lock(all.mutex);
  auto after = all.ends.upper_bound({&memory, address});
  if (after == all.ends.begin())
    return false;
  const auto &[start, end] = *std::prev(after);
  return start.first == &memory && address < end;
}

} // namespace rubia::emulator
