// SPDX-License-Identifier: Apache-2.0
// What a CUtensorMap's 128 bytes are. Programs take them for opaque: cuTensorMapEncode* writes
// them, tensormap.replace changes fields, and tensor copies read them. Host and device share this.
#pragma once

#include <stdint.h>

namespace rubia::abi {

inline constexpr unsigned kMaxTensorRank = 5;
inline constexpr uint32_t kTensorMapMagic = 0x52544d31;

enum class TensorAccess : uint8_t { Tiled, Im2col };
enum class TensorInterleave : uint8_t { None, Bytes16, Bytes32 };
enum class TensorSwizzle : uint8_t { None, Bytes32, Bytes64, Bytes128 };
enum class TensorFill : uint8_t { Zero, NaN };

/// As PTX numbers them in tensormap.replace.
enum class TensorType : uint8_t {
  U8,
  U16,
  U32,
  S32,
  U64,
  S64,
  F16,
  F32,
  F32Ftz,
  F64,
  Bf16,
  Tf32,
  Tf32Ftz,
};

struct TensorMap {
  uint64_t base;
  uint64_t strides[kMaxTensorRank - 1]; // bytes, of dimensions 1 to 4: multiples of 16 below 2^40
  uint32_t sizes[kMaxTensorRank];       // 0: 2^32
  uint32_t magic;
  uint16_t box[kMaxTensorRank];           // tiled: what is traversed, 1 to 256
  uint8_t elementStrides[kMaxTensorRank]; // 1 to 8
  uint8_t rank;
  TensorType type;
  TensorInterleave interleave;
  TensorSwizzle swizzle;
  TensorFill fill;
  TensorAccess access;
  uint8_t reserved0[3];
  int16_t lowerCorner[3], upperCorner[3]; // im2col: of the dimensions in the middle
  uint16_t channels, pixels;              // im2col
  uint8_t reserved1[24];
};
static_assert(sizeof(TensorMap) == 128);

constexpr unsigned tensorElementBytes(TensorType type) {
  switch (type) {
  case TensorType::U8:
    return 1;
  case TensorType::U16:
  case TensorType::F16:
  case TensorType::Bf16:
    return 2;
  case TensorType::U64:
  case TensorType::S64:
  case TensorType::F64:
    return 8;
  case TensorType::U32:
  case TensorType::S32:
  case TensorType::F32:
  case TensorType::F32Ftz:
  case TensorType::Tf32:
  case TensorType::Tf32Ftz:
    return 4;
  }
  return 0;
}

/// tensormap.replace: how much of a value a field keeps on an H100. Its box has eight bits, of one
/// less, its element strides three bits of one less, its strides 36 bits of pieces of 16 bytes.
inline constexpr uint32_t kTensorMaxBox = 256, kTensorMaxElementStride = 8;
inline constexpr uint64_t kTensorStrideMask = 0xfffffffff0;

/// What the device functions of tensor copies give instead of a number of bytes.
enum TensorError : uint32_t {
  kTensorMapInvalid = 0xfffffff0,
  kTensorCoordinateMisaligned = 0xfffffff1,
  kTensorCoordinateNegative = 0xfffffff2,
  kTensorWrongAccess = 0xfffffff3, // tiled by im2col or the reverse, or of another rank
  kTensorSharedMisaligned = 0xfffffff4,
  kTensorBaseMisaligned = 0xfffffff5,
  kTensorPixelOutside = 0xfffffff6, // im2col: of the bounding box
  kTensorLastError = 0xfffffff0,    // the least of them
};

/// How an instruction accesses a tensor: the last argument of the device functions.
struct TensorForm {
  uint32_t bits; // rank, 8: im2col, 16 and up: the reduction
  constexpr unsigned rank() const { return bits & 7; }
  constexpr bool isIm2col() const { return bits & 8; }
  constexpr unsigned reduction() const { return bits >> 4; }
};
enum TensorReduction : uint32_t { kAdd, kMin, kMax, kInc, kDec, kAnd, kOr, kXor };

} // namespace rubia::abi
