// SPDX-License-Identifier: Apache-2.0
// Copies whose places stand in a structure, as CUDA's driver API has them. HIP: "Memory
// Management", hip_Memcpy2D, HIP_MEMCPY3D.
#include "emulator/hip/Images.h"
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

/// One end of a copy, resolved.
struct Resolved {
  Place place;
  char *at;
  size_t pitch, slice;
};

/// `width` in bytes.
template <typename End>
hipError_t resolve(const End &end, size_t width, size_t height, size_t depth, Resolved &resolved) {
  resolved.place = placeOf(unsigned(end.type));
  if (resolved.place == Place::Unknown)
    return hipErrorInvalidValue;
  if (resolved.place == Place::Array) {
    const auto array = arrayOf(end.array);
    if (!array || !array->contains(end.x, end.y, end.z, width, height, depth))
      return hipErrorInvalidValue;
    resolved.at = array->at(end.x, end.y, end.z);
    resolved.pitch = array->rowPitch();
    resolved.slice = array->slicePitch();
    return hipSuccess;
  }
  const void *pointer = resolved.place == Place::Host ? end.host : end.device;
  if (!pointer)
    return hipErrorInvalidValue;
  // No pitch: rows follow each other. No height: slices do.
  resolved.pitch = end.pitch ? size_t(end.pitch) : width;
  resolved.slice = resolved.pitch * (end.height ? size_t(end.height) : height);
  resolved.at = static_cast<char *>(const_cast<void *>(pointer)) + end.x + end.y * resolved.pitch +
                end.z * resolved.slice;
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
  Resolved from, to;
  if (hipError_t error = resolve(p.from, p.width, p.height, p.depth, from))
    return error;
  if (hipError_t error = resolve(p.to, p.width, p.height, p.depth, to))
    return error;
  kind = kindOf(from.place, to.place);
  copy = {.to = to.at,
          .from = from.at,
          .width = p.width,
          .height = p.height,
          .depth = p.depth,
          .toPitch = to.pitch,
          .fromPitch = from.pitch,
          .toSlice = to.slice,
          .fromSlice = from.slice};
  return hipSuccess;
}

hipError_t start(const CopyOperation &copy, hipMemcpyKind kind, hipStream_t handle, bool wait) {
  StreamRef stream;
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
