// Memory. HIP: "Memory Management". Device addresses are host addresses, so a copy is a memmove in
// stream order.
#include "emulator/hip/Api.h"
#include <cstring>

using namespace rubia::emulator;

static Memory &memory() { return Machine::instance().memory; }

static hipError_t allocate(void **pointer, size_t bytes, MemoryKind kind) {
  if (hipError_t error = usable())
    return result(error);
  if (!pointer)
    return result(hipErrorInvalidValue);
  *pointer = nullptr;
  if (bytes == 0)
    return hipSuccess;
  uint64_t limit = currentDevice().model.memoryBytes;
  if (bytes > limit || memory().bytesInUse() > limit - bytes)
    return result(hipErrorOutOfMemory);
  auto address = memory().allocate(bytes, kind);
  if (!address) {
    llvm::consumeError(address.takeError());
    return result(hipErrorOutOfMemory);
  }
  *pointer = *address;
  return hipSuccess;
}

// Frees after all work that could still use the memory.
static hipError_t release(void *pointer) {
  if (!pointer)
    return hipSuccess;
  if (Machine::instance().devices.empty())
    return result(hipErrorNoDevice);
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
  if (llvm::Error error = memory().free(pointer)) {
    llvm::consumeError(std::move(error));
    return result(hipErrorInvalidValue);
  }
  return hipSuccess;
}

HIP_EXPORT hipError_t hipMalloc(void **pointer, size_t bytes) {
  return allocate(pointer, bytes, MemoryKind::Device);
}

HIP_EXPORT hipError_t hipFree(void *pointer) { return release(pointer); }

HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned) {
  return allocate(pointer, bytes, MemoryKind::HostPinned);
}

HIP_EXPORT hipError_t hipHostFree(void *pointer) { return release(pointer); }

HIP_EXPORT hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return result(hipErrorInvalidValue);
  return allocate(pointer, bytes, MemoryKind::Managed);
}

HIP_EXPORT hipError_t hipHostRegister(void *pointer, size_t bytes, unsigned) {
  if (hipError_t error = usable())
    return result(error);
  if (!pointer || !bytes)
    return result(hipErrorInvalidValue);
  if (llvm::Error error = memory().registerHost(pointer, bytes)) {
    llvm::consumeError(std::move(error));
    return result(hipErrorHostMemoryAlreadyRegistered);
  }
  return hipSuccess;
}

HIP_EXPORT hipError_t hipHostUnregister(void *pointer) {
  auto allocation = memory().find(pointer);
  if (!allocation || allocation->owned)
    return result(hipErrorHostMemoryNotRegistered);
  return release(pointer);
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  if (!device || flags)
    return result(hipErrorInvalidValue);
  auto allocation = memory().find(host);
  if (!allocation || allocation->kind == MemoryKind::Device)
    return result(hipErrorInvalidValue);
  *device = host;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipMemGetInfo(size_t *free, size_t *total) {
  if (hipError_t error = usable())
    return result(error);
  uint64_t all = currentDevice().model.memoryBytes;
  uint64_t used = std::min(memory().bytesInUse(), all);
  if (free)
    *free = all - used;
  if (total)
    *total = all;
  return hipSuccess;
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
  return hipSuccess;
}

// Device memory that is named must be there, as a whole.
static bool reaches(const void *pointer, size_t bytes) {
  auto allocation = memory().find(pointer);
  return allocation && bytes <= allocation->end() - reinterpret_cast<uint64_t>(pointer);
}

static bool isPageable(const void *pointer) { return !memory().find(pointer); }

// Memory that was the device's until it was freed is nobody's.
static bool wasFreed(const void *pointer) {
  return isPageable(pointer) && memory().findFreed(reinterpret_cast<uint64_t>(pointer));
}

static hipError_t copy(void *to, const void *from, size_t bytes, hipMemcpyKind kind, Stream *stream,
                       bool wait) {
  if (hipError_t error = usable())
    return result(error);
  if (!stream)
    return result(hipErrorInvalidHandle);
  if (bytes == 0)
    return hipSuccess;
  bool deviceTo = kind == hipMemcpyHostToDevice || kind == hipMemcpyDeviceToDevice;
  bool deviceFrom = kind == hipMemcpyDeviceToHost || kind == hipMemcpyDeviceToDevice;
  if (!to || !from || wasFreed(to) || wasFreed(from) || (deviceTo && !reaches(to, bytes)) ||
      (deviceFrom && !reaches(from, bytes)) ||
      (kind == hipMemcpyDefault &&
       ((!isPageable(to) && !reaches(to, bytes)) || (!isPageable(from) && !reaches(from, bytes)))))
    return result(hipErrorInvalidValue);
  CompletionRef done = currentDevice().streams.enqueue(*stream, [=] { memmove(to, from, bytes); });
  // Pageable memory may be reused or expected as soon as the call returns.
  if (wait || isPageable(to) || isPageable(from))
    done->wait();
  return result(usable());
}

HIP_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  if (hipError_t error = usable())
    return result(error);
  return copy(to, from, bytes, kind, streamOf(nullptr), true);
}

HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream) {
  if (hipError_t error = usable())
    return result(error);
  return copy(to, from, bytes, kind, streamOf(stream), false);
}

template <typename T>
static hipError_t fill(void *to, T value, size_t count, hipStream_t handle, bool wait) {
  if (hipError_t error = usable())
    return result(error);
  Stream *stream = streamOf(handle);
  if (!stream)
    return result(hipErrorInvalidHandle);
  if (count == 0)
    return hipSuccess;
  if (count > SIZE_MAX / sizeof(T) || !reaches(to, count * sizeof(T)) ||
      reinterpret_cast<uint64_t>(to) % sizeof(T))
    return result(hipErrorInvalidValue);
  CompletionRef done = currentDevice().streams.enqueue(
      *stream, [=] { std::fill_n(static_cast<T *>(to), count, value); });
  if (wait)
    done->wait();
  return result(usable());
}

HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return fill(to, value, count, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return fill(to, value, count, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return fill(to, value, count, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                       hipStream_t stream) {
  return fill(to, value, count, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                        hipStream_t stream) {
  return fill(to, value, count, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count,
                                        hipStream_t stream) {
  return fill(to, value, count, stream, false);
}
