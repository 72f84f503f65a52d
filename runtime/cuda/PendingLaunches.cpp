// SPDX-License-Identifier: Apache-2.0
#include "runtime/cuda/PendingLaunches.h"

namespace rubia::runtime::cuda {

using Lock = std::lock_guard<std::mutex>;

// Stands for streams that were destroyed.
static void *const kDetached = const_cast<char *>("");

void PendingLaunches::add(std::shared_ptr<LoadedModule> module, const AwaitedStream &stream) {
  Lock lock(mutex);
  const auto end = ends.find(stream.hipStream);
  const bool isGone = end != ends.end() && end->second > stream.since;
  launches[std::move(module)][isGone ? kDetached : stream.hipStream] = ++count;
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
  result.reserve(launches.size());
  for (const auto &[module, last] : launches)
    result.push_back(module);
  return result;
}

// Modules that nobody else has end without the mutex.
template <typename IsOver> void PendingLaunches::removeIf(IsOver isOver) {
  std::vector<std::shared_ptr<LoadedModule>> done;
  Lock lock(mutex);
  for (auto entry = launches.begin(); entry != launches.end();) {
    std::erase_if(entry->second, isOver);
    if (entry->second.empty()) {
      done.push_back(entry->first);
      entry = launches.erase(entry);
    } else {
      ++entry;
    }
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
  for (auto &[module, last] : launches) {
    auto node = last.extract(hipStream);
    if (node)
      last[kDetached] = std::max(last[kDetached], node.mapped());
  }
}

void PendingLaunches::clear() {
  decltype(launches) done;
  Lock lock(mutex);
  done.swap(launches);
}

} // namespace rubia::runtime::cuda
