// SPDX-License-Identifier: Apache-2.0
// Binary floating-point formats, and rounding of exact values to them. IEEE 754-2019 sections 3.4,
// 4.3 and 7.4; OCP "OFP8" and "MX" specifications for the formats without infinities.
#pragma once

#include <cstdint>
#include <gmpxx.h>

namespace rubia::reference {

struct FloatFormat {
  unsigned bits;      // in memory
  unsigned precision; // significand bits, the hidden one included
  int minExponent;    // of the smallest normal number
  int maxExponent;    // of the largest number
  enum class Specials : uint8_t {
    Ieee,    // exponent of all ones: infinities and NaNs
    NanOnly, // all ones is NaN (e4m3)
    None,    // every code is a number (e2m3, e3m2, e2m1)
  } specials = Specials::Ieee;
  unsigned unusedBits = 0; // low bits that are always zero (tf32 in a .b32)

  mpq_class largest() const;
  uint64_t signBit() const { return uint64_t(1) << (bits - 1); }
  uint64_t infinity() const;
};

inline constexpr FloatFormat kF16{16, 11, -14, 15};
inline constexpr FloatFormat kBf16{16, 8, -126, 127};
inline constexpr FloatFormat kTf32{32, 11, -126, 127, FloatFormat::Specials::Ieee, 13};
inline constexpr FloatFormat kF32{32, 24, -126, 127};
inline constexpr FloatFormat kF64{64, 53, -1022, 1023};
inline constexpr FloatFormat kE4m3{8, 4, -6, 8, FloatFormat::Specials::NanOnly};
inline constexpr FloatFormat kE5m2{8, 3, -14, 15};
inline constexpr FloatFormat kE2m3{6, 4, 0, 2, FloatFormat::Specials::None};
inline constexpr FloatFormat kE3m2{6, 3, -2, 4, FloatFormat::Specials::None};
inline constexpr FloatFormat kE2m1{4, 2, 0, 2, FloatFormat::Specials::None};

enum class Rounding : uint8_t { NearestEven, NearestAway, Zero, Down, Up };

/// A decoded number. `value` is 0 for zeros, infinities and NaNs.
struct Float {
  enum class Kind : uint8_t { Finite, Infinity, Nan } kind = Kind::Finite;
  bool negative = false;
  mpq_class value;
  uint64_t bits = 0; // as it was given, for NaNs

  bool isNan() const { return kind == Kind::Nan; }
  bool isInfinity() const { return kind == Kind::Infinity; }
  bool isFinite() const { return kind == Kind::Finite; }
  bool isZero() const { return isFinite() && value == 0; }
};

Float decode(const FloatFormat &format, uint64_t bits);

struct RoundingRule {
  Rounding rounding = Rounding::NearestEven;
  bool flush =
      false; // .ftz: below the smallest normal number after rounding with unbounded exponent
  bool saturate = false; // .satfinite: the largest finite number instead of an infinity
};

/// The nearest representable number by the rule; `negativeZero` is the sign of a zero result of an
/// exact zero. Overflow gives infinity or the largest number as IEEE 754 section 7.4 says.
uint64_t encode(const FloatFormat &format, const mpq_class &value, RoundingRule rule,
                bool negativeZero);

/// `value` times 2 to the power of `exponent`: by shifts, where * and / of GMP look for common
/// divisors.
mpq_class scaled(const mpq_class &value, int exponent);
/// 2 to the power of `exponent`.
mpq_class powerOfTwo(int exponent);
/// floor(log2(|value|)); value is not 0.
int exponentOf(const mpq_class &value);
/// The integer nearest to `value` by the rounding.
mpz_class roundToInteger(const mpq_class &value, Rounding rounding);

} // namespace rubia::reference
