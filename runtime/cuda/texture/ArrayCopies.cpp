// SPDX-License-Identifier: Apache-2.0
// Copies of one row to and from arrays. Offsets are in bytes.
#include "runtime/cuda/Memory.h"

using namespace rubia::runtime::cuda;

namespace {

CopySide3D arrayAt(void *array, size_t offset) {
  CopySide3D side = {};
  side.type = kMemoryArray;
  side.array = array;
  side.xInBytes = offset;
  return side;
}
CopySide3D host(const void *pointer) {
  CopySide3D side = {};
  side.type = kMemoryHost;
  side.host = const_cast<void *>(pointer);
  return side;
}
CopySide3D device(void *pointer) {
  CopySide3D side = {};
  side.type = kMemoryDevice;
  side.device = pointer;
  return side;
}

Result copyRow(const rubia::runtime::TracedCall &entry, const CopySide3D &to,
               const CopySide3D &from, size_t bytes, Stream *stream, bool async) {
  const Copy3D copy{from, to, bytes, 1, 1};
  return copy3D(entry, &copy, stream, async);
}

} // namespace

extern "C" {

Result cuMemcpyHtoA_v2(void *to, size_t offset, const void *from, size_t bytes) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes), arrayAt(to, offset), host(from), bytes,
                 nullptr, false);
}
Result cuMemcpyHtoA_v2_ptds(void *to, size_t offset, const void *from, size_t bytes) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes), arrayAt(to, offset), host(from), bytes,
                 kPerThreadStream, false);
}
Result cuMemcpyAtoH_v2(void *to, void *from, size_t offset, size_t bytes) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes), host(to), arrayAt(from, offset), bytes,
                 nullptr, false);
}
Result cuMemcpyAtoH_v2_ptds(void *to, void *from, size_t offset, size_t bytes) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes), host(to), arrayAt(from, offset), bytes,
                 kPerThreadStream, false);
}
Result cuMemcpyDtoA_v2(void *to, size_t offset, void *from, size_t bytes) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes), arrayAt(to, offset), device(from), bytes,
                 nullptr, false);
}
Result cuMemcpyDtoA_v2_ptds(void *to, size_t offset, void *from, size_t bytes) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes), arrayAt(to, offset), device(from), bytes,
                 kPerThreadStream, false);
}
Result cuMemcpyAtoD_v2(void *to, void *from, size_t offset, size_t bytes) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes), device(to), arrayAt(from, offset), bytes,
                 nullptr, false);
}
Result cuMemcpyAtoD_v2_ptds(void *to, void *from, size_t offset, size_t bytes) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes), device(to), arrayAt(from, offset), bytes,
                 kPerThreadStream, false);
}
Result cuMemcpyAtoA_v2(void *to, size_t toOffset, void *from, size_t fromOffset, size_t bytes) {
  return copyRow(RUBIA_CALL(to, toOffset, from, fromOffset, bytes), arrayAt(to, toOffset),
                 arrayAt(from, fromOffset), bytes, nullptr, false);
}
Result cuMemcpyAtoA_v2_ptds(void *to, size_t toOffset, void *from, size_t fromOffset,
                            size_t bytes) {
  return copyRow(RUBIA_CALL(to, toOffset, from, fromOffset, bytes), arrayAt(to, toOffset),
                 arrayAt(from, fromOffset), bytes, kPerThreadStream, false);
}
Result cuMemcpyHtoAAsync_v2(void *to, size_t offset, const void *from, size_t bytes,
                            Stream *stream) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes, stream), arrayAt(to, offset), host(from),
                 bytes, stream, true);
}
Result cuMemcpyHtoAAsync_v2_ptsz(void *to, size_t offset, const void *from, size_t bytes,
                                 Stream *stream) {
  return copyRow(RUBIA_CALL(to, offset, from, bytes, stream), arrayAt(to, offset), host(from),
                 bytes, stream ? stream : kPerThreadStream, true);
}
Result cuMemcpyAtoHAsync_v2(void *to, void *from, size_t offset, size_t bytes, Stream *stream) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes, stream), host(to), arrayAt(from, offset),
                 bytes, stream, true);
}
Result cuMemcpyAtoHAsync_v2_ptsz(void *to, void *from, size_t offset, size_t bytes,
                                 Stream *stream) {
  return copyRow(RUBIA_CALL(to, from, offset, bytes, stream), host(to), arrayAt(from, offset),
                 bytes, stream ? stream : kPerThreadStream, true);
}

} // extern "C"
