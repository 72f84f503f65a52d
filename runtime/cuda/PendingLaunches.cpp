// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/PendingLaunches.h"

namespace rubia::runtime::cuda {

using Lock = std::lock_guard<std::mutex>;

// Stands for streams that were destroyed.
static void *const kDetached = const_cast<char *>("");

void PendingLaunches::add(Module *module, std::shared_ptr<LoadedModule> loaded,
                          const AwaitedStream &stream) {
  Lock lock(mutex);
  Entry &entry = entries[module];
  entry.loaded = std::move(loaded);
  const auto end = ends.find(stream.hipStream);
  const bool isGone = end != ends.end() && end->second > stream.since;
  entry.launches[isGone ? kDetached : stream.hipStream] = ++count;
}

AwaitedStream PendingLaunches::awaited(void *hipStream) const {
  Lock lock(mutex);
  return {hipStream, detached};
}

uint64_t PendingLaunches::last() const {
  Lock lock(mutex);
  return count;
}

std::vector<std::shared_ptr<LoadedModule>> PendingLaunches::modules() const {
  Lock lock(mutex);
  std::vector<std::shared_ptr<LoadedModule>> result;
  result.reserve(entries.size());
  for (const auto &[module, entry] : entries)
    result.push_back(entry.loaded);
  return result;
}

template <typename IsOver> void PendingLaunches::removeIf(IsOver isOver) {
  Lock lock(mutex);
  for (auto entry = entries.begin(); entry != entries.end();) {
    std::erase_if(entry->second.launches, isOver);
    entry = entry->second.launches.empty() ? entries.erase(entry) : std::next(entry);
  }
}

void PendingLaunches::endStream(void *hipStream, uint64_t number) {
  removeIf(
      [&](const auto &launch) { return launch.first == hipStream && launch.second <= number; });
}

void PendingLaunches::endDevice(uint64_t number) {
  removeIf([&](const auto &launch) { return launch.second <= number; });
}

void PendingLaunches::detach(void *hipStream) {
  Lock lock(mutex);
  ends[hipStream] = ++detached;
  for (auto &[module, entry] : entries) {
    auto node = entry.launches.extract(hipStream);
    if (node)
      entry.launches[kDetached] = std::max(entry.launches[kDetached], node.mapped());
  }
}

void PendingLaunches::remove(Module *module) {
  Lock lock(mutex);
  entries.erase(module);
}

void PendingLaunches::clear() {
  Lock lock(mutex);
  entries.clear();
}

} // namespace rubia::runtime::cuda
