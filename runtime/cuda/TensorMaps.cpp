// SPDX-License-Identifier: Apache-2.0
// cuTensorMapEncode*: what a tensor copy copies, as 128 bytes that are ours (lowering/TensorMap.h).
// The bounds are those that the driver's documentation gives for each argument.
#include "lowering/Abi.h"
#include "runtime/cuda/Api.h"
#include "runtime/cuda/Driver.h"
#include "llvm/ADT/ArrayRef.h"
#include <cstring>
#include <iterator>

using namespace rubia;
using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

namespace {

// CUtensorMapDataType, which PTX numbers in another way.
constexpr abi::TensorType kTypes[] = {
    abi::TensorType::U8,     abi::TensorType::U16,  abi::TensorType::U32,    abi::TensorType::S32,
    abi::TensorType::U64,    abi::TensorType::S64,  abi::TensorType::F16,    abi::TensorType::F32,
    abi::TensorType::F64,    abi::TensorType::Bf16, abi::TensorType::F32Ftz, abi::TensorType::Tf32,
    abi::TensorType::Tf32Ftz};
constexpr int kFirstFloat = 6;
constexpr uint64_t kSharedBytes = 227 << 10; // of a CTA of compute capability 9.0

// What all ways to encode have in common.
struct Request {
  int type;
  uint32_t rank;
  void *address;
  const uint64_t *dims, *strides;
  const uint32_t *elementStrides;
  int interleave, swizzle, promotion, fill;
};

Result wrong(const llvm::Twine &what) { return fail(kInvalidValue, "tensor map: " + what); }

Result encodeCommon(void *to, const Request &request, abi::TensorMap &map) {
  if (!to || reinterpret_cast<uintptr_t>(to) % 64)
    return wrong("its address is no multiple of 64");
  // Packed types of 4 and 6 bits, and swizzling of more than 16 bytes at once, are for compute
  // capability 10.0; an H100 refuses them so.
  if (request.type < 0 || size_t(request.type) >= std::size(kTypes))
    return wrong("unknown type");
  if (request.rank == 0 || request.rank > abi::kMaxTensorRank)
    return wrong("between 1 and 5 dimensions");
  if (request.interleave < 0 || request.interleave > 2 || request.swizzle < 0 ||
      request.swizzle > 3 || request.promotion < 0 || request.promotion > 3 || request.fill < 0 ||
      request.fill > 1)
    return wrong("unknown interleaving, swizzling, promotion or filling");
  if (request.fill && (request.type < kFirstFloat))
    return wrong("NaN for what is no floating-point type");
  if (request.interleave && request.rank < 3)
    return wrong("interleaving needs three dimensions");
  const uint64_t unit = request.interleave == 2 ? 32 : 16; // of addresses and strides
  const auto address = reinterpret_cast<uint64_t>(request.address);
  if (!address || address % unit)
    return wrong("the tensor's address is no multiple of " + llvm::Twine(unit));
  if (!request.dims || !request.strides || !request.elementStrides)
    return wrong("an array is missing");
  map.base = address;
  for (uint32_t i = 0; i < request.rank; ++i) {
    if (request.dims[i] == 0 || request.dims[i] > uint64_t(1) << 32)
      return wrong("a dimension is 0 or above 2^32");
    map.sizes[i] = uint32_t(request.dims[i]);
    if (request.elementStrides[i] == 0 || request.elementStrides[i] > 8)
      return wrong("an element stride is not between 1 and 8");
    map.elementStrides[i] = uint8_t(request.elementStrides[i]);
  }
  for (uint32_t i = 0; i + 1 < request.rank; ++i) {
    if (request.strides[i] % unit || request.strides[i] >= uint64_t(1) << 40)
      return wrong("a stride is no multiple of " + llvm::Twine(unit) + " or not below 2^40");
    map.strides[i] = request.strides[i];
  }
  map.magic = abi::kTensorMapMagic;
  map.rank = uint8_t(request.rank);
  map.type = kTypes[request.type];
  map.interleave = abi::TensorInterleave(request.interleave);
  map.swizzle = abi::TensorSwizzle(request.swizzle);
  map.fill = abi::TensorFill(request.fill);
  for (uint32_t i = request.rank; i < abi::kMaxTensorRank; ++i) {
    map.sizes[i] = map.elementStrides[i] = 1;
    map.box[i] = 1;
  }
  return kSuccess;
}

// The bytes of the box's innermost dimension, and of all of it.
Result checkBox(const Request &request, uint64_t bytes, uint64_t all) {
  if (all > kSharedBytes)
    return wrong("the box is larger than shared memory");
  if (bytes % 16)
    return wrong("the box's innermost dimension is no multiple of 16 bytes");
  if (request.swizzle && !request.interleave && bytes > uint64_t(16) << request.swizzle)
    return wrong("the box's innermost dimension is larger than what is swizzled");
  return kSuccess;
}

} // namespace

extern "C" {

Result cuTensorMapEncodeTiled(void *to, int type, uint32_t rank, void *address,
                              const uint64_t *dims, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides, int interleave, int swizzle,
                              int promotion, int fill) {
  const Request request = {type,           rank,       address, dims,      strides,
                           elementStrides, interleave, swizzle, promotion, fill};
  abi::TensorMap map = {};
  if (Result result = encodeCommon(to, request, map))
    return result;
  if (!box)
    return wrong("the box is missing");
  for (uint32_t i = 0; i < rank; ++i) {
    if (box[i] == 0 || box[i] > 256)
      return wrong("a dimension of the box is not between 1 and 256");
    map.box[i] = uint16_t(box[i]);
  }
  map.access = abi::TensorAccess::Tiled;
  const uint64_t inner = uint64_t(box[0]) * abi::tensorElementBytes(map.type);
  uint64_t all = inner;
  for (uint32_t i = 1; i < rank; ++i)
    all *= (box[i] + elementStrides[i] - 1) / elementStrides[i];
  if (Result result = checkBox(request, inner, all))
    return result;
  memcpy(to, &map, sizeof(map));
  return kSuccess;
}

Result cuTensorMapEncodeIm2col(void *to, int type, uint32_t rank, void *address,
                               const uint64_t *dims, const uint64_t *strides, const int *lower,
                               const int *upper, uint32_t channels, uint32_t pixels,
                               const uint32_t *elementStrides, int interleave, int swizzle,
                               int promotion, int fill) {
  const Request request = {type,           rank,       address, dims,      strides,
                           elementStrides, interleave, swizzle, promotion, fill};
  abi::TensorMap map = {};
  if (Result result = encodeCommon(to, request, map))
    return result;
  if (rank < 3)
    return wrong("im2col needs three dimensions");
  if (!lower || !upper)
    return wrong("a corner is missing");
  constexpr int kCorner[] = {32768, 128, 16}; // by rank
  const int bound = kCorner[rank - 3];
  for (uint32_t i = 0; i + 2 < rank; ++i) {
    if (lower[i] < -bound || lower[i] >= bound || upper[i] < -bound || upper[i] >= bound)
      return wrong("a corner is out of range");
    const uint64_t size = dims[interleave ? i : i + 1]; // columns come first where pixels are rows
    if (int64_t(size) + upper[i] <= lower[i])
      return wrong("the bounding box is empty");
    map.lowerCorner[i] = int16_t(lower[i]);
    map.upperCorner[i] = int16_t(upper[i]);
  }
  if (channels == 0 || channels > 256 || pixels == 0 || pixels > 1024)
    return wrong("more than 256 channels or 1024 pixels, or none");
  map.channels = uint16_t(channels);
  map.pixels = uint16_t(pixels);
  map.access = abi::TensorAccess::Im2col;
  const uint64_t inner = uint64_t(channels) * abi::tensorElementBytes(map.type);
  if (Result result = checkBox(request, inner, inner * pixels))
    return result;
  memcpy(to, &map, sizeof(map));
  return kSuccess;
}

// Devices of compute capability 10.0 have it.
Result cuTensorMapEncodeIm2colWide(void *, int, uint32_t, void *, const uint64_t *,
                                   const uint64_t *, int, int, uint32_t, uint32_t, const uint32_t *,
                                   int, int, int, int, int) {
  return fail(kNotSupported, "tensor map: im2col along one dimension");
}

Result cuTensorMapReplaceAddress(void *to, void *address) {
  abi::TensorMap map;
  if (!to || reinterpret_cast<uintptr_t>(to) % 64)
    return wrong("its address is no multiple of 64");
  memcpy(&map, to, sizeof(map));
  const uint64_t unit = map.interleave == abi::TensorInterleave::Bytes32 ? 32 : 16;
  if (map.magic != abi::kTensorMapMagic)
    return wrong("it was not encoded");
  if (!address || reinterpret_cast<uint64_t>(address) % unit)
    return wrong("the tensor's address is no multiple of " + llvm::Twine(unit));
  map.base = reinterpret_cast<uint64_t>(address);
  memcpy(to, &map, sizeof(map));
  return kSuccess;
}

} // extern "C"
