// SPDX-License-Identifier: Apache-2.0
// The 16-bit float types, and their arithmetic beyond Half(float): results that are computed
// exactly, or to 53 bits, in double and then rounded once.
//
// f16 addition and multiplication need none of this: float has 24 >= 2 * 11 + 2 bits, so rounding
// its sum or product to 11 bits is the correctly rounded result, and in the directed modes rounding
// twice in the same direction is rounding once.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"
#include <bit>
#include <cmath>

namespace rubia::emulator {
namespace RUBIA_ISA {

/// IEEE binary16. Half(float) rounds in the current rounding mode, overflow included.
struct Half {
  uint16_t bits = 0;
  Half() = default;
  explicit Half(float value) : bits(round(value)) {}
  static Half fromBits(uint16_t bits) {
    Half half;
    half.bits = bits;
    return half;
  }
  operator float() const {
#ifdef __F16C__
    return float(std::bit_cast<_Float16>(bits));
#else
    uint32_t magnitude = bits & 0x7fff;
    uint32_t sign = uint32_t(bits & 0x8000) << 16;
    // Subnormals: 2^-24 * n, computed as (0.5 + 2^-24 * n) - 0.5, which is exact.
    // Rounding down, the difference of equal numbers is -0.
    uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(0x3f000000 | magnitude) - 0.5f) & 0x7fffffff;
    uint32_t normal = (magnitude << 13) + (112u << 23);
    uint32_t special = 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
    uint32_t absolute = magnitude < 0x400 ? subnormal : magnitude < 0x7c00 ? normal : special;
    return std::bit_cast<float>(absolute | sign);
#endif
  }

private:
  static uint16_t round(float value) {
#ifdef __F16C__
    return std::bit_cast<uint16_t>(_Float16(value));
#else
    uint32_t bits = std::bit_cast<uint32_t>(value);
    uint32_t sign = bits & 0x80000000;
    uint32_t magnitude = bits ^ sign;
    // Adding and subtracting 2^(exponent + 13) of the same sign rounds to 11 significant bits in
    // whatever mode is set.
    uint32_t exponent = magnitude >> 23;
    exponent = (exponent < 113 ? 113 : exponent > 143 ? 143 : exponent) + 13;
    float anchor = std::bit_cast<float>(exponent << 23 | sign);
    float rounded = (value + anchor) - anchor;
    // Too large for binary16: infinity or 65504, which is what the mode makes of an overflow in
    // binary32.
    bool large = (std::bit_cast<uint32_t>(rounded) & 0x7fffffff) >= 0x47800000;
    float overflowed = rounded * 0x1p112f;
    bool infinite = (std::bit_cast<uint32_t>(overflowed) & 0x7fffffff) == 0x7f800000;
    uint32_t result = std::bit_cast<uint32_t>(rounded) & 0x7fffffff;
    uint32_t normal = (result >> 13) - (112u << 10);
    uint32_t subnormal = std::bit_cast<uint32_t>(std::bit_cast<float>(result) + 0.5f) - 0x3f000000;
    uint32_t nan = 0x7e00 | (magnitude >> 13 & 0x3ff);
    uint32_t half = result < 0x38800000 ? subnormal : normal;
    half = large ? (infinite ? 0x7c00 : 0x7bff) : half;
    half = magnitude > 0x7f800000 ? nan : half;
    return uint16_t(half | sign >> 16);
#endif
  }
};

/// bfloat16. Bfloat(float) rounds to nearest even.
struct Bfloat {
  uint16_t bits = 0;
  Bfloat() = default;
  explicit Bfloat(float value) {
    uint32_t word = std::bit_cast<uint32_t>(value);
    uint32_t nearest = (word + 0x7fff + (word >> 16 & 1)) >> 16;
    bits = uint16_t((word & 0x7fffffff) > 0x7f800000 ? word >> 16 | 0x40 : nearest);
  }
  static Bfloat fromBits(uint16_t bits) {
    Bfloat value;
    value.bits = bits;
    return value;
  }
  operator float() const { return std::bit_cast<float>(uint32_t(bits) << 16); }
};

/// Rounds to binary16 in the current rounding mode, overflow included, from any double.
[[gnu::always_inline]] inline Half roundToHalf(double value) {
  uint64_t bits = std::bit_cast<uint64_t>(value);
  uint64_t sign = bits & 0x8000000000000000;
  uint64_t magnitude = bits ^ sign;
  // The sum with 2^(exponent + 42) of the same sign has its last bit where the result has it.
  uint64_t exponent = magnitude >> 52;
  exponent = exponent < 1009 ? 1009 : exponent > 1040 ? 1040 : exponent;
  double anchor = std::bit_cast<double>((exponent + 42) << 52 | sign);
  double rounded = (value + anchor) - anchor;
  uint64_t result = std::bit_cast<uint64_t>(rounded) & 0x7fffffffffffffff;
  // What the mode makes of an overflow in binary64: infinity or the largest number.
  bool large = result >= 0x40f0000000000000; // 65536
  double overflowed = rounded * 0x1p1008;
  bool infinite = (std::bit_cast<uint64_t>(overflowed) & 0x7fffffffffffffff) == 0x7ff0000000000000;
  uint64_t normal = (result >> 42) - (1008u << 10);
  uint64_t subnormal = std::bit_cast<uint64_t>(std::bit_cast<double>(result) + 0x1p28) & 0x7ff;
  uint64_t nan = 0x7e00 | (magnitude >> 42 & 0x3ff);
  uint64_t half = result < 0x3f10000000000000 ? subnormal : normal;
  half = large ? (infinite ? 0x7c00 : 0x7bff) : half;
  half = magnitude > 0x7ff0000000000000 ? nan : half;
  return Half::fromBits(uint16_t(half | sign >> 48));
}

/// Rounds to binary16 toward zero whatever the mode.
inline Half truncateToHalf(float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  uint32_t sign = bits & 0x80000000;
  uint32_t magnitude = bits ^ sign;
  uint32_t normal = (magnitude >> 13) - (112u << 10);
  // The hidden bit and the fraction moved to units of 2^-24.
  uint32_t exponent = magnitude >> 23;
  uint32_t shift = exponent < 102 ? 31 : exponent > 112 ? 14 : 126 - exponent;
  uint32_t subnormal = (0x800000 | (magnitude & 0x7fffff)) >> shift;
  uint32_t half = magnitude < 0x38800000 ? subnormal : normal;
  half = magnitude >= 0x47800000 ? 0x7bff : half;
  half = magnitude == 0x7f800000 ? 0x7c00 : half;
  half = magnitude > 0x7f800000 ? 0x7e00 | (magnitude >> 13 & 0x3ff) : half;
  return Half::fromBits(uint16_t(half | sign >> 16));
}

/// a * b + c rounded once. The product is exact in double. Where the sum is not, its two parts are
/// so far apart that the larger one is c (else the smaller one, a multiple of 2^-48, would fit),
/// and c plus something below a 2^20th of it rounds to the same f16 with or without the first
/// rounding.
inline Half fusedMultiplyAdd(Half a, Half b, Half c) {
  return roundToHalf(double(float(a)) * double(float(b)) + double(float(c)));
}

inline Half negated(Half a) { return Half::fromBits(a.bits ^ 0x8000); }

} // namespace RUBIA_ISA
} // namespace rubia::emulator
