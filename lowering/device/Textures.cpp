// SPDX-License-Identifier: Apache-2.0
// The sampler: tex, tld4 and surface accesses as an H100 computes them, on targets with and without
// image instructions. PTX ISA: texture-instructions, surface-instructions; docs/textures.md.
//
// Written in C++, compiled to PTX while Rubia is built, and lowered together with the kernels that
// need it, like DeviceFunctions.cpp. A function's first argument is the address of a record, which
// all lanes of a call share: what the record says is branched on by scalar instructions.
#include "lowering/device/Texels.h"

namespace {

// ---------- Filters

/// Splits a weight in two, by a weight of 256. An H100 rounds so wherever it splits.
INLINE uint32_t share(uint32_t part, uint32_t weight) { return (part * weight + 128) >> 8; }

/// The weights of the taps, `part` in all: 256, or what a level of detail has of it. An H100 splits
/// by z, then x, then y, where it rounds the weight of the corners.
template <unsigned D>
INLINE void weigh(const Taps (&taps)[3], uint32_t part, uint32_t (&weights)[1 << D]) {
  const uint32_t x = taps[0].weight;
  if constexpr (D == 1) {
    weights[1] = share(part, x);
    weights[0] = part - weights[1];
    return;
  }
  const uint32_t y = taps[1].weight, back = D == 3 ? share(part, taps[2].weight) : 0;
  UNROLL for (unsigned k = 0; k < 1 << (D == 3); ++k) {
    const uint32_t plane = k ? back : part - back, high = share(plane, x), low = plane - high;
    const uint32_t highHigh = share(high, y), lowLow = share(low, 256 - y);
    weights[4 * k + 3] = highHigh;
    weights[4 * k + 1] = high - highHigh;
    weights[4 * k] = lowLow;
    weights[4 * k + 2] = low - lowLow;
  }
}

/// Where the taps are: offsets of columns and rows within a slice, and the slice.
template <unsigned D>
INLINE uint64_t tapAddress(const uint32_t (&columns)[2], const uint32_t (&rows)[2],
                           const uint64_t (&slices)[2], unsigned tap) {
  uint32_t offset = columns[tap & 1];
  if constexpr (D >= 2)
    offset += rows[tap >> 1 & 1];
  return slices[D == 3 ? tap >> 2 : 0] + offset;
}

template <unsigned D>
INLINE Texel samplePoint(Record *record, const Grid &grid, Numbers at, uint64_t slice,
                         Integers offsets) {
  const TexelFormat format{record->format};
  const uint32_t mode = record->mode;
  Taps taps[3] = {};
  locatePoint<D>(grid, mode, at, offsets, taps);
  uint32_t offset = columnOffset(grid, uint32_t(taps[0].at[0]) << format.texelShift());
  if constexpr (D >= 2)
    offset += uint32_t(taps[1].at[0]) * grid.rowPitch;
  if constexpr (D == 3)
    slice += uint32_t(taps[2].at[0]) * grid.slicePitch;
  Texel texel = decode(readTexel(slice + offset, format.texelShift()), format, mode);
  if (mode & kPlainAddressing)
    return texel;
  return taps[0].isOutside[0] || taps[1].isOutside[0] || taps[2].isOutside[0] ? borderOf(record)
                                                                              : texel;
}

/// The sum of weighted texels. Normalised ones are widened to 16 bits and summed exactly.
struct Sum {
  Numbers number = {};
  Integers integer = {};
  bool isSampled = false;

  static INLINE bool isExact(TexelFormat format, uint32_t mode) {
    return format.kind() == TexelKind::Integer ||
           (format.kind() == TexelKind::Normalized && !(mode & kStandardRgb));
  }
  static INLINE Integers widened(Texel texel, TexelFormat format) {
    const Integers value = __builtin_bit_cast(Integers, takeApart(texel, format));
    if (format.channelShift() == 1 || format.kind() == TexelKind::Integer)
      return value;
    if (!format.isSigned())
      return value * 257;
    const Integers sign = value >> 31, magnitude = (value ^ sign) - sign;
    return ((magnitude * 258 + (magnitude >> 6)) ^ sign) - sign; // the bits repeated
  }
  /// What is summed of a texel: integers where sums are exact, else numbers.
  static INLINE Texel valueOf(Texel texel, TexelFormat format, uint32_t mode) {
    if (isExact(format, mode))
      return __builtin_bit_cast(Texel, widened(texel, format));
    return decode(texel, format, mode);
  }
  /// The same of the border's colour.
  static INLINE Texel valueOfBorder(Record *record, TexelFormat format, uint32_t mode) {
    const Texel texel = borderOf(record);
    if (format.kind() != TexelKind::Normalized || !isExact(format, mode))
      return texel;
    const float most = format.isSigned() ? 32767.0f : 65535.0f;
    return forEach(texel, [&](uint32_t bits) INLINE_LAMBDA {
      return uint32_t(floorOf(__builtin_fmaf(asFloat(bits), most, 0.5f)));
    });
  }
  INLINE void add(Texel value, TexelFormat format, uint32_t mode, uint32_t weight) {
    if (isExact(format, mode))
      integer += __builtin_bit_cast(Integers, value) * int32_t(weight);
    else
      number = __builtin_elementwise_fma(__builtin_bit_cast(Numbers, value), Numbers(float(weight)),
                                         number);
  }
  /// Numbers as point sampling gives them.
  INLINE void addSampled(Texel texel, uint32_t weight) {
    number = __builtin_elementwise_fma(__builtin_bit_cast(Numbers, texel), Numbers(float(weight)),
                                       number);
    isSampled = true;
  }
  INLINE Texel result(TexelFormat format, uint32_t mode) const {
    if (isSampled)
      return __builtin_bit_cast(Texel, number * (1.0f / 256));
    if (isExact(format, mode)) {
      const Integers rounded = (integer + 128) >> 8;
      if (format.kind() == TexelKind::Integer)
        return __builtin_bit_cast(Texel, rounded);
      return forEach(__builtin_bit_cast(Texel, rounded), [&](uint32_t bits) INLINE_LAMBDA {
        const int32_t value = int32_t(bits);
        return asBits(format.isSigned() ? ratio(value < -32767 ? -32767 : value, 32767.0f)
                                        : ratio(value, 65535.0f));
      });
    }
    const Texel value = __builtin_bit_cast(Texel, number * (1.0f / 256));
    if (format.kind() != TexelKind::Half)
      return value;
    return forEach(value, [](uint32_t bits)
                              INLINE_LAMBDA { return asBits(roundedToHalf(asFloat(bits))); });
  }
};

/// What linear filters need of a grid.
template <unsigned D> struct Footprint {
  Taps taps[3];
  uint32_t columns[2], rows[2];
  uint64_t slices[2];

  /// `shift`: log2 of the bytes of a texel.
  INLINE Footprint(unsigned shift, uint32_t mode, const Grid &grid, Numbers at, uint64_t slice,
                   Integers offsets)
      : taps{} {
    locatePairs<D>(grid, mode, at, offsets, taps);
    UNROLL for (unsigned i = 0; i < 2; ++i) {
      columns[i] = columnOffset(grid, uint32_t(taps[0].at[i]) << shift);
      rows[i] = D >= 2 ? uint32_t(taps[1].at[i]) * grid.rowPitch : 0;
      slices[i] = slice;
      if (D == 3)
        slices[i] += uint32_t(taps[2].at[i]) * grid.slicePitch;
    }
  }
};

/// The common case, without what others need: one channel of 32 bits, clamped.
template <unsigned D>
INLINE Texel blendWords(Record *record, const Grid &grid, Numbers at, uint64_t slice,
                        Integers offsets) {
  const Footprint<D> footprint(2, record->mode | kPlainAddressing, grid, at, slice, offsets);
  uint32_t weights[1 << D];
  weigh<D>(footprint.taps, 256, weights);
  float values[1 << D], sum = 0;
  UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) {
    values[tap] =
        *(GLOBAL const float *)(footprint.slices[tap >> 2] +
                                (footprint.columns[tap & 1] + footprint.rows[tap >> 1 & 1]));
  }
  UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) {
    sum = tap == 0 ? values[0] * float(weights[0])
                   : __builtin_fmaf(values[tap], float(weights[tap]), sum);
  }
  return {asBits(sum * (1.0f / 256)), 0, 0, 0};
}

template <unsigned D>
INLINE void addLinear(Sum &sum, Record *record, const Grid &grid, Numbers at, uint64_t slice,
                      Integers offsets, uint32_t part) {
  const TexelFormat format{record->format};
  const uint32_t mode = record->mode;
  const Footprint<D> footprint(format.texelShift(), mode, grid, at, slice, offsets);
  const Taps(&taps)[3] = footprint.taps;
  uint32_t weights[1 << D];
  weigh<D>(taps, part, weights);
  const Texel border = Sum::valueOfBorder(record, format, mode);
  if (D == 1 && modeOf(mode, 1) == AddressMode::Border) {
    // One dimension is two for an H100, sampled on the edge of its only row.
    weights[0] -= share(weights[0], 128);
    weights[1] = share(weights[1], 128);
    sum.add(border, format, mode, part - weights[0] - weights[1]);
  }
  auto add = [&](unsigned tap) INLINE_LAMBDA {
    uint32_t weight = weights[0];
    bool isOutside = false;
    UNROLL for (unsigned i = 1; i < 1 << D; ++i) {
      if (tap == i)
        weight = weights[i];
    }
    UNROLL for (unsigned i = 0; i < D; ++i) {
      isOutside |= (tap >> i & 1) ? taps[i].isOutside[1] : taps[i].isOutside[0];
    }
    const uint32_t column = tap & 1 ? footprint.columns[1] : footprint.columns[0];
    const uint32_t row = tap & 2 ? footprint.rows[1] : footprint.rows[0];
    const uint64_t start = tap & 4 ? footprint.slices[1] : footprint.slices[0];
    Texel value = Sum::valueOf(readTexel(start + column + row, format.texelShift()), format, mode);
    if (isOutside)
      value = border;
    sum.add(value, format, mode, weight);
  };
  if constexpr (D == 1) {
    add(0);
    add(1);
  } else {
    NO_UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) add(tap);
  }
}

INLINE Result resultOf(Texel texel) { return {{texel.x, texel.y, texel.z, texel.w}}; }

// ---------- Levels of detail

INLINE uint64_t layerOf(const Grid &grid, uint32_t layer) {
  const uint32_t last = grid.slices - 1;
  return grid.base + uint64_t(layer > last ? last : layer) * grid.slicePitch;
}

INLINE Grid levelOf(Record *record, uint32_t level) {
  const CONSTANT TexelGrid *from = (const CONSTANT TexelGrid *)record->levels + level;
  const bool scales = record->mode & kNormalizedCoordinates;
  const Numbers sizes = {float(from->width), float(from->height), float(from->depth), 1};
  return gridOf(from, scales ? sizes : Numbers(1));
}

/// Samples the level of detail, or two of them. A texture without levels has one. Plain tex has no
/// detail: the least that there may be. `slice` gives the slice of a grid.
template <unsigned D, class Slice>
INLINE Texel sampleLevels(Record *record, Numbers at, float detail, bool isPlain, Slice slice,
                          Integers offsets = Integers{}) {
  const uint32_t mode = record->mode;
  if (D == 1 && mode & kLinearMemory)
    return {}; // it is for fetches
  const bool isLinear = mode & kLinearFilter;
  Grid grid = gridOf(record);
  uint32_t level = 0, weight = 0;
  if (record->levels) {
    // Cut towards 0 before the bias is added. NaN is 0.
    const float cut = __builtin_truncf(detail * 256.0f) * (1.0f / 256);
    detail = isPlain ? 0 : (detail == detail ? cut : 0) + record->levelBias;
    detail = detail < record->maxLevel ? detail : record->maxLevel;
    detail = detail > record->minLevel ? detail : record->minLevel;
    const bool blends = mode & kLinearMipmap;
    // In 256ths, cut; the nearest level otherwise.
    const int32_t fixed = clampTo(floorOf(detail * 256.0f) + (blends ? 0 : 128),
                                  int32_t(record->levelCount - 1) << 8);
    level = uint32_t(fixed) >> 8;
    weight = blends ? uint32_t(fixed) & 255 : 0;
    grid = levelOf(record, level);
  }
  if (weight == 0 && !isLinear)
    return samplePoint<D>(record, grid, at, slice(grid), offsets);
  const TexelFormat format{record->format};
  Sum sum;
  NO_UNROLL for (bool isFirst = true;; isFirst = false) {
    const uint32_t part = isFirst ? 256 - weight : weight;
    if (isLinear)
      addLinear<D>(sum, record, grid, at, slice(grid), offsets, part);
    else
      sum.addSampled(samplePoint<D>(record, grid, at, slice(grid), offsets), part);
    if (weight == 0 || !isFirst)
      break;
    grid = levelOf(record, level + 1);
  }
  return sum.result(format, mode);
}

template <unsigned D>
INLINE Texel sampleAt(Record *record, Numbers at, float detail, bool isPlain) {
  return sampleLevels<D>(record, at, detail, isPlain,
                         [](const Grid &grid) INLINE_LAMBDA { return grid.base; });
}
template <unsigned D>
INLINE Texel sampleLayerAt(Record *record, uint32_t layer, Numbers at, float detail, bool isPlain) {
  return sampleLevels<D>(record, at, detail, isPlain,
                         [&](const Grid &grid) INLINE_LAMBDA { return layerOf(grid, layer); });
}

/// Without what others need: one channel of 32 bits, clamped, without levels.
template <unsigned D>
INLINE Result sampleWords(Record *record, const Grid &grid, Numbers at, uint64_t slice) {
  if (record->mode & kLinearFilter)
    return resultOf(blendWords<D>(record, grid, at, slice, Integers{}));
  Taps taps[3] = {};
  locatePoint<D>(grid, record->mode | kPlainAddressing, at, Integers{}, taps);
  uint32_t offset = columnOffset(grid, uint32_t(taps[0].at[0]) << 2);
  if constexpr (D >= 2)
    offset += uint32_t(taps[1].at[0]) * grid.rowPitch;
  if constexpr (D == 3)
    slice += uint32_t(taps[2].at[0]) * grid.slicePitch;
  return {{*(GLOBAL const uint32_t *)(slice + offset), 0, 0, 0}};
}

// ---------- Cube maps

/// The face that a direction meets, and where: coordinates of [0, 1].
struct OnFace {
  uint32_t face;
  Numbers at;
};
INLINE OnFace faceOf(float x, float y, float z) {
  const float ax = __builtin_fabsf(x), ay = __builtin_fabsf(y), az = __builtin_fabsf(z);
  uint32_t face;
  float s, t, most;
  if (az >= ax && az >= ay) {
    face = z < 0 ? 5 : 4;
    s = z < 0 ? -x : x;
    t = -y;
    most = az;
  } else if (ay >= ax) {
    face = y < 0 ? 3 : 2;
    s = x;
    t = y < 0 ? -z : z;
    most = ay;
  } else {
    face = x < 0 ? 1 : 0;
    s = x < 0 ? z : -z;
    t = -y;
    most = ax;
  }
  const bool hasDirection = most > 0; // else the middle of a face
  const float u = hasDirection ? s / most : 0, v = hasDirection ? t / most : 0;
  return {face, {(u + 1) * 0.5f, (v + 1) * 0.5f, 0, 0}};
}

INLINE Texel sampleCube(Record *record, uint32_t layer, float x, float y, float z, float detail,
                        bool isPlain) {
  const OnFace on = faceOf(x, y, z);
  return sampleLevels<2>(record, on.at, detail, isPlain, [&](const Grid &grid) INLINE_LAMBDA {
    const uint32_t last = grid.slices / 6 - 1;
    return layerOf(grid, 6 * (layer > last ? last : layer) + on.face);
  });
}

// ---------- Fetches: integer coordinates

/// What lies outside is 0, whatever the address mode is. One dimension is of linear memory only.
template <unsigned D>
INLINE Texel fetch(Record *record, const Grid &grid, Integers at, uint64_t slice) {
  const TexelFormat format{record->format};
  bool isOutside = false;
  UNROLL for (unsigned i = 0; i < D; ++i) isOutside |=
      uint32_t(at[i]) >= uint32_t(grid.last[i]) + 1;
  if (isOutside)
    return {};
  uint32_t offset = columnOffset(grid, uint32_t(at[0]) << format.texelShift());
  if constexpr (D >= 2)
    offset += uint32_t(at[1]) * grid.rowPitch;
  if constexpr (D == 3)
    slice += uint32_t(at[2]) * grid.slicePitch;
  return decode(readTexel(slice + offset, format.texelShift()), format, record->mode);
}

/// tld4: a component of the four texels that a linear filter would take.
INLINE Texel gather(Record *record, float x, float y, uint32_t component, Integers offsets) {
  const TexelFormat format{record->format};
  const uint32_t mode = record->mode;
  const Grid grid = gridOf(record);
  Taps taps[3] = {};
  locatePairs<2>(grid, mode, Numbers{x == x ? x : 0, y == y ? y : 0, 0, 0}, offsets, taps);
  const Texel mask = {component == 0 ? ~0u : 0, component == 1 ? ~0u : 0, component == 2 ? ~0u : 0,
                      component == 3 ? ~0u : 0};
  auto take = [&](int32_t column, int32_t row, bool isOutside) INLINE_LAMBDA {
    const uint32_t offset =
        columnOffset(grid, uint32_t(column) << format.texelShift()) + uint32_t(row) * grid.rowPitch;
    Texel texel = decode(readTexel(grid.base + offset, format.texelShift()), format, mode);
    if (isOutside)
      texel = borderOf(record);
    // Not by an index: a component is a number that the call gives.
    const Texel all = texel & mask;
    return all.x | all.y | all.z | all.w;
  };
  const Taps &x2 = taps[0], &y2 = taps[1];
  return {take(x2.at[0], y2.at[1], x2.isOutside[0] || y2.isOutside[1]),
          take(x2.at[1], y2.at[1], x2.isOutside[1] || y2.isOutside[1]),
          take(x2.at[1], y2.at[0], x2.isOutside[1] || y2.isOutside[0]),
          take(x2.at[0], y2.at[0], x2.isOutside[0] || y2.isOutside[0])};
}

// ---------- Surfaces

/// Where an access of `bytes` bytes lies, x in bytes. 0: outside, unless it is brought inside.
template <unsigned D>
INLINE uint64_t placeOf(Record *record, Integers at, uint64_t slice, bool isInside, uint32_t bytes,
                        bool clamps) {
  const Grid grid = gridOf(record);
  const int32_t lastByte =
      ((grid.last[0] + 1) << TexelFormat{record->format}.texelShift()) - int32_t(bytes);
  Integers in = at;
  isInside &= uint32_t(at[0]) <= uint32_t(lastByte) && lastByte >= 0;
  in[0] = clampTo(at[0], lastByte);
  UNROLL for (unsigned i = 1; i < D; ++i) {
    isInside &= uint32_t(at[i]) < uint32_t(grid.last[i]) + 1;
    in[i] = clampTo(at[i], grid.last[i]);
  }
  uint32_t offset = columnOffset(grid, uint32_t(in[0]));
  if constexpr (D >= 2)
    offset += uint32_t(in[1]) * grid.rowPitch;
  if constexpr (D == 3)
    slice += uint32_t(in[2]) * grid.slicePitch;
  return isInside || clamps ? slice + offset : 0;
}
template <unsigned D>
INLINE uint64_t placeOf(uint64_t handle, Integers at, uint32_t bytes, uint32_t clamps) {
  Record *record = (Record *)handle;
  return placeOf<D>(record, at, record->grid.base, true, bytes, clamps);
}
template <unsigned D>
INLINE uint64_t placeInLayer(uint64_t handle, uint32_t layer, Integers at, uint32_t bytes,
                             uint32_t clamps) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return placeOf<D>(record, at, layerOf(grid, layer), layer < grid.slices, bytes, clamps);
}

} // namespace

// ---------- What lowering calls. tex_GEOMETRY_TYPE(record{, layer}, coordinates{, detail})

DEVICE_FUNCTION Result tex_1d_s32(uint64_t handle, int32_t x) {
  Record *record = (Record *)handle;
  if (!(record->mode & kLinearMemory))
    return {};
  const Grid grid = gridOf(record);
  return resultOf(fetch<1>(record, grid, Integers{x, 0, 0, 0}, grid.base));
}
DEVICE_FUNCTION Result tex_2d_s32(uint64_t handle, int32_t x, int32_t y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return resultOf(fetch<2>(record, grid, Integers{x, y, 0, 0}, grid.base));
}
DEVICE_FUNCTION Result tex_3d_s32(uint64_t handle, int32_t x, int32_t y, int32_t z) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return resultOf(fetch<3>(record, grid, Integers{x, y, z, 0}, grid.base));
}
DEVICE_FUNCTION Result tex_a1d_s32(uint64_t handle, uint32_t layer, int32_t x) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  if (layer >= grid.slices)
    return {};
  return resultOf(fetch<1>(record, grid, Integers{x, 0, 0, 0}, layerOf(grid, layer)));
}
DEVICE_FUNCTION Result tex_a2d_s32(uint64_t handle, uint32_t layer, int32_t x, int32_t y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  if (layer >= grid.slices)
    return {};
  return resultOf(fetch<2>(record, grid, Integers{x, y, 0, 0}, layerOf(grid, layer)));
}
DEVICE_FUNCTION Result tex_1d_f32(uint64_t handle, float x) {
  return resultOf(sampleAt<1>((Record *)handle, Numbers{x, 0, 0, 0}, 0, true));
}
DEVICE_FUNCTION Result tex_1d_level(uint64_t handle, float x, float detail) {
  return resultOf(sampleAt<1>((Record *)handle, Numbers{x, 0, 0, 0}, detail, false));
}
DEVICE_FUNCTION Result tex_2d_f32(uint64_t handle, float x, float y) {
  return resultOf(sampleAt<2>((Record *)handle, Numbers{x, y, 0, 0}, 0, true));
}
DEVICE_FUNCTION Result tex_2d_level(uint64_t handle, float x, float y, float detail) {
  return resultOf(sampleAt<2>((Record *)handle, Numbers{x, y, 0, 0}, detail, false));
}
DEVICE_FUNCTION Result tex_3d_f32(uint64_t handle, float x, float y, float z) {
  return resultOf(sampleAt<3>((Record *)handle, Numbers{x, y, z, 0}, 0, true));
}
DEVICE_FUNCTION Result tex_3d_level(uint64_t handle, float x, float y, float z, float detail) {
  return resultOf(sampleAt<3>((Record *)handle, Numbers{x, y, z, 0}, detail, false));
}
DEVICE_FUNCTION Result tex_a1d_f32(uint64_t handle, uint32_t layer, float x) {
  return resultOf(sampleLayerAt<1>((Record *)handle, layer, Numbers{x, 0, 0, 0}, 0, true));
}
DEVICE_FUNCTION Result tex_a1d_level(uint64_t handle, uint32_t layer, float x, float detail) {
  return resultOf(sampleLayerAt<1>((Record *)handle, layer, Numbers{x, 0, 0, 0}, detail, false));
}
DEVICE_FUNCTION Result tex_a2d_f32(uint64_t handle, uint32_t layer, float x, float y) {
  return resultOf(sampleLayerAt<2>((Record *)handle, layer, Numbers{x, y, 0, 0}, 0, true));
}
DEVICE_FUNCTION Result tex_a2d_level(uint64_t handle, uint32_t layer, float x, float y,
                                     float detail) {
  return resultOf(sampleLayerAt<2>((Record *)handle, layer, Numbers{x, y, 0, 0}, detail, false));
}
DEVICE_FUNCTION Result tex_cube_f32(uint64_t handle, float x, float y, float z) {
  return resultOf(sampleCube((Record *)handle, 0, x, y, z, 0, true));
}
DEVICE_FUNCTION Result tex_cube_level(uint64_t handle, float x, float y, float z, float detail) {
  return resultOf(sampleCube((Record *)handle, 0, x, y, z, detail, false));
}
DEVICE_FUNCTION Result tex_acube_f32(uint64_t handle, uint32_t layer, float x, float y, float z) {
  return resultOf(sampleCube((Record *)handle, layer, x, y, z, 0, true));
}
DEVICE_FUNCTION Result tex_acube_level(uint64_t handle, uint32_t layer, float x, float y, float z,
                                       float detail) {
  return resultOf(sampleCube((Record *)handle, layer, x, y, z, detail, false));
}
DEVICE_FUNCTION Result tex_1d_word(uint64_t handle, float x) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return sampleWords<1>(record, grid, Numbers{x, 0, 0, 0}, grid.base);
}
DEVICE_FUNCTION Result tex_2d_word(uint64_t handle, float x, float y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return sampleWords<2>(record, grid, Numbers{x, y, 0, 0}, grid.base);
}
DEVICE_FUNCTION Result tex_3d_word(uint64_t handle, float x, float y, float z) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return sampleWords<3>(record, grid, Numbers{x, y, z, 0}, grid.base);
}
DEVICE_FUNCTION Result tex_a1d_word(uint64_t handle, uint32_t layer, float x) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return sampleWords<1>(record, grid, Numbers{x, 0, 0, 0}, layerOf(grid, layer));
}
DEVICE_FUNCTION Result tex_a2d_word(uint64_t handle, uint32_t layer, float x, float y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return sampleWords<2>(record, grid, Numbers{x, y, 0, 0}, layerOf(grid, layer));
}
DEVICE_FUNCTION Result tld4_2d(uint64_t handle, float x, float y, uint32_t component) {
  return resultOf(gather((Record *)handle, x, y, component, Integers{}));
}

// surf_GEOMETRY(record{, layer}, coordinates, bytes, clamps): the address of what is accessed, or
// 0.
DEVICE_FUNCTION uint64_t surf_1d(uint64_t handle, int32_t x, uint32_t bytes, uint32_t clamps) {
  return placeOf<1>(handle, Integers{x, 0, 0, 0}, bytes, clamps);
}
DEVICE_FUNCTION uint64_t surf_2d(uint64_t handle, int32_t x, int32_t y, uint32_t bytes,
                                 uint32_t clamps) {
  return placeOf<2>(handle, Integers{x, y, 0, 0}, bytes, clamps);
}
DEVICE_FUNCTION uint64_t surf_3d(uint64_t handle, int32_t x, int32_t y, int32_t z, uint32_t bytes,
                                 uint32_t clamps) {
  return placeOf<3>(handle, Integers{x, y, z, 0}, bytes, clamps);
}
DEVICE_FUNCTION uint64_t surf_a1d(uint64_t handle, uint32_t layer, int32_t x, uint32_t bytes,
                                  uint32_t clamps) {
  return placeInLayer<1>(handle, layer, Integers{x, 0, 0, 0}, bytes, clamps);
}
DEVICE_FUNCTION uint64_t surf_a2d(uint64_t handle, uint32_t layer, int32_t x, int32_t y,
                                  uint32_t bytes, uint32_t clamps) {
  return placeInLayer<2>(handle, layer, Integers{x, y, 0, 0}, bytes, clamps);
}
