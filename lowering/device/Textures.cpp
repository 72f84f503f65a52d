// SPDX-License-Identifier: Apache-2.0
// The sampler: tex, tld4 and surface accesses as an H100 computes them, on targets with and without
// image instructions. PTX ISA: texture-instructions, surface-instructions; docs/textures.md.
//
// Written in C++, compiled to PTX while Rubia is built, and lowered together with the kernels that
// need it, like DeviceFunctions.cpp. A function's first argument is the address of a record, which
// all lanes of a call share: what the record says is branched on by scalar instructions.
#include "lowering/device/Anisotropy.h"
#include "lowering/device/Cubes.h"

namespace {

template <unsigned D>
INLINE Texel samplePoint(Record *record, const Grid &grid, Numbers at, uint64_t slice,
                         Integers offsets) {
  const TexelFormat format{record->format};
  const PointFootprint<D> point(format.texelShift(), record->mode, grid, at, slice, offsets, 256);
  const Texel texel =
      decode(record, readTexel(point.address(0), format.texelShift()), format, record->mode);
  return point.isOutside(0) ? borderOf(record) : texel;
}

/// Offsets of texels: a signed byte for each dimension.
INLINE Integers offsetsOf(uint32_t packed) {
  return {int32_t(packed << 24) >> 24, int32_t(packed << 16) >> 24, int32_t(packed << 8) >> 24, 0};
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

// Which slice of a grid is sampled.
struct Layer {
  uint32_t layer;
  INLINE uint64_t slice(const Grid &grid) const { return layerOf(grid, layer); }
};
struct Volume {
  INLINE uint64_t slice(const Grid &grid) const { return grid.base; }
};
struct Face {
  uint32_t firstSlice, face; // of the cube, and which of its faces
  INLINE uint64_t slice(const Grid &grid) const { return layerOf(grid, firstSlice + face); }
};

template <unsigned D, class From>
INLINE void addFiltered(Sum<> &sum, Record *record, const Grid &grid, Numbers at, const From &from,
                        Integers offsets, uint32_t part) {
  if constexpr (__is_same(From, Face)) {
    if (record->mode & kSeamless) {
      const unsigned shift = TexelFormat{record->format}.texelShift();
      addTaps(sum, record,
              SeamFootprint(shift, grid, at, layerOf(grid, from.firstSlice), from.face, part));
      return;
    }
  }
  addLinear<D>(sum, record, grid, at, from.slice(grid), offsets, part);
}

/// The level of detail that an instruction asks for. Plain tex asks for none: it gets the least
/// that there may be.
struct Detail {
  float level;
  bool isPlain;
};

/// With anisotropy, a weight between levels rises faster, so that fewer samples need both.
INLINE uint32_t sharpened(uint32_t weight, TrilinearRise rise) {
  switch (rise) {
  case TrilinearRise::None:
    return weight;
  case TrilinearRise::By6From42:
    return uint32_t(clampTo((int32_t(6 * weight) - 252) >> 2, 256));
  case TrilinearRise::By6From43:
    return uint32_t(clampTo((int32_t(6 * weight) - 258) >> 2, 256));
  case TrilinearRise::By7From54:
    return uint32_t(clampTo((int32_t(7 * weight) - 378) >> 2, 256));
  case TrilinearRise::By7From55:
    return uint32_t(clampTo((int32_t(7 * weight) - 385) >> 2, 256));
  case TrilinearRise::By8From63:
    return uint32_t(clampTo((int32_t(8 * weight) - 504) >> 2, 256));
  case TrilinearRise::By8From64:
    return uint32_t(clampTo((int32_t(8 * weight) - 512) >> 2, 256));
  }
  return weight;
}

constexpr int32_t kMostDetail = 32 << 8; // beyond all levels, in 256ths

/// Which levels are sampled: one, or with a weight another one too.
struct Levels {
  uint32_t level = 0, weight = 0; // of the second, of 256

  INLINE Levels(Record *record, Detail asked) {
    if (!record->levels)
      return;
    const uint32_t mode = record->mode;
    // Cut towards 0 before the bias is added. NaN is 0.
    const float cut = __builtin_truncf(asked.level * 256.0f) * (1.0f / 256);
    float number = asked.isPlain ? 0 : (cut == cut ? cut : 0) + record->levelBias;
    const bool blends = mode & kLinearMipmap;
    if (const auto rise = TrilinearRise(mode >> kTrilinearRise & 7); rise != TrilinearRise::None) {
      const int32_t whole = clampTo(floorOf(number * 256.0f), kMostDetail);
      number = float((whole & ~255) + int32_t(sharpened(uint32_t(whole) & 255, rise))) *
               (1.0f / 256); // before the bounds apply
    }
    number = number < record->maxLevel ? number : record->maxLevel;
    number = number > record->minLevel ? number : record->minLevel;
    // In 256ths, cut; the nearest level otherwise.
    const auto fixed =
        uint32_t(clampTo(clampTo(floorOf(number * 256.0f), kMostDetail) + (blends ? 0 : 128),
                         int32_t(record->levelCount - 1) << 8));
    level = fixed >> 8;
    weight = blends ? fixed & 255 : 0;
  }
};

/// Samples the level of detail, or two of them. A texture without levels has one.
template <unsigned D, class From>
INLINE Texel sampleLevels(Record *record, Numbers at, Detail asked, const From &from,
                          Integers offsets) {
  const uint32_t mode = record->mode;
  if (D == 1 && mode & kLinearMemory)
    return {}; // it is for fetches
  const Levels levels(record, asked);
  Grid grid = record->levels ? levelOf(record, levels.level) : gridOf(record);
  if (!(mode & (kLinearFilter | kBlendsPoints)))
    return samplePoint<D>(record, grid, at, from.slice(grid), offsets);
  const TexelFormat format{record->format};
  Sum<> sum;
  NO_UNROLL for (bool isFirst = true;; isFirst = false) {
    const uint32_t part = isFirst ? 256 - levels.weight : levels.weight;
    if (mode & kLinearFilter)
      addFiltered<D>(sum, record, grid, at, from, offsets, part);
    else
      addTaps(
          sum, record,
          PointFootprint<D>(format.texelShift(), mode, grid, at, from.slice(grid), offsets, part));
    if (levels.weight == 0 || !isFirst)
      break;
    grid = levelOf(record, levels.level + 1);
  }
  return sum.result(format, mode);
}

/// Samples along the longer axis of an ellipse, at one or two levels of detail. A texture of one
/// dimension is a row of two.
template <unsigned D, class From>
INLINE Texel sampleEllipse(Record *record, Numbers at, const Ellipse &ellipse, const From &from,
                           Integers offsets) {
  const uint32_t mode = record->mode;
  const TexelFormat format{record->format};
  const Levels levels(record, {float(ellipse.width) * (1.0f / 256), false});
  Sum<10> sum;
  NO_UNROLL for (uint32_t k = 0; k < 2; ++k) {
    const uint32_t part = k == 0 ? 256 - levels.weight : levels.weight, level = levels.level + k;
    if (part == 0)
      break;
    const Grid grid = record->levels ? levelOf(record, level) : gridOf(record);
    const uint64_t slice = from.slice(grid);
    const auto between = int32_t(levels.weight);
    const SampleRow row = k == 0 ? SampleRow(ellipse, ellipse.ratio, between)
                                 : SampleRow(ellipse, ellipse.ratio - (256 - between), 0);
    row.forEach(part, [&](Integers steps, uint32_t weight, uint32_t shift) INLINE_LAMBDA {
      if constexpr (__is_same(From, Face)) {
        if ((mode & (kLinearFilter | kSeamless)) == (kLinearFilter | kSeamless)) {
          addTaps(sum, record,
                  SeamFootprint(format.texelShift(), grid, at, layerOf(grid, from.firstSlice),
                                from.face, weight, steps),
                  shift);
          return;
        }
      }
      if (mode & kLinearFilter) {
        addTaps(
            sum, record,
            Footprint<D, true>(format.texelShift(), mode, grid, at, slice, offsets, weight, steps),
            shift);
        return;
      }
      addTaps(sum, record,
              PointFootprint<D>(format.texelShift(), mode, grid, at, slice, offsets, weight, steps),
              shift);
    });
  }
  return sum.result(format, mode);
}

/// Without what others need: one channel of 32 bits, clamped, without levels.
template <unsigned D>
INLINE Result sampleWords(Record *record, const Grid &grid, Numbers at, uint64_t slice) {
  if (record->mode & kLinearFilter)
    return resultOf(blendWords<D>(record, grid, at, slice));
  Taps taps[3] = {};
  locatePoint<D>(grid, record->mode | kPlainAddressing, at, Integers{}, taps);
  uint32_t offset = columnOffset(grid, uint32_t(taps[0].at[0]) << 2);
  if constexpr (D >= 2)
    offset += uint32_t(taps[1].at[0]) * grid.rowPitch;
  if constexpr (D == 3)
    slice += uint32_t(taps[2].at[0]) * grid.slicePitch;
  return {{*(GLOBAL const uint32_t *)(slice + offset), 0, 0, 0}};
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
  return decode(record, readTexel(slice + offset, format.texelShift()), format, record->mode);
}

/// tld4: a component of the four texels that a linear filter would take. Each of them is blended
/// with nothing, whatever the filter is.
INLINE Texel gather(Record *record, float x, float y, uint32_t component, Integers offsets) {
  const TexelFormat format{record->format};
  const uint32_t mode = record->mode;
  const bool isInteger = format.kind() == TexelKind::Bits && !(mode & kNumbers);
  const Grid grid = gridOf(record);
  Taps taps[3] = {};
  locatePairs<2>(grid, mode, Numbers{x == x ? x : 0, y == y ? y : 0, 0, 0}, offsets, taps);
  const Texel mask = {component == 0 ? ~0u : 0, component == 1 ? ~0u : 0, component == 2 ? ~0u : 0,
                      component == 3 ? ~0u : 0};
  auto take = [&](int32_t column, int32_t row, bool isOutside) INLINE_LAMBDA {
    const uint32_t offset =
        columnOffset(grid, uint32_t(column) << format.texelShift()) + uint32_t(row) * grid.rowPitch;
    Texel texel = readTexel(grid.base + offset, format.texelShift());
    if (isInteger) {
      texel = isOutside ? borderOf(record) : texel;
    } else {
      Sum<> sum;
      texel = isOutside ? Sum<>::valueOfBorder(record, format)
                        : Sum<>::valueOf(record, texel, format, mode);
      sum.add(texel, format, mode, 256, Sum<>::exponentsOf(texel, mode), true);
      texel = sum.result(format, mode);
    }
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

/// Where an access of `bytes` bytes lies, x in bytes. 0: outside, unless it is brought inside a
/// surface that has texels.
template <unsigned D>
INLINE uint64_t placeOf(Record *record, Integers at, uint64_t slice, bool isInside, uint32_t bytes,
                        bool clamps) {
  const Grid grid = gridOf(record);
  // The last access is the last one that is whole and aligned: rows may end within one.
  const int32_t rowBytes = (grid.last[0] + 1) << TexelFormat{record->format}.texelShift(),
                lastByte = (rowBytes & -int32_t(bytes)) - int32_t(bytes);
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
  return isInside || (clamps && lastByte >= 0) ? slice + offset : 0;
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

// ---------- What lowering calls

// Fetches: tex_GEOMETRY_s32(record{, layer}, coordinates)

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
// All else that tex does, but short paths: (record, layer, coordinates, detail, whether it is
// plain, offsets)
DEVICE_FUNCTION Result tex_1d(uint64_t handle, uint32_t layer, float x, float detail,
                              uint32_t isPlain, uint32_t offsets) {
  return resultOf(sampleLevels<1>((Record *)handle, Numbers{x, 0, 0, 0}, {detail, isPlain != 0},
                                  Layer{layer}, offsetsOf(offsets)));
}
DEVICE_FUNCTION Result tex_2d(uint64_t handle, uint32_t layer, float x, float y, float detail,
                              uint32_t isPlain, uint32_t offsets) {
  return resultOf(sampleLevels<2>((Record *)handle, Numbers{x, y, 0, 0}, {detail, isPlain != 0},
                                  Layer{layer}, offsetsOf(offsets)));
}
DEVICE_FUNCTION Result tex_3d(uint64_t handle, uint32_t, float x, float y, float z, float detail,
                              uint32_t isPlain, uint32_t offsets) {
  return resultOf(sampleLevels<3>((Record *)handle, Numbers{x, y, z, 0}, {detail, isPlain != 0},
                                  Volume{}, offsetsOf(offsets)));
}
DEVICE_FUNCTION Result tex_cube(uint64_t handle, uint32_t layer, float x, float y, float z,
                                float detail, uint32_t isPlain, uint32_t) {
  Record *record = (Record *)handle;
  if (!record->tables) // no cube map, or a reference that nothing is bound to
    return {};
  const OnFace<float> on = Direction(record, x, y, z).onFace();
  const uint32_t last = record->grid.slices / 6 - 1;
  return resultOf(sampleLevels<2>(record, placeOnFace(on), {detail, isPlain != 0},
                                  Face{6 * (layer > last ? last : layer), on.face}, Integers{}));
}
DEVICE_FUNCTION Result tex_1d_grad(uint64_t handle, uint32_t, float x, float ax, float bx,
                                   uint32_t offsets) {
  Record *record = (Record *)handle;
  const Numbers at = {x, 0, 0, 0}, a = gradientOf(record, ax, 0, 0),
                b = gradientOf(record, bx, 0, 0);
  const Integers texels = offsetsOf(offsets);
  if (record->maxAnisotropy < 2 || record->mode & kLinearMemory)
    return resultOf(
        sampleLevels<1>(record, at, {LongerAxis<1>(a, b).level(), false}, Layer{0}, texels));
  return resultOf(sampleEllipse<1>(record, at, Ellipse(record, a, b), Layer{0}, texels));
}
DEVICE_FUNCTION Result tex_2d_grad(uint64_t handle, uint32_t layer, float x, float y, float ax,
                                   float ay, float bx, float by, uint32_t offsets) {
  Record *record = (Record *)handle;
  const Numbers at = {x, y, 0, 0}, a = gradientOf(record, ax, ay, 0),
                b = gradientOf(record, bx, by, 0);
  const Integers texels = offsetsOf(offsets);
  if (record->maxAnisotropy < 2)
    return resultOf(
        sampleLevels<2>(record, at, {LongerAxis<2>(a, b).level(), false}, Layer{layer}, texels));
  return resultOf(sampleEllipse<2>(record, at, Ellipse(record, a, b), Layer{layer}, texels));
}

// Of cube maps, gradients are those of places on the face of the direction. Where one leaves it,
// only the two themselves count, without anisotropy.
DEVICE_FUNCTION Result tex_cube_grad(uint64_t handle, uint32_t layer, float x, float y, float z,
                                     float ax, float ay, float az, float bx, float by, float bz,
                                     uint32_t) {
  Record *record = (Record *)handle;
  if (!record->tables) // no cube map, or a reference that nothing is bound to
    return {};
  const OnFace<float> on = Direction(record, x, y, z).onFace();
  const uint32_t last = record->grid.slices / 6 - 1;
  const Face face{6 * (layer > last ? last : layer), on.face};
  const float half = 0.5f * record->scale[0];
  const CubeGradient a(on, Direction(record, x + ax, y + ay, z + az), half),
      b(on, Direction(record, x + bx, y + by, z + bz), half);
  const bool isOnFace = !a.leavesFace && !b.leavesFace;
  if (record->maxAnisotropy < 2 || !isOnFace)
    return resultOf(sampleLevels<2>(record, placeOnFace(on),
                                    {LongerAxis<3>(a.vector, b.vector, isOnFace).level(), false},
                                    face, Integers{}));
  return resultOf(sampleEllipse<2>(record, placeOnFace(on), Ellipse(record, a.vector, b.vector),
                                   face, Integers{}));
}

// The levels of detail of gradients, where there is no anisotropy.
DEVICE_FUNCTION float detail_1d(uint64_t handle, float a, float b) {
  Record *record = (Record *)handle;
  return LongerAxis<1>(gradientOf(record, a, 0, 0), gradientOf(record, b, 0, 0)).level();
}
// Of three dimensions, gradients are differences of coordinates, with what these lose.
DEVICE_FUNCTION float detail_3d(uint64_t handle, float x, float y, float z, float ax, float ay,
                                float az, float bx, float by, float bz) {
  Record *record = (Record *)handle;
  auto difference = [](float from, float way) INLINE_LAMBDA {
    auto number = [](float at) INLINE_LAMBDA { return at == at ? at : 0; };
    return number(from + way) - number(from);
  };
  const Numbers first = {difference(x, ax), difference(y, ay), difference(z, az), 0},
                second = {difference(x, bx), difference(y, by), difference(z, bz), 0},
                both = first + second;
  auto beyond = [](float at) INLINE_LAMBDA { return __builtin_fabsf(at) >= 0x1p97f; };
  const float sum = both.x + both.y + both.z;
  if (sum != sum || beyond(x) || beyond(y) || beyond(z))
    return 32;
  return LongerAxis<3>(gradientOf(record, first.x, first.y, first.z),
                       gradientOf(record, second.x, second.y, second.z))
      .level();
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
DEVICE_FUNCTION Result tex_2d_filter(uint64_t handle, float x, float y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return resultOf(blendTexels(record, grid, Numbers{x, y, 0, 0}, grid.base));
}
DEVICE_FUNCTION Result tex_a2d_filter(uint64_t handle, uint32_t layer, float x, float y) {
  Record *record = (Record *)handle;
  const Grid grid = gridOf(record);
  return resultOf(blendTexels(record, grid, Numbers{x, y, 0, 0}, layerOf(grid, layer)));
}
DEVICE_FUNCTION Result tld4_2d(uint64_t handle, float x, float y, uint32_t component,
                               uint32_t offsets) {
  return resultOf(gather((Record *)handle, x, y, component, offsetsOf(offsets)));
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

// sust.p: words as a texel of the surface's format, stored at a place that may be 0. Integers
// saturate by the format's sign, numbers are cut to halves.
namespace {
INLINE uint32_t cutToHalf(uint32_t bits) {
  const uint32_t fraction = bits >> 13 & 0x3ff;
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (bits >> 16 & 0x8000) | 0x7c00 | (fraction ? fraction : 1);
  uint16_t half;
  asm("cvt.rz.f16.f32 %0, %1;" : "=h"(half) : "f"(asFloat(bits)));
  return half;
}
INLINE uint32_t channelOf(uint32_t bits, TexelFormat format) {
  const unsigned width = 8u << format.channelShift();
  const uint32_t most = (1u << (width - format.isSigned())) - 1;
  switch (format.kind()) {
  case TexelKind::Bits:
    break;
  case TexelKind::Half:
    return cutToHalf(bits);
  case TexelKind::Integer: {
    const int32_t value = int32_t(bits), high = int32_t(most);
    if (!format.isSigned())
      return bits > most ? most : bits;
    return uint32_t(value > high ? high : value < ~high ? ~high : value) & (2 * most + 1);
  }
  case TexelKind::Normalized: {
    const int32_t nearest =
        normalizedOf(asFloat(bits), width - format.isSigned(), format.isSigned());
    return uint32_t(nearest) & (format.isSigned() ? 2 * most + 1 : most);
  }
  }
  return bits;
}
} // namespace
DEVICE_FUNCTION void surf_store(uint64_t handle, uint64_t place, uint32_t x, uint32_t y, uint32_t z,
                                uint32_t w) {
  if (!place)
    return;
  const TexelFormat format{((Record *)handle)->format};
  const uint32_t all[] = {channelOf(x, format), channelOf(y, format), channelOf(z, format),
                          channelOf(w, format)};
  const unsigned channels = 1u << format.channelsShift();
  UNROLL for (unsigned i = 0; i < 4; ++i) {
    if (i < channels) {
      if (format.channelShift() == 0)
        ((GLOBAL uint8_t *)place)[i] = uint8_t(all[i]);
      else if (format.channelShift() == 1)
        ((GLOBAL uint16_t *)place)[i] = uint16_t(all[i]);
      else
        ((GLOBAL uint32_t *)place)[i] = all[i];
    }
  }
}
