// SPDX-License-Identifier: Apache-2.0
// Copies whose places stand in a structure, as CUDA's driver API has them. HIP: "Memory
// Management", hip_Memcpy2D, HIP_MEMCPY3D.
#include "emulator/hip/Operation.h"
#include "emulator/hip/api/Version.h"

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace {

// HIP_MEMCPY3D with sizes as HIP 5 (unsigned) or HIP 6 and 7 (size_t) have them.
template <typename Size> struct Copy3D {
  struct Source {
    Size x, y, z, levelOfDetail;
    hipMemoryType type;
    const void *host;
    hipDeviceptr_t device;
    hipArray_t array;
    Size pitch, height;
  } from;
  struct Target {
    Size x, y, z, levelOfDetail;
    hipMemoryType type;
    void *host;
    hipDeviceptr_t device;
    hipArray_t array;
    Size pitch, height;
  } to;
  Size width, height, depth;
};
static_assert(sizeof(Copy3D<unsigned>) == sizeof(HIP_MEMCPY3D));

enum class Place { Host, Device, Unified, Array, Unknown };

// HIP 6 gave hipMemoryType's values other numbers.
Place placeOf(unsigned type) {
  if (hipMajorVersion() < 6)
    return type == 0   ? Place::Host
           : type == 1 ? Place::Device
           : type == 2 ? Place::Array
           : type == 3 ? Place::Unified
                       : Place::Unknown;
  return type == 1                 ? Place::Host
         : type == 2               ? Place::Device
         : type == 10              ? Place::Array
         : type == 3 || type == 11 ? Place::Unified
                                   : Place::Unknown;
}

template <typename Pointer, typename End>
hipError_t resolve(const End &end, Place &place, Pointer *&pointer) {
  place = placeOf(unsigned(end.type));
  if (place == Place::Unknown)
    return hipErrorInvalidValue;
  if (place == Place::Array)
    return hipErrorNotSupported;
  pointer = place == Place::Host ? end.host : static_cast<Pointer *>(end.device);
  return hipSuccess;
}

hipMemcpyKind kindOf(Place from, Place to) {
  if (from == Place::Unified || to == Place::Unified)
    return hipMemcpyDefault;
  if (from == Place::Host)
    return to == Place::Host ? hipMemcpyHostToHost : hipMemcpyHostToDevice;
  return to == Place::Host ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

template <typename Size>
hipError_t copyOf(const Copy3D<Size> &p, CopyOperation &copy, hipMemcpyKind &kind) {
  Place from, to;
  const void *source;
  void *target;
  if (hipError_t error = resolve<const void>(p.from, from, source))
    return error;
  if (hipError_t error = resolve<void>(p.to, to, target))
    return error;
  if (!source || !target)
    return hipErrorInvalidValue;
  kind = kindOf(from, to);
  // No pitch: rows follow each other. No height: slices do.
  const size_t fromPitch = p.from.pitch ? size_t(p.from.pitch) : size_t(p.width);
  const size_t toPitch = p.to.pitch ? size_t(p.to.pitch) : size_t(p.width);
  copy = {.to = nullptr,
          .from = nullptr,
          .width = p.width,
          .height = p.height,
          .depth = p.depth,
          .toPitch = toPitch,
          .fromPitch = fromPitch,
          .toSlice = toPitch * (p.to.height ? size_t(p.to.height) : size_t(p.height)),
          .fromSlice = fromPitch * (p.from.height ? size_t(p.from.height) : size_t(p.height))};
  copy.to = static_cast<char *>(target) + p.to.x + p.to.y * copy.toPitch + p.to.z * copy.toSlice;
  copy.from = static_cast<const char *>(source) + p.from.x + p.from.y * copy.fromPitch +
              p.from.z * copy.fromSlice;
  return hipSuccess;
}

hipError_t start(const CopyOperation &copy, hipMemcpyKind kind, hipStream_t handle, bool wait) {
  Stream *stream;
  if (hipError_t error = findStream(handle, stream))
    return error;
  if (hipError_t error = check(copy, kind))
    return error;
  if (!copy.width || !copy.height || !copy.depth)
    return hipSuccess;
  return submitCopy(*stream, copy, wait);
}

hipError_t start2D(const hip_Memcpy2D *p, hipStream_t stream, bool wait) {
  if (!p)
    return hipErrorInvalidValue;
  Copy3D<size_t> copy = {};
  copy.from = {p->srcXInBytes, p->srcY,      0,           0,           p->srcMemoryType,
               p->srcHost,     p->srcDevice, p->srcArray, p->srcPitch, 0};
  copy.to = {p->dstXInBytes, p->dstY,      0,           0,           p->dstMemoryType,
             p->dstHost,     p->dstDevice, p->dstArray, p->dstPitch, 0};
  copy.width = p->WidthInBytes;
  copy.height = p->Height;
  copy.depth = 1;
  CopyOperation operation;
  hipMemcpyKind kind;
  if (hipError_t error = copyOf(copy, operation, kind))
    return error;
  return start(operation, kind, stream, wait);
}

hipError_t start3D(const HIP_MEMCPY3D *p, hipStream_t stream, bool wait) {
  CopyOperation operation;
  hipMemcpyKind kind;
  if (hipError_t error = rubia::emulator::hip::copyOf(p, operation, kind))
    return error;
  return start(operation, kind, stream, wait);
}

} // namespace

hipError_t rubia::emulator::hip::copyOf(const HIP_MEMCPY3D *parameters, CopyOperation &copy,
                                        hipMemcpyKind &kind) {
  if (!parameters)
    return hipErrorInvalidValue;
  const void *bytes = parameters;
  return hipMajorVersion() < 6 ? ::copyOf(*static_cast<const Copy3D<unsigned> *>(bytes), copy, kind)
                               : ::copyOf(*static_cast<const Copy3D<size_t> *>(bytes), copy, kind);
}

HIP_EXPORT hipError_t hipMemcpyParam2D(const hip_Memcpy2D *copy) {
  return result(start2D(copy, nullptr, true));
}
HIP_EXPORT hipError_t hipMemcpyParam2DAsync(const hip_Memcpy2D *copy, hipStream_t stream) {
  return result(start2D(copy, stream, false));
}
HIP_EXPORT hipError_t hipDrvMemcpy2DUnaligned(const hip_Memcpy2D *copy) {
  return result(start2D(copy, nullptr, true));
}
HIP_EXPORT hipError_t hipDrvMemcpy3D(const HIP_MEMCPY3D *copy) {
  return result(start3D(copy, nullptr, true));
}
HIP_EXPORT hipError_t hipDrvMemcpy3DAsync(const HIP_MEMCPY3D *copy, hipStream_t stream) {
  return result(start3D(copy, stream, false));
}
