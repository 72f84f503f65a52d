// SPDX-License-Identifier: Apache-2.0
// Every allocation that was handed out, by address: what cuPointerGetAttribute and
// cuMemGetAddressRange answer from, and what a context that is destroyed frees.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"
#include <cstring>
#include <shared_mutex>

namespace rubia::runtime {
int hipMemGetInfo(size_t *free, size_t *total);
int hipHostRegister(void *pointer, size_t bytes, unsigned flags);
int hipHostUnregister(void *pointer);
int hipMallocManaged(void **pointer, size_t bytes, unsigned flags);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static std::shared_mutex &mutex = *new std::shared_mutex;
static std::map<uintptr_t, Allocation> &allocations = *new std::map<uintptr_t, Allocation>;

// How many are pinned memory.
static std::atomic<size_t> pinnedCount = 0;

static bool isPinned(const Allocation &allocation) {
  return allocation.kind == AllocationKind::Host || allocation.kind == AllocationKind::Registered ||
         allocation.isOnHost;
}

uint64_t addAllocation(Allocation allocation) {
  static std::atomic<uint64_t> lastId = 0;
  allocation.id = ++lastId;
  pinnedCount += isPinned(allocation);
  std::unique_lock<std::shared_mutex> lock(mutex);
  allocations[reinterpret_cast<uintptr_t>(allocation.base)] = allocation;
  return allocation.id;
}

// With the mutex held.
static const Allocation *findHeld(uintptr_t address) {
  auto after = allocations.upper_bound(address);
  if (after == allocations.begin())
    return nullptr;
  const Allocation &found = std::prev(after)->second;
  return address - reinterpret_cast<uintptr_t>(found.base) < found.size ? &found : nullptr;
}

std::optional<Allocation> findAllocation(const void *pointer) {
  std::shared_lock<std::shared_mutex> lock(mutex);
  const Allocation *found = findHeld(reinterpret_cast<uintptr_t>(pointer));
  return found ? std::optional(*found) : std::nullopt;
}

size_t bytesFrom(const Allocation &allocation, const void *pointer) {
  size_t bytes = allocation.size - size_t(static_cast<const char *>(pointer) - allocation.base);
  if (allocation.kind != AllocationKind::Mapped)
    return bytes;
  std::shared_lock<std::shared_mutex> lock(mutex);
  for (const Allocation *next = &allocation;;) {
    next = findHeld(reinterpret_cast<uintptr_t>(next->base + next->size));
    if (!next || next->kind != AllocationKind::Mapped)
      return bytes;
    bytes += next->size;
  }
}

Context *contextOf(Named memory) {
  const std::optional<Allocation> found = findAllocation(memory.pointer);
  return found ? found->context : nullptr;
}

bool pointsToPinned(llvm::ArrayRef<uint8_t> parameters) {
  if (!pinnedCount)
    return false;
  std::shared_lock<std::shared_mutex> lock(mutex);
  for (size_t at = 0; at + 8 <= parameters.size(); at += 8) {
    uint64_t word;
    memcpy(&word, parameters.data() + at, 8);
    const Allocation *found = findHeld(word);
    if (found && isPinned(*found))
      return true;
  }
  return false;
}

std::optional<Allocation> removeAllocation(const void *base, uint64_t id) {
  std::unique_lock<std::shared_mutex> lock(mutex);
  auto found = allocations.find(reinterpret_cast<uintptr_t>(base));
  if (found == allocations.end() || (id && found->second.id != id))
    return std::nullopt;
  Allocation removed = found->second;
  if (removed.kind == AllocationKind::Managed)
    forgetAdvice(removed.id);
  pinnedCount -= isPinned(removed);
  allocations.erase(found);
  return removed;
}

static int release(const Allocation &allocation) {
  switch (allocation.kind) {
  case AllocationKind::Device:
  case AllocationKind::Managed:
  case AllocationKind::Pool:
  case AllocationKind::Graph:
  case AllocationKind::External:
    return hip().call<hipFree>(allocation.base);
  case AllocationKind::Host:
    return hip().call<hipHostFree>(allocation.base);
  case AllocationKind::Registered:
    return hip().call<hipHostUnregister>(allocation.base);
  case AllocationKind::Opened:
    return closeOpened(allocation.base);
  case AllocationKind::Mapped: // of no context
    return 0;
  }
  return 0;
}

void freeAllocations(Context &context) {
  forgetGraphMemory(context);
  std::vector<Allocation> owned;
  {
    std::unique_lock<std::shared_mutex> lock(mutex);
    for (auto i = allocations.begin(); i != allocations.end();) {
      if (i->second.context == &context) {
        owned.push_back(i->second);
        pinnedCount -= isPinned(i->second);
        i = allocations.erase(i);
      } else {
        ++i;
      }
    }
  }
  if (context.hasLostDevice())
    return;
  for (const Allocation &allocation : owned)
    if (int error = release(allocation))
      log(LogLevel::Info, llvm::Twine("freeing memory of a context that is destroyed: ") +
                              hip().hipGetErrorString(error));
  for (auto &[stream, workspace] : context.workspaces)
    (void)hip().call<hipFree>(workspace); // its stream is gone
}

Result allocateDevice(Context &context, void **pointer, size_t bytes) {
  return allocateDevice(context, context.device, pointer, bytes);
}

Result allocateDevice(Context &context, const Device &device, void **pointer, size_t bytes) {
  int error = hip().call<hipMalloc>(pointer, bytes);
  if (error == kHipErrorOutOfMemory) {
    trimPools(device);
    error = hip().call<hipMalloc>(pointer, bytes);
  }
  return context.check(error);
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

static Result allocate(Context &context, void **pointer, size_t bytes, AllocationKind kind) {
  if (!pointer || !bytes)
    return kInvalidValue;
  if (Result result = checkUnsafe())
    return result;
  *pointer = nullptr;
  Result result = kind == AllocationKind::Managed
                      ? context.check(hip().call<hipMallocManaged>(pointer, bytes, 1))
                      : allocateDevice(context, pointer, bytes);
  if (result)
    return result;
  if (kind == AllocationKind::Managed)
    DeviceServices::shareHostMemory();
  auto *base = static_cast<char *>(*pointer);
  addAllocation({base, bytes, kind, &context, 0, 0, base});
  return kSuccess;
}

constexpr unsigned kDeviceMap = 2; // of CU_MEMHOSTALLOC_DEVICEMAP and CU_MEMHOSTREGISTER_DEVICEMAP

static Result allocateHost(Context &context, void **pointer, size_t bytes, unsigned flags) {
  if (!pointer || (flags & ~7u)) // PORTABLE, DEVICEMAP, WRITECOMBINED: as in HIP
    return kInvalidValue;
  if (Result result = checkUnsafe())
    return result;
  *pointer = nullptr;
  if (!bytes)
    return kSuccess;
  if (Result result = context.check(hip().call<hipHostMalloc>(pointer, bytes, flags)))
    return result;
  void *device = nullptr;
  if (Result result = context.check(hip().call<hipHostGetDevicePointer>(&device, *pointer, 0)))
    return result;
  if (flags & kDeviceMap)
    DeviceServices::shareHostMemory();
  addAllocation({static_cast<char *>(*pointer), bytes, AllocationKind::Host, &context, 0, flags,
                 static_cast<char *>(device)});
  return kSuccess;
}

extern "C" {

Result cuMemAlloc_v2(void **pointer, size_t bytes) {
  return callIn(RUBIA_CALL(pointer, bytes), [&](Context &context) {
    return allocate(context, pointer, bytes, AllocationKind::Device);
  });
}

Result cuMemAllocManaged(void **pointer, size_t bytes, unsigned flags) {
  return callIn(RUBIA_CALL(pointer, bytes, flags), [&](Context &context) {
    if (flags != 1 && flags != 2) // CU_MEM_ATTACH_GLOBAL, HOST
      return kInvalidValue;
    return allocate(context, pointer, bytes, AllocationKind::Managed);
  });
}

// Rows start at multiples of 512 bytes, as on NVIDIA's devices.
Result cuMemAllocPitch_v2(void **pointer, size_t *pitch, size_t width, size_t height,
                          unsigned elementBytes) {
  return callIn(RUBIA_CALL(pointer, pitch, width, height, elementBytes), [&](Context &context) {
    if (!pitch || !width || !height ||
        (elementBytes != 4 && elementBytes != 8 && elementBytes != 16) || width > SIZE_MAX / 2)
      return kInvalidValue;
    const size_t row = (width + 511) & ~size_t(511);
    size_t bytes;
    if (__builtin_mul_overflow(row, height, &bytes))
      return kInvalidValue;
    *pitch = row;
    return allocate(context, pointer, bytes, AllocationKind::Device);
  });
}

Result cuMemFree_v2(void *pointer) {
  return callToRelease(RUBIA_CALL(pointer), Named{pointer}, [&](Context &context) {
    if (Result result = checkUnsafe())
      return result;
    if (!pointer)
      return kSuccess;
    std::optional<Allocation> found = findAllocation(pointer);
    if (!found || found->base != pointer || found->kind == AllocationKind::Host ||
        found->kind == AllocationKind::Registered || found->kind == AllocationKind::Mapped ||
        found->kind == AllocationKind::Opened)
      return kInvalidValue;
    if (found->kind == AllocationKind::Graph)
      return freeGraphMemory(pointer);
    if (found->kind == AllocationKind::Pool) {
      Context &user = *found->context; // whose streams used it, mostly
      auto wait = [&] { return user.synchronizeDevice(); };
      if (Result result = user.alive ? runIn(user, context, wait) : kSuccess)
        return result;
      if (Result result = &user == &context ? kSuccess : context.synchronizeDevice())
        return result;
    }
    if (!removeAllocation(pointer, found->id)) // another thread was faster
      return kInvalidValue;
    if (found->kind == AllocationKind::Pool)
      return freeToPool(context, *found);
    return context.checkSynchronized(hip().call<hipFree>(pointer));
  });
}

Result cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return callIn(RUBIA_CALL(pointer, bytes, flags),
                [&](Context &context) { return allocateHost(context, pointer, bytes, flags); });
}
Result cuMemAllocHost_v2(void **pointer, size_t bytes) { return cuMemHostAlloc(pointer, bytes, 0); }

Result cuMemFreeHost(void *pointer) {
  return callToRelease(RUBIA_CALL(pointer), Named{pointer}, [&](Context &context) {
    if (Result result = checkUnsafe())
      return result;
    if (!pointer)
      return kSuccess;
    std::optional<Allocation> found = findAllocation(pointer);
    if (!found || found->base != pointer || found->kind != AllocationKind::Host)
      return kInvalidValue;
    if (!removeAllocation(pointer, found->id)) // another thread was faster
      return kInvalidValue;
    return context.checkSynchronized(hip().call<hipHostFree>(pointer));
  });
}

Result cuMemHostGetDevicePointer_v2(void **device, void *host, unsigned flags) {
  return callIn(RUBIA_CALL(device, host, flags), [&](Context &) {
    std::optional<Allocation> found = findAllocation(host);
    if (!device || flags || !found || !found->device || found->kind == AllocationKind::Device)
      return kInvalidValue;
    *device = found->device + (static_cast<char *>(host) - found->base);
    DeviceServices::shareHostMemory();
    return kSuccess;
  });
}

Result cuMemHostGetFlags(unsigned *flags, void *host) {
  return callIn(RUBIA_CALL(flags, host), [&](Context &) {
    std::optional<Allocation> found = findAllocation(host);
    if (!flags || !found)
      return kInvalidValue;
    constexpr unsigned kPortable = 1;
    // All of it is mapped; that it is portable is told only of memory that was registered, or that
    // was asked to be mapped.
    if (found->kind == AllocationKind::Registered)
      return *flags = (found->flags & kPortable) | kDeviceMap, kSuccess;
    if (found->kind != AllocationKind::Host)
      return kInvalidValue;
    *flags = found->flags & kDeviceMap ? found->flags : (found->flags & ~kPortable) | kDeviceMap;
    return kSuccess;
  });
}

Result cuMemHostRegister_v2(void *host, size_t bytes, unsigned flags) {
  return callIn(RUBIA_CALL(host, bytes, flags), [&](Context &context) {
    if (!host || !bytes)
      return kInvalidValue;
    flags &= 0xf; // PORTABLE, DEVICEMAP, IOMEMORY, READ_ONLY: as in HIP; CUDA takes any others
    if (std::optional<Allocation> found = findAllocation(host))
      return found->kind == AllocationKind::Registered ? kHostMemoryAlreadyRegistered
                                                       : kInvalidValue;
    if (Result result = checkUnsafe())
      return result;
    if (Result result = context.check(hip().call<hipHostRegister>(host, bytes, flags)))
      return result;
    void *device = nullptr;
    if (Result result = context.check(hip().call<hipHostGetDevicePointer>(&device, host, 0)))
      return result;
    if (flags & kDeviceMap)
      DeviceServices::shareHostMemory();
    addAllocation({static_cast<char *>(host), bytes, AllocationKind::Registered, &context, 0, flags,
                   static_cast<char *>(device)});
    return kSuccess;
  });
}
Result cuMemHostRegister(void *host, size_t bytes, unsigned flags) {
  return cuMemHostRegister_v2(host, bytes, flags);
}

Result cuMemHostUnregister(void *host) {
  return callToRelease(RUBIA_CALL(host), [&](Context &context) {
    if (Result result = checkUnsafe())
      return result;
    std::optional<Allocation> found = findAllocation(host);
    if (!host || (found && (found->kind != AllocationKind::Registered || found->base != host)))
      return kInvalidValue;
    if (!found)
      return kHostMemoryNotRegistered;
    if (!removeAllocation(host, found->id)) // another thread was faster
      return kHostMemoryNotRegistered;
    return context.checkSynchronized(hip().call<hipHostUnregister>(host));
  });
}

Result cuMemGetInfo_v2(size_t *free, size_t *total) {
  return callIn(RUBIA_CALL(free, total), [&](Context &context) {
    size_t freeBytes = 0, totalBytes = 0;
    Result result = context.check(hip().call<hipMemGetInfo>(&freeBytes, &totalBytes));
    if (free)
      *free = freeBytes;
    if (total)
      *total = totalBytes;
    return result;
  });
}

Result cuMemGetAddressRange_v2(void **base, size_t *bytes, void *pointer) {
  return callIn(RUBIA_CALL(base, bytes, pointer), [&](Context &context) {
    if (std::optional<Allocation> found = findAllocation(pointer)) {
      if (base)
        *base = found->base;
      if (bytes)
        *bytes = found->size;
      return kSuccess;
    }
    void *start = nullptr; // a module's variable
    size_t size = 0;
    const bool isFound = !context.check(hip().call<hipMemGetAddressRange>(&start, &size, pointer));
    if (!isFound)
      start = nullptr, size = 0;
    if (base)
      *base = start;
    if (bytes)
      *bytes = size;
    return isFound ? kSuccess : kNotFound;
  });
}

} // extern "C"
