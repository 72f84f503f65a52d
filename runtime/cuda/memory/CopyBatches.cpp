// SPDX-License-Identifier: Apache-2.0
// Copies in batches. CUDA leaves their order open; here each comes behind those before it, as they
// stand. Attributes of copies are hints, but for the time at which the source is read: a copy in
// stream order is right for all.
#include "runtime/cuda/graph/Capture.h"
#include "runtime/cuda/memory/PeerAccess.h"
#include "runtime/cuda/texture/Arrays.h"
#include "llvm/ADT/ArrayRef.h"

using namespace llvm;

namespace rubia::runtime::cuda {

namespace {

bool isOrder(int order) { return order >= 1 && order <= 3; } // CUmemcpySrcAccessOrder

// That there is such a place; it need not be the memory's.
bool isHint(const MemoryLocation &place) {
  constexpr int kDevice = 1, kCurrentNode = 4; // CUmemLocationType
  return place.type == kDevice ? deviceAt(place.id) != nullptr
                               : place.type >= 0 && place.type <= kCurrentNode;
}

Result checkAttributes(ArrayRef<CopyAttributes> attributes, const size_t *starts, size_t count) {
  for (size_t i = 0; i < attributes.size(); ++i)
    if (!isOrder(attributes[i].order) || attributes[i].flags > 1 || starts[i] >= count ||
        !isHint(attributes[i].from) || !isHint(attributes[i].to) ||
        (i ? starts[i] <= starts[i - 1] : starts[i] != 0))
      return kInvalidValue;
  return kSuccess;
}

Result copyBatch(const TracedCall &entry, void **to, void **from, size_t *sizes, size_t count,
                 CopyAttributes *attributes, size_t *starts, size_t attributeCount, size_t *failed,
                 Stream *stream) {
  return callIn(entry, [&](Context &context) -> Result {
    if (!stream || stream == kLegacyStream)
      return kInvalidValue;
    if (failed)
      *failed = SIZE_MAX; // not one of them alone
    if (!to || !from || !sizes || !count || !attributes || !starts || !attributeCount ||
        attributeCount > count)
      return kInvalidValue;
    if (Result result = checkAttributes(ArrayRef(attributes, attributeCount), starts, count))
      return result;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (isCaptured(hipStream))
        return kStreamCaptureUnsupported; // and the capture goes on
      for (size_t i = 0; i < count; ++i) {
        const bool isWrong = !sizes[i] || !to[i] || !from[i] || checkCopied(context, to[i]) ||
                             checkCopied(context, from[i]);
        Result result = isWrong
                            ? kInvalidValue
                            : submit(context, copyOf(to[i], from[i], sizes[i], kHipMemcpyDefault),
                                     stream, hipStream);
        if (result) {
          if (failed)
            *failed = i;
          return result;
        }
      }
      return kSuccess;
    });
  });
}

constexpr int kArrayOperand = 2; // CU_MEMCPY_OPERAND_TYPE_ARRAY

/// Bytes of what extents and places count: texels, if there is an array.
size_t unitOf(const BatchedCopy &copy) {
  for (const CopyOperand *operand : {&copy.from, &copy.to})
    if (operand->type == kArrayOperand && isLive(operand->array))
      return size_t(1) << operand->array->texelShift;
  return 1;
}

Result sideOf(const CopyOperand &operand, size_t width, size_t height, size_t unit,
              CopySide3D &side) {
  side = {};
  if (operand.type == kArrayOperand) {
    if (!isLive(operand.array))
      return kInvalidValue;
    side.type = kMemoryArray;
    side.array = operand.array;
    side.xInBytes = operand.x * unit;
    side.y = operand.y;
    side.z = operand.z;
    return kSuccess;
  }
  if (operand.type != 1 || (operand.rowLength && operand.rowLength < width) ||
      (operand.layerHeight && operand.layerHeight < height))
    return kInvalidValue;
  side.type = kMemoryUnified;
  side.device = operand.pointer;
  side.pitch = operand.rowLength;
  side.height = operand.layerHeight;
  return kSuccess;
}

Result copyBatch3D(const TracedCall &entry, size_t count, BatchedCopy *copies, size_t *failed,
                   uint64_t flags, Stream *stream) {
  return callIn(entry, [&](Context &context) -> Result {
    if (!stream || stream == kLegacyStream)
      return kInvalidValue;
    if (failed)
      *failed = SIZE_MAX;
    if (!count || !copies || flags)
      return kInvalidValue;
    std::vector<Copy3D> all(count);
    for (size_t i = 0; i < count; ++i) {
      const BatchedCopy &copy = copies[i];
      const size_t unit = unitOf(copy), width = copy.width * unit;
      Result result =
          !isOrder(copy.order) || copy.flags > 1 || !copy.width || !copy.height || !copy.depth
              ? kInvalidValue
              : sideOf(copy.from, width, copy.height, unit, all[i].from);
      if (!result)
        result = sideOf(copy.to, width, copy.height, unit, all[i].to);
      if (result) {
        if (failed)
          *failed = i;
        return result;
      }
      all[i].widthInBytes = width;
      all[i].height = copy.height;
      all[i].depth = copy.depth;
    }
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (isCaptured(hipStream))
        return kStreamCaptureUnsupported;
      // Of one that does not lie within memory CUDA does not tell which.
      for (const Copy3D &copy : all) {
        if (Result result = checkCopy(context, copyOf(copy)))
          return result;
        if (Result result = checkCopied(context, copy))
          return result;
        if (Result result = submit(context, copyOf(copy), stream, hipStream))
          return result;
      }
      return kSuccess;
    });
  });
}

Stream *mine(Stream *stream) { return stream ? stream : kPerThreadStream; }

} // namespace
} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuMemcpyBatchAsync_v2(void **to, void **from, size_t *sizes, size_t count,
                             CopyAttributes *attributes, size_t *starts, size_t attributeCount,
                             Stream *stream) {
  return copyBatch(RUBIA_CALL(to, from, sizes, count, attributes, starts, attributeCount, stream),
                   to, from, sizes, count, attributes, starts, attributeCount, nullptr, stream);
}
Result cuMemcpyBatchAsync_v2_ptsz(void **to, void **from, size_t *sizes, size_t count,
                                  CopyAttributes *attributes, size_t *starts, size_t attributeCount,
                                  Stream *stream) {
  return cuMemcpyBatchAsync_v2(to, from, sizes, count, attributes, starts, attributeCount,
                               mine(stream));
}
Result cuMemcpyBatchAsync(void **to, void **from, size_t *sizes, size_t count,
                          CopyAttributes *attributes, size_t *starts, size_t attributeCount,
                          size_t *failed, Stream *stream) {
  return copyBatch(
      RUBIA_CALL(to, from, sizes, count, attributes, starts, attributeCount, failed, stream), to,
      from, sizes, count, attributes, starts, attributeCount, failed, stream);
}
Result cuMemcpyBatchAsync_ptsz(void **to, void **from, size_t *sizes, size_t count,
                               CopyAttributes *attributes, size_t *starts, size_t attributeCount,
                               size_t *failed, Stream *stream) {
  return cuMemcpyBatchAsync(to, from, sizes, count, attributes, starts, attributeCount, failed,
                            mine(stream));
}

Result cuMemcpy3DBatchAsync_v2(size_t count, BatchedCopy *copies, unsigned long long flags,
                               Stream *stream) {
  return copyBatch3D(RUBIA_CALL(count, copies, flags, stream), count, copies, nullptr, flags,
                     stream);
}
Result cuMemcpy3DBatchAsync_v2_ptsz(size_t count, BatchedCopy *copies, unsigned long long flags,
                                    Stream *stream) {
  return cuMemcpy3DBatchAsync_v2(count, copies, flags, mine(stream));
}
Result cuMemcpy3DBatchAsync(size_t count, BatchedCopy *copies, size_t *failed,
                            unsigned long long flags, Stream *stream) {
  return copyBatch3D(RUBIA_CALL(count, copies, failed, flags, stream), count, copies, failed, flags,
                     stream);
}
Result cuMemcpy3DBatchAsync_ptsz(size_t count, BatchedCopy *copies, size_t *failed,
                                 unsigned long long flags, Stream *stream) {
  return cuMemcpy3DBatchAsync(count, copies, failed, flags, mine(stream));
}

} // extern "C"
