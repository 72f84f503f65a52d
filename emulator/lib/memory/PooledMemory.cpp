// SPDX-License-Identifier: Apache-2.0
// Launches come again and again with workgroups of the same size, so only memory of exactly the
// size that is asked for is given out again. When the bound is reached all that is kept goes.
#include "emulator/lib/memory/PooledMemory.h"
#include "emulator/lib/machine/PerProcess.h"
#include <map>
#include <mutex>
#include <new>

namespace rubia::emulator {

static constexpr size_t kMaxKept = size_t(64) << 20, kLargest = kMaxKept / 8;
static constexpr auto kPage = std::align_val_t(4096);

namespace {
struct Pool {
  std::mutex mutex;
  std::multimap<size_t, uint8_t *> kept;
  size_t bytes = 0;
};
} // namespace

PooledMemory::PooledMemory(size_t size) : size(size) {
  {
    Pool &all = perProcess<Pool>();
    std::lock_guard lock(all.mutex);
    if (auto found = all.kept.find(size); found != all.kept.end()) {
      data = found->second;
      all.kept.erase(found);
      all.bytes -= size;
      return;
    }
  }
  data = static_cast<uint8_t *>(::operator new(size, kPage));
}

PooledMemory::~PooledMemory() {
  if (!data)
    return;
  if (size > kLargest) {
    ::operator delete(data, kPage);
    return;
  }
  Pool &all = perProcess<Pool>();
  std::lock_guard lock(all.mutex);
  if (all.bytes + size > kMaxKept) {
    for (auto [bytes, kept] : all.kept)
      ::operator delete(kept, kPage);
    all.kept.clear();
    all.bytes = 0;
  }
  all.kept.emplace(size, data);
  all.bytes += size;
}

} // namespace rubia::emulator
