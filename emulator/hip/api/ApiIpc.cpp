// SPDX-License-Identifier: Apache-2.0
// Memory and events of other processes. HIP: "Device Management", hipIpc*.
#include "emulator/hip/Allocations.h"
#include "emulator/hip/Events.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/ProcessSharing.h"
#include <cstring>
#include <unistd.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

constexpr uint64_t kEventMagic = 0x31307473'746e7665; // of this layout

struct EventName {
  uint64_t magic = kEventMagic;
  SharedName file;
};
static_assert(sizeof(EventName) <= sizeof(hipIpcEventHandle_t));

} // namespace

HIP_EXPORT hipError_t hipIpcGetMemHandle(hipIpcMemHandle_t *handle, void *pointer) {
  if (hipError_t error = usable())
    return result(error);
  AllocationName name;
  if (!handle)
    return result(hipErrorInvalidValue);
  auto allocation = Machine::instance().memory.find(pointer);
  if (!allocation || placementOf(allocation->address).pool)
    return result(hipErrorInvalidValue);
  if (hipError_t error = nameAllocation(pointer, 0, name))
    return result(error);
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &name, sizeof(name));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipIpcOpenMemHandle(void **pointer, hipIpcMemHandle_t handle,
                                          unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  constexpr unsigned kLazyPeerAccess = 1; // HIP 5's headers call 0 so
  if (!pointer || (flags & ~kLazyPeerAccess))
    return result(hipErrorInvalidValue);
  AllocationName name;
  memcpy(&name, &handle, sizeof(name));
  return result(openAllocation(name, 0, unsigned(currentDeviceOrdinal()), pointer));
}

HIP_EXPORT hipError_t hipIpcCloseMemHandle(void *pointer) {
  if (!isOpened(pointer))
    return result(hipErrorInvalidValue);
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
  return result(closeAllocation(pointer));
}

HIP_EXPORT hipError_t hipIpcGetEventHandle(hipIpcEventHandle_t *handle, hipEvent_t event) {
  EventRef found = eventOf(event);
  if (!handle)
    return result(hipErrorInvalidValue);
  if (!found || !found->shared)
    return result(hipErrorInvalidHandle);
  EventName name;
  name.file = found->shared->name();
  memset(handle, 0, sizeof(*handle));
  memcpy(handle, &name, sizeof(name));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipIpcOpenEventHandle(hipEvent_t *event, hipIpcEventHandle_t handle) {
  if (hipError_t error = usable())
    return result(error);
  EventName name;
  memcpy(&name, &handle, sizeof(name));
  if (!event || name.magic != kEventMagic)
    return result(hipErrorInvalidValue);
  if (name.file.process == getpid())
    return result(hipErrorInvalidContext);
  auto shared = SharedEvent::open(name.file);
  if (!shared)
    return result(hipErrorInvalidValue); // the event or its process is gone
  auto made = std::make_shared<EventState>();
  made->flags = hipEventInterprocess | hipEventDisableTiming;
  made->device = &currentDevice();
  made->shared = std::move(shared);
  *event = addEvent(std::move(made));
  return result(hipSuccess);
}
