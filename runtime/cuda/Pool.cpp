// SPDX-License-Identifier: Apache-2.0
// Stream-ordered allocation. A freed block stays with its pool until the stream that it was freed
// on has come that far: earlier only the same stream may have it again. The emulator gets every
// allocation in its own size and none twice: it recognises accesses beyond it and after its end.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

namespace rubia::runtime {
int hipFreeAsync(void *pointer, void *stream);
int hipMemPoolCreate(void **pool, const void *properties);
int hipMemPoolDestroy(void *pool);
int hipMemPoolSetAccess(void *pool, const void *list, size_t count);
int hipMemPoolGetAccess(int *flags, void *pool, const void *location);
int hipMallocFromPoolAsync(void **pointer, size_t bytes, void *pool, void *stream);
int hipMemPoolExportToShareableHandle(void *out, void *pool, int type, unsigned flags);
int hipMemPoolImportFromShareableHandle(void **pool, void *given, int type, unsigned flags);
int hipMemPoolExportPointer(HipIpcHandle *data, void *pointer);
int hipMemPoolImportPointer(void **pointer, void *pool, HipIpcHandle *data);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

struct FreeBlock {
  void *base;
  size_t size;
  void *stream; // HIP's, or kEndedStream
  void *event;  // HIP's, recorded when it was freed; null: nothing uses the block any more
  const Device *device = nullptr; // of the stream and the event
};

/// Kept by its handle, and by memory that came from it.
struct MemoryPool : std::enable_shared_from_this<MemoryPool> {
  MemoryPool(Device &device, bool isDefault) : device(device), isDefault(isDefault) {}

  Device &device;
  const bool isDefault;
  std::mutex mutex;
  std::vector<FreeBlock> free;
  uint64_t reuse[4] = {0, 1, 1, 1}; // CU_MEMPOOL_ATTR_REUSE_*, 1 to 3
  std::atomic<uint64_t> releaseThreshold = 0;
  uint64_t maxSize = 0;                // bytes in use; 0: no limit
  uint64_t cached = 0, cachedHigh = 0; // bytes in `free`
  uint64_t used = 0, usedHigh = 0;
  std::atomic<bool> destroyed = false; // by the program; blocks in use still come back to it
  void *hip = nullptr; // HIP's, of one that other processes have too: it keeps the blocks
  bool isImported = false;
  std::set<const Device *> granted; // other devices that may access its memory
};

static HandleTable<MemoryPool> &pools = HandleTable<MemoryPool>::leaked();

// No stream of HIP's, which may give the address of an ended one to the next that is made.
static char endedStream;
static void *const kEndedStream = &endedStream;

static MemoryPool *makePool(Device &device, bool isDefault) {
  return pools.add(std::make_shared<MemoryPool>(device, isDefault));
}

static MemoryPool *livePool(MemoryPool *pool) {
  return pools.contains(pool) && !pool->destroyed ? pool : nullptr;
}

static MemoryPool *defaultPool(Device &device) {
  static std::mutex &mutex = *new std::mutex;
  static auto &defaults = *new std::map<Device *, MemoryPool *>;
  std::lock_guard<std::mutex> lock(mutex);
  MemoryPool *&pool = defaults[&device];
  if (!pool)
    pool = makePool(device, true);
  return pool;
}

static MemoryPool *currentPool(Device &device) {
  MemoryPool *pool = device.pool;
  return pools.contains(pool) ? pool : defaultPool(device);
}

// Blocks come in sizes that make reuse likely.
static size_t blockSize(size_t bytes) {
  size_t grain = bytes < (1 << 20) ? 512 : 64 << 10;
  return (bytes + grain - 1) / grain * grain;
}

static bool keepsBlocks(const MemoryPool &pool) {
  return !pool.hip && (!hip().isEmulator || !hip().has<hipFreeAsync>());
}

static bool isIdle(const FreeBlock &block) {
  return !block.event || hip().call<hipEventQuery>(block.event) == kHipSuccess;
}

static void dropEvent(FreeBlock &block) {
  if (block.event)
    (void)hip().call<hipEventDestroy>(block.event); // nobody else knows it
  block.event = nullptr;
}

static void *takeCached(MemoryPool &pool, size_t size, void *stream) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  for (size_t i = 0; i < pool.free.size(); ++i) {
    FreeBlock block = pool.free[i];
    if (block.size != size || !(block.stream == stream || isIdle(block)))
      continue;
    dropEvent(block);
    pool.free.erase(pool.free.begin() + ptrdiff_t(i));
    pool.cached -= size;
    return block.base;
  }
  return nullptr;
}

static void trim(MemoryPool &pool, uint64_t keep) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  for (size_t i = 0; i < pool.free.size() && pool.cached > keep;) {
    if (!isIdle(pool.free[i])) {
      ++i;
      continue;
    }
    dropEvent(pool.free[i]);
    if (int error = hip().call<hipFree>(pool.free[i].base))
      log(LogLevel::Warning,
          llvm::Twine("hipFree of pooled memory: ") + hip().hipGetErrorString(error));
    pool.cached -= pool.free[i].size;
    pool.free.erase(pool.free.begin() + ptrdiff_t(i));
  }
}

static std::vector<std::shared_ptr<MemoryPool>> poolsOf(const Device &device) {
  std::vector<std::shared_ptr<MemoryPool>> found;
  pools.forEach([&](MemoryPool *pool) {
    if (&pool->device == &device)
      found.push_back(pool->shared_from_this());
  });
  return found;
}

// Of a pool that is gone blocks may still be in use, or come back to it.
static bool isDone(MemoryPool &pool) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  return pool.destroyed && !pool.used && pool.free.empty();
}

// What a pool that is gone gave other devices. With its mutex.
static void endGrants(MemoryPool &pool) {
  if (!pool.destroyed || pool.used || pool.hip)
    return;
  for (const Device *device : std::exchange(pool.granted, {}))
    if (Result result = endAccess(*device, pool.device))
      log(LogLevel::Warning,
          llvm::Twine("access of device ") + llvm::Twine(device->ordinal) + ": " + textOf(result));
}

void trimPools(const Device &device) {
  bool isAnyDone = false;
  for (const auto &pool : poolsOf(device)) {
    trim(*pool, pool->releaseThreshold);
    isAnyDone |= pool->destroyed && isDone(*pool);
  }
  if (isAnyDone)
    pools.removeIf(isDone);
}

void forgetPooled(Device &device) {
  pools.forEach([&](MemoryPool *pool) {
    std::lock_guard<std::mutex> lock(pool->mutex);
    pool->granted.erase(&device); // its access went with the reset
    for (FreeBlock &block : pool->free)
      if (block.device == &device)
        block.event = block.stream = nullptr; // so did its work
  });
  for (const auto &pool : poolsOf(device)) {
    std::lock_guard<std::mutex> lock(pool->mutex);
    pool->free.clear();
    pool->cached = pool->used = 0;
  }
}

void forgetPooledStream(void *hipStream) {
  pools.forEach([&](MemoryPool *pool) {
    std::lock_guard<std::mutex> lock(pool->mutex);
    for (FreeBlock &block : pool->free)
      if (block.stream == hipStream)
        block.stream = kEndedStream; // its work may go on: the event tells
  });
}

static Result release(Context &context, const Allocation &allocation, void *hipStream) {
  {
    std::lock_guard<std::mutex> lock(allocation.pool->mutex);
    allocation.pool->used -= allocation.size;
    endGrants(*allocation.pool);
  }
  return context.check(hip().call<hipFreeAsync>(allocation.base, hipStream));
}

static void putBack(MemoryPool &pool, const FreeBlock &block, size_t bytes) {
  {
    std::lock_guard<std::mutex> lock(pool.mutex);
    pool.free.push_back(block);
    pool.cached += block.size;
    pool.cachedHigh = std::max(pool.cachedHigh, pool.cached);
    pool.used -= bytes;
    endGrants(pool);
  }
  if (pool.destroyed) // it is in the table again until the block is trimmed
    pools.add(pool.shared_from_this());
}

Result freeToPool(Context &context, const Allocation &allocation) {
  if (!keepsBlocks(*allocation.pool))
    return release(context, allocation, nullptr);
  putBack(*allocation.pool, {allocation.base, blockSize(allocation.size), nullptr, nullptr},
          allocation.size);
  trimPools(allocation.pool->device);
  return kSuccess;
}

// In a capture they become nodes.
static Result allocateInCapture(Context &context, void **pointer, size_t bytes, void *hipStream) {
  AllocateOperation operation{};
  operation.parameters.pool.allocationType = 1;
  operation.parameters.pool.location = {1, context.device.ordinal};
  operation.parameters.bytes = bytes;
  if (Result result = allocateForGraph(context, operation))
    return result;
  *pointer = operation.parameters.address;
  Result result = capture(context, operation, hipStream);
  if (result)
    dropGraphMemory(operation);
  return result;
}

static Result freeInCapture(Context &context, void *pointer, void *hipStream) {
  FreeOperation operation{pointer};
  {
    GraphLock lock;
    const Graph *graph = graphOfCapture(hipStream);
    if (!graph || makeFree(*graph, pointer, operation))
      return kInvalidValue;
  }
  return capture(context, operation, hipStream);
}

// The limit counts blocks of the granularity, as devices give memory away.
static bool hasRoom(MemoryPool &pool, size_t bytes) {
  constexpr uint64_t kGranularity = 2 << 20;
  if (!pool.maxSize)
    return true;
  std::lock_guard<std::mutex> lock(pool.mutex);
  const uint64_t limit = llvm::alignTo(pool.maxSize, kGranularity);
  return bytes <= limit && pool.used <= limit - bytes;
}

// HIP allocates on its current device, which may be another one than the pool's.
static Result allocateOn(const Device &device, Context &context, void **pointer, size_t bytes) {
  if (&device == &context.device)
    return allocateDevice(context, device, pointer, bytes);
  if (Result result = context.check(hip().call<hipSetDevice>(device.hipDevice)))
    return result;
  Result result = allocateDevice(context, device, pointer, bytes);
  Result back = context.check(hip().call<hipSetDevice>(context.device.hipDevice));
  return result ? result : back;
}

static Result allocateFrom(Context &context, MemoryPool &pool, void **pointer, size_t bytes,
                           Stream *stream) {
  if (!pointer || pool.isImported)
    return kInvalidValue;
  if (!bytes) {
    *pointer = nullptr;
    return kSuccess;
  }
  if (bytes > SIZE_MAX / 2 || !hasRoom(pool, bytes)) // of more there is no size of blocks
    return kOutOfMemory;
  return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
    if (isCaptured(hipStream))
      return allocateInCapture(context, pointer, bytes, hipStream);
    if (Result result = checkLegacyStream(context, hipStream))
      return result;
    if (Result result = checkUnsafe())
      return result;
    size_t size = blockSize(bytes);
    *pointer = takeCached(pool, size, hipStream);
    if (pool.hip) {
      if (Result result = context.check(
              hip().call<hipMallocFromPoolAsync>(pointer, bytes, pool.hip, hipStream)))
        return result;
    } else if (!*pointer) {
      if (Result result =
              allocateOn(pool.device, context, pointer, keepsBlocks(pool) ? size : bytes))
        return result;
    }
    auto *base = static_cast<char *>(*pointer);
    addAllocation({base, bytes, AllocationKind::Pool, &context, 0, 0, base, pool.shared_from_this(),
                   pool.device.ordinal});
    std::lock_guard<std::mutex> lock(pool.mutex);
    pool.used += bytes;
    pool.usedHigh = std::max(pool.usedHigh, pool.used);
    return kSuccess;
  });
}

static Result freeAsync(Context &context, void *pointer, Stream *stream) {
  if (!pointer)
    return onStream(context, stream, [](Context &, void *hipStream) {
      return isCaptured(hipStream) ? kSuccess : checkUnsafe();
    });
  std::optional<Allocation> found = findAllocation(pointer);
  const bool isOfGraph = found && found->kind == AllocationKind::Graph;
  if (found && found->kind == AllocationKind::Managed)
    return fail(kNotSupported, "cuMemFreeAsync: managed memory is of no pool");
  if (!found || found->base != pointer ||
      (found->kind != AllocationKind::Pool && found->kind != AllocationKind::Device && !isOfGraph))
    return kInvalidValue;
  return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
    if (isCaptured(hipStream))
      return freeInCapture(context, pointer, hipStream);
    if (Result result = checkLegacyStream(context, hipStream))
      return result;
    if (Result result = checkUnsafe())
      return result;
    if (isOfGraph)
      return freeGraphMemory(pointer);
    if (found->kind == AllocationKind::Device) { // of cuMemAlloc: allowed
      if (Result result = context.synchronizeStream(hipStream))
        return result;
      if (!removeAllocation(pointer, found->id)) // another thread was faster
        return kInvalidValue;
      return context.check(hip().call<hipFree>(pointer));
    }
    if (!keepsBlocks(*found->pool))
      return removeAllocation(pointer, found->id) ? release(context, *found, hipStream)
                                                  : kInvalidValue;
    void *event = nullptr;
    if (Result result = context.check(hip().call<hipEventCreateWithFlags>(&event, 2))) // no timing
      return result;
    FreeBlock block{pointer, blockSize(found->size), hipStream, event, &context.device};
    Result result = context.check(hip().call<hipEventRecord>(event, hipStream));
    if (!result && !removeAllocation(pointer, found->id)) // another thread was faster
      result = kInvalidValue;
    if (result)
      dropEvent(block);
    else
      putBack(*found->pool, block, found->size);
    return result;
  });
}

// CU_MEMPOOL_ATTR_*: 1 to 3 are ints, the rest 64-bit numbers.
static Result poolAttribute(MemoryPool &pool, int attribute, void *value, bool set) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  auto *number = static_cast<uint64_t *>(value);
  switch (attribute) {
  case 1:
  case 2:
  case 3: // which ways of reuse are allowed; the one that we use always is
    if (set)
      pool.reuse[attribute] = *static_cast<int *>(value) != 0;
    else
      *static_cast<int *>(value) = int(pool.reuse[attribute]);
    return kSuccess;
  case 4:
    set ? pool.releaseThreshold = *number : *number = pool.releaseThreshold;
    return kSuccess;
  case 5:
  case 7: {
    if (set)
      return kInvalidValue;
    *number = attribute == 5 ? pool.cached + pool.used : pool.used;
    return kSuccess;
  }
  case 6:
  case 8: {
    if (set && *number)
      return kInvalidValue; // only a reset
    uint64_t &high = attribute == 6 ? pool.cachedHigh : pool.usedHigh;
    if (set)
      high = attribute == 6 ? pool.cached : pool.used;
    else
      *number = attribute == 6 ? pool.cachedHigh + pool.usedHigh : pool.usedHigh;
    return kSuccess;
  }
  }
  return kInvalidValue;
}

static constexpr int kPinnedPool = 1, kManagedPool = 2; // CUmemAllocationType
static constexpr int kOnDevice = 1;                     // CUmemLocationType
static constexpr int kReadAndWrite = 3;                 // CUmemAccess_flags

static constexpr int kFileDescriptor = 1; // CUmemAllocationHandleType

// HIP's pool behind one that other processes can have: its memory has to be of a kind that they can
// map.
static Result makeShared(const Device &device, void **out) {
  const Hip &library = hip();
  if (!library.has<hipMemPoolCreate>() || !library.has<hipMallocFromPoolAsync>() ||
      !library.has<hipFreeAsync>() || !library.has<hipMemPoolImportPointer>())
    return fail(kNotSupported, "cuMemPoolCreate: HIP is too old for pools of several processes");
  MemoryPoolProperties properties = {};
  properties.allocationType = kPinnedPool;
  properties.handleTypes = kFileDescriptor;
  properties.location = {kOnDevice, device.hipDevice};
  return fromHip(library.call<hipMemPoolCreate>(out, &properties));
}

bool allows(MemoryPool &pool, const Device &device) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  return &device == &pool.device || pool.granted.contains(&device);
}

static Result checkPoolAccess(const MemoryPool &pool, const MemoryAccess &access) {
  constexpr int kReadOnly = 1;
  if (access.location.type != kOnDevice || access.flags == kReadOnly)
    return fail(kNotSupported, "cuMemPoolSetAccess: read-only access, and that of the host");
  const Device *device = deviceAt(access.location.id);
  if (!device)
    return kInvalidDevice;
  if (access.flags && access.flags != kReadAndWrite)
    return kInvalidValue;
  return device == &pool.device && !access.flags ? kInvalidDevice : kSuccess; // it keeps its own
}

// Memory of HIP's pools has access of its own, all other that of its device.
static Result setAccess(MemoryPool &pool, const Device &device, int flags) {
  std::lock_guard<std::mutex> lock(pool.mutex);
  if (&device == &pool.device || pool.granted.contains(&device) == (flags != 0))
    return kSuccess;
  if (pool.hip && !hip().has<hipMemPoolSetAccess>())
    return fail(kNotSupported, "cuMemPoolSetAccess: HIP is too old for it");
  MemoryAccess access{};
  access.location = {kOnDevice, device.hipDevice};
  access.flags = flags;
  Result result = kSuccess;
  if (pool.hip)
    result = fromHip(hip().call<hipMemPoolSetAccess>(pool.hip, &access, 1));
  else
    result = flags ? allowAccess(device, pool.device) : endAccess(device, pool.device);
  if (!result && flags)
    pool.granted.insert(&device);
  else if (!result)
    pool.granted.erase(&device);
  return result;
}

// The device that HIP says has access from the start. A HIP that cannot tell is taken at the word
// of who imports, which needs no context: it is the first device then.
static Device &deviceOfImported(void *hipPool) {
  for (const auto &device : theDriver.load()->devices) {
    const MemoryLocation place{kOnDevice, device->hipDevice};
    int flags = 0;
    if (hip().has<hipMemPoolGetAccess>() &&
        !hip().call<hipMemPoolGetAccess>(&flags, hipPool, &place) && flags == kReadAndWrite)
      return *device;
  }
  Context *current = currentContext();
  return current ? current->device : *theDriver.load()->devices.front();
}

// There are pools of devices' own memory only.
static Result givePool(MemoryPool **out, const MemoryLocation *place, int type,
                       MemoryPool *(*poolOf)(Device &device)) {
  if (!out || !place || (type != kPinnedPool && type != kManagedPool) ||
      (place->type == kOnDevice && !deviceAt(place->id)) || (!place->type && type == kPinnedPool))
    return kInvalidValue;
  if (type != kPinnedPool || place->type != kOnDevice)
    return fail(kNotSupported, "memory pools of the host and of managed memory");
  *out = poolOf(*deviceAt(place->id));
  return kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuMemAllocAsync(void **pointer, size_t bytes, Stream *stream) {
  return callOn(RUBIA_CALL(pointer, bytes, stream), stream, [&](Context &context) {
    const HipStream found = hipStream(context, stream); // whose device has the memory
    if (found.error)
      return found.error;
    return allocateFrom(context, *currentPool(found.owner->device), pointer, bytes, stream);
  });
}

Result cuMemAllocFromPoolAsync(void **pointer, size_t bytes, MemoryPool *pool, Stream *stream) {
  return callOn(RUBIA_CALL(pointer, bytes, pool, stream), stream, [&](Context &context) {
    if (!livePool(pool))
      return kInvalidValue;
    return allocateFrom(context, *pool, pointer, bytes, stream);
  });
}

Result cuMemFreeAsync(void *pointer, Stream *stream) {
  return callToRelease(RUBIA_CALL(pointer, stream), stream,
                       [&](Context &context) { return freeAsync(context, pointer, stream); });
}

Result cuDeviceGetDefaultMemPool(MemoryPool **pool, int device) {
  return call(RUBIA_CALL(pool, device), [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidDevice;
    return pool ? (*pool = defaultPool(*found), kSuccess) : kInvalidValue;
  });
}

// Unlike for the default pool, a device that there is not is an invalid value.
Result cuDeviceGetMemPool(MemoryPool **pool, int device) {
  return call(RUBIA_CALL(pool, device), [&] {
    Device *found = deviceAt(device);
    if (!found)
      return kInvalidValue;
    return pool ? (*pool = currentPool(*found), kSuccess) : kInvalidValue;
  });
}

Result cuDeviceSetMemPool(int device, MemoryPool *pool) {
  return call(RUBIA_CALL(device, pool), [&] {
    Device *found = deviceAt(device);
    if (!found || !livePool(pool) || &pool->device != found)
      return kInvalidValue;
    if (Result result = checkUnsafe())
      return result;
    found->pool = pool;
    return kSuccess;
  });
}

Result cuMemPoolCreate(MemoryPool **pool, const MemoryPoolProperties *properties) {
  return call(RUBIA_CALL(pool, properties), [&] {
    constexpr int kHost = 2, kNode = 3;      // CUmemLocationType
    constexpr int kPinned = 1, kManaged = 2; // CUmemAllocationType
    if (pool && properties && properties->allocationType == kManaged)
      return fail(kNotSupported, "cuMemPoolCreate: a pool of managed memory");
    if (!pool || !properties || properties->allocationType != kPinned ||
        (properties->handleTypes & ~kFileDescriptor) ||
        llvm::any_of(properties->reserved, [](unsigned char byte) { return byte != 0; }))
      return kInvalidValue;
    if (properties->location.type == kHost || properties->location.type == kNode)
      return fail(kNotSupported, "cuMemPoolCreate: a pool of the host");
    Device *device = deviceAt(properties->location.id);
    if (properties->location.type != kOnDevice || !device)
      return kInvalidValue;
    if (properties->maxSize > device->totalMemory)
      return kOutOfMemory;
    if (Result result = checkUnsafe())
      return result;
    void *shared = nullptr;
    if (properties->handleTypes)
      if (Result result = makeShared(*device, &shared))
        return result;
    *pool = makePool(*device, false);
    (*pool)->hip = shared;
    (*pool)->maxSize = properties->maxSize;
    return kSuccess;
  });
}

// The object stays for the blocks that are still in use.
Result cuMemPoolDestroy(MemoryPool *pool) {
  return callToRelease(RUBIA_CALL(pool), [&](Context &) {
    if (Result result = checkUnsafe())
      return result;
    if (!livePool(pool) || pool->isDefault)
      return kInvalidValue;
    if (pool->destroyed.exchange(true)) // another thread was faster
      return kInvalidValue;
    MemoryPool *expected = pool;
    pool->device.pool.compare_exchange_strong(expected, nullptr);
    pool->releaseThreshold = 0; // trimmed as its blocks become idle
    trim(*pool, 0);
    {
      std::lock_guard<std::mutex> lock(pool->mutex);
      endGrants(*pool);
    }
    if (isDone(*pool))
      pools.remove(pool);
    return pool->hip ? fromHip(hip().call<hipMemPoolDestroy>(pool->hip)) : kSuccess;
  });
}

Result cuMemPoolTrimTo(MemoryPool *pool, size_t keep) {
  return call(RUBIA_CALL(pool, keep), [&]() {
    if (Result result = checkUnsafe())
      return result;
    if (!livePool(pool))
      return kInvalidValue;
    trim(*pool, keep);
    return kSuccess;
  });
}

Result cuMemPoolSetAttribute(MemoryPool *pool, int attribute, void *value) {
  return call(RUBIA_CALL(pool, attribute, value), [&]() -> Result {
    if (Result result = checkUnsafe())
      return result;
    if (!livePool(pool) || !value)
      return kInvalidValue;
    return poolAttribute(*pool, attribute, value, true);
  });
}

Result cuMemPoolGetAttribute(MemoryPool *pool, int attribute, void *value) {
  return call(RUBIA_CALL(pool, attribute, value), [&]() -> Result {
    if (Result result = checkUnsafe())
      return result;
    if (!livePool(pool) || !value)
      return kInvalidValue;
    return poolAttribute(*pool, attribute, value, false);
  });
}

Result cuMemGetDefaultMemPool(MemoryPool **pool, MemoryLocation *place, int type) {
  return callIn(RUBIA_CALL(pool, place, type),
                [&](Context &) { return givePool(pool, place, type, defaultPool); });
}
Result cuMemGetMemPool(MemoryPool **pool, MemoryLocation *place, int type) {
  return callIn(RUBIA_CALL(pool, place, type),
                [&](Context &) { return givePool(pool, place, type, currentPool); });
}
Result cuMemSetMemPool(MemoryLocation *place, int type, MemoryPool *pool) {
  return callIn(RUBIA_CALL(place, type, pool), [&](Context &) -> Result {
    if (!place || type != kPinnedPool || place->type != kOnDevice || !livePool(pool) ||
        deviceAt(place->id) != &pool->device)
      return kInvalidValue;
    return cuDeviceSetMemPool(place->id, pool);
  });
}

// The host sees the memory of no pool.
Result cuMemPoolGetAccess(int *flags, MemoryPool *pool, MemoryLocation *place) {
  return callIn(RUBIA_CALL(flags, pool, place), [&](Context &) {
    if (!flags || !livePool(pool) || !place || (place->type == kOnDevice && !deviceAt(place->id)))
      return kInvalidValue;
    const bool isAllowed = place->type == kOnDevice && allows(*pool, *deviceAt(place->id));
    *flags = isAllowed ? kReadAndWrite : 0;
    return kSuccess;
  });
}
Result cuMemPoolSetAccess(MemoryPool *pool, const MemoryAccess *list, size_t count) {
  return callIn(RUBIA_CALL(pool, list, count), [&](Context &) -> Result {
    if (!livePool(pool) || !list || !count)
      return kInvalidValue;
    for (const MemoryAccess &access : llvm::ArrayRef(list, count))
      if (Result result = checkPoolAccess(*pool, access))
        return result;
    if (Result result = checkUnsafe())
      return result;
    for (const MemoryAccess &access : llvm::ArrayRef(list, count))
      if (Result result = setAccess(*pool, *deviceAt(access.location.id), access.flags))
        return result;
    return kSuccess;
  });
}

// ---------- Other processes

Result cuMemPoolExportToShareableHandle(void *out, MemoryPool *pool, int type,
                                        unsigned long long flags) {
  return call(RUBIA_CALL(out, pool, type, flags), [&] {
    if (!out || !livePool(pool) || !pool->hip || pool->isImported || type != kFileDescriptor ||
        flags)
      return kInvalidValue;
    return fromHip(hip().call<hipMemPoolExportToShareableHandle>(out, pool->hip, type, 0));
  });
}

Result cuMemPoolImportFromShareableHandle(MemoryPool **out, void *given, int type,
                                          unsigned long long flags) {
  return call(RUBIA_CALL(out, given, type, flags), [&]() -> Result {
    if (!out || !type || flags)
      return kInvalidValue;
    if (type != kFileDescriptor)
      return fail(kNotSupported, "pools of several processes: handles but file descriptors");
    if (!hip().has<hipMemPoolImportFromShareableHandle>() || !hip().has<hipMemPoolImportPointer>())
      return fail(kNotSupported, "pools of several processes: HIP is too old for them");
    void *shared = nullptr;
    if (Result result =
            ofImport(hip().call<hipMemPoolImportFromShareableHandle>(&shared, given, type, 0)))
      return result;
    *out = makePool(deviceOfImported(shared), false);
    (*out)->hip = shared;
    (*out)->isImported = true;
    return kSuccess;
  });
}

Result cuMemPoolExportPointer(HipIpcHandle *data, void *pointer) {
  return callOn(RUBIA_CALL(data, pointer), Named{pointer}, [&](Context &context) -> Result {
    std::optional<Allocation> found = findAllocation(pointer);
    if (!data || !found || found->base != pointer || found->kind != AllocationKind::Pool ||
        !found->pool->hip || found->pool->isImported)
      return kInvalidValue;
    return context.check(hip().call<hipMemPoolExportPointer>(data, pointer));
  });
}

// Python's multiprocessing makes the arguments of a process before that has a context. What it
// imports then keeps the device's primary context retained, since memory is asked for in one.
static Result contextOfImport(Context *&context, Device &device) {
  context = currentContext();
  if (context)
    return enter(*context);
  context = device.primary.get();
  if (!context->alive)
    if (Result result = retainPrimary(&context, device.ordinal))
      return result;
  return enter(*context);
}

Result cuMemPoolImportPointer(void **pointer, MemoryPool *pool, HipIpcHandle *data) {
  return call(RUBIA_CALL(pointer, pool, data), [&]() -> Result {
    if (!pointer || !data || !livePool(pool) || !pool->isImported)
      return kInvalidValue;
    Context *owner = nullptr;
    if (Result result = contextOfImport(owner, pool->device))
      return result;
    Context &context = *owner;
    void *imported = nullptr, *base = nullptr;
    size_t bytes = 0;
    if (Result result =
            context.check(hip().call<hipMemPoolImportPointer>(&imported, pool->hip, data)))
      return result;
    const bool isKnown = findAllocation(imported).has_value();
    const int error = isKnown ? 0 : hip().call<hipMemGetAddressRange>(&base, &bytes, imported);
    if (isKnown || error) {
      (void)hip().call<hipFree>(imported); // the first error counts
      return isKnown ? fail(kInvalidValue, "cuMemPoolImportPointer: it was imported before")
                     : context.check(error);
    }
    auto *first = static_cast<char *>(imported);
    addAllocation({first, bytes, AllocationKind::Pool, &context, 0, 0, first,
                   pool->shared_from_this(), pool->device.ordinal});
    std::lock_guard<std::mutex> lock(pool->mutex);
    pool->used += bytes;
    *pointer = imported;
    return kSuccess;
  });
}

} // extern "C"
