// SPDX-License-Identifier: Apache-2.0
// What CUDA's driver does for device code beyond running it: prints what printf and assert left in
// the ring, and keeps the heap of malloc. One for each context, made when a module first needs it.
#pragma once

#include "runtime/device/Hip.h"
#include "runtime/device/OwnStream.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <mutex>

namespace rubia::abi {
struct PrintfRing;
}

namespace rubia::runtime {

class DeviceServices {
public:
  /// CUDA's default ones (the ring's depends on the GPU), and its smallest (on an H100), to which
  /// smaller ones are raised.
  static constexpr size_t kDefaultRing = 8 << 20, kDefaultHeap = 8 << 20;
  static constexpr size_t kLeastRing = 512 << 10, kLeastHeap = 4 << 20;

  /// Sizes for what does not exist yet; false if it does.
  bool setRingSize(size_t bytes);
  bool setHeapSize(size_t bytes);

  /// Device addresses; made at the first call. HIP's current device must be the context's.
  llvm::Expected<void *> ring(const Hip &hip);
  llvm::Expected<void *> heap(const Hip &hip);
  /// abi::SharedPool, with slots for all CTAs that can run at once.
  llvm::Expected<void *> sharedPool(const Hip &hip);
  /// abi::ClusterPool, likewise.
  llvm::Expected<void *> clusterPool(const Hip &hip);
  /// How many clusters of `ctas` CTAs run at once on HIP's current device, where `resident` CTAs
  /// do: each has a power of two of the pool's slots.
  static llvm::Expected<uint64_t> clustersAtOnce(const Hip &hip, uint64_t ctas, uint64_t resident);

  /// For what the runtime copies and fills for itself.
  OwnStream &stream() { return ownStream; }

  /// How far kernels have reserved places in the ring, for print(); 0 if there is none.
  uint64_t reserved();
  static constexpr uint64_t kEverything = UINT64_MAX;
  /// Prints what was written since the last call: printf's text to `out`, failed assertions to
  /// `err`. Waits for nothing. `ended`: kernels that reserved something below this position run no
  /// more, so that a record there that is not whole never will be. It was read before they were
  /// waited for: others may have begun since.
  void print(uint64_t ended, FILE *out = stdout, FILE *err = stderr);

  /// The program got memory that the host has too (managed, or mapped for the device): from now on
  /// kernels whose atomics are wrong there run in their safe form, in every context, since all see
  /// this memory.
  static void shareHostMemory() { hostMemoryShared.store(true, std::memory_order_relaxed); }
  static bool sharesHostMemory() { return hostMemoryShared.load(std::memory_order_relaxed); }
  /// Whether an aligned word of a kernel's parameters points to pinned memory: programs may pass
  /// what they never asked a device pointer of. Null if there is no such memory.
  bool (*pointsToHost)(llvm::ArrayRef<uint8_t> parameters) = nullptr;

  /// Gives the memory back, and what was not printed with it. Sizes are the default ones again.
  void release(const Hip &hip);
  /// The same, where the memory died with the device.
  void forget();

private:
  /// A pool of slots behind what `makeHeader` writes for `count` slots, of which the first lies at
  /// an address. `usedAt`: where in the header the words are that tell what of each slot is used.
  llvm::Expected<void *>
  makePool(const Hip &hip, uint32_t count, size_t headerBytes, size_t usedAt,
           llvm::function_ref<void(uint8_t *header, uint64_t firstSlot)> makeHeader);
  static inline std::atomic<bool> hostMemoryShared = false;
  OwnStream ownStream;
  std::mutex mutex; // guards what follows
  size_t ringSize = kDefaultRing, heapSize = kDefaultHeap;
  abi::PrintfRing *ringOnHost = nullptr;
  void *ringOnDevice = nullptr, *heapOnDevice = nullptr, *sharedPoolOnDevice = nullptr,
       *clusterPoolOnDevice = nullptr;
  uint64_t ringCapacity = 0; // as kernels may write what the ring says of itself
  uint64_t printed = 0;      // a position in the ring
};

} // namespace rubia::runtime
