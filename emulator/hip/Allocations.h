// SPDX-License-Identifier: Apache-2.0
// Allocations as HIP knows them: where they were made, how, and from which pool.
#pragma once

#include "emulator/hip/Api.h"
#include "emulator/hip/SharedFile.h"

namespace rubia::emulator::hip {

/// A hipMemPool_t: HIP's bookkeeping of memory in stream order. Nothing is kept for reuse, so that
/// a use after free is found; what is reserved is what is in use.
struct MemoryPool {
  int device = 0;
  int reuse[3] = {1, 1, 1}; // hipMemPoolReuse*: kept and told
  uint64_t releaseThreshold = 0;
  uint64_t maxBytes = 0; // hipMemPoolProps::maxSize; 0: as much as there is
  uint64_t used = 0, usedHigh = 0, reservedHigh = 0;
  std::shared_ptr<SharedFile> file;        // of one that other processes have: its identity
  bool isImported = false;                 // of another process, which allocates from it
  std::map<int, hipMemAccessFlags> access; // by device, but its own
};

/// On the current device. hipErrorOutOfMemory, hipErrorInvalidValue. No bytes are no memory.
hipError_t allocate(void **pointer, size_t bytes, MemoryKind kind, unsigned flags = 0);
/// Frees after all work that could still use the memory.
hipError_t release(void *pointer);
/// Frees it now.
hipError_t releaseNow(void *pointer);

/// What hipExternalMemoryGetMappedBuffer gave, which hipFree frees.
bool isExternalBuffer(const void *pointer);
hipError_t freeExternalBuffer(void *pointer);

/// Also tells which devices reach it, of memory of a device: its own, those that have it as their
/// peer, or those that its pool or hipMemSetAccess allows.
void remember(void *pointer, const Placement &placement);
/// The same of memory that is remembered, and of all: after it has changed who may access it. With
/// Machine::mutex.
void updateDevices(uint64_t address, const Placement &place);
void updateDevices();
void forget(void *pointer);
/// Of the allocation that starts there.
Placement placementOf(uint64_t address);

} // namespace rubia::emulator::hip
