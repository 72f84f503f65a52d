// SPDX-License-Identifier: Apache-2.0
// The 8-, 6- and 4-bit float formats of the matrix and conversion instructions: exact decoding, and
// encoding with round to nearest even or stochastic rounding.
//
// All formats are one description of a few numbers. A format's codes without their sign, as
// integers, are in the order of their values, so that a result is its number of steps of 2^quantum
// plus an offset, a carry into the exponent included, and overflow is a comparison of codes.
//
// Sources: OCP "8-bit Floating Point Specification" (E4M3, E5M2), OCP "Microscaling Formats
// Specification" (E3M2, E2M3, E2M1, E8M0), CDNA3 ISA "FP8 and BF8" (FNUZ: no infinities, no -0, the
// code of -0 is the NaN, and a bias one higher).
#pragma once

#include "emulator/lib/machine/Half.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

struct SmallFormat {
  enum Specials : uint8_t {
    kIeee,     // the highest exponent holds infinities and NaNs
    kNanOnly,  // only the highest code is a NaN, no infinities
    kFnuz,     // only the code of -0 is a NaN, no infinities
    kAllFinite // neither
  };
  uint8_t exponentBits, fractionBits;
  int8_t bias;
  Specials specials;

  constexpr unsigned width() const { return 1u + exponentBits + fractionBits; }
  constexpr uint8_t sign() const { return uint8_t(1u << (width() - 1)); }
  constexpr uint8_t largest() const {
    const uint8_t last = uint8_t(sign() - 1);
    return specials == kIeee      ? uint8_t(last - (1u << fractionBits))
           : specials == kNanOnly ? uint8_t(last - 1)
                                  : last;
  }
  /// A NaN; of a format without one its largest number (assumed).
  constexpr uint8_t nan() const {
    return specials == kFnuz ? sign() : specials == kAllFinite ? largest() : uint8_t(sign() - 1);
  }
  /// What a magnitude too large for the format becomes if it does not saturate.
  constexpr uint8_t overflow() const { return specials == kIeee ? uint8_t(largest() + 1) : nan(); }
};

constexpr SmallFormat kE4m3 = {4, 3, 7, SmallFormat::kNanOnly};
constexpr SmallFormat kE4m3Fnuz = {4, 3, 8, SmallFormat::kFnuz};
constexpr SmallFormat kE5m2 = {5, 2, 15, SmallFormat::kIeee};
constexpr SmallFormat kE5m2Fnuz = {5, 2, 16, SmallFormat::kFnuz};
constexpr SmallFormat kE2m3 = {2, 3, 1, SmallFormat::kAllFinite};
constexpr SmallFormat kE3m2 = {3, 2, 3, SmallFormat::kAllFinite};
constexpr SmallFormat kE2m1 = {2, 1, 1, SmallFormat::kAllFinite};

/// 2^exponent for exponents of normal doubles.
constexpr double powerOfTwo(int exponent) {
  return std::bit_cast<double>(uint64_t(exponent + 1023) << 52);
}

/// The value of a code, whose bits above the format's width are ignored. NaNs are quiet.
constexpr float decodeSmall(SmallFormat format, uint32_t code) {
  const uint32_t magnitude = code & (format.sign() - 1u);
  const bool negative = code & format.sign();
  const bool negativeZero = negative && magnitude == 0;
  if (format.specials == SmallFormat::kFnuz ? negativeZero : magnitude > format.largest()) {
    const bool infinite = format.specials == SmallFormat::kIeee && magnitude == format.overflow();
    const uint32_t bits = infinite ? 0x7f800000 : 0x7fc00000;
    return std::bit_cast<float>(bits | (negative && infinite ? 0x80000000 : 0));
  }
  const int field = int(magnitude >> format.fractionBits);
  const uint32_t fraction = magnitude & ((1u << format.fractionBits) - 1);
  const uint32_t steps = field ? fraction | 1u << format.fractionBits : fraction;
  const int exponent = (field ? field : 1) - format.bias - format.fractionBits;
  const float value = float(double(steps) * powerOfTwo(exponent));
  return negative ? -value : value;
}

namespace detail {
/// `roundsUp(remainder, quantum)`: whether steps + remainder / quantum becomes steps + 1, with
/// `odd` the last bit of steps.
template <class RoundsUp>
constexpr uint8_t encodeSmall(SmallFormat format, double value, bool saturate, RoundsUp roundsUp) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  const uint64_t magnitude = bits & 0x7fffffffffffffff;
  const bool hasNegativeZero = format.specials != SmallFormat::kFnuz;
  const uint8_t sign = bits >> 63 ? format.sign() : uint8_t(0);
  if (magnitude > 0x7ff0000000000000)
    return hasNegativeZero ? uint8_t(format.nan() | sign) : format.nan();
  const int lowest = 1 - format.bias;
  const int field = int(magnitude >> 52);
  const int exponent = field - 1023 < lowest ? lowest : field - 1023;
  uint64_t significand = magnitude & 0xfffffffffffff;
  if (field)
    significand |= uint64_t(1) << 52;
  // The significand counts steps of 2^(field - 1023 - 52), the code steps of the format's quantum.
  int shift = 52 - format.fractionBits + exponent - (field - 1023);
  if (shift > 62) { // far below the smallest number: only "not zero" is left of it
    significand = significand != 0;
    shift = 62;
  }
  const uint64_t quantum = uint64_t(1) << shift;
  uint64_t code = significand >> shift;
  code += roundsUp(significand & (quantum - 1), quantum, code & 1);
  code += uint64_t(exponent - lowest) << format.fractionBits;
  uint8_t result = uint8_t(code);
  if (code > format.largest())
    result = saturate ? format.largest() : format.overflow();
  if (!hasNegativeZero && (result == 0 || result == format.nan()))
    return result;
  return uint8_t(result | sign);
}
} // namespace detail

/// The nearest code, ties to even. A magnitude that rounds beyond the largest number, infinity
/// included, becomes that number (`saturate`), or the format's infinity or else NaN.
constexpr uint8_t encodeSmall(SmallFormat format, double value, bool saturate) {
  return detail::encodeSmall(format, value, saturate,
                             [](uint64_t remainder, uint64_t quantum, bool odd) {
                               return remainder > quantum / 2 || (remainder == quantum / 2 && odd);
                             });
}

/// Away from zero with the probability of the part that does not fit: that part plus random / 2^32
/// reaches one step.
constexpr uint8_t encodeSmallStochastic(SmallFormat format, double value, uint32_t random,
                                        bool saturate) {
  return detail::encodeSmall(
      format, value, saturate, [random](uint64_t remainder, uint64_t quantum, bool) {
        return remainder + uint64_t(double(random) * (double(quantum) * 0x1p-32)) >= quantum;
      });
}

/// E8M0, the scale of a block: 2^(code - 127), 255 is a NaN.
constexpr double decodeScale(uint32_t code) {
  return (code & 0xff) == 0xff ? std::bit_cast<double>(0x7ff8000000000000)
                               : powerOfTwo(int(code & 0xff) - 127);
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
