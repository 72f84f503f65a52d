// SPDX-License-Identifier: Apache-2.0
// Events of devices, of which there are none: sets can be made and waited for, as monitors and
// Kubernetes' device plug-in do, and no device has an event to register.
#include "runtime/nvml/Nvml.h"
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>

namespace rubia::runtime::nvml {

namespace {
struct EventSet {
  std::condition_variable isFreed;
  bool isLive = true;
};
} // namespace

static std::mutex &mutex = *new std::mutex;
static auto &sets = *new std::map<EventSet *, std::shared_ptr<EventSet>>;

// No event comes, but the set may go.
static Return wait(EventSet *handle, const void *event, unsigned milliseconds) {
  if (!state())
    return kUninitialized;
  std::unique_lock<std::mutex> lock(mutex);
  auto found = sets.find(handle);
  if (!event || found == sets.end())
    return kInvalidArgument;
  const std::shared_ptr<EventSet> set = found->second;
  set->isFreed.wait_for(lock, std::chrono::milliseconds(milliseconds),
                        [&] { return !set->isLive; });
  return set->isLive ? kTimeout : kInvalidArgument;
}

} // namespace rubia::runtime::nvml

using namespace rubia::runtime::nvml;

extern "C" {

Return nvmlEventSetCreate(EventSet **out) {
  if (!state())
    return kUninitialized;
  if (!out)
    return kInvalidArgument;
  auto made = std::make_shared<EventSet>();
  std::lock_guard<std::mutex> lock(mutex);
  *out = made.get();
  sets[*out] = std::move(made);
  return kSuccess;
}

Return nvmlEventSetFree(EventSet *set) {
  if (!state())
    return kUninitialized;
  std::lock_guard<std::mutex> lock(mutex);
  auto found = sets.find(set);
  if (found == sets.end())
    return kInvalidArgument;
  found->second->isLive = false;
  found->second->isFreed.notify_all();
  sets.erase(found);
  return kSuccess;
}

Return nvmlEventSetWait_v2(EventSet *set, void *event, unsigned milliseconds) {
  return wait(set, event, milliseconds);
}
Return nvmlEventSetWait(EventSet *set, void *event, unsigned milliseconds) {
  return wait(set, event, milliseconds);
}

Return nvmlDeviceGetSupportedEventTypes(Device *device, unsigned long long *types) {
  return withDevice(device, [&](const Device &) { return give(types, std::optional(0)); });
}

Return nvmlDeviceRegisterEvents(Device *device, unsigned long long types, EventSet *set) {
  return withDevice(device, [&](const Device &) {
    std::lock_guard<std::mutex> lock(mutex);
    if (!sets.contains(set))
      return kInvalidArgument;
    return types ? kNotSupported : kSuccess;
  });
}

} // extern "C"
