// SPDX-License-Identifier: Apache-2.0
#include "reference/lib/FloatFormat.h"

namespace rubia::reference {

mpq_class scaled(const mpq_class &value, int exponent) {
  mpq_class result;
  if (exponent < 0)
    mpq_div_2exp(result.get_mpq_t(), value.get_mpq_t(), unsigned(-exponent));
  else
    mpq_mul_2exp(result.get_mpq_t(), value.get_mpq_t(), unsigned(exponent));
  return result;
}

mpq_class powerOfTwo(int exponent) { return scaled(1, exponent); }

int exponentOf(const mpq_class &value) {
  const size_t placesBelow = mpz_sizeinbase(value.get_den_mpz_t(), 2);
  const int exponent = int(mpz_sizeinbase(value.get_num_mpz_t(), 2)) - int(placesBelow);
  // Of fractions of powers of two, such as floating-point numbers, the bits tell it.
  if (mpz_scan1(value.get_den_mpz_t(), 0) == placesBelow - 1)
    return exponent;
  return powerOfTwo(exponent) > abs(value) ? exponent - 1 : exponent;
}

mpz_class roundToInteger(const mpq_class &value, Rounding rounding) {
  mpz_class floor, remainder;
  mpz_fdiv_qr(floor.get_mpz_t(), remainder.get_mpz_t(), value.get_num_mpz_t(),
              value.get_den_mpz_t());
  if (remainder == 0)
    return floor;
  int half = cmp(mpz_class(remainder * 2), value.get_den()); // position of the fraction against 1/2
  switch (rounding) {
  case Rounding::Down:
    return floor;
  case Rounding::Up:
    return floor + 1;
  case Rounding::Zero:
    return sgn(value) < 0 ? mpz_class(floor + 1) : floor;
  case Rounding::NearestEven:
    if (half == 0)
      return mpz_odd_p(floor.get_mpz_t()) ? mpz_class(floor + 1) : floor;
    return half > 0 ? mpz_class(floor + 1) : floor;
  case Rounding::NearestAway:
    if (half == 0)
      return sgn(value) < 0 ? floor : mpz_class(floor + 1);
    return half > 0 ? mpz_class(floor + 1) : floor;
  }
  __builtin_unreachable();
}

mpq_class FloatFormat::largest() const {
  // e4m3 gives the code of all ones to NaN.
  const int codes = specials == Specials::NanOnly ? 2 : 1;
  return powerOfTwo(maxExponent + 1) - codes * powerOfTwo(maxExponent + 1 - int(precision));
}

uint64_t FloatFormat::infinity() const {
  unsigned fraction = precision - 1 + unusedBits;
  return (signBit() - 1) >> fraction << fraction;
}

Float decode(const FloatFormat &format, uint64_t bits) {
  // A tf32 operand is read as an f32: its low bits count.
  unsigned fractionBits = format.precision - 1 + format.unusedBits;
  uint64_t magnitude = bits & (format.signBit() - 1);
  uint64_t fraction = magnitude & ((uint64_t(1) << fractionBits) - 1);
  uint64_t field = magnitude >> fractionBits;
  uint64_t allOnes = (format.signBit() - 1) >> fractionBits;
  Float result;
  result.negative = bits & format.signBit();
  result.bits = bits;
  if (format.specials == FloatFormat::Specials::Ieee && field == allOnes) {
    result.kind = fraction ? Float::Kind::Nan : Float::Kind::Infinity;
    return result;
  }
  if (format.specials == FloatFormat::Specials::NanOnly && magnitude == format.signBit() - 1) {
    result.kind = Float::Kind::Nan;
    return result;
  }
  uint64_t significand = field ? fraction | uint64_t(1) << fractionBits : fraction;
  int exponent = format.minExponent + int(field ? field - 1 : 0) - int(fractionBits);
  result.value = scaled(mpq_class(static_cast<unsigned long>(significand)), exponent);
  if (result.negative)
    result.value = -result.value;
  return result;
}

// The value as significand * 2^(exponent - precision + 1), rounded; minimal exponent as given.
static mpq_class roundTo(unsigned precision, int minExponent, const mpq_class &value,
                         Rounding rounding) {
  const int quantum = std::max(exponentOf(value), minExponent) - int(precision) + 1;
  return scaled(mpq_class(roundToInteger(scaled(value, -quantum), rounding)), quantum);
}

uint64_t encode(const FloatFormat &format, const mpq_class &value, RoundingRule rule,
                bool negativeZero) {
  if (value == 0)
    return negativeZero ? format.signBit() : 0;
  bool negative = sgn(value) < 0;
  uint64_t sign = negative ? format.signBit() : 0;
  if (rule.flush) {
    mpq_class unbounded = roundTo(format.precision, exponentOf(value), value, rule.rounding);
    if (exponentOf(unbounded) < format.minExponent)
      return sign;
  }
  mpq_class rounded = abs(roundTo(format.precision, format.minExponent, value, rule.rounding));
  if (rounded == 0)
    return sign;
  if (exponentOf(rounded) >= format.maxExponent && rounded > format.largest()) {
    bool towardsZero = rule.rounding == Rounding::Zero ||
                       rule.rounding == (negative ? Rounding::Up : Rounding::Down);
    bool noInfinity = format.specials == FloatFormat::Specials::None;
    if (!rule.saturate && !towardsZero && !noInfinity)
      return sign | (format.specials == FloatFormat::Specials::NanOnly ? format.signBit() - 1
                                                                       : format.infinity());
    rounded = format.largest();
  }
  int exponent = std::max(exponentOf(rounded), format.minExponent);
  mpz_class significand(scaled(rounded, int(format.precision) - 1 - exponent));
  uint64_t code = significand.get_ui(), hidden = uint64_t(1) << (format.precision - 1);
  uint64_t field = code >= hidden ? uint64_t(exponent - format.minExponent + 1) : 0;
  return sign | (field << (format.precision - 1) | (code & (hidden - 1))) << format.unusedBits;
}

} // namespace rubia::reference
