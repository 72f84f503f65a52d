// SPDX-License-Identifier: Apache-2.0
// Allocations and copies.
#pragma once

#include "runtime/cuda/Driver.h"
#include <optional>

namespace rubia::runtime::cuda {

struct ExternalMemory; // CUexternalMemory

enum class AllocationKind {
  Device,
  Host,
  Registered,
  Managed,
  Pool,
  Graph,
  Mapped,
  Opened,
  External
};

struct Allocation {
  char *base = nullptr;
  size_t size = 0;
  AllocationKind kind = AllocationKind::Device;
  Context *context = nullptr;
  uint64_t id = 0;
  unsigned flags = 0;     // of cuMemHostAlloc, cuMemHostRegister
  char *device = nullptr; // where kernels see `base`
  std::shared_ptr<MemoryPool> pool = nullptr;
  int ordinal = -1;      // of the device, of what belongs to no context
  bool isOnHost = false; // of what is mapped
};

uint64_t addAllocation(Allocation allocation);                 // returns its id
std::optional<Allocation> findAllocation(const void *pointer); // that holds it
/// Memory that a call names.
struct Named {
  const void *pointer;
};
Context *contextOf(Named memory); // null: no allocation holds it
/// The same, also of module variables, which are in allocations of the loader's.
std::optional<Allocation> lookUp(Context &context, const void *pointer);
/// Bytes from `pointer` on that are memory of its kind: what is mapped side by side is one.
size_t bytesFrom(const Allocation &allocation, const void *pointer);
/// `id`: only if it is this one.
std::optional<Allocation> removeAllocation(const void *base, uint64_t id = 0);
void forgetAdvice(uint64_t allocation); // Ranges.cpp: of managed memory that ends
void freeAllocations(Context &context);
void forgetGraphMemory(Context &context); // graph/GraphMemory.cpp
/// Whether the node that allocates a graph's memory lists a device.
bool graphAccess(void *base, const Device &device); // the same
/// Whether an aligned word of a kernel's parameters points to pinned memory.
bool pointsToPinned(llvm::ArrayRef<uint8_t> parameters);

/// hipMalloc; a failure first empties the caches of memory pools.
Result allocateDevice(Context &context, void **pointer, size_t bytes);
/// On HIP's current device, which is another one than the context's.
Result allocateDevice(Context &context, const Device &device, void **pointer, size_t bytes);

/// Of mapped memory (memory/VirtualMemory.cpp).
struct Range {
  char *base;
  size_t size;
};
std::optional<Range> reservationOf(const void *pointer);
int mappedAccess(const void *pointer, int ordinal); // CUmemAccess_flags of a device
int mappedHandleTypes(const void *pointer);

/// Of an import by descriptor: one of something else is an unknown error, as on NVIDIA's driver.
inline Result ofImport(int hipError) {
  const Result result = fromHip(hipError);
  return result == kInvalidValue ? kUnknown : result;
}

/// Of another process (memory/Ipc.cpp): HIP's status.
int closeOpened(void *pointer);

/// Puts back what cuMemAllocAsync gave out, now that no stream can be using it.
Result freeToPool(Context &context, const Allocation &allocation);
/// Forgets the cached memory of a device that was reset.
void forgetPooled(Device &device);
/// Memory that was freed on a stream that ends is nobody's at once: HIP may give the stream's
/// address to another one while its work goes on.
void forgetPooledStream(void *hipStream);
/// Gives cached memory back as far as the pools' release thresholds ask for it. HIP
/// waits for the device when it frees: not for calls that must not.
void trimPools(const Device &device);

/// Lets kernels of `user` access the memory of `owner`, once more (memory/PeerAccess.cpp).
/// kPeerAccessUnsupported: it cannot. Leaves HIP's current device as it was.
Result allowAccess(const Device &user, const Device &owner);
/// Takes back what one allowAccess() gave.
Result endAccess(const Device &user, const Device &owner);
/// Logs that access to a device could not be taken back.
void warnOfAccess(const Device &owner, Result result);

/// Whether a context may copy memory, or have it in nodes of graphs (memory/PeerAccess.cpp): any
/// that was not mapped or given by a pool, and what it may access of these; else kInvalidValue. Of
/// a copy between contexts each side is its own context's.
Result checkCopied(Context &context, const void *pointer);
Result checkCopied(Context &context, const Copy3D &copy, bool isBetweenContexts = false);

/// Copies whose kind is one of HipMemcpyKind. Synchronous ones have finished when they return.
/// `isChecked`: that the memory may be accessed.
Result copySync(const TracedCall &entry, void *to, const void *from, size_t bytes, int kind,
                Stream *stream, bool isChecked = false);
Result copyAsync(const TracedCall &entry, void *to, const void *from, size_t bytes, int kind,
                 Stream *stream, bool isChecked = false);
Result copy2D(const TracedCall &entry, const Copy2D *copy, Stream *stream, bool async);
/// `isBetweenContexts`: the sides name their contexts (CUDA_MEMCPY3D_PEER).
Result copy3D(const TracedCall &entry, const Copy3D *copy, Stream *stream, bool async,
              bool isBetweenContexts = false);

/// Sets `height` rows of `width` elements of `elementBytes` (1, 2 or 4) on the stream. The pitch of
/// a single row does not matter.
Result fill(const TracedCall &entry, void *to, size_t pitch, unsigned value, unsigned elementBytes,
            size_t width, size_t height, Stream *stream, bool async);

void destroyStreamsAndEvents(Context &context); // Stream.cpp

} // namespace rubia::runtime::cuda
