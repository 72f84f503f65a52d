// SPDX-License-Identifier: Apache-2.0
// Copies from and to arrays. HIP: "Memory Management".
#include "emulator/hip/Images.h"
#include <algorithm>

// The functions are HIP's; HIP 5.2's header declares some only.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

using namespace rubia::emulator::hip;

namespace {

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

/// One end of a copy of bytes in a row: memory, or the rows of an array one after the other.
struct End {
  std::shared_ptr<const ImageArray> array = nullptr;
  char *memory = nullptr;
  size_t offset = 0; // bytes from the start

  /// Where it stands, and how many bytes follow there without a gap.
  char *at(size_t &whole) const {
    if (!array) {
      whole = SIZE_MAX;
      return memory + offset;
    }
    whole = array->rowBytes() - offset % array->rowBytes();
    return array->at(offset % array->rowBytes(), offset / array->rowBytes(), 0);
  }
  bool holds(size_t bytes) const {
    const size_t all = array ? array->rowBytes() * array->rows() : SIZE_MAX;
    return offset <= all && bytes <= all - offset;
  }
};

End endOf(hipArray_const_t handle, size_t offset) { return {arrayOf(handle), nullptr, offset}; }
End endOf(hipArray_const_t handle, size_t x, size_t y) {
  End end = endOf(handle, x);
  if (end.array)
    end.offset += y * end.array->rowBytes();
  return end;
}
End endOf(const void *memory) {
  return {nullptr, static_cast<char *>(const_cast<void *>(memory)), 0};
}

hipError_t copyRow(const char *function, End to, End from, size_t bytes, hipMemcpyKind kind,
                   hipStream_t stream, bool wait) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  if ((!to.array && !to.memory) || (!from.array && !from.memory) || !to.holds(bytes) ||
      !from.holds(bytes))
    return result(hipErrorInvalidValue);
  while (bytes) {
    size_t wholeTo, wholeFrom;
    char *target = to.at(wholeTo), *source = from.at(wholeFrom);
    const size_t now = std::min({bytes, wholeTo, wholeFrom});
    if (hipError_t error = start({.to = target, .from = source, .width = now}, kind, stream, wait))
      return result(error);
    to.offset += now;
    from.offset += now;
    bytes -= now;
  }
  return result(hipSuccess);
}

hipError_t toArray(const char *function, hipArray_t handle, size_t x, size_t y, const void *from,
                   size_t pitch, size_t width, size_t height, hipMemcpyKind kind,
                   hipStream_t stream, bool wait) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  const auto array = arrayOf(handle);
  if (!array || !from || !array->contains(x, y, 0, width, height, 1))
    return result(hipErrorInvalidValue);
  return result(start({.to = array->at(x, y, 0),
                       .from = from,
                       .width = width,
                       .height = height,
                       .toPitch = array->rowPitch(),
                       .fromPitch = pitch},
                      kind, stream, wait));
}

hipError_t fromArray(const char *function, void *to, size_t pitch, hipArray_const_t handle,
                     size_t x, size_t y, size_t width, size_t height, hipMemcpyKind kind,
                     hipStream_t stream, bool wait) {
  if (hipError_t error = imagesUsable(function))
    return result(error);
  const auto array = arrayOf(handle);
  if (!array || !to || !array->contains(x, y, 0, width, height, 1))
    return result(hipErrorInvalidValue);
  return result(start({.to = to,
                       .from = array->at(x, y, 0),
                       .width = width,
                       .height = height,
                       .toPitch = pitch,
                       .fromPitch = array->rowPitch()},
                      kind, stream, wait));
}

hipStream_t own(hipStream_t stream) { return stream ? stream : hipStreamPerThread; }

} // namespace

// ---------- Boxes of two dimensions

HIP_EXPORT hipError_t hipMemcpy2DToArray(hipArray_t to, size_t x, size_t y, const void *from,
                                         size_t pitch, size_t width, size_t height,
                                         hipMemcpyKind kind) {
  return toArray(__func__, to, x, y, from, pitch, width, height, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpy2DToArrayAsync(hipArray_t to, size_t x, size_t y, const void *from,
                                              size_t pitch, size_t width, size_t height,
                                              hipMemcpyKind kind, hipStream_t stream) {
  return toArray(__func__, to, x, y, from, pitch, width, height, kind, stream, false);
}
HIP_EXPORT hipError_t hipMemcpy2DToArray_spt(hipArray_t to, size_t x, size_t y, const void *from,
                                             size_t pitch, size_t width, size_t height,
                                             hipMemcpyKind kind) {
  return toArray(__func__, to, x, y, from, pitch, width, height, kind, hipStreamPerThread, true);
}
HIP_EXPORT hipError_t hipMemcpy2DToArrayAsync_spt(hipArray_t to, size_t x, size_t y,
                                                  const void *from, size_t pitch, size_t width,
                                                  size_t height, hipMemcpyKind kind,
                                                  hipStream_t stream) {
  return toArray(__func__, to, x, y, from, pitch, width, height, kind, own(stream), false);
}
HIP_EXPORT hipError_t hipMemcpy2DFromArray(void *to, size_t pitch, hipArray_const_t from, size_t x,
                                           size_t y, size_t width, size_t height,
                                           hipMemcpyKind kind) {
  return fromArray(__func__, to, pitch, from, x, y, width, height, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpy2DFromArrayAsync(void *to, size_t pitch, hipArray_const_t from,
                                                size_t x, size_t y, size_t width, size_t height,
                                                hipMemcpyKind kind, hipStream_t stream) {
  return fromArray(__func__, to, pitch, from, x, y, width, height, kind, stream, false);
}
HIP_EXPORT hipError_t hipMemcpy2DFromArray_spt(void *to, size_t pitch, hipArray_const_t from,
                                               size_t x, size_t y, size_t width, size_t height,
                                               hipMemcpyKind kind) {
  return fromArray(__func__, to, pitch, from, x, y, width, height, kind, hipStreamPerThread, true);
}
HIP_EXPORT hipError_t hipMemcpy2DFromArrayAsync_spt(void *to, size_t pitch, hipArray_const_t from,
                                                    size_t x, size_t y, size_t width, size_t height,
                                                    hipMemcpyKind kind, hipStream_t stream) {
  return fromArray(__func__, to, pitch, from, x, y, width, height, kind, own(stream), false);
}
HIP_EXPORT hipError_t hipMemcpy2DArrayToArray(hipArray_t to, size_t toX, size_t toY,
                                              hipArray_const_t from, size_t fromX, size_t fromY,
                                              size_t width, size_t height, hipMemcpyKind kind) {
  const auto array = arrayOf(from);
  if (!array || !array->contains(fromX, fromY, 0, width, height, 1))
    return result(hipErrorInvalidValue);
  return toArray(__func__, to, toX, toY, array->at(fromX, fromY, 0), array->rowPitch(), width,
                 height, kind, nullptr, true);
}

// ---------- Bytes in a row

HIP_EXPORT hipError_t hipMemcpyToArray(hipArray_t to, size_t x, size_t y, const void *from,
                                       size_t bytes, hipMemcpyKind kind) {
  return copyRow(__func__, endOf(to, x, y), endOf(from), bytes, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpyFromArray(void *to, hipArray_const_t from, size_t x, size_t y,
                                         size_t bytes, hipMemcpyKind kind) {
  return copyRow(__func__, endOf(to), endOf(from, x, y), bytes, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpyFromArray_spt(void *to, hipArray_const_t from, size_t x, size_t y,
                                             size_t bytes, hipMemcpyKind kind) {
  return copyRow(__func__, endOf(to), endOf(from, x, y), bytes, kind, hipStreamPerThread, true);
}
HIP_EXPORT hipError_t hipMemcpyHtoA(hipArray_t to, size_t offset, const void *from, size_t bytes) {
  return copyRow(__func__, endOf(to, offset), endOf(from), bytes, hipMemcpyHostToDevice, nullptr,
                 true);
}
HIP_EXPORT hipError_t hipMemcpyAtoH(void *to, hipArray_t from, size_t offset, size_t bytes) {
  return copyRow(__func__, endOf(to), endOf(from, offset), bytes, hipMemcpyDeviceToHost, nullptr,
                 true);
}
HIP_EXPORT hipError_t hipMemcpyHtoAAsync(hipArray_t to, size_t offset, const void *from,
                                         size_t bytes, hipStream_t stream) {
  return copyRow(__func__, endOf(to, offset), endOf(from), bytes, hipMemcpyHostToDevice, stream,
                 false);
}
HIP_EXPORT hipError_t hipMemcpyAtoHAsync(void *to, hipArray_t from, size_t offset, size_t bytes,
                                         hipStream_t stream) {
  return copyRow(__func__, endOf(to), endOf(from, offset), bytes, hipMemcpyDeviceToHost, stream,
                 false);
}
HIP_EXPORT hipError_t hipMemcpyAtoD(hipDeviceptr_t to, hipArray_t from, size_t offset,
                                    size_t bytes) {
  return copyRow(__func__, endOf(to), endOf(from, offset), bytes, hipMemcpyDeviceToDevice, nullptr,
                 true);
}
HIP_EXPORT hipError_t hipMemcpyDtoA(hipArray_t to, size_t offset, hipDeviceptr_t from,
                                    size_t bytes) {
  return copyRow(__func__, endOf(to, offset), endOf(from), bytes, hipMemcpyDeviceToDevice, nullptr,
                 true);
}
HIP_EXPORT hipError_t hipMemcpyAtoA(hipArray_t to, size_t toOffset, hipArray_t from,
                                    size_t fromOffset, size_t bytes) {
  return copyRow(__func__, endOf(to, toOffset), endOf(from, fromOffset), bytes,
                 hipMemcpyDeviceToDevice, nullptr, true);
}
