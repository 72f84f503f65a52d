// SPDX-License-Identifier: Apache-2.0
// Memory of other libraries, by file descriptor. HIP: "External Resource Interoperability".
//
// Here it is any file that can be mapped: a memfd, a file in /dev/shm, or what
// hipMemExportToShareableHandle gave. The library takes the descriptor over.
#include "emulator/hip/Allocations.h"
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

struct ExternalMemory {
  void *base;
  uint64_t bytes;
};

std::mutex &mutex = *new std::mutex;
std::map<ExternalMemory *, std::unique_ptr<ExternalMemory>> &memories =
    *new std::map<ExternalMemory *, std::unique_ptr<ExternalMemory>>;
std::map<void *, ExternalMemory *> &buffers = *new std::map<void *, ExternalMemory *>;

} // namespace

bool rubia::emulator::hip::isExternalBuffer(const void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  return buffers.contains(const_cast<void *>(pointer));
}

hipError_t rubia::emulator::hip::freeExternalBuffer(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!buffers.erase(pointer))
    return hipErrorInvalidValue;
  llvm::consumeError(Machine::instance().memory.free(pointer)); // it was registered, so it is there
  forget(pointer);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipImportExternalMemory(hipExternalMemory_t *out,
                                              const hipExternalMemoryHandleDesc *wanted) {
  if (hipError_t error = usable())
    return result(error);
  constexpr unsigned kDedicated = 1;
  if (!out || !wanted || !wanted->size || (wanted->flags & ~kDedicated))
    return result(hipErrorInvalidValue);
  if (wanted->type != hipExternalMemoryHandleTypeOpaqueFd)
    return result(hipErrorNotSupported);
  const int descriptor = wanted->handle.fd;
  struct stat status;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode) ||
      uint64_t(status.st_size) < wanted->size)
    return result(hipErrorInvalidValue);
  void *base = mmap(nullptr, wanted->size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (base == MAP_FAILED)
    return result(hipErrorInvalidValue);
  close(descriptor);
  auto made = std::make_unique<ExternalMemory>(ExternalMemory{base, wanted->size});
  std::lock_guard<std::mutex> lock(mutex);
  *out = made.get();
  memories[made.get()] = std::move(made);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipExternalMemoryGetMappedBuffer(void **pointer, hipExternalMemory_t handle,
                                                       const hipExternalMemoryBufferDesc *wanted) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = memories.find(static_cast<ExternalMemory *>(handle));
  if (found == memories.end())
    return result(hipErrorInvalidHandle);
  const ExternalMemory &external = *found->second;
  if (!pointer || !wanted || wanted->flags || !wanted->size || wanted->offset > external.bytes ||
      wanted->size > external.bytes - wanted->offset)
    return result(hipErrorInvalidValue);
  void *start = static_cast<char *>(external.base) + wanted->offset;
  if (llvm::Error error =
          Machine::instance().memory.registerHost(start, wanted->size, MemoryKind::Device)) {
    llvm::consumeError(std::move(error)); // another buffer has some of it
    return result(hipErrorInvalidValue);
  }
  remember(start, {.device = unsigned(currentDeviceOrdinal()), .isMapped = true});
  buffers[start] = found->first;
  *pointer = start;
  return result(hipSuccess);
}

// Buffers go first: while there is one the memory stays.
HIP_EXPORT hipError_t hipDestroyExternalMemory(hipExternalMemory_t handle) {
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
  std::lock_guard<std::mutex> lock(mutex);
  auto found = memories.find(static_cast<ExternalMemory *>(handle));
  if (found == memories.end())
    return result(hipErrorInvalidHandle);
  for (auto &[pointer, memory] : buffers)
    if (memory == found->first)
      return result(hipErrorInvalidValue);
  munmap(found->second->base, found->second->bytes);
  memories.erase(found);
  return result(hipSuccess);
}
