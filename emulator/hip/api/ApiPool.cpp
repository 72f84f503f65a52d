// SPDX-License-Identifier: Apache-2.0
// Memory in stream order. HIP: "Stream Ordered Memory Allocator".
#include "emulator/hip/Allocations.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/Operation.h"
#include "emulator/hip/ProcessSharing.h"
#include "emulator/hip/api/Version.h"
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

using PoolRef = std::shared_ptr<MemoryPool>;

// All of these with Machine::mutex.
static PoolRef makePool(int device) {
  auto pool = std::make_shared<MemoryPool>();
  pool->device = device;
  Machine::instance().pools.insert(pool);
  return pool;
}
static const PoolRef &defaultPool(Device &device) {
  if (!device.defaultPool)
    device.defaultPool = makePool(int(device.ordinal));
  return device.defaultPool;
}
static const PoolRef &poolOf(Device &device) {
  return device.pool ? device.pool : defaultPool(device);
}
static PoolRef poolOf(hipMemPool_t handle) {
  for (const PoolRef &pool : Machine::instance().pools)
    if (pool.get() == reinterpret_cast<MemoryPool *>(handle))
      return pool;
  return nullptr;
}
static hipMemPool_t handleOf(const PoolRef &pool) {
  return reinterpret_cast<hipMemPool_t>(pool.get());
}

// ---------- Allocation: at once, which is earlier than asked for

static hipError_t allocateFrom(void **pointer, size_t bytes, PoolRef pool) {
  Machine &machine = Machine::instance();
  {
    std::lock_guard<std::mutex> lock(machine.mutex);
    if (pool->isImported)
      return hipErrorInvalidValue; // it is another process's to allocate from
    const uint64_t most = pool->maxBytes;
    if (most && (bytes > most || pool->used > most - bytes))
      return hipErrorOutOfMemory;
    pool->used += bytes; // at once: other threads ask too
  }
  const hipError_t error = allocate(pointer, bytes, MemoryKind::Device);
  std::lock_guard<std::mutex> lock(machine.mutex);
  if (error)
    pool->used -= bytes;
  if (error || !*pointer)
    return error;
  pool->usedHigh = std::max(pool->usedHigh, pool->used);
  pool->reservedHigh = std::max(pool->reservedHigh, pool->used);
  const auto address = reinterpret_cast<uint64_t>(*pointer);
  Placement &place = machine.placements[address];
  place.device = unsigned(pool->device);
  place.pool = std::move(pool);
  updateDevices(address, place);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipMallocAsync(void **pointer, size_t bytes, hipStream_t handle) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (isCapturing(*stream))
    return result(refuseInCapture("hipMallocAsync"));
  PoolRef pool;
  {
    std::lock_guard<std::mutex> lock(Machine::instance().mutex);
    pool = poolOf(stream->device);
  }
  return result(allocateFrom(pointer, bytes, std::move(pool)));
}

HIP_EXPORT hipError_t hipMallocFromPoolAsync(void **pointer, size_t bytes, hipMemPool_t handle,
                                             hipStream_t streamHandle) {
  StreamRef stream;
  if (hipError_t error = findStream(streamHandle, stream))
    return result(error);
  if (isCapturing(*stream))
    return result(refuseInCapture("hipMallocFromPoolAsync"));
  PoolRef pool;
  {
    std::lock_guard<std::mutex> lock(Machine::instance().mutex);
    pool = poolOf(handle);
  }
  return result(pool ? allocateFrom(pointer, bytes, std::move(pool)) : hipErrorInvalidValue);
}

// When the stream gets there.
HIP_EXPORT hipError_t hipFreeAsync(void *pointer, hipStream_t handle) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (isCapturing(*stream))
    return result(refuseInCapture("hipFreeAsync"));
  if (!pointer) // nothing to free, as in hipFree, since HIP 7
    return result(hipMajorVersion() < 7 ? hipErrorInvalidValue : hipSuccess);
  auto allocation = Machine::instance().memory.find(pointer);
  if (!allocation || allocation->address != reinterpret_cast<uint64_t>(pointer))
    return result(hipErrorInvalidValue);
  return result(submit(*stream, HostOperation{[pointer] {
    (void)releaseNow(pointer); // freed twice: the second finds nothing
  }}));
}

// ---------- Pools

HIP_EXPORT hipError_t hipDeviceGetDefaultMemPool(hipMemPool_t *handle, int device) {
  if (!handle)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  *handle = handleOf(defaultPool(deviceAt(device)));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetMemPool(hipMemPool_t *handle, int device) {
  if (!handle)
    return result(hipErrorInvalidValue);
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  *handle = handleOf(poolOf(deviceAt(device)));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceSetMemPool(int device, hipMemPool_t handle) {
  if (!isDevice(device))
    return result(hipErrorInvalidDevice);
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!pool || pool->device != device)
    return result(hipErrorInvalidValue);
  deviceAt(device).pool = std::move(pool);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolCreate(hipMemPool_t *handle, const hipMemPoolProps *wanted) {
  if (hipError_t error = usable())
    return result(error);
  if (!handle || !wanted || wanted->allocType != hipMemAllocationTypePinned ||
      wanted->location.type != hipMemLocationTypeDevice || !isDevice(wanted->location.id))
    return result(hipErrorInvalidValue);
  std::shared_ptr<SharedFile> file;
  if (wanted->handleTypes == hipMemHandleTypePosixFileDescriptor) {
    file = SharedFile::create(0, SharedFile::Use::Pool, unsigned(wanted->location.id));
    if (!file)
      return result(hipErrorOutOfMemory);
  } else if (wanted->handleTypes != hipMemHandleTypeNone) {
    return result(hipErrorNotSupported);
  }
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = makePool(wanted->location.id);
  pool->file = std::move(file);
  // Since HIP 6 the first of the bytes that are reserved, and 0, in HIP 5.
  memcpy(&pool->maxBytes, wanted->reserved, sizeof(pool->maxBytes));
  *handle = handleOf(pool);
  return result(hipSuccess);
}

// Allocations outlive their pool; a device whose pool it was has its default one again.
HIP_EXPORT hipError_t hipMemPoolDestroy(hipMemPool_t handle) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  PoolRef pool = poolOf(handle);
  if (!pool)
    return result(hipErrorInvalidValue);
  Device &device = deviceAt(pool->device);
  if (pool == device.defaultPool)
    return result(hipErrorInvalidValue);
  if (pool == device.pool)
    device.pool = nullptr;
  machine.pools.erase(pool);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolTrimTo(hipMemPool_t handle, size_t) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  return result(poolOf(handle) ? hipSuccess : hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipMemPoolSetAttribute(hipMemPool_t handle, hipMemPoolAttr attribute,
                                             void *value) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!pool || !value)
    return result(hipErrorInvalidValue);
  const auto *number = static_cast<uint64_t *>(value);
  switch (attribute) {
  case hipMemPoolReuseFollowEventDependencies:
  case hipMemPoolReuseAllowOpportunistic:
  case hipMemPoolReuseAllowInternalDependencies:
    pool->reuse[attribute - hipMemPoolReuseFollowEventDependencies] =
        *static_cast<int *>(value) != 0;
    return result(hipSuccess);
  case hipMemPoolAttrReleaseThreshold:
    pool->releaseThreshold = *number;
    return result(hipSuccess);
  case hipMemPoolAttrReservedMemHigh: // only back to what it is now
  case hipMemPoolAttrUsedMemHigh:
    if (*number)
      break;
    (attribute == hipMemPoolAttrUsedMemHigh ? pool->usedHigh : pool->reservedHigh) = pool->used;
    return result(hipSuccess);
  case hipMemPoolAttrReservedMemCurrent:
  case hipMemPoolAttrUsedMemCurrent:
    break;
  }
  return result(hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipMemPoolGetAttribute(hipMemPool_t handle, hipMemPoolAttr attribute,
                                             void *value) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!pool || !value)
    return result(hipErrorInvalidValue);
  auto give = [&](auto number) {
    memcpy(value, &number, sizeof(number));
    return result(hipSuccess);
  };
  switch (attribute) {
  case hipMemPoolReuseFollowEventDependencies:
  case hipMemPoolReuseAllowOpportunistic:
  case hipMemPoolReuseAllowInternalDependencies:
    return give(pool->reuse[attribute - hipMemPoolReuseFollowEventDependencies]);
  case hipMemPoolAttrReleaseThreshold:
    return give(pool->releaseThreshold);
  case hipMemPoolAttrReservedMemHigh:
    return give(pool->reservedHigh);
  case hipMemPoolAttrUsedMemHigh:
    return give(pool->usedHigh);
  case hipMemPoolAttrReservedMemCurrent:
  case hipMemPoolAttrUsedMemCurrent:
    return give(pool->used);
  }
  return result(hipErrorInvalidValue);
}

HIP_EXPORT hipError_t hipMemPoolSetAccess(hipMemPool_t handle, const hipMemAccessDesc *list,
                                          size_t count) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!pool || (count && !list))
    return result(hipErrorInvalidValue);
  for (const hipMemAccessDesc &one : llvm::ArrayRef(list, count)) {
    const bool known = one.flags == hipMemAccessFlagsProtNone ||
                       one.flags == hipMemAccessFlagsProtRead ||
                       one.flags == hipMemAccessFlagsProtReadWrite;
    if (!known || one.location.type != hipMemLocationTypeDevice || !isDevice(one.location.id) ||
        (one.location.id == pool->device && one.flags != hipMemAccessFlagsProtReadWrite))
      return result(hipErrorInvalidValue);
  }
  for (const hipMemAccessDesc &one : llvm::ArrayRef(list, count))
    pool->access[one.location.id] = one.flags;
  updateDevices();
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolGetAccess(hipMemAccessFlags *flags, hipMemPool_t handle,
                                          hipMemLocation *location) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!pool || !flags || !location || location->type != hipMemLocationTypeDevice ||
      !isDevice(location->id))
    return result(hipErrorInvalidValue);
  auto set = pool->access.find(location->id);
  if (location->id == pool->device)
    *flags = hipMemAccessFlagsProtReadWrite;
  else
    *flags = set == pool->access.end() ? hipMemAccessFlagsProtNone : set->second;
  return result(hipSuccess);
}

// ---------- Other processes

static uint64_t identityOf(const MemoryPool &pool) {
  struct stat status;
  return fstat(pool.file->descriptor(), &status) == 0 ? status.st_ino : 0;
}

HIP_EXPORT hipError_t hipMemPoolExportToShareableHandle(void *out, hipMemPool_t handle,
                                                        hipMemAllocationHandleType type,
                                                        unsigned flags) {
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = poolOf(handle);
  if (!out || !pool || !pool->file || pool->isImported || flags ||
      type != hipMemHandleTypePosixFileDescriptor)
    return result(hipErrorInvalidValue);
  const int descriptor = pool->file->duplicate();
  if (descriptor < 0)
    return result(hipErrorOutOfMemory);
  *static_cast<int *>(out) = descriptor;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolImportFromShareableHandle(hipMemPool_t *handle, void *given,
                                                          hipMemAllocationHandleType type,
                                                          unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  const int own = fcntl(int(reinterpret_cast<intptr_t>(given)), F_DUPFD_CLOEXEC, 0);
  auto file = own < 0 ? nullptr : SharedFile::adopt(own, SharedFile::Use::Pool);
  if (!handle || !file || flags || type != hipMemHandleTypePosixFileDescriptor)
    return result(hipErrorInvalidValue);
  if (!isDevice(int(file->device())))
    return result(hipErrorNotSupported); // of a process that has other devices
  std::lock_guard<std::mutex> lock(Machine::instance().mutex);
  PoolRef pool = makePool(int(file->device()));
  pool->file = std::move(file);
  pool->isImported = true;
  *handle = handleOf(pool);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolExportPointer(hipMemPoolPtrExportData *data, void *pointer) {
  auto allocation = Machine::instance().memory.find(pointer);
  if (!data || !allocation || allocation->address != reinterpret_cast<uint64_t>(pointer))
    return result(hipErrorInvalidValue);
  const PoolRef pool = placementOf(allocation->address).pool;
  if (!pool || !pool->file || pool->isImported)
    return result(hipErrorInvalidValue);
  AllocationName name;
  if (hipError_t error = nameAllocation(pointer, identityOf(*pool), name))
    return result(error);
  static_assert(sizeof(name) <= sizeof(*data));
  memset(data, 0, sizeof(*data));
  memcpy(data, &name, sizeof(name));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipMemPoolImportPointer(void **pointer, hipMemPool_t handle,
                                              hipMemPoolPtrExportData *data) {
  PoolRef pool;
  {
    std::lock_guard<std::mutex> lock(Machine::instance().mutex);
    pool = poolOf(handle);
  }
  if (!pointer || !data || !pool || !pool->isImported)
    return result(hipErrorInvalidValue);
  AllocationName name;
  memcpy(&name, data, sizeof(name));
  if (hipError_t error = openAllocation(name, identityOf(*pool), unsigned(pool->device), pointer))
    return result(error);
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  const auto address = reinterpret_cast<uint64_t>(*pointer);
  Placement &place = machine.placements[address];
  place.pool = pool;
  updateDevices(address, place);
  return result(hipSuccess);
}
