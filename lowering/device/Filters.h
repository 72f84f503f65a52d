// SPDX-License-Identifier: Apache-2.0
// What linear filters compute: weights of texels, and sums of weighted texels.
#pragma once

#include "lowering/device/Texels.h"

namespace {

/// Splits a weight in two, by a weight of 256. An H100 rounds so wherever it splits.
INLINE uint32_t share(uint32_t part, uint32_t weight) { return (part * weight + 128) >> 8; }

/// The weights of the taps, `part` in all: 256, or what a level of detail has of it. An H100 splits
/// by z, where it rounds the weight of the front, then x, then y, where it rounds the weight of the
/// corners.
template <unsigned D>
INLINE void weigh(const Taps (&taps)[3], uint32_t part, uint32_t (&weights)[1 << D]) {
  const uint32_t x = taps[0].weight;
  if constexpr (D == 1) {
    weights[1] = share(part, x);
    weights[0] = part - weights[1];
    return;
  }
  const uint32_t y = taps[1].weight, back = D == 3 ? part - share(part, 256 - taps[2].weight) : 0;
  UNROLL for (unsigned k = 0; k < 1 << (D == 3); ++k) {
    const uint32_t plane = k ? back : part - back, high = share(plane, x), low = plane - high;
    const uint32_t highHigh = share(high, y), lowLow = share(low, 256 - y);
    weights[4 * k + 3] = highHigh;
    weights[4 * k + 1] = high - highHigh;
    weights[4 * k] = lowLow;
    weights[4 * k + 2] = low - lowLow;
  }
}

/// The bits of what a filter gives. There is one NaN, and no denormal.
INLINE uint32_t blendedBits(float value) {
  return value == value ? asBits(flushed(value)) : 0x7fffffff;
}
INLINE uint32_t blendedHalfBits(float value) {
  return value == value ? asBits(roundedToHalf(value)) : 0x7fffe000;
}

/// Of halves that a filter takes together, an H100 cuts all at one place: four bits below the last
/// one of the largest that has a weight.
struct HalvesPlace {
  uint32_t exponent = 113u << 23; // that of the least normal half

  INLINE void include(uint32_t bits) {
    const uint32_t other = bits & 0x7f800000;
    exponent = other > exponent ? other : exponent;
  }
  INLINE float cut(float half) const {
    const float scale = asFloat((268u << 23) - exponent), unit = asFloat(exponent - (14u << 23));
    return __builtin_truncf(half * scale) * unit;
  }
};

/// The sum of weighted texels. Normalised ones that are unsigned are widened to 16 bits and summed
/// exactly, integers of 32 bits in halves. Of sRGB, alpha is summed so, and the others as numbers
/// of 8 bits. All weights together are 1 << Shift.
template <unsigned Shift = 8> struct Sum {
  static constexpr float kUnit = 1.0f / (1 << Shift);
  Numbers number = -0.0f; // the sum of nothing: negative zeros stay what they are
  Numbers lost = 0;       // of several groups, what the sum is more than that
  Integers integer = {};

  static INLINE bool isExact(TexelFormat format, uint32_t mode) {
    return format.kind() == TexelKind::Integer ||
           (format.kind() == TexelKind::Normalized && !(mode & kStandardRgb));
  }
  static INLINE Integers widened(Texel texel, TexelFormat format) {
    const Integers value = __builtin_bit_cast(Integers, takeApart(texel, format));
    const bool isWidened =
        format.channelShift() == 0 && format.kind() == TexelKind::Normalized && !format.isSigned();
    return isWidened ? value * 257 : value;
  }
  /// What is summed of a texel: integers where sums are exact, else numbers. Of sRGB, numbers of 8
  /// bits above their exponents.
  static INLINE Texel valueOf(Record *record, Texel texel, TexelFormat format, uint32_t mode) {
    if (isExact(format, mode))
      return __builtin_bit_cast(Texel, widened(texel, format));
    if (format.kind() == TexelKind::Bits)
      return format.blendsWords() ? texel : forEach(texel, flushedBits);
    texel = takeApart(texel, format);
    if (!(mode & kStandardRgb))
      return forEach(texel, [](uint32_t bits) INLINE_LAMBDA { return asBits(halfToFloat(bits)); });
    return {summedStandardRgb(record, texel.x),
            hasCurveOfY(format) ? summedStandardRgb(record, texel.y) : texel.y * 257,
            summedStandardRgb(record, texel.z), texel.w * 257};
  }
  static INLINE uint32_t flushedBits(uint32_t bits) { return asBits(flushed(asFloat(bits))); }
  static INLINE uint32_t summedStandardRgb(Record *record, uint32_t n) {
    const StandardRgb linear = linearFromStandard(record, n);
    return linear.number << 8 | linear.exponent;
  }
  /// The same of the border's colour.
  static INLINE Texel valueOfBorder(Record *record, TexelFormat format) {
    const Texel texel = {record->border[0], record->border[1], record->border[2],
                         record->border[3]};
    if (format.kind() == TexelKind::Bits && !format.blendsWords())
      return forEach(texel, flushedBits);
    if (format.kind() != TexelKind::Normalized)
      return texel;
    const float most = !format.isSigned()           ? 65535.0f
                       : format.channelShift() == 0 ? 127.0f
                                                    : 32767.0f;
    const Texel widened = forEach(texel, [&](uint32_t bits) INLINE_LAMBDA {
      return uint32_t(floorOf(__builtin_fmaf(asFloat(bits), most, 0.5f)));
    });
    if (!(record->mode & kStandardRgb))
      return widened;
    auto value = [&](uint32_t bits)
                     INLINE_LAMBDA { return summedStandardRgb(record, bits & 0xff); };
    return {value(texel.x), hasCurveOfY(format) ? value(texel.y) : widened.y, value(texel.z),
            widened.w};
  }
  /// Of sRGB and halves, the exponents of what is summed. The largest of a group says where it is
  /// cut.
  static INLINE bool hasPlaces(TexelFormat format, uint32_t mode) {
    return mode & kStandardRgb || format.kind() == TexelKind::Half;
  }
  /// Whether the sum of each group is added as one number.
  static INLINE bool isOfGroups(TexelFormat format) {
    return format.kind() == TexelKind::Half ||
           (format.kind() == TexelKind::Bits && !format.blendsWords());
  }
  static INLINE Texel exponentsOf(Texel value, uint32_t mode) {
    return value & (mode & kStandardRgb ? 0xff : 0x7f800000);
  }
  /// `exponents`: the largest of the channels.
  INLINE void add(Texel value, TexelFormat format, uint32_t mode, uint32_t weight, Texel exponents,
                  bool counts) {
    if (isExact(format, mode)) {
      integer += __builtin_bit_cast(Integers, value) * int32_t(weight);
      return;
    }
    if (mode & kStandardRgb) {
      integer.w += int32_t(value.w * weight);
      if (!hasCurveOfY(format))
        integer.y += int32_t(value.y * weight);
      value = {asBits(aligned(value.x, exponents.x)), asBits(aligned(value.y, exponents.y)),
               asBits(aligned(value.z, exponents.z)), 0};
    } else if (format.kind() == TexelKind::Half) {
      value = {asBits(alignedHalf(value.x, exponents.x)), asBits(alignedHalf(value.y, exponents.y)),
               asBits(alignedHalf(value.z, exponents.z)),
               asBits(alignedHalf(value.w, exponents.w))};
    } else if (format.blendsWords()) {
      integer += __builtin_bit_cast(Integers, value & 0xffff) * int32_t(weight);
      const Integers upper = format.isSigned() ? __builtin_bit_cast(Integers, value) >> 16
                                               : __builtin_bit_cast(Integers, value >> 16);
      value = __builtin_bit_cast(Texel, __builtin_convertvector(upper, Numbers)); // exact
    }
    addNumbers(__builtin_bit_cast(Numbers, value), weight, counts);
  }
  /// Of no weight, texels say nothing. But where it is none by rounding alone (`counts`), those
  /// that are infinite or NaN do.
  INLINE void addNumbers(Numbers value, uint32_t weight, bool counts) {
    float factor = float(weight) * kUnit;
    if (!weight) {
      const auto left = [&](float number) INLINE_LAMBDA {
        return counts && number - number != 0 ? number : -0.0f;
      };
      value = {left(value.x), left(value.y), left(value.z), left(value.w)};
      factor = 1;
    }
    number = __builtin_elementwise_fma(value, Numbers(factor), number);
  }
  /// Adds the sum of a group, which is exact of halves, and keeps what is lost then. Without it,
  /// f32 of several planes or levels would be off by more than the bound of docs/textures.md.
  INLINE void addGroup(const Sum &group) {
    const Numbers sum = number + group.number, added = sum - number;
    lost += (number - (sum - added)) + (group.number - added);
    number = sum;
  }
  /// A number of 8 bits, cut to where one with another exponent ends.
  static INLINE float aligned(uint32_t value, uint32_t exponent) {
    const uint32_t lower = exponent - (value & 0xff), number = value >> 8;
    return StandardRgb{lower > 8 ? 0 : number >> lower, exponent}.value();
  }

  static INLINE float alignedHalf(uint32_t bits, uint32_t exponent) {
    HalvesPlace place;
    place.include(exponent);
    return place.cut(asFloat(bits));
  }
  /// A sum in two parts as one number. Of halves it is one that is rounded to the same half: one
  /// unit nearer to 0 where the sum is.
  static INLINE float joined(float sum, float lost, TexelFormat format) {
    if (lost == 0 || lost != lost) // or the sum is no number either
      return sum;
    const float all = sum + lost, rest = lost - (all - sum);
    const bool isNearer = (rest < 0 && all > 0) || (rest > 0 && all < 0);
    return asFloat(asBits(all) - (isNearer && format.kind() == TexelKind::Half));
  }

  INLINE Texel result(TexelFormat format, uint32_t mode) const {
    if (format.blendsWords())
      return {cutSum(number.x, integer.x), cutSum(number.y, integer.y), cutSum(number.z, integer.z),
              cutSum(number.w, integer.w)};
    const Integers wide = (integer + (1 << Shift >> 1)) >> Shift;
    if (format.kind() == TexelKind::Integer)
      return __builtin_bit_cast(Texel, wide);
    if (isExact(format, mode)) {
      const bool isNarrow = format.channelShift() == 0;
      return forEach(__builtin_bit_cast(Texel, format.isSigned() && isNarrow ? integer : wide),
                     [&](uint32_t bits) INLINE_LAMBDA {
                       int32_t value = int32_t(bits);
                       if (!format.isSigned())
                         return asBits(ratio(value, 65535.0f));
                       if (isNarrow)
                         value = widenedSum(value);
                       return asBits(ratio(value < -32767 ? -32767 : value, 32767.0f));
                     });
    }
    Texel value = __builtin_bit_cast(Texel, number);
    if (isOfGroups(format)) {
      value = {asBits(joined(number.x, lost.x, format)), asBits(joined(number.y, lost.y, format)),
               asBits(joined(number.z, lost.z, format)), asBits(joined(number.w, lost.w, format))};
    }
    if (format.kind() == TexelKind::Bits)
      return forEach(value, [](uint32_t bits) INLINE_LAMBDA { return blendedBits(asFloat(bits)); });
    value =
        forEach(value, [](uint32_t bits) INLINE_LAMBDA { return blendedHalfBits(asFloat(bits)); });
    if (mode & kStandardRgb) {
      value.w = asBits(ratio(wide.w, 65535.0f));
      if (!hasCurveOfY(format))
        value.y = asBits(ratio(wide.y, 65535.0f));
    }
    return value;
  }
  /// Of a sum in halves, cut. The upper one is a whole number of units.
  static INLINE uint32_t cutSum(float upper, int32_t lower) {
    return uint32_t((int64_t(int32_t(upper * (1 << Shift))) * 65536 + lower) >> Shift);
  }
  /// A sum of signed bytes as a number of 32,767: the bits repeat to an eighth, and are rounded.
  static INLINE int32_t widenedSum(int32_t sum) {
    constexpr unsigned m = Shift - 8;
    return ((((sum << 3) >> m) + (sum >> (4 + m)) + (sum >> (12 + m)) + 4) >> 3);
  }
};

/// The texels of a filter, whose addresses and weights `source` knows. `shift`: of weights, to the
/// sum's.
template <unsigned Shift, class Source>
INLINE void addTaps(Sum<Shift> &sum, Record *record, const Source &source, uint32_t shift = 0) {
  const TexelFormat format{record->format};
  const uint32_t mode = record->mode;
  const Texel border = Sum<Shift>::valueOfBorder(record, format);
  auto valueOf = [&](unsigned tap) INLINE_LAMBDA {
    const Texel value = Sum<Shift>::valueOf(
        record, readTexel(source.address(tap), format.texelShift()), format, mode);
    return source.isOutside(tap) ? border : value;
  };
  // Groups of four are cut at one place.
  constexpr unsigned kGroup = Source::kTaps < 4 ? Source::kTaps : 4;
  NO_UNROLL for (unsigned start = 0; start < Source::kTaps; start += kGroup) {
    auto forEachTap = [&](auto function) INLINE_LAMBDA {
      if constexpr (Source::kTaps < 4) {
        UNROLL for (unsigned tap = 0; tap < Source::kTaps; ++tap) function(tap);
      } else {
        NO_UNROLL for (unsigned tap = start; tap < start + kGroup; ++tap) function(tap);
      }
    };
    const bool isGroup = Sum<Shift>::isOfGroups(format);
    Sum<Shift> ofGroup;
    Sum<Shift> &to = isGroup ? ofGroup : sum;
    Texel exponents = {};
    if (Sum<Shift>::hasPlaces(format, mode)) {
      forEachTap([&](unsigned tap) INLINE_LAMBDA {
        if (source.weight(tap))
          exponents =
              __builtin_elementwise_max(exponents, Sum<Shift>::exponentsOf(valueOf(tap), mode));
      });
      if (source.borderWeight())
        exponents = __builtin_elementwise_max(exponents, Sum<Shift>::exponentsOf(border, mode));
    }
    if (source.borderWeight())
      to.add(border, format, mode, source.borderWeight() << shift, exponents, true);
    forEachTap([&](unsigned tap) INLINE_LAMBDA {
      to.add(valueOf(tap), format, mode, source.weight(tap) << shift, exponents,
             source.counts(tap));
      if (format.kind() == TexelKind::Bits && isGroup && tap & 1) { // pairs lose less than fours
        sum.addGroup(ofGroup);
        ofGroup.number = -0.0f;
      }
    });
    if (isGroup)
      sum.addGroup(ofGroup);
  }
}

/// One of a few numbers. An array that is indexed would lie in memory.
template <unsigned N, class T> INLINE T chosen(const T (&values)[N], unsigned index) {
  T value = values[0];
  UNROLL for (unsigned i = 1; i < N; ++i) {
    if (index == i)
      value = values[i];
  }
  return value;
}

/// The texels around a place in a grid, which `steps` move if isMoved.
template <unsigned D, bool isMoved = false> struct Footprint {
  static constexpr unsigned kTaps = 1 << D;
  Taps taps[3];
  uint32_t columns[2], rows[2];
  uint64_t slices[2];
  uint32_t weights[kTaps];
  uint32_t ofBorder = 0;
  bool isAway = false; ///< of one dimension: beside the row

  /// `shift`: log2 of the bytes of a texel.
  INLINE Footprint(unsigned shift, uint32_t mode, const Grid &grid, Numbers at, uint64_t slice,
                   Integers offsets, uint32_t part, Integers steps = Integers{})
      : taps{} {
    locatePairs<D, isMoved>(grid, mode, at, offsets, taps, steps);
    UNROLL for (unsigned i = 0; i < 2; ++i) {
      columns[i] = columnOffset(grid, uint32_t(taps[0].at[i]) << shift);
      rows[i] = D >= 2 ? uint32_t(taps[1].at[i]) * grid.rowPitch : 0;
      slices[i] = slice;
      if (D == 3)
        slices[i] += uint32_t(taps[2].at[i]) * grid.slicePitch;
    }
    weigh<D>(taps, part, weights);
    if (D == 1 && modeOf(mode, 1) == AddressMode::Border) {
      // One dimension is two for an H100, sampled on the edge of its only row.
      weights[0] = offsets.y ? 0 : weights[0] - share(weights[0], 128);
      weights[1] = offsets.y ? 0 : share(weights[1], 128);
      isAway = offsets.y;
      ofBorder = part - weights[0] - weights[1];
    }
  }
  INLINE uint64_t address(unsigned tap) const {
    const uint32_t column = tap & 1 ? columns[1] : columns[0], row = tap & 2 ? rows[1] : rows[0];
    return (tap & 4 ? slices[1] : slices[0]) + column + row;
  }
  INLINE bool isOutside(unsigned tap) const {
    bool result = false;
    UNROLL for (unsigned i = 0; i < D; ++i) {
      result |= (tap >> i & 1) ? taps[i].isOutside[1] : taps[i].isOutside[0];
    }
    return result;
  }
  INLINE uint32_t weight(unsigned tap) const { return chosen(weights, tap); }
  /// Whether it is one of those between which the place lies.
  INLINE bool counts(unsigned tap) const {
    bool result = !isAway;
    UNROLL for (unsigned i = 0; i < D; ++i) { result &= !(tap >> i & 1) || taps[i].weight; }
    return result;
  }
  INLINE uint32_t borderWeight() const { return ofBorder; }
};

/// Whether a plain sum may be wrong, as denormals, zeros or texels without a weight matter.
INLINE bool needsCare(float sum) {
  constexpr uint32_t kLeast = 0x0d800000, kMost = 0x7f800000; // 2^-100, and infinite
  return (asBits(sum) & 0x7fffffff) - kLeast >= kMost - kLeast;
}

/// The common case, without what others need: one channel of 32 bits, clamped.
template <unsigned D>
INLINE Texel blendWords(Record *record, const Grid &grid, Numbers at, uint64_t slice) {
  const uint32_t mode = (record->mode & ~kAddressModes) | kAllClamp | kPlainAddressing;
  const Footprint<D> footprint(2, mode, grid, at, slice, Integers{}, 256);
  float values[1 << D], sums[1 << D]; // of pairs, which lose less than one sum after the other
  UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) {
    values[tap] =
        *(GLOBAL const float *)(footprint.slices[tap >> 2] +
                                (footprint.columns[tap & 1] + footprint.rows[tap >> 1 & 1]));
  }
  UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) {
    const float weight = float(footprint.weights[tap]) * (1.0f / 256);
    sums[tap] = tap & 1 ? __builtin_fmaf(values[tap], weight, sums[tap - 1]) : values[tap] * weight;
  }
  float sum = sums[1];
  if constexpr (D >= 2)
    sum += sums[3];
  if constexpr (D == 3)
    sum += sums[5] + sums[7];
  if (needsCare(sum)) {
    uint32_t bits = 0;
    UNROLL for (float value : values) bits |= asBits(value);
    if (bits == 0)
      return {};
    Sum<> all;
    UNROLL for (unsigned tap = 0; tap < 1 << D; ++tap) all.addNumbers(
        Numbers(flushed(values[tap])), footprint.weights[tap], footprint.counts(tap));
    return {blendedBits(all.number.x), 0, 0, 0};
  }
  return {asBits(sum), 0, 0, 0};
}

/// The same of any format, with kPlainFilter.
INLINE Texel blendTexels(Record *record, const Grid &grid, Numbers at, uint64_t slice) {
  const TexelFormat format{record->format};
  const Footprint<2> footprint(format.texelShift(), record->mode, grid, at, slice, Integers{}, 256);
  const auto &weights = footprint.weights;
  Texel texels[4];
  auto read = [&](unsigned shift) INLINE_LAMBDA {
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) texels[tap] =
        readTexel(slice + (footprint.columns[tap & 1] + footprint.rows[tap >> 1]), shift);
  };
  switch (format.texelShift()) {
  case 0:
    read(0);
    break;
  case 1:
    read(1);
    break;
  case 2:
    read(2);
    break;
  case 3:
    read(3);
    break;
  default:
    read(4);
  }
  Sum<> sum;
  if (Sum<>::isExact(format, 0)) {
    if (format.channelShift() == 0 && !format.isSigned()) { // two channels in a word
      uint32_t even = 0, odd = 0;
      UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
        even += (texels[tap].x & 0xff00ff) * weights[tap];
        odd += (texels[tap].x >> 8 & 0xff00ff) * weights[tap];
      }
      sum.integer = {int32_t(even & 0xffff), int32_t(odd & 0xffff), int32_t(even >> 16),
                     int32_t(odd >> 16)};
      if (format.kind() == TexelKind::Normalized)
        sum.integer *= 257;
    } else {
      UNROLL for (unsigned tap = 0; tap < 4; ++tap) sum.integer +=
          Sum<>::widened(texels[tap], format) * int32_t(weights[tap]);
    }
    return sum.result(format, 0);
  }
  const bool isHalf = format.kind() == TexelKind::Half;
  const bool isOne = format.channelsShift() == 0;
  if (isHalf) {
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
      if (isOne)
        texels[tap].x = asBits(halfToFloat(texels[tap].x));
      else
        texels[tap] = forEach(takeApart(texels[tap], format), [](uint32_t bits) INLINE_LAMBDA {
          return asBits(halfToFloat(bits));
        });
    }
  }
  // Where all texels are 0, their sum is.
  auto isDelicate = [&](float sum, unsigned channel) INLINE_LAMBDA {
    return needsCare(sum) &&
           (texels[0][channel] | texels[1][channel] | texels[2][channel] | texels[3][channel]) != 0;
  };
  // What is added: of halves, all of them cut at one place.
  Texel parts[4] = {texels[0], texels[1], texels[2], texels[3]};
  if (isHalf) {
    auto cut = [&](unsigned channel) INLINE_LAMBDA {
      HalvesPlace place;
      UNROLL for (unsigned tap = 0; tap < 4; ++tap)
          place.include(weights[tap] ? texels[tap][channel] : 0);
      UNROLL for (unsigned tap = 0; tap < 4; ++tap) parts[tap][channel] =
          asBits(place.cut(asFloat(texels[tap][channel])));
    };
    cut(0);
    if (!isOne) {
      cut(1);
      cut(2);
      cut(3);
    }
  }
  if (isOne) {
    float pairs[2];
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
      const float part = asFloat(parts[tap].x), weight = float(weights[tap]) * (1.0f / 256);
      pairs[tap >> 1] = tap & 1 ? __builtin_fmaf(part, weight, pairs[tap >> 1]) : part * weight;
    }
    const float number = pairs[0] + pairs[1];
    if (!isDelicate(number, 0))
      return {asBits(isHalf ? roundedToHalf(number) : number), 0, 0, 0};
  } else {
    Numbers pairs[2];
    UNROLL for (unsigned tap = 0; tap < 4; ++tap) {
      const Numbers part = __builtin_bit_cast(Numbers, parts[tap]);
      const Numbers weight = float(weights[tap]) * Sum<>::kUnit;
      pairs[tap >> 1] =
          tap & 1 ? __builtin_elementwise_fma(part, weight, pairs[tap >> 1]) : part * weight;
    }
    const Numbers number = sum.number = pairs[0] + pairs[1];
    if (!(isDelicate(number.x, 0) || isDelicate(number.y, 1) || isDelicate(number.z, 2) ||
          isDelicate(number.w, 3)))
      return sum.result(format, 0);
    sum.number = -0.0f;
  }
  NO_UNROLL for (unsigned tap = 0; tap < 4; ++tap)
      sum.addNumbers(__builtin_bit_cast(Numbers, forEach(chosen(parts, tap), Sum<>::flushedBits)),
                     chosen(weights, tap), footprint.counts(tap));
  return sum.result(format, 0);
}

/// The texel at a place in a grid, as a filter of one: `steps` move it.
template <unsigned D> struct PointFootprint {
  static constexpr unsigned kTaps = 1;
  uint64_t place;
  uint32_t part;
  bool isOut = false;

  INLINE PointFootprint(unsigned shift, uint32_t mode, const Grid &grid, Numbers at, uint64_t slice,
                        Integers offsets, uint32_t part, Integers steps = Integers{})
      : part(part) {
    Taps taps[3] = {};
    locatePoint<D>(grid, mode, at, offsets, taps, steps);
    uint32_t offset = columnOffset(grid, uint32_t(taps[0].at[0]) << shift);
    if constexpr (D >= 2)
      offset += uint32_t(taps[1].at[0]) * grid.rowPitch;
    if constexpr (D == 3)
      slice += uint32_t(taps[2].at[0]) * grid.slicePitch;
    place = slice + offset;
    if (!(mode & kPlainAddressing))
      isOut = taps[0].isOutside[0] || taps[1].isOutside[0] || taps[2].isOutside[0] ||
              (D == 1 && offsets.y && modeOf(mode, 1) == AddressMode::Border); // a row of two
  }
  INLINE uint64_t address(unsigned) const { return place; }
  INLINE bool isOutside(unsigned) const { return isOut; }
  INLINE uint32_t weight(unsigned) const { return part; }
  INLINE bool counts(unsigned) const { return true; }
  INLINE uint32_t borderWeight() const { return 0; }
};

template <unsigned D>
INLINE void addLinear(Sum<> &sum, Record *record, const Grid &grid, Numbers at, uint64_t slice,
                      Integers offsets, uint32_t part) {
  const TexelFormat format{record->format};
  addTaps(sum, record,
          Footprint<D>(format.texelShift(), record->mode, grid, at, slice, offsets, part));
}

} // namespace
