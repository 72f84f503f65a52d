// SPDX-License-Identifier: Apache-2.0
// Address ranges and memory to map into them. HIP: "Virtual Memory Management".
#include "emulator/hip/AddressSpace.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/api/Version.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

static AddressSpace &space() { return AddressSpace::instance(); }
static PhysicalMemory *memoryOf(hipMemGenericAllocationHandle_t handle) {
  return reinterpret_cast<PhysicalMemory *>(handle);
}
static hipMemGenericAllocationHandle_t handleOf(PhysicalMemory *memory) {
  return reinterpret_cast<hipMemGenericAllocationHandle_t>(memory);
}

namespace {

// HIP 5.3 put the fields of hipMemAllocationProp in CUDA's order.
struct Properties {
  int type, handleTypes;
  hipMemLocation location;
  void *windows;
  unsigned char compression, directRdma;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(Properties) == sizeof(hipMemAllocationProp));

Properties read(const hipMemAllocationProp &given) {
  Properties properties = {};
  if (hipMajorVersion() >= 6) {
    memcpy(&properties, &given, sizeof(properties));
    return properties;
  }
  properties.type = int(given.type);
  properties.handleTypes = int(given.requestedHandleType);
  properties.location = given.location;
  properties.windows = given.win32HandleMetaData;
  properties.compression = given.compressionType;
  properties.usage = given.usage;
  return properties;
}

void write(hipMemAllocationProp &out, const Properties &properties) {
  if (hipMajorVersion() >= 6) {
    memcpy(&out, &properties, sizeof(properties));
    return;
  }
  out = {};
  out.type = hipMemAllocationType(properties.type);
  out.requestedHandleType = hipMemAllocationHandleType(properties.handleTypes);
  out.location = properties.location;
}

// Of the host's nodes all are one: its memory is where the host puts it.
hipError_t check(const hipMemLocation &location) {
  switch (Location(location.type)) {
  case Location::Device:
    return isDevice(location.id) ? hipSuccess : hipErrorInvalidDevice;
  case Location::Host:
  case Location::HostNode:
    return hipSuccess;
  }
  return hipErrorInvalidValue;
}

hipError_t check(const hipMemAllocationProp *given, Properties &properties) {
  if (!given)
    return hipErrorInvalidValue;
  properties = read(*given);
  if (properties.type != hipMemAllocationTypePinned || properties.windows)
    return hipErrorInvalidValue;
  if (hipError_t error = check(properties.location))
    return error;
  if (properties.handleTypes & ~int(hipMemHandleTypePosixFileDescriptor))
    return hipErrorNotSupported;
  return hipSuccess;
}

} // namespace

HIP_EXPORT hipError_t hipMemAddressReserve(void **pointer, size_t size, size_t alignment,
                                           void *address, unsigned long long flags) {
  if (hipError_t error = usable())
    return result(error);
  if (!pointer || flags)
    return result(hipErrorInvalidValue);
  return result(space().reserve(pointer, size, alignment, address));
}
HIP_EXPORT hipError_t hipMemAddressFree(void *pointer, size_t size) {
  return result(space().freeReservation(pointer, size));
}

// Pages of the host: memory of any whole number of them can be mapped.
HIP_EXPORT hipError_t hipMemGetAllocationGranularity(size_t *granularity,
                                                     const hipMemAllocationProp *wanted,
                                                     hipMemAllocationGranularity_flags option) {
  Properties properties;
  if (!granularity || (option != hipMemAllocationGranularityMinimum &&
                       option != hipMemAllocationGranularityRecommended))
    return result(hipErrorInvalidValue);
  if (hipError_t error = check(wanted, properties))
    return result(error);
  *granularity = option == hipMemAllocationGranularityMinimum ? 4096 : 2 << 20;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemCreate(hipMemGenericAllocationHandle_t *handle, size_t size,
                                   const hipMemAllocationProp *wanted, unsigned long long flags) {
  if (hipError_t error = usable())
    return result(error);
  Properties properties;
  if (!handle || flags)
    return result(hipErrorInvalidValue);
  if (hipError_t error = check(wanted, properties))
    return result(error);
  PhysicalMemory *made = nullptr;
  const hipError_t error =
      space().create(&made, size, Location(properties.location.type), properties.location.id,
                     properties.handleTypes != hipMemHandleTypeNone);
  if (!error)
    *handle = handleOf(made);
  return result(error);
}
HIP_EXPORT hipError_t hipMemRelease(hipMemGenericAllocationHandle_t handle) {
  return result(space().release(memoryOf(handle)));
}
HIP_EXPORT hipError_t hipMemRetainAllocationHandle(hipMemGenericAllocationHandle_t *handle,
                                                   void *address) {
  PhysicalMemory *found = nullptr;
  if (!handle)
    return result(hipErrorInvalidValue);
  if (hipError_t error = space().retain(&found, address))
    return result(error);
  *handle = handleOf(found);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipMemGetAllocationPropertiesFromHandle(
    hipMemAllocationProp *out, hipMemGenericAllocationHandle_t handle) {
  Location place = Location::Device;
  int id = 0;
  bool isExportable = false;
  if (!out)
    return result(hipErrorInvalidValue);
  if (hipError_t error = space().describe(memoryOf(handle), place, id, isExportable))
    return result(error);
  Properties properties = {};
  properties.type = hipMemAllocationTypePinned;
  properties.handleTypes =
      isExportable ? hipMemHandleTypePosixFileDescriptor : hipMemHandleTypeNone;
  properties.location = {hipMemLocationType(place), id};
  write(*out, properties);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemExportToShareableHandle(void *out,
                                                    hipMemGenericAllocationHandle_t handle,
                                                    hipMemAllocationHandleType type,
                                                    unsigned long long flags) {
  if (!out || flags || type != hipMemHandleTypePosixFileDescriptor)
    return result(hipErrorInvalidValue);
  return result(space().exportTo(static_cast<int *>(out), memoryOf(handle)));
}

// Until HIP 7.1 a pointer to the descriptor, since then its number: no pointer is that small.
HIP_EXPORT hipError_t hipMemImportFromShareableHandle(hipMemGenericAllocationHandle_t *handle,
                                                      void *given,
                                                      hipMemAllocationHandleType type) {
  if (hipError_t error = usable())
    return result(error);
  constexpr uintptr_t kLowestPointer = 1 << 16;
  const auto number = reinterpret_cast<uintptr_t>(given);
  if (!handle || type != hipMemHandleTypePosixFileDescriptor ||
      (hipMajorVersion() < 7 && number < kLowestPointer))
    return result(hipErrorInvalidValue);
  const int descriptor = number < kLowestPointer ? int(number) : *static_cast<int *>(given);
  PhysicalMemory *made = nullptr;
  const hipError_t error = space().import(&made, descriptor);
  if (!error)
    *handle = handleOf(made);
  return result(error);
}

HIP_EXPORT hipError_t hipMemMap(void *address, size_t size, size_t offset,
                                hipMemGenericAllocationHandle_t handle, unsigned long long flags) {
  if (flags)
    return result(hipErrorInvalidValue);
  return result(space().map(address, size, offset, memoryOf(handle)));
}
HIP_EXPORT hipError_t hipMemUnmap(void *address, size_t size) {
  return result(space().unmap(address, size));
}

HIP_EXPORT hipError_t hipMemSetAccess(void *address, size_t size, const hipMemAccessDesc *list,
                                      size_t count) {
  if (!list || !count)
    return result(hipErrorInvalidValue);
  for (const hipMemAccessDesc &one : llvm::ArrayRef(list, count)) {
    const bool known = one.flags == hipMemAccessFlagsProtNone ||
                       one.flags == hipMemAccessFlagsProtRead ||
                       one.flags == hipMemAccessFlagsProtReadWrite;
    if (!known)
      return result(hipErrorInvalidValue);
    if (hipError_t error = check(one.location))
      return result(error);
  }
  return result(space().setAccess(address, size, llvm::ArrayRef(list, count)));
}
HIP_EXPORT hipError_t hipMemGetAccess(unsigned long long *flags, const hipMemLocation *location,
                                      void *address) {
  if (!flags || !location)
    return result(hipErrorInvalidValue);
  if (hipError_t error = check(*location))
    return result(error);
  return result(space().getAccess(*flags, *location, address));
}
