// SPDX-License-Identifier: Apache-2.0
// Memory. HIP: "Memory Management". Device addresses are host addresses, so a copy is a memmove in
// stream order.
#include "emulator/hip/Allocations.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/Images.h"
#include "emulator/hip/api/Version.h"
#include <cstring>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

static Memory &memory() { return Machine::instance().memory; }

// Memory that is not in stream order cannot come and go with the launches of a captured graph.
static hipError_t allocateNow(void **pointer, size_t bytes, MemoryKind kind, unsigned flags = 0) {
  if (hipError_t error = unsafeInCapture())
    return error;
  return allocate(pointer, bytes, kind, flags);
}
static hipError_t freeNow(void *pointer) {
  if (hipError_t error = unsafeInCapture())
    return error;
  return release(pointer);
}

HIP_EXPORT hipError_t hipMalloc(void **pointer, size_t bytes) {
  return result(allocateNow(pointer, bytes, MemoryKind::Device));
}

HIP_EXPORT hipError_t hipFree(void *pointer) { return result(freeNow(pointer)); }

// All of the emulator's memory is mapped, portable and coherent; of the flags, one has an effect:
// memory that is not coherent is cached by the device, whose atomics then reach it.
HIP_EXPORT hipError_t hipHostMalloc(void **pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kUncached = 0x10000000; // since HIP 6.3
  constexpr unsigned kCoherence = hipHostMallocCoherent | hipHostMallocNonCoherent;
  constexpr unsigned kKnown = hipHostMallocPortable | hipHostMallocMapped |
                              hipHostMallocWriteCombined | hipHostMallocNumaUser | kUncached |
                              kCoherence;
  if ((flags & ~kKnown) || (flags & kCoherence) == kCoherence)
    return result(hipErrorInvalidValue);
  if (hipError_t error = allocateNow(pointer, bytes, MemoryKind::HostPinned, flags))
    return result(error);
  memory().setCoarseGrained(*pointer, flags & hipHostMallocNonCoherent);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
HIP_EXPORT hipError_t hipMallocHost(void **pointer, size_t bytes) {
  return hipHostMalloc(pointer, bytes, hipHostMallocDefault);
}
HIP_EXPORT hipError_t hipMemAllocHost(void **pointer, size_t bytes) {
  return hipHostMalloc(pointer, bytes, hipHostMallocDefault);
}
HIP_EXPORT hipError_t hipFreeHost(void *pointer) { return result(freeNow(pointer)); }

// Fine-grained or uncached memory is device memory like any other here.
HIP_EXPORT hipError_t hipExtMallocWithFlags(void **pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kLastKnown = 4; // hipDeviceMallocContiguous, since HIP 6
  if (flags > kLastKnown || (flags == hipMallocSignalMemory && bytes != 8))
    return result(hipErrorInvalidValue);
  return result(allocateNow(pointer, bytes, MemoryKind::Device, flags));
}

// Rows start at multiples of 256 bytes, as hardware wants them for coalescing.
static size_t pitchOf(size_t width) { return (width + 255) / 256 * 256; }

HIP_EXPORT hipError_t hipMallocPitch(void **pointer, size_t *pitch, size_t width, size_t height) {
  if (!pitch || (height && width > SIZE_MAX / 2 / height))
    return result(hipErrorInvalidValue);
  *pitch = pitchOf(width);
  return result(allocateNow(pointer, *pitch * height, MemoryKind::Device));
}
HIP_EXPORT hipError_t hipMemAllocPitch(hipDeviceptr_t *pointer, size_t *pitch, size_t width,
                                       size_t height, unsigned) {
  return hipMallocPitch(pointer, pitch, width, height);
}
HIP_EXPORT hipError_t hipMalloc3D(hipPitchedPtr *pointer, hipExtent extent) {
  if (!pointer || (extent.depth && extent.height > SIZE_MAX / extent.depth))
    return result(hipErrorInvalidValue);
  *pointer = {nullptr, 0, extent.width, extent.height};
  return hipMallocPitch(&pointer->ptr, &pointer->pitch, extent.width, extent.height * extent.depth);
}

HIP_EXPORT hipError_t hipHostFree(void *pointer) { return result(freeNow(pointer)); }

HIP_EXPORT hipError_t hipMallocManaged(void **pointer, size_t bytes, unsigned flags) {
  if (flags != hipMemAttachGlobal && flags != hipMemAttachHost)
    return result(hipErrorInvalidValue);
  // HIP 7 has begun to refuse it in captures.
  return result(hipMajorVersion() < 7 ? allocate(pointer, bytes, MemoryKind::Managed)
                                      : allocateNow(pointer, bytes, MemoryKind::Managed));
}

HIP_EXPORT hipError_t hipHostRegister(void *pointer, size_t bytes, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  constexpr unsigned kKnown = hipHostRegisterPortable | hipHostRegisterMapped |
                              hipHostRegisterIoMemory | hipExtHostRegisterCoarseGrained;
  if (!pointer || !bytes || (flags & ~kKnown))
    return result(hipErrorInvalidValue);
  if (hipError_t error = unsafeInCapture())
    return result(error);
  if (llvm::Error error = memory().registerHost(pointer, bytes)) {
    llvm::consumeError(std::move(error));
    return result(hipErrorHostMemoryAlreadyRegistered);
  }
  memory().setCoarseGrained(pointer, flags & hipExtHostRegisterCoarseGrained);
  remember(pointer, {unsigned(currentDeviceOrdinal()), flags});
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipHostUnregister(void *pointer) {
  auto allocation = memory().find(pointer);
  if (!allocation || allocation->owned || placementOf(allocation->address).isMapped)
    return result(hipErrorHostMemoryNotRegistered);
  return result(freeNow(pointer));
}

HIP_EXPORT hipError_t hipHostGetDevicePointer(void **device, void *host, unsigned flags) {
  if (!device || flags)
    return result(hipErrorInvalidValue);
  auto allocation = memory().find(host);
  if (!allocation || allocation->kind == MemoryKind::Device)
    return result(hipErrorInvalidValue);
  *device = host;
  return result(hipSuccess);
}

// ---------- Copies

static hipError_t copy(const CopyOperation &operation, hipMemcpyKind kind, hipStream_t handle,
                       bool wait) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (hipError_t error = check(operation, kind))
    return result(error);
  if (!operation.width || !operation.height || !operation.depth)
    return result(hipSuccess);
  return result(submitCopy(*stream, operation, wait));
}

HIP_EXPORT hipError_t hipMemcpy(void *to, const void *from, size_t bytes, hipMemcpyKind kind) {
  return copy({.to = to, .from = from, .width = bytes}, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpyAsync(void *to, const void *from, size_t bytes, hipMemcpyKind kind,
                                     hipStream_t stream) {
  return copy({.to = to, .from = from, .width = bytes}, kind, stream, false);
}
HIP_EXPORT hipError_t hipMemcpyWithStream(void *to, const void *from, size_t bytes,
                                          hipMemcpyKind kind, hipStream_t stream) {
  return copy({.to = to, .from = from, .width = bytes}, kind, stream, true);
}
HIP_EXPORT hipError_t hipMemcpyHtoD(hipDeviceptr_t to, void *from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyHostToDevice);
}
HIP_EXPORT hipError_t hipMemcpyDtoH(void *to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToHost);
}
HIP_EXPORT hipError_t hipMemcpyDtoD(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
HIP_EXPORT hipError_t hipMemcpyHtoDAsync(hipDeviceptr_t to, void *from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyHostToDevice, stream);
}
HIP_EXPORT hipError_t hipMemcpyDtoHAsync(void *to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToHost, stream);
}
HIP_EXPORT hipError_t hipMemcpyDtoDAsync(hipDeviceptr_t to, hipDeviceptr_t from, size_t bytes,
                                         hipStream_t stream) {
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

// Devices share one address space: a copy between them is a copy.
static bool areDevices(int a, int b) {
  int count = int(Machine::instance().devices.size());
  return a >= 0 && b >= 0 && a < count && b < count;
}
HIP_EXPORT hipError_t hipMemcpyPeer(void *to, int toDevice, const void *from, int fromDevice,
                                    size_t bytes) {
  if (!areDevices(toDevice, fromDevice))
    return result(hipErrorInvalidDevice);
  return hipMemcpy(to, from, bytes, hipMemcpyDeviceToDevice);
}
HIP_EXPORT hipError_t hipMemcpyPeerAsync(void *to, int toDevice, const void *from, int fromDevice,
                                         size_t bytes, hipStream_t stream) {
  if (!areDevices(toDevice, fromDevice))
    return result(hipErrorInvalidDevice);
  return hipMemcpyAsync(to, from, bytes, hipMemcpyDeviceToDevice, stream);
}

HIP_EXPORT hipError_t hipMemcpy2DAsync(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                       size_t width, size_t height, hipMemcpyKind kind,
                                       hipStream_t stream) {
  return copy({.to = to,
               .from = from,
               .width = width,
               .height = height,
               .toPitch = toPitch,
               .fromPitch = fromPitch},
              kind, stream, false);
}
HIP_EXPORT hipError_t hipMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch,
                                  size_t width, size_t height, hipMemcpyKind kind) {
  return copy({.to = to,
               .from = from,
               .width = width,
               .height = height,
               .toPitch = toPitch,
               .fromPitch = fromPitch},
              kind, nullptr, true);
}

namespace {
/// One end of a copy of boxes.
struct BoxEnd {
  char *at;
  size_t pitch, slice;
};
/// In memory, or in an array, whose texels positions and widths then count.
hipError_t boxEnd(const ImageArray *array, const hipPitchedPtr &memory, const hipPos &pos,
                  const hipExtent &box, size_t width, BoxEnd &end) {
  if (!array) {
    const size_t slice = memory.pitch * memory.ysize;
    end = {static_cast<char *>(memory.ptr) + pos.x + pos.y * memory.pitch + pos.z * slice,
           memory.pitch, slice};
    return hipSuccess;
  }
  const size_t x = pos.x * array->texel.bytes();
  if (memory.ptr || !array->contains(x, pos.y, pos.z, width, box.height, box.depth))
    return hipErrorInvalidValue;
  end = {array->at(x, pos.y, pos.z), array->rowPitch(), array->slicePitch()};
  return hipSuccess;
}
} // namespace

hipError_t rubia::emulator::hip::copyOf(const hipMemcpy3DParms &p, CopyOperation &copy) {
  const auto from = arrayOf(p.srcArray), to = arrayOf(p.dstArray);
  if ((p.srcArray && !from) || (p.dstArray && !to) ||
      (from && to && from->texel.bytes() != to->texel.bytes()))
    return hipErrorInvalidValue;
  const ImageArray *any = from ? from.get() : to.get();
  const size_t width = p.extent.width * (any ? any->texel.bytes() : 1);
  BoxEnd source, target;
  if (hipError_t error = boxEnd(from.get(), p.srcPtr, p.srcPos, p.extent, width, source))
    return error;
  if (hipError_t error = boxEnd(to.get(), p.dstPtr, p.dstPos, p.extent, width, target))
    return error;
  copy = {.to = target.at,
          .from = source.at,
          .width = width,
          .height = p.extent.height,
          .depth = p.extent.depth,
          .toPitch = target.pitch,
          .fromPitch = source.pitch,
          .toSlice = target.slice,
          .fromSlice = source.slice};
  return hipSuccess;
}

hipMemcpy3DParms rubia::emulator::hip::parametersOf(const CopyOperation &copy, hipMemcpyKind kind) {
  auto pitched = [&](const void *pointer, size_t pitch, size_t slice) {
    return hipPitchedPtr{const_cast<void *>(pointer), pitch, copy.width,
                         pitch ? slice / pitch : copy.height};
  };
  hipMemcpy3DParms parameters = {};
  parameters.dstPtr = pitched(copy.to, copy.toPitch, copy.toSlice);
  parameters.srcPtr = pitched(copy.from, copy.fromPitch, copy.fromSlice);
  parameters.extent = {copy.width, copy.height, copy.depth};
  parameters.kind = kind;
  return parameters;
}

static hipError_t copy3D(const hipMemcpy3DParms *parameters, hipStream_t stream, bool wait) {
  if (!parameters)
    return result(hipErrorInvalidValue);
  CopyOperation operation;
  if (hipError_t error = copyOf(*parameters, operation))
    return result(error);
  return copy(operation, parameters->kind, stream, wait);
}
HIP_EXPORT hipError_t hipMemcpy3D(const hipMemcpy3DParms *parameters) {
  return copy3D(parameters, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpy3DAsync(const hipMemcpy3DParms *parameters, hipStream_t stream) {
  return copy3D(parameters, stream, false);
}

// ---------- Fills

static hipError_t fill(const FillOperation &operation, hipStream_t handle, bool wait) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (hipError_t error = check(operation))
    return result(error);
  if (!operation.count || !operation.height || !operation.depth)
    return result(hipSuccess);
  return result(submitFill(*stream, operation, wait));
}

HIP_EXPORT hipError_t hipMemset(void *to, int value, size_t bytes) {
  return fill({to, uint8_t(value), 1, bytes}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetAsync(void *to, int value, size_t bytes, hipStream_t stream) {
  return fill({to, uint8_t(value), 1, bytes}, stream, false);
}
HIP_EXPORT hipError_t hipMemset2D(void *to, size_t pitch, int value, size_t width, size_t height) {
  return fill({to, uint8_t(value), 1, width, height, pitch}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemset2DAsync(void *to, size_t pitch, int value, size_t width,
                                       size_t height, hipStream_t stream) {
  return fill({to, uint8_t(value), 1, width, height, pitch}, stream, false);
}
static FillOperation fillOf(const hipPitchedPtr &place, int value, const hipExtent &extent) {
  return {.to = place.ptr,
          .value = uint8_t(value),
          .elementBytes = 1,
          .count = extent.width,
          .height = extent.height,
          .pitch = place.pitch,
          .depth = extent.depth,
          .slice = place.pitch * place.ysize};
}
HIP_EXPORT hipError_t hipMemset3D(hipPitchedPtr place, int value, hipExtent extent) {
  return fill(fillOf(place, value, extent), nullptr, true);
}
HIP_EXPORT hipError_t hipMemset3DAsync(hipPitchedPtr place, int value, hipExtent extent,
                                       hipStream_t stream) {
  return fill(fillOf(place, value, extent), stream, false);
}
HIP_EXPORT hipError_t hipMemsetD8(hipDeviceptr_t to, unsigned char value, size_t count) {
  return fill({to, value, 1, count}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD16(hipDeviceptr_t to, unsigned short value, size_t count) {
  return fill({to, value, 2, count}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD32(hipDeviceptr_t to, int value, size_t count) {
  return fill({to, uint32_t(value), 4, count}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD8Async(hipDeviceptr_t to, unsigned char value, size_t count,
                                       hipStream_t stream) {
  return fill({to, value, 1, count}, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD16Async(hipDeviceptr_t to, unsigned short value, size_t count,
                                        hipStream_t stream) {
  return fill({to, value, 2, count}, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD32Async(hipDeviceptr_t to, int value, size_t count,
                                        hipStream_t stream) {
  return fill({to, uint32_t(value), 4, count}, stream, false);
}

// ---------- Since HIP 7.1, not in HIP 5.2's headers

#pragma clang diagnostic ignored "-Wmissing-prototypes"

HIP_EXPORT hipError_t hipMemsetD2D8(hipDeviceptr_t to, size_t pitch, unsigned char value,
                                    size_t width, size_t height) {
  return fill({to, value, 1, width, height, pitch}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD2D16(hipDeviceptr_t to, size_t pitch, unsigned short value,
                                     size_t width, size_t height) {
  return fill({to, value, 2, width, height, pitch}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD2D32(hipDeviceptr_t to, size_t pitch, unsigned value, size_t width,
                                     size_t height) {
  return fill({to, value, 4, width, height, pitch}, nullptr, true);
}
HIP_EXPORT hipError_t hipMemsetD2D8Async(hipDeviceptr_t to, size_t pitch, unsigned char value,
                                         size_t width, size_t height, hipStream_t stream) {
  return fill({to, value, 1, width, height, pitch}, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD2D16Async(hipDeviceptr_t to, size_t pitch, unsigned short value,
                                          size_t width, size_t height, hipStream_t stream) {
  return fill({to, value, 2, width, height, pitch}, stream, false);
}
HIP_EXPORT hipError_t hipMemsetD2D32Async(hipDeviceptr_t to, size_t pitch, unsigned value,
                                          size_t width, size_t height, hipStream_t stream) {
  return fill({to, value, 4, width, height, pitch}, stream, false);
}

struct hipMemcpy3DPeerParms {
  hipArray_t srcArray;
  hipPos srcPos;
  hipPitchedPtr srcPtr;
  int srcDevice;
  hipArray_t dstArray;
  hipPos dstPos;
  hipPitchedPtr dstPtr;
  int dstDevice;
  hipExtent extent;
};
HIP_EXPORT hipError_t hipMemcpy3DPeerAsync(hipMemcpy3DPeerParms *p, hipStream_t stream) {
  if (!p)
    return result(hipErrorInvalidValue);
  if (!areDevices(p->srcDevice, p->dstDevice))
    return result(hipErrorInvalidDevice);
  const hipMemcpy3DParms copy = {p->srcArray, p->srcPos, p->srcPtr, p->dstArray,
                                 p->dstPos,   p->dstPtr, p->extent, hipMemcpyDeviceToDevice};
  return hipMemcpy3DAsync(&copy, stream);
}
HIP_EXPORT hipError_t hipMemcpy3DPeer(hipMemcpy3DPeerParms *p) {
  const hipError_t error = hipMemcpy3DPeerAsync(p, nullptr);
  return error ? error : hipStreamSynchronize(nullptr);
}
