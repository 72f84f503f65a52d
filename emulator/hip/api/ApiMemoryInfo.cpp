// SPDX-License-Identifier: Apache-2.0
// What programs ask and say of memory that is there. HIP: "Memory Management", "Managed Memory".
#include "emulator/hip/AddressSpace.h"
#include "emulator/hip/Allocations.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/api/Version.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

static Memory &memory() { return Machine::instance().memory; }

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  if (hipError_t error = usable())
    return result(error);
  uint64_t all = currentDevice().model.memoryBytes;
  uint64_t used = std::min(bytesInUseOf(currentDevice()), all);
  if (free)
    *free = all - used;
  if (total)
    *total = all;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemGetAddressRange(hipDeviceptr_t *base, size_t *bytes,
                                            hipDeviceptr_t pointer) {
  auto allocation = memory().find(pointer);
  if (!allocation)
    return result(hipErrorNotFound);
  if (base)
    *base = reinterpret_cast<void *>(allocation->address);
  if (bytes)
    *bytes = allocation->size;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPtrGetInfo(void *pointer, size_t *bytes) {
  auto allocation = memory().find(pointer);
  if (!allocation || !bytes)
    return result(hipErrorInvalidValue);
  *bytes = allocation->size;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipHostGetFlags(unsigned *flags, void *pointer) {
  auto allocation = memory().find(pointer);
  if (!flags || !allocation || allocation->kind != MemoryKind::HostPinned)
    return result(hipErrorInvalidValue);
  *flags = placementOf(allocation->address).flags;
  return result(hipSuccess);
}

// HIP 6 gave hipMemoryType's values new numbers and one for memory that it does not know; HIP 5
// refuses that. To HIP 7 nulls are no errors.
HIP_EXPORT hipError_t hipPointerGetAttributes(hipPointerAttribute_t *attributes,
                                              const void *pointer) {
  if ((!attributes || !pointer) && hipMajorVersion() < 7)
    return result(hipErrorInvalidValue);
  if (!attributes)
    return result(hipSuccess);
  *attributes = {};
  auto allocation = memory().find(pointer);
  const bool renumbered = hipMajorVersion() >= 6;
  auto setType = [&](unsigned since6, unsigned before) {
    unsigned type = renumbered ? since6 : before;
    memcpy(&attributes->memoryType, &type, sizeof(type));
  };
  if (!allocation) {
    attributes->device = -1;
    setType(0, 0);
    return result(renumbered ? hipSuccess : hipErrorInvalidValue);
  }
  Placement placement = placementOf(allocation->address);
  attributes->device = int(placement.device);
  attributes->allocationFlags = placement.flags;
  attributes->devicePointer = const_cast<void *>(pointer);
  switch (allocation->kind) {
  case MemoryKind::HostPinned:
    setType(1, hipMemoryTypeHost);
    attributes->hostPointer = const_cast<void *>(pointer);
    break;
  case MemoryKind::Managed:
    setType(3, hipMemoryTypeUnified);
    attributes->hostPointer = const_cast<void *>(pointer);
    attributes->isManaged = 1;
    break;
  case MemoryKind::Device:
  case MemoryKind::Code:
    setType(2, hipMemoryTypeDevice);
    break;
  }
  return result(hipSuccess);
}

static hipError_t pointerAttribute(void *data, hipPointer_attribute attribute,
                                   const void *pointer) {
  auto allocation = memory().find(pointer);
  auto give = [&](auto value) {
    memcpy(data, &value, sizeof(value));
    return hipSuccess;
  };
  if (attribute == HIP_POINTER_ATTRIBUTE_MAPPED)
    return give(bool(allocation));
  if (!allocation)
    return hipErrorInvalidValue;
  hipPointerAttribute_t all;
  if (hipError_t error = hipPointerGetAttributes(&all, pointer))
    return error;
  switch (attribute) {
  case HIP_POINTER_ATTRIBUTE_MEMORY_TYPE:
    return give(all.memoryType);
  case HIP_POINTER_ATTRIBUTE_DEVICE_POINTER:
    return give(all.devicePointer);
  case HIP_POINTER_ATTRIBUTE_HOST_POINTER:
    return all.hostPointer ? give(all.hostPointer) : hipErrorInvalidValue;
  case HIP_POINTER_ATTRIBUTE_SYNC_MEMOPS: // pageable memory is waited for in any case
    return give(false);
  case HIP_POINTER_ATTRIBUTE_BUFFER_ID: // no two allocations that live have one address
    return give(allocation->address);
  case HIP_POINTER_ATTRIBUTE_IS_MANAGED:
    return give(all.isManaged != 0);
  case HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    return give(all.device);
  case HIP_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    return give(allocation->address);
  case HIP_POINTER_ATTRIBUTE_RANGE_SIZE:
    return give(size_t(allocation->size));
  case HIP_POINTER_ATTRIBUTE_ACCESS_FLAGS:
    return give(hipMemAccessFlagsProtReadWrite);
  case HIP_POINTER_ATTRIBUTE_CONTEXT:
  case HIP_POINTER_ATTRIBUTE_P2P_TOKENS:
  case HIP_POINTER_ATTRIBUTE_IS_LEGACY_HIP_IPC_CAPABLE:
  case HIP_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
  case HIP_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
  case HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    return hipErrorNotSupported;
  case HIP_POINTER_ATTRIBUTE_MAPPED:
    break;
  }
  return hipErrorInvalidValue;
}

HIP_EXPORT hipError_t hipPointerGetAttribute(void *data, hipPointer_attribute attribute,
                                             hipDeviceptr_t pointer) {
  if (!data || !pointer)
    return result(hipErrorInvalidValue);
  return result(pointerAttribute(data, attribute, pointer));
}

// Attributes that a pointer does not have are left alone.
HIP_EXPORT hipError_t hipDrvPointerGetAttributes(unsigned count, hipPointer_attribute *attributes,
                                                 void **data, hipDeviceptr_t pointer) {
  if (!count || !attributes || !data)
    return result(hipErrorInvalidValue);
  for (unsigned i = 0; i < count; ++i) {
    if (!data[i] || attributes[i] < HIP_POINTER_ATTRIBUTE_CONTEXT ||
        attributes[i] > HIP_POINTER_ATTRIBUTE_MEMPOOL_HANDLE)
      return result(hipErrorInvalidValue);
    (void)pointerAttribute(data[i], attributes[i], pointer);
  }
  return result(hipSuccess);
}

// ---------- Managed memory is the host's: there is nothing to move, and advice is only told

// Changes what is remembered of the managed memory that the range lies in.
template <typename Change>
static hipError_t change(const void *pointer, size_t bytes, int device, Change change) {
  if (hipError_t error = usable())
    return error;
  auto allocation = memory().find(pointer);
  if (!allocation || allocation->kind != MemoryKind::Managed || !bytes ||
      bytes > allocation->end() - reinterpret_cast<uint64_t>(pointer))
    return hipErrorInvalidValue;
  if (device != hipCpuDeviceId && !isDevice(device))
    return hipErrorInvalidDevice;
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  return change(machine.placements[allocation->address]);
}

HIP_EXPORT hipError_t hipMemPrefetchAsync(const void *pointer, size_t bytes, int device,
                                          hipStream_t stream) {
  StreamRef found;
  if (hipError_t error = findStream(stream, found))
    return result(error);
  return result(change(pointer, bytes, device, [&](Placement &place) {
    place.prefetched = device;
    return hipSuccess;
  }));
}

HIP_EXPORT hipError_t hipMemAdvise(const void *pointer, size_t bytes, hipMemoryAdvise advice,
                                   int device) {
  if (hipMajorVersion() >= 7)
    if (hipError_t error = unsafeInCapture())
      return result(error);
  return result(change(pointer, bytes, device, [&](Placement &place) {
    switch (advice) {
    case hipMemAdviseSetReadMostly:
    case hipMemAdviseUnsetReadMostly:
      place.readMostly = advice == hipMemAdviseSetReadMostly;
      return hipSuccess;
    case hipMemAdviseSetPreferredLocation:
      place.preferred = device;
      return hipSuccess;
    case hipMemAdviseUnsetPreferredLocation:
      place.preferred = Placement::kNowhere;
      return hipSuccess;
    case hipMemAdviseSetAccessedBy:
      place.accessedBy.insert(device);
      return hipSuccess;
    case hipMemAdviseUnsetAccessedBy:
      place.accessedBy.erase(device);
      return hipSuccess;
    case hipMemAdviseSetCoarseGrain:
    case hipMemAdviseUnsetCoarseGrain:
      place.coarseGrain = advice == hipMemAdviseSetCoarseGrain;
      memory().setCoarseGrained(pointer, place.coarseGrain); // all of the allocation
      return hipSuccess;
    }
    return hipErrorInvalidValue;
  }));
}

static hipError_t rangeAttribute(void *data, size_t size, hipMemRangeAttribute attribute,
                                 const Placement &place) {
  auto *words = static_cast<int *>(data);
  const size_t count = size / sizeof(int);
  if (!data || !count || size % sizeof(int) ||
      (count != 1 && attribute != hipMemRangeAttributeAccessedBy))
    return hipErrorInvalidValue;
  switch (attribute) {
  case hipMemRangeAttributeReadMostly:
    *words = place.readMostly;
    return hipSuccess;
  case hipMemRangeAttributePreferredLocation:
    *words = place.preferred;
    return hipSuccess;
  case hipMemRangeAttributeAccessedBy:
    std::fill_n(words, count, Placement::kNowhere);
    for (int device : place.accessedBy)
      if (words < static_cast<int *>(data) + count)
        *words++ = device;
    return hipSuccess;
  case hipMemRangeAttributeLastPrefetchLocation:
    *words = place.prefetched;
    return hipSuccess;
  case hipMemRangeAttributeCoherencyMode:
    *words =
        place.coarseGrain ? hipMemRangeCoherencyModeCoarseGrain : hipMemRangeCoherencyModeFineGrain;
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

HIP_EXPORT hipError_t hipMemRangeGetAttributes(void **data, size_t *sizes,
                                               hipMemRangeAttribute *attributes, size_t count,
                                               const void *pointer, size_t bytes) {
  if (!data || !sizes || !attributes || !count)
    return result(hipErrorInvalidValue);
  return result(change(pointer, bytes, hipCpuDeviceId, [&](Placement &place) {
    for (size_t i = 0; i < count; ++i)
      if (hipError_t error = rangeAttribute(data[i], sizes[i], attributes[i], place))
        return error;
    return result(hipSuccess);
  }));
}

HIP_EXPORT hipError_t hipMemRangeGetAttribute(void *data, size_t size,
                                              hipMemRangeAttribute attribute, const void *pointer,
                                              size_t bytes) {
  return hipMemRangeGetAttributes(&data, &size, &attribute, 1, pointer, bytes);
}

// Which stream uses managed memory makes no difference to memory that everything sees at once.
HIP_EXPORT hipError_t hipStreamAttachMemAsync(hipStream_t stream, void *pointer, size_t bytes,
                                              unsigned flags) {
  StreamRef found;
  if (hipError_t error = findStream(stream, found))
    return result(error);
  auto allocation = memory().find(pointer);
  const bool known =
      flags == hipMemAttachGlobal || flags == hipMemAttachHost || flags == hipMemAttachSingle;
  if (!known || !allocation || allocation->kind != MemoryKind::Managed ||
      allocation->address != reinterpret_cast<uint64_t>(pointer) ||
      (bytes && bytes != allocation->size))
    return result(hipErrorInvalidValue);
  return result(hipSuccess);
}
