// SPDX-License-Identifier: Apache-2.0
// Levels of detail and footprints of gradients, as an H100 has them.
//
// Gradients are two vectors a and b of texels; the ellipse that they span is approximated. A vector
// is as long as its largest component with parts of the others. The longer axis is the longest of
// a, b, and of their sum and difference with 11/16 of their lengths. The level of detail is its
// logarithm, of a number of 10 bits. With anisotropy, the shorter axis counts, which is the
// ellipse's area by the longer one, and samples are taken along the latter, a texel apart.
#pragma once

#include "lowering/device/Filters.h"

namespace {

/// A number of 10 bits, cut.
INLINE float cutGradient(float value) { return asFloat(asBits(value) & ~0x3fffu); }
/// The same, to the nearest.
INLINE float roundGradient(float value) { return asFloat((asBits(value) + 0x2000) & ~0x3fffu); }
INLINE Numbers cutGradient(Numbers v) {
  return {cutGradient(v.x), cutGradient(v.y), cutGradient(v.z), 0};
}

INLINE float larger(float x, float y) { return x > y ? x : y; }
INLINE float smaller(float x, float y) { return x < y ? x : y; }

/// How long a vector is.
template <unsigned D> INLINE float lengthOf(Numbers vector) {
  const Numbers size = __builtin_elementwise_abs(vector);
  if (D == 1)
    return size.x;
  const float high = larger(size.x, size.y), low = smaller(size.x, size.y);
  if (D == 2)
    return __builtin_fmaf(low, 11.0f / 32, high);
  const float most = larger(high, size.z), middle = larger(low, smaller(high, size.z)),
              least = smaller(low, size.z);
  return __builtin_fmaf(least, 0.25f, __builtin_fmaf(middle, 11.0f / 32, most));
}

constexpr float kDiagonal = 11.0f / 16;

/// The length of the longer axis of what two gradients span.
template <unsigned D> INLINE float longerAxis(Numbers a, Numbers b) {
  const float sum =
      kDiagonal * larger(lengthOf<D>(cutGradient(a + b)), lengthOf<D>(cutGradient(a - b)));
  return larger(larger(lengthOf<D>(a), lengthOf<D>(b)), sum);
}

/// The level of detail at which so many texels are one: the logarithm of the middle of all numbers
/// that have the same ten bits.
INLINE float levelOfLength(float texels) {
  const uint32_t bits = asBits(texels), step = bits >> 14 & 0x1ff;
  const float middle = asFloat(0x3f802000 | step << 14);
  float logarithm;
  asm("lg2.approx.f32 %0, %1;" : "=f"(logarithm) : "f"(middle));
  const int32_t fraction = step ? floorOf(__builtin_fmaf(logarithm, 256.0f, 0.5f)) : 0;
  return float((int32_t(bits >> 23) - 127) * 256 + fraction) * (1.0f / 256);
}

INLINE Numbers gradientOf(Record *record, float x, float y, float z) {
  return {roundGradient(cutGradient(x) * record->scale[0]),
          roundGradient(cutGradient(y) * record->scale[1]),
          roundGradient(cutGradient(z) * record->scale[2]), 0};
}

/// What is sampled for a pair of gradients of two dimensions.
struct Ellipse {
  float level;
  float ratio; // of the axes: how many samples, and what parts of some; 1: one
  float x, y;  // along the longer axis: a vector of length 1

  INLINE Ellipse(Record *record, Numbers a, Numbers b) {
    const float longer = longerAxis<2>(a, b);
    ratio = 1;
    x = y = 0;
    if (record->maxAnisotropy < 2) {
      level = levelOfLength(longer);
      return;
    }
    const float area = __builtin_fabsf(a.x * b.y - a.y * b.x), shorter = area / longer;
    const float width = smaller(larger(shorter, longer / float(record->maxAnisotropy)), longer);
    level = levelOfLength(width);
    ratio = longer / larger(width, 1);
    float most = lengthOf<2>(a), alongX = a.x, alongY = a.y;
    auto take = [&](Numbers vector, float length) INLINE_LAMBDA {
      const bool isLonger = length > most;
      most = isLonger ? length : most;
      alongX = isLonger ? vector.x : alongX;
      alongY = isLonger ? vector.y : alongY;
    };
    take(b, lengthOf<2>(b));
    take(a + b, kDiagonal * lengthOf<2>(a + b));
    take(a - b, kDiagonal * lengthOf<2>(a - b));
    const float length = __builtin_sqrtf(alongX * alongX + alongY * alongY);
    if (length > 0) {
      x = alongX / length;
      y = alongY / length;
    }
  }
};

/// Sums samples along the longer axis: `sample` gives that at a distance from the middle, in
/// texels.
template <class Sample>
INLINE Texel sampleAlong(const Ellipse &ellipse, TexelFormat format, Sample sample) {
  if (!(ellipse.ratio > 1))
    return sample(Numbers(0));
  const Numbers along = {ellipse.x, ellipse.y, 0, 0};
  const float part = float(floorOf(1024 / ellipse.ratio)) * (1.0f / 1024);
  const bool isPair = ellipse.ratio <= 2;
  Numbers sum = 0;
  float rest = 1; // what weights are left
  for (float at = isPair ? 1 - 1 / ellipse.ratio : 0.5f; rest > 0; at += 1) {
    const float weight = isPair || rest < 2 * part ? 0.5f * rest : part;
    rest -= 2 * weight;
    NO_UNROLL for (float side = at;; side = -at) {
      const Texel texel = sample(along * side);
      const Numbers value =
          format.kind() == TexelKind::Integer
              ? __builtin_convertvector(__builtin_bit_cast(Integers, texel), Numbers)
              : __builtin_bit_cast(Numbers, texel);
      sum = __builtin_elementwise_fma(value, Numbers(weight), sum);
      if (side < 0)
        break;
    }
  }
  if (format.kind() == TexelKind::Integer)
    return {uint32_t(floorOf(sum.x + 0.5f)), uint32_t(floorOf(sum.y + 0.5f)),
            uint32_t(floorOf(sum.z + 0.5f)), uint32_t(floorOf(sum.w + 0.5f))};
  return __builtin_bit_cast(Texel, sum);
}

} // namespace
