// SPDX-License-Identifier: Apache-2.0
// Texels and coordinates: what the sampler (Textures.cpp) computes with. Formats become words,
// coordinates indexes of texels and weights.
#pragma once

#include "lowering/Texture.h"

using namespace rubia::abi;

#define DEVICE_FUNCTION extern "C" __attribute__((used))
#define INLINE __attribute__((always_inline)) inline
#define INLINE_LAMBDA __attribute__((always_inline))
#define UNROLL _Pragma("clang loop unroll(full)")
#define NO_UNROLL _Pragma("clang loop unroll(disable)")
#define GLOBAL __attribute__((address_space(1)))
#define CONSTANT __attribute__((address_space(4)))

namespace {

using Record = const CONSTANT Texture;
using Two = uint32_t __attribute__((ext_vector_type(2)));
/// A texel as an instruction gives it: numbers or bits, by the record's format.
using Texel = uint32_t __attribute__((ext_vector_type(4)));
using Integers = int32_t __attribute__((ext_vector_type(4)));
using Numbers = float __attribute__((ext_vector_type(4)));
/// The same as a result of a function.
struct Result {
  uint32_t w[4];
};

INLINE float asFloat(uint32_t bits) { return __builtin_bit_cast(float, bits); }
INLINE uint32_t asBits(float value) { return __builtin_bit_cast(uint32_t, value); }
INLINE float halfToFloat(uint32_t bits) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(uint16_t(bits)));
  return value;
}
/// To the nearest half, ties away from zero.
INLINE float roundedToHalf(float value) {
  if (__builtin_fabsf(value) >= 0x1p-14f)
    return asFloat((asBits(value) + 0x1000) & ~0x1fffu);
  const float nearest = __builtin_floorf(__builtin_fmaf(__builtin_fabsf(value), 0x1p24f, 0.5f));
  return __builtin_copysignf(nearest * 0x1p-24f, value);
}
/// The integer below. NaN is 0, what is too large the largest.
INLINE int32_t floorOf(float value) {
  int32_t result;
  asm("cvt.rmi.s32.f32 %0, %1;" : "=r"(result) : "f"(value));
  return result;
}
/// A number as filters and coordinates take it: a denormal is 0.
INLINE float flushed(float value) {
  return __builtin_fabsf(value) < 0x1p-126f ? __builtin_copysignf(0.0f, value) : value;
}
INLINE int32_t clampTo(int32_t value, int32_t most) {
  const int32_t below = value < most ? value : most;
  return below < 0 ? 0 : below;
}

// ---------- Formats

/// The bits of a texel. What it has not is 0.
INLINE Texel readTexel(uint64_t address, unsigned shift) {
  if (shift == 2)
    return {*(GLOBAL const uint32_t *)address, 0, 0, 0};
  if (shift == 4)
    return *(GLOBAL const Texel *)address;
  if (shift == 3) {
    const Two two = *(GLOBAL const Two *)address;
    return {two.x, two.y, 0, 0};
  }
  if (shift == 1)
    return {*(GLOBAL const uint16_t *)address, 0, 0, 0};
  return {*(GLOBAL const uint8_t *)address, 0, 0, 0};
}

/// A channel of 8 or 16 bits in each word.
INLINE Texel takeApart(Texel texel, TexelFormat format) {
  if (format.channelShift() == 1)
    texel = {texel.x & 0xffff, texel.x >> 16, texel.y & 0xffff, texel.y >> 16};
  else
    texel = {texel.x & 0xff, texel.x >> 8 & 0xff, texel.x >> 16 & 0xff, texel.x >> 24};
  if (format.isSigned()) {
    const unsigned shift = format.channelShift() == 1 ? 16 : 24;
    return __builtin_bit_cast(Texel, __builtin_bit_cast(Integers, texel << shift) >> shift);
  }
  return texel;
}

template <class Function> INLINE Texel forEach(Texel texel, Function function) {
  return {function(texel.x), function(texel.y), function(texel.z), function(texel.w)};
}

/// n / most, rounded to nearest: exact for all that are used here.
INLINE float ratio(int32_t n, float most) {
  const float value = float(n), reciprocal = 1.0f / most;
  const float quotient = value * reciprocal;
  return __builtin_fmaf(__builtin_fmaf(-quotient, most, value), reciprocal, quotient);
}
INLINE float ratioOf(int32_t n, TexelFormat format) {
  if (format.channelShift() == 1) {
    if (!format.isSigned())
      return ratio(n, 65535.0f);
    return ratio(n < -32767 ? -32767 : n, 32767.0f);
  }
  if (!format.isSigned())
    return ratio(n, 255.0f);
  return ratio(n < -127 ? -127 : n, 127.0f);
}

INLINE GLOBAL const TextureTables *tablesOf(Record *record) {
  return (GLOBAL const TextureTables *)record->tables;
}

/// An sRGB channel: a number of 8 bits, and the exponent of the first of them.
struct StandardRgb {
  uint32_t number, exponent;
  INLINE float value() const { return float(number) * asFloat((exponent - 7) << 23); }
};
INLINE StandardRgb linearFromStandard(Record *record, uint32_t n) {
  const uint32_t entry = tablesOf(record)->linearOfStandardRgb[n];
  return {entry >> 8, entry & 0xff};
}

/// The second of two channels has no curve, as alpha has none.
INLINE bool hasCurveOfY(TexelFormat format) { return format.channelsShift() != 1; }

/// What a texel's bits are as a result.
INLINE Texel decode(Record *record, Texel texel, TexelFormat format, uint32_t mode) {
  const TexelKind kind = format.kind();
  if (kind == TexelKind::Bits)
    return texel;
  texel = takeApart(texel, format);
  if (kind == TexelKind::Integer)
    return texel;
  if (kind == TexelKind::Half)
    return forEach(texel, [](uint32_t bits) INLINE_LAMBDA {
      const bool isNan = (bits & 0x7fff) > 0x7c00; // a signalling one stays as it is
      const uint32_t nan = (bits & 0x8000) << 16 | 0x7f800000 | (bits & 0x3ff) << 13;
      return isNan ? nan : asBits(halfToFloat(bits));
    });
  if (mode & kStandardRgb)
    return {asBits(linearFromStandard(record, texel.x).value()),
            asBits(hasCurveOfY(format) ? linearFromStandard(record, texel.y).value()
                                       : ratio(int32_t(texel.y), 255.0f)),
            asBits(linearFromStandard(record, texel.z).value()),
            asBits(ratio(int32_t(texel.w), 255.0f))};
  return forEach(texel, [&](uint32_t bits)
                            INLINE_LAMBDA { return asBits(ratioOf(int32_t(bits), format)); });
}

// ---------- Coordinates

/// The grid of a level, in registers.
struct Grid {
  uint64_t base, slicePitch;
  uint32_t columnPitch, rowPitch;
  Integers last; // of each dimension, the last texel
  Numbers scale; // from coordinates to texels
  uint32_t slices;
};
template <class From> INLINE Grid gridOf(const From *from, Numbers scale) {
  return {from->base,
          from->slicePitch,
          from->columnPitch,
          from->rowPitch,
          {int32_t(from->width) - 1, int32_t(from->height) - 1, int32_t(from->depth) - 1, 0},
          scale,
          from->slices};
}
INLINE Grid gridOf(Record *record) {
  return gridOf(&record->grid, Numbers{record->scale[0], record->scale[1], record->scale[2], 1});
}

INLINE AddressMode modeOf(uint32_t mode, unsigned dimension) {
  return AddressMode(mode >> 2 * dimension & 3);
}

/// Which texels of one dimension are read: one, or two with the weight of the second in 256ths.
struct Taps {
  int32_t at[2];
  uint32_t weight;
  bool isOutside[2]; // of a texture with a border
};

constexpr unsigned kFraction = 21; // bits of a normalised coordinate

/// A normalised coordinate in fixed point, cut. One that repeats is of [0, 1), or [0, 2) of pairs.
INLINE int32_t fixedOf(float x, AddressMode address) {
  constexpr int32_t kOne = 1 << kFraction;
  x = flushed(x);
  if (address == AddressMode::Wrap || address == AddressMode::Mirror) {
    const bool isPair = address == AddressMode::Mirror;
    if (__builtin_fabsf(x) >= 512.0f) // below, the difference is not always a float
      x = isPair ? x - 2 * __builtin_floorf(x * 0.5f) : x - __builtin_floorf(x);
    return floorOf(x * float(kOne)) & (isPair ? 2 * kOne - 1 : kOne - 1);
  }
  const int32_t fixed = floorOf(x * float(kOne));
  constexpr int32_t kFar = 32 * kOne; // offsets do not lead back
  return fixed < -kFar ? -kFar : fixed > kFar ? kFar : fixed;
}
INLINE int32_t moved(int32_t at, int32_t offset) {
  return __builtin_elementwise_add_sat(at, offset);
}

/// The texel, and the coordinate less a half in 256ths of texels, rounded half up. `step`: by how
/// many 256ths of a texel that is moved. No sum with the coordinate is rounded.
INLINE int32_t pointOf(const Grid &grid, uint32_t mode, float x, AddressMode address, unsigned i,
                       int32_t step) {
  if (mode & kNormalizedCoordinates)
    return int32_t(
        (int64_t(fixedOf(x, address)) * (grid.last[i] + 1) + (int64_t(step) << (kFraction - 8))) >>
        kFraction);
  if (step) // NaN is 0
    return moved(floorOf(flushed(x) * 256.0f), step) >> 8;
  return floorOf(flushed(x));
}
INLINE int32_t pairOf(const Grid &grid, uint32_t mode, float x, AddressMode address, unsigned i,
                      int32_t step) {
  if (mode & kNormalizedCoordinates)
    return step +
           int32_t((int64_t(fixedOf(x, address)) * (grid.last[i] + 1) - (255 << (kFraction - 9))) >>
                   (kFraction - 8));
  return (moved(floorOf(x * 512.0f), -255) >> 1) + step; // half a step up, from steps of a half
}

/// An index of a texel that may be outside by offsets and by one: of a texture that mirrors, in
/// pairs of the texture and its image.
INLINE int32_t resolve(int32_t at, int32_t last, AddressMode address, bool &isOutside) {
  isOutside = address == AddressMode::Border && uint32_t(at) >= uint32_t(last) + 1;
  const bool isMirror = address == AddressMode::Mirror;
  if (isMirror || address == AddressMode::Wrap) {
    const uint32_t period = uint32_t(last + 1) << isMirror;
    if (uint32_t(at) >= period)
      at = int32_t((uint32_t(at) + 32 * period) % period);
    if (at > last)
      at = 2 * last + 1 - at;
  }
  return clampTo(at, last);
}

/// The texels that D coordinates name. `steps`: by how many 256ths of texels those are moved.
template <unsigned D>
INLINE void locatePoint(const Grid &grid, uint32_t mode, Numbers at, Integers offsets,
                        Taps (&taps)[3], Integers steps = Integers{}) {
  if (mode & kPlainAddressing) {
    UNROLL for (unsigned i = 0; i < D; ++i) taps[i].at[0] =
        clampTo(moved(pointOf(grid, mode, at[i], AddressMode::Clamp, i, steps[i]), offsets[i]),
                grid.last[i]);
    return;
  }
  UNROLL for (unsigned i = 0; i < D; ++i) {
    const AddressMode address = modeOf(mode, i);
    taps[i].at[0] = resolve(moved(pointOf(grid, mode, at[i], address, i, steps[i]), offsets[i]),
                            grid.last[i], address, taps[i].isOutside[0]);
  }
}

/// The same of a linear filter.
template <unsigned D, bool isMoved = false>
INLINE void locatePairs(const Grid &grid, uint32_t mode, Numbers at, Integers offsets,
                        Taps (&taps)[3], Integers steps = Integers{}) {
  const bool mattersAtEdge = D == 3 || isMoved || mode & kLinearMipmap;
  if (mode & kPlainAddressing) {
    UNROLL for (unsigned i = 0; i < D; ++i) {
      const bool isAway = isMoved || offsets[i];
      const float x = isAway && at[i] != at[i] ? 0 : at[i]; // NaN: it matters only then
      const int32_t fixed = pairOf(grid, mode, x, AddressMode::Clamp, i, steps[i]),
                    first = (fixed >> 8) + offsets[i];
      taps[i].weight = uint32_t(fixed) & 255;
      taps[i].at[0] = clampTo(first, grid.last[i]);
      taps[i].at[1] = clampTo(first + 1, grid.last[i]);
      // Both are one texel, which matters where shares of weights are rounded.
      if (mattersAtEdge && taps[i].at[0] == taps[i].at[1])
        taps[i].weight = 0;
    }
    return;
  }
  UNROLL for (unsigned i = 0; i < D; ++i) {
    const AddressMode address = modeOf(mode, i);
    const float x = at[i] == at[i] ? at[i] : 0; // NaN
    const int32_t fixed = pairOf(grid, mode, x, address, i, steps[i]),
                  first = (fixed >> 8) + offsets[i];
    taps[i].weight = uint32_t(fixed) & 255;
    taps[i].at[0] = resolve(first, grid.last[i], address, taps[i].isOutside[0]);
    taps[i].at[1] = resolve(first + 1, grid.last[i], address, taps[i].isOutside[1]);
    if (mattersAtEdge && address == AddressMode::Clamp && taps[i].at[0] == taps[i].at[1])
      taps[i].weight = 0;
  }
}

INLINE uint32_t columnOffset(const Grid &grid, uint32_t byte) {
  return byte / kColumnBytes * grid.columnPitch + byte % kColumnBytes;
}

/// The border's colour as a result.
INLINE Texel borderOf(Record *record) {
  const Texel border = {record->border[0], record->border[1], record->border[2], record->border[3]};
  if (!(record->mode & kStandardRgb))
    return border;
  return {asBits(linearFromStandard(record, border.x & 0xff).value()),
          hasCurveOfY({record->format})
              ? asBits(linearFromStandard(record, border.y & 0xff).value())
              : border.y,
          asBits(linearFromStandard(record, border.z & 0xff).value()), border.w};
}

} // namespace
