// SPDX-License-Identifier: Apache-2.0
// Arithmetic of the 16-bit float types beyond Half(float): results that are computed exactly, or to
// 53 bits, in double and then rounded once.
//
// f16 addition and multiplication need none of this: float has 24 >= 2 * 11 + 2 bits, so rounding
// its sum or product to 11 bits is the correctly rounded result, and in the directed modes rounding
// twice in the same direction is rounding once.
#pragma once

#include "emulator/lib/machine/Semantics.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

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
