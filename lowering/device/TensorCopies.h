// SPDX-License-Identifier: Apache-2.0
// Tensor copies: cp.async.bulk.tensor, cp.reduce.async.bulk.tensor. One thread copies the whole
// box. PTX ISA: tensor-tiled-mode, tensor-im2col-mode, tensor-swizzling-modes.
//
// A box is a number of rows, each a multiple of 16 bytes of the innermost dimension. In shared
// memory the rows follow each other, and swizzling changes the order of the pieces of 16 bytes.
//
// Interleaved tensors are images whose channels lie in slices: a pixel is 16 or 32 bytes, the
// channels of one slice, and a row of its own. Their dimensions are as an H100 has them: columns,
// which follow each other in memory, rows and so on of pixels, slices, images. A box has one slice.
#include "lowering/TensorMap.h"

namespace {

#define SHARED __attribute__((address_space(3)))
#define UNROLL _Pragma("clang loop unroll(full)")
// A device function is lowered alone: it calls no other.
#define INLINE __attribute__((always_inline)) inline
#define INLINE_LAMBDA __attribute__((always_inline))

using Piece = uint32_t __attribute__((ext_vector_type(4)));
constexpr uint32_t kPiece = sizeof(Piece), kSharedAlignment = 128;

INLINE bool isFloat(TensorType type) { return type >= TensorType::F16; }

/// Which reductions an H200 has of a type; the others end the kernel, whatever the box has.
INLINE bool hasReduction(TensorType type, uint32_t reduction) {
  switch (type) {
  case TensorType::U32:
    return true;
  case TensorType::S32:
  case TensorType::U64:
    return reduction != kInc && reduction != kDec;
  case TensorType::S64:
    return reduction == kMin || reduction == kMax;
  case TensorType::F16:
  case TensorType::Bf16:
    return reduction == kAdd || reduction == kMin || reduction == kMax;
  case TensorType::U8:
  case TensorType::U16:
    return false;
  default:
    return reduction == kAdd;
  }
}

/// Where shared memory lies: in LDS, or beyond it, in memory of the device.
struct Lds {
  template <class T> INLINE SHARED T *at(uint32_t address) const {
    return (SHARED T *)(uint64_t)address;
  }
};
struct DeviceMemory {
  uint64_t slot; // where the CTA's shared memory begins
  template <class T> INLINE GLOBAL T *at(uint32_t address) const {
    return (GLOBAL T *)(slot + address);
  }
};

struct TensorCoordinates {
  int32_t at[kMaxTensorRank];
  uint32_t offsets[3]; // im2col
};

/// A row of the box: where its dimension's first element would be, and which part of it there is.
struct TensorRow {
  uint64_t address; // of element 0 of the innermost dimension
  int64_t start;    // bytes from there, also negative
  bool isInside;    // as far as the outer dimensions are concerned
  uint32_t shared;  // offset
};

class Tensor {
public:
  Tensor(const TensorMap *map, const TensorCoordinates &coordinates, TensorForm form)
      : map(map), coordinates(coordinates), form(form),
        elementBytes(tensorElementBytes(map->type)) {}

  /// 0: nothing is wrong with it.
  INLINE uint32_t error(bool writes, bool reduces) const {
    if (uint32_t wrong = mapError(writes))
      return wrong;
    if (reduces && !hasReduction(map->type, form.reduction()))
      return kTensorWrongAccess;
    if (!isInterleaved() && uint32_t(coordinates.at[0]) * elementBytes % kPiece)
      return kTensorCoordinateMisaligned;
    if (form.isIm2col() && isOutsideOfBox())
      return kTensorPixelOutside;
    return writes && isBefore() ? uint32_t(kTensorCoordinateNegative) : 0;
  }

  INLINE uint32_t rowBytes() const {
    if (isInterleaved())
      return pixelBytes();
    return (form.isIm2col() ? map->channels : box(0)) * elementBytes;
  }
  INLINE uint32_t bytes() const {
    uint32_t total = rowBytes();
    if (form.isIm2col())
      return total * map->pixels;
    UNROLL for (unsigned i = 0; i < kMaxTensorRank; ++i) {
      if (i < rank())
        total *= extent(i);
    }
    return total;
  }
  /// The bytes of the innermost dimension; an H100 writes whole pieces.
  INLINE int64_t limit() const {
    return isInterleaved() ? pixelBytes() : int64_t(size(0)) * elementBytes;
  }
  INLINE int64_t writeLimit() const { return (limit() + kPiece - 1) & -int64_t(kPiece); }
  /// From row to row in shared memory: with swizzling its span, whatever the row is.
  INLINE uint32_t pitch() const {
    return map->swizzle == TensorSwizzle::None || isInterleaved()
               ? rowBytes()
               : kPiece << uint32_t(map->swizzle);
  }

  template <class Visit> INLINE void forEachRow(Visit visit) const {
    form.isIm2col() ? forEachPixel(visit) : forEachTiledRow(visit);
  }

  const TensorMap *map;

private:
  INLINE bool isInterleaved() const { return map->interleave != TensorInterleave::None; }
  /// Of an interleaved tensor.
  INLINE uint32_t pixelBytes() const { return kPiece * uint32_t(map->interleave); }

  /// What an H100 refuses, found out on one. tensormap.replace may have written anything.
  INLINE uint32_t mapError(bool writes) const {
    if ((map->magic != kTensorMapMagic && !isFromZero()) || elementBytes == 0 || rank() == 0 ||
        rank() > kMaxTensorRank || map->interleave > TensorInterleave::Bytes32 ||
        (isInterleaved() && rank() < 3))
      return kTensorMapInvalid;
    if (rank() != form.rank() || (map->access == TensorAccess::Im2col) != form.isIm2col())
      return kTensorWrongAccess;
    const uint32_t unit = map->interleave == TensorInterleave::Bytes32 ? 2 * kPiece : kPiece;
    if (map->base % unit)
      return kTensorBaseMisaligned;
    constexpr uint32_t kMaxSize = 1u << 31;
    UNROLL for (unsigned i = 0; i < kMaxTensorRank; ++i) {
      if (i >= rank())
        continue;
      if (!size(i) || size(i) > kMaxSize || (i && map->strides[i - 1] % unit))
        return kTensorMapInvalid;
      if (!form.isIm2col() && (!box(i) || (hasSteps(i) && !elementStride(i))))
        return kTensorMapInvalid;
    }
    if (!isInterleaved() &&
        (rowBytes() % kPiece || (map->swizzle != TensorSwizzle::None && rowBytes() > pitch())))
      return kTensorMapInvalid;
    return !writes && map->fill == TensorFill::NaN && !isFloat(map->type)
               ? uint32_t(kTensorMapInvalid)
               : 0;
  }

  /// Whether what is written would begin before the tensor, or an image's box leaves the image:
  /// an H100 writes neither.
  INLINE bool isBefore() const {
    UNROLL for (unsigned i = 0; i < kMaxTensorRank; ++i) {
      if (i < rank() && coordinates.at[i] < 0)
        return true;
    }
    UNROLL for (unsigned i = 0; i < 3; ++i) {
      if (form.isIm2col() && i + 2 < rank() && (map->lowerCorner[i] < 0 || map->upperCorner[i] > 0))
        return true;
    }
    return false;
  }

  /// Whether the first pixel lies outside of the bounding box of its image, without its offsets.
  INLINE bool isOutsideOfBox() const {
    UNROLL for (unsigned i = 0; i < 3; ++i) {
      if (i + 2 < rank() &&
          (pixelCoordinate(i) < map->lowerCorner[i] || pixelCoordinate(i) >= boxEnd(i)))
        return true;
    }
    return false;
  }

  /// A kernel made the map of zeros by tensormap.replace. On NVIDIA these fields hold one less, so
  /// that those it left out are 1 (Triton's descriptors have no rank where it is 1).
  INLINE bool isFromZero() const { return map->magic == 0; }
  INLINE uint32_t counted(uint32_t field) const { return field || !isFromZero() ? field : 1; }
  INLINE uint32_t rank() const { return counted(map->rank); }
  INLINE uint32_t box(unsigned i) const { return counted(map->box[i]); }
  INLINE uint32_t elementStride(unsigned i) const { return counted(map->elementStrides[i]); }
  INLINE int64_t size(unsigned i) const { return counted(map->sizes[i]); }
  /// From one element of a dimension to the next. Pixels of interleaved tensors follow each other.
  INLINE uint64_t stride(unsigned i) const { return i ? map->strides[i - 1] : pixelBytes(); }
  /// Not the elements of a row, nor the slices of interleaved tensors.
  INLINE bool hasSteps(unsigned i) const { return isInterleaved() ? i + 2 != rank() : i != 0; }
  /// How many elements of a dimension the box has; a row is one.
  INLINE uint32_t extent(unsigned i) const {
    return hasSteps(i) ? (box(i) + elementStride(i) - 1u) / elementStride(i) : 1;
  }
  INLINE int64_t start() const {
    return isInterleaved() ? 0 : int64_t(coordinates.at[0]) * elementBytes;
  }

  template <class Visit> INLINE void forEachTiledRow(Visit visit) const {
    const unsigned dimensions = rank();
    const uint32_t row = pitch();
    uint32_t index[kMaxTensorRank] = {};
    for (uint32_t shared = 0;; shared += row) {
      bool isInside = true;
      uint64_t address = map->base;
      UNROLL for (unsigned i = 0; i < kMaxTensorRank; ++i) {
        if (i >= dimensions || (!i && !isInterleaved()))
          continue;
        int64_t at = coordinates.at[i] + int64_t(index[i]) * elementStride(i);
        isInside &= at >= 0 && at < size(i);
        address += uint64_t(at) * stride(i);
      }
      visit(TensorRow{address, start(), isInside, shared});
      bool carries = true;
      UNROLL for (unsigned i = 0; i < kMaxTensorRank; ++i) {
        if (!carries || i >= dimensions)
          continue;
        carries = ++index[i] == extent(i);
        if (carries)
          index[i] = 0;
      }
      if (carries)
        return;
    }
  }

  /// The dimension of an image that a corner is of, and its coordinate.
  INLINE unsigned pixelDimension(unsigned i) const { return isInterleaved() ? i : i + 1; }
  INLINE int32_t pixelCoordinate(unsigned i) const {
    return isInterleaved() ? coordinates.at[i] : coordinates.at[i + 1];
  }
  INLINE int64_t boxEnd(unsigned i) const { return size(pixelDimension(i)) + map->upperCorner[i]; }

  /// Pixel after pixel within the bounding box of each image, then of the next image that the
  /// element stride leaves.
  template <class Visit> INLINE void forEachPixel(Visit visit) const {
    const unsigned spatial = rank() - 2u; // dimensions
    const uint32_t row = pitch();
    int64_t at[3], lower[3], end[3];
    UNROLL for (unsigned i = 0; i < 3; ++i) {
      at[i] = pixelCoordinate(i);
      lower[i] = map->lowerCorner[i];
      end[i] = i < spatial ? boxEnd(i) : 0;
    }
    const unsigned last = rank() - 1u;
    int64_t image = coordinates.at[1], slice = 0;
    UNROLL for (unsigned i = 1; i < kMaxTensorRank; ++i) {
      if (i == last)
        image = coordinates.at[i];
      if (i + 1 == last && isInterleaved())
        slice = coordinates.at[i];
    }
    const bool isSlice = slice >= 0 && slice < size(last - 1);
    const uint64_t base = map->base + (isInterleaved() ? uint64_t(slice) * stride(last - 1) : 0);
    for (uint32_t pixel = 0, shared = 0; pixel < map->pixels; ++pixel, shared += row) {
      bool isInside = isSlice && image >= 0 && image < size(last);
      uint64_t address = base + uint64_t(image) * stride(last);
      UNROLL for (unsigned i = 0; i < 3; ++i) {
        if (i >= spatial)
          continue;
        int64_t place = at[i] + int64_t(coordinates.offsets[i]);
        isInside &= place >= 0 && place < size(pixelDimension(i));
        address += uint64_t(place) * stride(pixelDimension(i));
      }
      visit(TensorRow{address, start(), isInside, shared});
      bool carries = true;
      UNROLL for (unsigned i = 0; i < 3; ++i) {
        if (!carries || i >= spatial)
          continue;
        at[i] += elementStride(pixelDimension(i));
        carries = at[i] >= end[i];
        if (carries)
          at[i] = lower[i];
      }
      if (carries)
        image += elementStride(last);
    }
  }

  TensorCoordinates coordinates;
  TensorForm form;
  unsigned elementBytes;
};

/// The piece at an address, of the swizzled order.
INLINE uint32_t swizzled(TensorSwizzle swizzle, uint32_t address) {
  uint32_t mask = (1u << uint32_t(swizzle)) - 1; // 0, 1, 3, 7 pieces change places
  return address ^ ((address >> 7 & mask) << 4);
}

/// What a load makes of a word: tf32 is rounded to nearest even, and all NaNs are one. Measured on
/// an H200, where .ftz changes nothing.
INLINE uint32_t asType(TensorType type, uint32_t word) {
  constexpr uint32_t kInfinity = 0x7f800000, kNaN = 0x7fffe000;
  if (type != TensorType::Tf32 && type != TensorType::Tf32Ftz)
    return word;
  if ((word & 0x7fffffff) > kInfinity)
    return kNaN;
  return (word + 0xfff + (word >> 13 & 1)) & ~0x1fffu; // infinity stays
}
INLINE Piece asType(TensorType type, Piece piece) {
  return {asType(type, piece.x), asType(type, piece.y), asType(type, piece.z),
          asType(type, piece.w)};
}

/// How much of a piece is there.
INLINE uint32_t presentBytes(const TensorRow &row, int64_t at, int64_t limit) {
  if (!row.isInside || at < 0 || at >= limit)
    return 0;
  return limit - at < kPiece ? uint32_t(limit - at) : kPiece;
}

/// A piece of which nothing but the first bytes is there: the rest is the filler, as it is.
INLINE Piece partialPiece(TensorType type, GLOBAL const uint8_t *from, uint32_t present,
                          uint32_t filler) {
  uint32_t words[4];
  UNROLL for (uint32_t w = 0; w < 4; ++w) {
    words[w] = filler;
    if (present >= 4 * w + 4)
      words[w] = asType(type, ((GLOBAL const uint32_t *)from)[w]);
    else
      UNROLL for (uint32_t i = 0; i < 4; ++i) {
        if (4 * w + i < present)
          words[w] = (words[w] & ~(0xffu << 8 * i)) | uint32_t(from[4 * w + i]) << 8 * i;
      }
  }
  return {words[0], words[1], words[2], words[3]};
}

template <class Memory>
INLINE void loadRow(const Tensor &tensor, const TensorRow &row, uint32_t shared, Memory memory) {
  const TensorMap *map = tensor.map;
  const int64_t limit = tensor.limit();
  const uint32_t filler = map->fill == TensorFill::NaN ? 0x7ff77ff7 : 0;
  uint32_t x = 0;
  // Where the whole row is there, some pieces at once, so that the reads overlap.
  constexpr uint32_t kAtOnce = 4;
  if (row.isInside && row.start >= 0 && row.start + tensor.rowBytes() <= limit)
    for (; x + kAtOnce * kPiece <= tensor.rowBytes(); x += kAtOnce * kPiece) {
      Piece pieces[kAtOnce];
      auto *from = (GLOBAL Piece *)(row.address + uint64_t(row.start) + x);
      UNROLL for (uint32_t i = 0; i < kAtOnce; ++i) pieces[i] = from[i];
      UNROLL for (uint32_t i = 0; i < kAtOnce; ++i) {
        const uint32_t to = shared + row.shared + x + i * kPiece;
        *memory.template at<Piece>(swizzled(map->swizzle, to)) = asType(map->type, pieces[i]);
      }
    }
  for (; x < tensor.rowBytes(); x += kPiece) {
    const int64_t at = row.start + x;
    const uint32_t present = presentBytes(row, at, limit);
    auto *to = memory.template at<Piece>(swizzled(map->swizzle, shared + row.shared + x));
    auto *from = (GLOBAL uint8_t *)(row.address + uint64_t(at));
    if (present == kPiece) {
      *to = asType(map->type, *(GLOBAL Piece *)from);
      continue;
    }
    *to = partialPiece(map->type, from, present, filler);
  }
}

template <class Memory>
INLINE void storeRow(const Tensor &tensor, const TensorRow &row, uint32_t shared, Memory memory) {
  const int64_t limit = tensor.writeLimit();
  for (uint32_t x = 0; x < tensor.rowBytes(); x += kPiece) {
    const int64_t at = row.start + x;
    const uint32_t present = presentBytes(row, at, limit);
    const uint32_t from = swizzled(tensor.map->swizzle, shared + row.shared + x);
    auto *to = (GLOBAL uint8_t *)(row.address + uint64_t(at));
    if (present == kPiece)
      *(GLOBAL Piece *)to = *memory.template at<Piece>(from);
    else
      for (uint32_t i = 0; i < present; ++i)
        to[i] = *memory.template at<uint8_t>(from + i);
  }
}

// ---------- Reductions

#define REDUCE(OPERATION, CONSTRAINT, VALUE)                                                       \
  asm volatile("red.relaxed.gpu.global." OPERATION " [%0], %1;"                                    \
               :                                                                                   \
               : "l"(to), CONSTRAINT(VALUE)                                                        \
               : "memory")

/// Changes a word of memory by compare and swap.
template <class Change> INLINE void exchangeWord(GLOBAL uint32_t *to, Change change) {
  uint32_t old = *(volatile GLOBAL uint32_t *)to, seen;
  for (;; old = seen) {
    asm volatile("atom.relaxed.gpu.global.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(seen)
                 : "l"(to), "r"(old), "r"(change(old))
                 : "memory");
    if (seen == old)
      return;
  }
}

template <class Change> INLINE void exchangeHalf(GLOBAL uint8_t *to, Change change) {
  const uint32_t shift = ((uint64_t)to & 2) * 8;
  exchangeWord((GLOBAL uint32_t *)((uint64_t)to & ~uint64_t(3)), [&](uint32_t word) {
    return (word & ~(0xffffu << shift)) | uint32_t(change(uint16_t(word >> shift))) << shift;
  });
}

#define HALF_OPERATION(NAME)                                                                       \
  exchangeHalf(to, [&](uint16_t old) {                                                             \
    uint16_t made;                                                                                 \
    asm(NAME " %0, %1, %2;" : "=h"(made) : "h"(old), "h"(value));                                  \
    return made;                                                                                   \
  })

/// One of which hasReduction() says that there is.
template <class Memory>
INLINE void reduceElement(TensorType type, uint32_t reduction, GLOBAL uint8_t *to, uint32_t from,
                          Memory memory) {
  const unsigned bytes = tensorElementBytes(type);
  if (bytes == 4) {
    uint32_t value = *memory.template at<uint32_t>(from);
    const bool isSigned = type == TensorType::S32;
    const bool isFloat = type != TensorType::S32 && type != TensorType::U32;
    if (isFloat) {
      const bool flushes = type == TensorType::F32Ftz;
      auto flushed = [&](uint32_t word) {
        return flushes && !(word & 0x7f800000) ? word & 0x80000000 : word;
      };
      exchangeWord((GLOBAL uint32_t *)to, [&](uint32_t old) {
        const float sum =
            __builtin_bit_cast(float, flushed(old)) + __builtin_bit_cast(float, flushed(value));
        return flushed(__builtin_bit_cast(uint32_t, sum));
      });
      return;
    }
    switch (reduction) {
    case kAdd:
      REDUCE("add.u32", "r", value);
      return;
    case kMin:
      if (isSigned)
        REDUCE("min.s32", "r", value);
      else
        REDUCE("min.u32", "r", value);
      return;
    case kMax:
      if (isSigned)
        REDUCE("max.s32", "r", value);
      else
        REDUCE("max.u32", "r", value);
      return;
    case kInc:
      REDUCE("inc.u32", "r", value);
      return;
    case kDec:
      REDUCE("dec.u32", "r", value);
      return;
    case kAnd:
      REDUCE("and.b32", "r", value);
      return;
    case kOr:
      REDUCE("or.b32", "r", value);
      return;
    default:
      REDUCE("xor.b32", "r", value);
      return;
    }
  }
  if (bytes == 8) {
    uint64_t value = *memory.template at<uint64_t>(from);
    const bool isSigned = type == TensorType::S64;
    switch (reduction) {
    case kAdd:
      if (type == TensorType::F64)
        REDUCE("add.f64", "d", __builtin_bit_cast(double, value));
      else
        REDUCE("add.u64", "l", value);
      return;
    case kMin:
      if (isSigned)
        REDUCE("min.s64", "l", value);
      else
        REDUCE("min.u64", "l", value);
      return;
    case kMax:
      if (isSigned)
        REDUCE("max.s64", "l", value);
      else
        REDUCE("max.u64", "l", value);
      return;
    case kAnd:
      REDUCE("and.b64", "l", value);
      return;
    case kOr:
      REDUCE("or.b64", "l", value);
      return;
    default:
      REDUCE("xor.b64", "l", value);
      return;
    }
  }
  uint16_t value = *memory.template at<uint16_t>(from);
  const bool isHalf = type == TensorType::F16;
  switch (reduction) {
  case kAdd:
    if (isHalf)
      HALF_OPERATION("add.rn.f16");
    else
      HALF_OPERATION("add.rn.bf16");
    return;
  case kMin:
    if (isHalf)
      HALF_OPERATION("min.f16");
    else
      HALF_OPERATION("min.bf16");
    return;
  default:
    if (isHalf)
      HALF_OPERATION("max.f16");
    else
      HALF_OPERATION("max.bf16");
    return;
  }
}

template <class Memory>
INLINE void reduceRow(const Tensor &tensor, const TensorRow &row, uint32_t shared,
                      uint32_t reduction, Memory memory) {
  const int64_t limit = tensor.writeLimit();
  const unsigned elementBytes = tensorElementBytes(tensor.map->type);
  for (uint32_t x = 0; x < tensor.rowBytes(); x += kPiece) {
    const int64_t at = row.start + x;
    const uint32_t present = presentBytes(row, at, limit);
    const uint32_t from = swizzled(tensor.map->swizzle, shared + row.shared + x);
    auto *to = (GLOBAL uint8_t *)(row.address + uint64_t(at));
    for (uint32_t i = 0; i < present; i += elementBytes)
      reduceElement(tensor.map->type, reduction, to + i, from + i, memory);
  }
}

template <class Memory>
INLINE uint32_t copyTensor(const TensorMap *map, uint32_t shared, Memory memory,
                           const TensorCoordinates &coordinates, TensorForm form, bool writes,
                           bool reduces) {
  Tensor tensor(map, coordinates, form);
  if (uint32_t error = tensor.error(writes, reduces))
    return error;
  if (shared % kSharedAlignment)
    return kTensorSharedMisaligned;
  tensor.forEachRow([&](const TensorRow &row) INLINE_LAMBDA {
    if (!writes)
      loadRow(tensor, row, shared, memory);
    else if (!reduces)
      storeRow(tensor, row, shared, memory);
    else
      reduceRow(tensor, row, shared, form.reduction(), memory);
  });
  return tensor.bytes();
}

} // namespace

#define COORDINATES int32_t c0, int32_t c1, int32_t c2, int32_t c3, int32_t c4

/// The bytes of the box, also of what lies outside of the tensor, or a TensorError.
DEVICE_FUNCTION uint32_t tensor_load(const TensorMap *map, uint32_t shared, COORDINATES,
                                     uint32_t offset0, uint32_t offset1, uint32_t offset2,
                                     uint32_t form) {
  return copyTensor(map, shared, Lds(), {{c0, c1, c2, c3, c4}, {offset0, offset1, offset2}},
                    TensorForm{form}, false, false);
}
DEVICE_FUNCTION uint32_t tensor_store(const TensorMap *map, uint32_t shared, COORDINATES,
                                      uint32_t form) {
  return copyTensor(map, shared, Lds(), {{c0, c1, c2, c3, c4}, {}}, TensorForm{form}, true, false);
}
DEVICE_FUNCTION uint32_t tensor_reduce(const TensorMap *map, uint32_t shared, COORDINATES,
                                       uint32_t form) {
  return copyTensor(map, shared, Lds(), {{c0, c1, c2, c3, c4}, {}}, TensorForm{form}, true, true);
}

/// The same where shared memory lies in memory of the device.
DEVICE_FUNCTION uint32_t tensor_load_beyond(const TensorMap *map, uint32_t shared, COORDINATES,
                                            uint32_t offset0, uint32_t offset1, uint32_t offset2,
                                            uint32_t form, uint64_t slot) {
  return copyTensor(map, shared, DeviceMemory{slot},
                    {{c0, c1, c2, c3, c4}, {offset0, offset1, offset2}}, TensorForm{form}, false,
                    false);
}
DEVICE_FUNCTION uint32_t tensor_store_beyond(const TensorMap *map, uint32_t shared, COORDINATES,
                                             uint32_t form, uint64_t slot) {
  return copyTensor(map, shared, DeviceMemory{slot}, {{c0, c1, c2, c3, c4}, {}}, TensorForm{form},
                    true, false);
}
DEVICE_FUNCTION uint32_t tensor_reduce_beyond(const TensorMap *map, uint32_t shared, COORDINATES,
                                              uint32_t form, uint64_t slot) {
  return copyTensor(map, shared, DeviceMemory{slot}, {{c0, c1, c2, c3, c4}, {}}, TensorForm{form},
                    true, true);
}
