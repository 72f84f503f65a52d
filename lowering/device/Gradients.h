// SPDX-License-Identifier: Apache-2.0
// Levels of detail and footprints of gradients, as an H100 has them.
//
// Gradients are two vectors a and b of texels; the ellipse that they span is approximated. A vector
// is as long as its largest component with parts of the others. The longer axis is the longest of
// a, b, and of their sum and difference with 11/16 of their lengths. All numbers have ten bits, and
// of axes that are as long the first one counts of a, the sum, b, the difference.
// Divisions are differences of logarithms, which have eight bits of fraction.
#pragma once

#include "lowering/device/Filters.h"

namespace {

/// A number of ten bits, cut.
INLINE float cutGradient(float value) { return asFloat(asBits(value) & ~0x3fffu); }
INLINE Numbers cutGradient(Numbers v) {
  return {cutGradient(v.x), cutGradient(v.y), cutGradient(v.z), 0};
}

INLINE float larger(float x, float y) { return x > y ? x : y; }
INLINE float smaller(float x, float y) { return x < y ? x : y; }

/// A number of ten bits: `digits` of [512, 1024), or 0, times `unit`.
struct TenBits {
  uint32_t digits;
  float unit;
  INLINE TenBits(float value)
      : digits(asBits(value) & 0x7fffffff ? 512 | (asBits(value) >> 14 & 0x1ff) : 0),
        unit(asFloat(asBits(value) & 0x7f800000) * (1.0f / 512)) {}
  /// A part of it with fewer digits, rounded: times `factor` / 2^`shift`, in units of `of` / 2^n.
  INLINE float part(uint32_t factor, unsigned shift, float of) const {
    return float((digits * factor + (1u << shift >> 1)) >> shift) * (unit * of);
  }
};

/// 11/16 of a number, and of a vector.
INLINE float diagonalOf(float value) {
  return asFloat(asBits(cutGradient(TenBits(value).part(11, 3, 0.5f))) |
                 (asBits(value) & 0x80000000));
}
template <unsigned D> INLINE Numbers diagonalOf(Numbers v) {
  return {diagonalOf(v.x), D > 1 ? diagonalOf(v.y) : 0, D > 2 ? diagonalOf(v.z) : 0, 0};
}

/// How long a vector is, or 11/16 of it.
template <unsigned D> INLINE float lengthOf(Numbers vector, bool isDiagonal = false) {
  const Numbers size = __builtin_elementwise_abs(vector);
  const float high = D == 1 ? size.x : larger(size.x, size.y), low = smaller(size.x, size.y);
  const float most = D == 3 ? larger(size.z, high) : high, // NaN stays
      middle = D == 3 ? larger(low, smaller(high, size.z)) : low, least = smaller(low, size.z);
  float length = isDiagonal ? diagonalOf(most) : most;
  if (D > 1)
    length += cutGradient(isDiagonal ? TenBits(middle).part(121, 6, 0.125f)
                                     : TenBits(middle).part(11, 3, 0.25f));
  if (D > 2)
    length += isDiagonal ? cutGradient(TenBits(least).part(11, 3, 0.125f)) : least * 0.25f;
  return length;
}

/// Sums are of eleven bits of the larger number, and cut to ten.
INLINE float sumOf(float x, float y) {
  const uint32_t exponent = asBits(larger(__builtin_fabsf(x), __builtin_fabsf(y))) >> 23;
  if (exponent < 12 || exponent > 250) // nothing that gradients of textures are
    return cutGradient(x + y);
  const float scale = asFloat((264 - exponent) << 23);
  return cutGradient(float(int32_t(x * scale) + int32_t(y * scale)) *
                     asFloat((exponent - 10) << 23));
}
INLINE Numbers sumOf(Numbers a, Numbers b) {
  return {sumOf(a.x, b.x), sumOf(a.y, b.y), sumOf(a.z, b.z), 0};
}

/// A product of ten bits: what lies below the bits that count is not multiplied.
INLINE float productOf(float x, float y) {
  const TenBits a = x, b = y;
  uint32_t product = a.digits * b.digits;
  UNROLL for (unsigned i = 0; i < 6; ++i) {
    if (a.digits >> i & 1)
      product -= (b.digits & ((64u >> i) - 1)) << i;
  }
  const float value = cutGradient(float(product ? product + 448 : 0)) * a.unit * b.unit;
  return asFloat(asBits(value) | ((asBits(x) ^ asBits(y)) & 0x80000000));
}

/// The logarithm of a length in 256ths: that of the middle of all numbers that have the same nine
/// bits. It is rounded up from 0.53.
INLINE int32_t logarithmOf(float length) {
  const uint32_t bits = asBits(length), step = bits >> 15 & 0xff;
  float logarithm;
  asm("lg2.approx.f32 %0, %1;" : "=f"(logarithm) : "f"(asFloat(0x3f804000 | step << 15)));
  const int32_t fraction =
      step ? clampTo(floorOf(__builtin_fmaf(logarithm, 256.0f, 0.4695f)), 255) : 0;
  return (int32_t(bits >> 23) - 127) * 256 + fraction;
}
INLINE float exponential(float value) {
  asm("ex2.approx.f32 %0, %0;" : "+f"(value));
  return value;
}

/// In texels. NaN is 0.
INLINE Numbers gradientOf(Record *record, float x, float y, float z) {
  auto texels = [](float part, float size) INLINE_LAMBDA {
    return productOf(cutGradient(part == part ? part : 0), cutGradient(size));
  };
  return {texels(x, record->scale[0]), texels(y, record->scale[1]), texels(z, record->scale[2]), 0};
}

/// The longer axis of what two gradients span.
template <unsigned D> struct LongerAxis {
  float length;
  Numbers vector; // which gives its direction

  /// Without `hasDiagonals` it is one of the two.
  INLINE LongerAxis(Numbers a, Numbers b, bool hasDiagonals = true)
      : length(cutGradient(lengthOf<D>(a))), vector(a) {
    if (!hasDiagonals) {
      take(b, lengthOf<D>(b));
      return;
    }
    const float first = lengthOf<D>(a), second = lengthOf<D>(b);
    // Where it points to matters where places of samples are rounded.
    const Numbers sum = sumOf(a, b), difference = first > second ? sumOf(a, -b) : sumOf(b, -a);
    take(diagonalOf<D>(sum), lengthOf<D>(sum, true));
    take(b, second);
    take(diagonalOf<D>(difference), lengthOf<D>(difference, true));
  }
  INLINE float level() const { return float(logarithmOf(length)) * (1.0f / 256); }

private:
  INLINE void take(Numbers other, float otherLength) {
    otherLength = cutGradient(otherLength);
    const bool isLonger = otherLength > length;
    length = isLonger ? otherLength : length;
    vector.x = isLonger ? other.x : vector.x;
    vector.y = isLonger ? other.y : vector.y;
  }
};

} // namespace
