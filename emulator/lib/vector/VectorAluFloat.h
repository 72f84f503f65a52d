// SPDX-License-Identifier: Apache-2.0
// What the float instructions of all three widths share, written once on the bits: classes of
// numbers, minimum and maximum as RDNA3 defines them, fraction and exponent.
//
// The functions are free of branches so that loops over lanes vectorise.
#pragma once

#include "emulator/lib/machine/Half.h"

#include <limits>

namespace rubia::emulator {
namespace RUBIA_ISA {

/// The binary format of a float type.
template <class T> struct Format;
template <> struct Format<float> {
  using Bits = uint32_t;
  static constexpr int kFraction = 23, kBias = 127;
};
template <> struct Format<double> {
  using Bits = uint64_t;
  static constexpr int kFraction = 52, kBias = 1023;
};
template <> struct Format<Half> {
  using Bits = uint16_t;
  static constexpr int kFraction = 10, kBias = 15;
};

template <class T> using BitsOf = Format<T>::Bits;
template <class T>
constexpr BitsOf<T> kSignBit = BitsOf<T>(BitsOf<T>(1) << (sizeof(BitsOf<T>) * 8 - 1));
template <class T>
constexpr BitsOf<T> kFractionMask = BitsOf<T>((BitsOf<T>(1) << Format<T>::kFraction) - 1);
template <class T> constexpr BitsOf<T> kInfinity = BitsOf<T>(~kSignBit<T> & ~kFractionMask<T>);
template <class T>
constexpr BitsOf<T> kQuietBit = BitsOf<T>(BitsOf<T>(1) << (Format<T>::kFraction - 1));

template <class T> BitsOf<T> bitsOf(T value) { return std::bit_cast<BitsOf<T>>(value); }
template <class T> T fromBits(BitsOf<T> bits) { return std::bit_cast<T>(bits); }
template <class T> BitsOf<T> magnitudeOf(T value) {
  return bitsOf(value) & BitsOf<T>(~kSignBit<T>);
}

template <class T> bool isNan(T value) { return magnitudeOf(value) > kInfinity<T>; }
template <class T> bool isSignaling(T value) {
  return isNan(value) && !(bitsOf(value) & kQuietBit<T>);
}
template <class T> bool isInfinite(T value) { return magnitudeOf(value) == kInfinity<T>; }
template <class T> bool isZero(T value) { return magnitudeOf(value) == 0; }
template <class T> T quiet(T nan) { return fromBits<T>(BitsOf<T>(bitsOf(nan) | kQuietBit<T>)); }
/// Zero of the same sign in place of a denormal.
template <class T> T flushed(T value) {
  BitsOf<T> bits = bitsOf(value);
  return fromBits<T>(magnitudeOf(value) <= kFractionMask<T> ? BitsOf<T>(bits & kSignBit<T>) : bits);
}

namespace detail {
/// RDNA3 ISA V_MIN_F32, V_MAX_F32 without the IEEE part: a NaN loses against a number, and -0 is
/// less than +0. Of two NaNs the first one is the result.
template <class T> T smallerNumber(T a, T b) {
  BitsOf<T> x = bitsOf(a), y = bitsOf(b);
  BitsOf<T> result = a < b ? x : a == b ? BitsOf<T>(x | y) : y;
  result = isNan(a) ? y : result;
  return fromBits<T>(isNan(b) ? x : result);
}
template <class T> T largerNumber(T a, T b) {
  BitsOf<T> x = bitsOf(a), y = bitsOf(b);
  BitsOf<T> result = a > b ? x : a == b ? BitsOf<T>(x & y) : y;
  result = isNan(a) ? y : result;
  return fromBits<T>(isNan(b) ? x : result);
}
/// With MODE.IEEE a signaling operand, the first one if both are, becomes the quiet result.
template <class T> T orSignaling(T result, T a, T b, bool ieee) {
  result = ieee && isSignaling(b) ? quiet(b) : result;
  return ieee && isSignaling(a) ? quiet(a) : result;
}
} // namespace detail

/// V_MIN_F*, V_MAX_F*. Assumed: without MODE.IEEE a signaling NaN that is the result of two NaNs
/// stays signaling, as the ISA's pseudocode says.
template <class T> T minNumber(T a, T b, bool ieee) {
  return detail::orSignaling(detail::smallerNumber(a, b), a, b, ieee);
}
template <class T> T maxNumber(T a, T b, bool ieee) {
  return detail::orSignaling(detail::largerNumber(a, b), a, b, ieee);
}

/// V_MED3_F*: with a NaN among the three, their minimum.
template <class T> [[gnu::always_inline]] inline T medianNumber(T a, T b, T c, bool ieee) {
  T smallest = minNumber(minNumber(a, b, ieee), c, ieee);
  T largest = maxNumber(maxNumber(a, b, ieee), c, ieee);
  T median = largest == a   ? maxNumber(b, c, ieee)
             : largest == b ? maxNumber(a, c, ieee)
                            : maxNumber(a, b, ieee);
  return isNan(a) || isNan(b) || isNan(c) ? smallest : median;
}

/// V_MINIMUM_*, V_MAXIMUM_* of RDNA4: a NaN wins, quieted; assumed: the first one.
template <class T> T propagated(T result, T a, T b) {
  result = isNan(b) ? quiet(b) : result;
  return isNan(a) ? quiet(a) : result;
}
template <class T> T minimum(T a, T b) { return propagated(detail::smallerNumber(a, b), a, b); }
template <class T> T maximum(T a, T b) { return propagated(detail::largerNumber(a, b), a, b); }

/// The bit of V_CMP_CLASS_*'s mask that names the class of `value`: 0 signaling NaN, 1 quiet NaN,
/// 2 -inf, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +inf.
template <class T> bool inClass(T value, uint32_t mask) {
  BitsOf<T> magnitude = magnitudeOf(value);
  bool negative = bitsOf(value) & kSignBit<T>;
  uint32_t distance = magnitude == 0                  ? 0
                      : magnitude <= kFractionMask<T> ? 1
                      : magnitude < kInfinity<T>      ? 2
                                                      : 3;
  uint32_t bit = negative ? 5 - distance : 6 + distance;
  bit = magnitude > kInfinity<T> ? (bitsOf(value) & kQuietBit<T> ? 1 : 0) : bit;
  return mask >> bit & 1;
}

/// V_FREXP_MANT_*: in [0.5, 1) with the sign of the source; zeros, infinities and NaNs unchanged
/// (assumed: signaling NaNs are quieted).
template <class T> T fractionOf(T value) {
  using Bits = BitsOf<T>;
  Bits magnitude = magnitudeOf(value);
  Bits sign = bitsOf(value) & kSignBit<T>;
  // A denormal's leading one is moved to the hidden bit.
  int shift =
      std::countl_zero(Bits(magnitude | 1)) - (int(sizeof(Bits)) * 8 - 1 - Format<T>::kFraction);
  Bits normal = magnitude <= kFractionMask<T> ? Bits(magnitude << (shift & (sizeof(Bits) * 8 - 1)))
                                              : magnitude;
  Bits result =
      Bits((normal & kFractionMask<T>) | Bits(Bits(Format<T>::kBias - 1) << Format<T>::kFraction));
  result = magnitude == 0 || magnitude >= kInfinity<T> ? magnitude : result;
  result = magnitude > kInfinity<T> ? Bits(result | kQuietBit<T>) : result;
  return fromBits<T>(Bits(result | sign));
}

/// V_FREXP_EXP_*: e with value = fractionOf(value) * 2^e; 0 for zeros, infinities and NaNs.
template <class T> int exponentOf(T value) {
  using Bits = BitsOf<T>;
  Bits magnitude = magnitudeOf(value);
  int shift =
      std::countl_zero(Bits(magnitude | 1)) - (int(sizeof(Bits)) * 8 - 1 - Format<T>::kFraction);
  int field = int(magnitude >> Format<T>::kFraction);
  int exponent = (field ? field : 1 - shift) - Format<T>::kBias + 1;
  return magnitude == 0 || magnitude >= kInfinity<T> ? 0 : exponent;
}

/// Float to integer as all V_CVT_* do: toward zero, saturating, NaN is 0. For float and double.
template <class I, class T> I toInteger(T value) {
  constexpr unsigned kWidth = sizeof(I) * 8;
  constexpr I kMax = std::numeric_limits<I>::max(), kMin = std::numeric_limits<I>::min();
  // One above the maximum: a power of two, which both types hold exactly.
  constexpr T kEnd = T(std::is_signed_v<I> ? uint64_t(1) << (kWidth - 1) : uint64_t(1) << kWidth);
  bool inside = value > T(kMin) && value < kEnd;
  T safe = inside ? value : T(0);
  using Wide = std::conditional_t<(sizeof(I) < 4), int32_t, I>;
  I result = I(Wide(safe));
  result = value >= kEnd ? kMax : result;
  result = value <= T(kMin) ? kMin : result;
  return isNan(value) ? I(0) : result;
}

/// The nearest representable value of a narrower integer type.
template <class I, class W> I saturated(W value) {
  constexpr W kMax = W(std::numeric_limits<I>::max()), kMin = W(std::numeric_limits<I>::min());
  value = value > kMax ? kMax : value;
  return I(value < kMin ? kMin : value);
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
