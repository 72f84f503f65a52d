// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions-cvt: all pairs of types with all roundings,
// .ftz and .sat. References follow NVIDIA's hardware where the manual leaves NaN open.
#include "tests/lowering/arithmetic/Harness.h"
#include "tests/lowering/arithmetic/HostFloat.h"
#include <cmath>

using namespace rubia::lowering::test;

namespace {

struct Type {
  const char *name;
  unsigned bits;
  bool isSigned, isFloat;
  Kind kind() const {
    if (isFloat)
      return bits == 16 ? Kind::F16 : bits == 32 ? Kind::F32 : Kind::F64;
    return bits == 8 ? Kind::I8 : bits == 16 ? Kind::I16 : bits == 32 ? Kind::I32 : Kind::I64;
  }
  // As it lies in the register of the harness: bytes are extended to 32 bits.
  uint64_t stored(uint64_t pattern) const {
    if (bits == 64)
      return pattern;
    pattern &= (1ull << bits) - 1;
    if (bits == 8 && isSigned && pattern >> 7)
      pattern |= 0xffffff00;
    return pattern;
  }
  // The integer that a pattern stands for.
  __int128 integer(uint64_t pattern) const {
    if (bits < 64)
      pattern &= (1ull << bits) - 1;
    return isSigned && pattern >> (bits - 1) ? __int128(pattern) - (__int128(1) << bits)
                                             : __int128(pattern);
  }
  __int128 least() const { return isSigned ? -(__int128(1) << (bits - 1)) : 0; }
  __int128 most() const { return (__int128(1) << (isSigned ? bits - 1 : bits)) - 1; }
};

const Type kIntegers[] = {{"u8", 8, false, false},   {"s8", 8, true, false},
                          {"u16", 16, false, false}, {"s16", 16, true, false},
                          {"u32", 32, false, false}, {"s32", 32, true, false},
                          {"u64", 64, false, false}, {"s64", 64, true, false}};
const Type kF16 = {"f16", 16, true, true}, kF32 = {"f32", 32, true, true},
           kF64 = {"f64", 64, true, true};
const Type kFloats[] = {kF16, kF32, kF64};

// ---------- Floats as f64, exactly

double halfValue(uint64_t bits) {
  int exponent = bits >> 10 & 31, fraction = bits & 0x3ff;
  double magnitude = exponent == 31  ? (fraction ? NAN : INFINITY)
                     : exponent == 0 ? std::ldexp(fraction, -24)
                                     : std::ldexp(fraction | 0x400, exponent - 25);
  return bits & 0x8000 ? -magnitude : magnitude;
}

double value(const Type &type, uint64_t bits) {
  return type.bits == 16 ? halfValue(bits) : type.bits == 32 ? double(f32(bits)) : f64(bits);
}

// `exact` in a format of so many fraction bits and this range of exponents, rounded as <cfenv>'s
// `rounding` says; every step is exact in long double.
uint64_t roundToFormat(long double exact, unsigned fractionBits, int leastExponent,
                       int mostExponent, int rounding) {
  bool negative = std::signbit(exact);
  unsigned exponentBits = fractionBits == 10 ? 5 : fractionBits == 23 ? 8 : 11;
  uint64_t sign = uint64_t(negative) << (fractionBits + exponentBits);
  uint64_t infinity = ((1ull << exponentBits) - 1) << fractionBits;
  if (std::isnan(exact))
    return infinity | (1ull << (fractionBits - 1));
  if (std::isinf(exact))
    return sign | infinity;
  if (exact == 0)
    return sign;
  long double magnitude = std::fabs(exact);
  int exponent = std::max(std::ilogb(magnitude), leastExponent);
  long double scaled =
      std::ldexp(magnitude, int(fractionBits) - exponent); // below 2^(fraction + 1)
  uint64_t whole = uint64_t(scaled);
  long double rest = scaled - (long double)whole;
  bool up = rounding == FE_TONEAREST  ? rest > 0.5L || (rest == 0.5L && (whole & 1))
            : rounding == FE_UPWARD   ? rest > 0 && !negative
            : rounding == FE_DOWNWARD ? rest > 0 && negative
                                      : false;
  whole += up;
  // whole counts units of the last place from exponent `exponent` on; the encoding is linear.
  uint64_t encoded = ((uint64_t(exponent - leastExponent) << fractionBits) + whole);
  if (encoded >= infinity || exponent > mostExponent) {
    bool overflowsToInfinity = rounding == FE_TONEAREST || (rounding == FE_UPWARD && !negative) ||
                               (rounding == FE_DOWNWARD && negative);
    encoded = overflowsToInfinity ? infinity : infinity - 1;
  }
  return sign | encoded;
}

uint64_t roundTo(const Type &type, long double exact, int rounding) {
  switch (type.bits) {
  case 16:
    return roundToFormat(exact, 10, -14, 15, rounding);
  case 32:
    return roundToFormat(exact, 23, -126, 127, rounding);
  default:
    return roundToFormat(exact, 52, -1022, 1023, rounding);
  }
}

uint64_t flushed(uint64_t bits) { return bits & 0x7f800000 ? bits : bits & 0x80000000; }

double integral(double value, const std::string &rounding) {
  if (rounding == "rni")
    return std::nearbyint(value);
  if (rounding == "rmi")
    return std::floor(value);
  if (rounding == "rpi")
    return std::ceil(value);
  return std::trunc(value);
}

double clamped(double value) { return value > 0 ? (value < 1 ? value : 1) : 0; }

} // namespace

TEST(Conversion, IntegerToInteger) {
  for (const Type &from : kIntegers)
    for (const Type &to : kIntegers)
      for (bool saturates : {false, true}) {
        if (saturates && to.least() <= from.least() && to.most() >= from.most())
          continue; // .sat is only allowed where there is something to clamp
        check(
            {std::string("cvt.") + (saturates ? "sat." : "") + to.name + "." + from.name + " d, a",
             to.kind(),
             {from.kind()},
             [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
               __int128 value = from.integer(a);
               if (saturates)
                 value = std::min(std::max(value, to.least()), to.most());
               return to.stored(uint64_t(value));
             }});
      }
}

TEST(Conversion, FloatToIntegerSaturates) {
  for (const Type &from : kFloats)
    for (const Type &to : kIntegers)
      for (const char *rounding : {"rni", "rzi", "rmi", "rpi"})
        for (bool flushes : {false, true}) {
          if (flushes && from.bits != 32)
            continue;
          check({std::string("cvt.") + rounding + (flushes ? ".ftz." : ".") + to.name + "." +
                     from.name + " d, a",
                 to.kind(),
                 {from.kind()},
                 [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                   double exact = value(from, flushes ? flushed(a) : a);
                   if (std::isnan(exact))
                     return to.stored(from.bits == 64 || to.bits == 64 ? 1ull << (to.bits - 1) : 0);
                   exact = integral(exact, rounding);
                   if (exact <= double(to.least()))
                     return to.stored(uint64_t(to.least()));
                   if (exact >= double(to.most()))
                     return to.stored(uint64_t(to.most()));
                   return to.stored(uint64_t(__int128(exact)));
                 }});
        }
}

TEST(Conversion, SatOfFloatToIntegerChangesNothing) {
  check({"cvt.rzi.sat.u8.f32 d, a",
         Kind::I8,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) {
           float x = f32(a);
           return uint64_t(x > 0 ? (x < 255 ? x : 255) : 0);
         }});
}

TEST(Conversion, IntegerToFloat) {
  for (const Type &from : kIntegers)
    for (const Type &to : kFloats)
      for (const char *rounding : {"rn", "rz", "rm", "rp"})
        check({std::string("cvt.") + rounding + "." + to.name + "." + from.name + " d, a",
               to.kind(),
               {from.kind()},
               [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                 return roundTo(to, (long double)from.integer(a), hostRounding(rounding));
               }});
  check({"cvt.rn.sat.f32.s32 d, a",
         Kind::F32,
         {Kind::I32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) {
           return bitsOf(float(clamped(int32_t(a))));
         }});
}

TEST(Conversion, FloatToWiderFloat) {
  for (const Type &from : {kF16, kF32})
    for (const Type &to : {kF32, kF64})
      for (bool flushes : {false, true})
        for (bool saturates : {false, true}) {
          if (from.bits >= to.bits || (flushes && from.bits == 16 && to.bits == 64))
            continue;
          check({std::string("cvt.") + (flushes ? "ftz." : "") + (saturates ? "sat." : "") +
                     to.name + "." + from.name + " d, a",
                 to.kind(),
                 {from.kind()},
                 [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                   double exact = value(from, flushes && from.bits == 32 ? flushed(a) : a);
                   return roundTo(to, saturates ? clamped(exact) : exact, FE_TONEAREST);
                 }});
        }
}

// A denormal f32 result is flushed by what the value rounds to with unbounded exponent.
static uint64_t flushedResult(double exact, int rounding) {
  uint64_t bits = roundTo(kF32, exact, rounding);
  uint64_t unbounded = roundTo(kF32, exact * 0x1p30, rounding); // 24 bits, normal
  if (exact != 0 && std::fabs(exact) < 0x1p-125 && std::fabs(double(f32(unbounded))) < 0x1p-96)
    return bits & 0x80000000;
  return bits;
}

TEST(Conversion, FloatToNarrowerFloat) {
  for (const Type &from : {kF32, kF64})
    for (const Type &to : {kF16, kF32})
      for (const char *rounding : {"rn", "rz", "rm", "rp"})
        for (bool flushes : {false, true})
          for (bool saturates : {false, true}) {
            if (from.bits <= to.bits || (flushes && from.bits == 64 && to.bits == 16))
              continue;
            check({std::string("cvt.") + rounding + (flushes ? ".ftz" : "") +
                       (saturates ? ".sat." : ".") + to.name + "." + from.name + " d, a",
                   to.kind(),
                   {from.kind()},
                   [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                     double exact = value(from, a);
                     int mode = hostRounding(rounding);
                     if (saturates)
                       exact = std::isnan(exact) ? 0 : exact;
                     uint64_t bits = flushes && to.bits == 32 ? flushedResult(exact, mode)
                                                              : roundTo(to, exact, mode);
                     if (saturates)
                       bits = roundTo(to, clamped(value(to, bits)), FE_TONEAREST);
                     return bits;
                   }});
          }
}

// The exact midpoints and the values next to them, which double rounding gets wrong.
TEST(Conversion, F64ToHalfRoundsOnce) {
  std::vector<Operands> tuples;
  for (uint64_t half = 0; half < 0x7c00; half += 37) {
    double low = halfValue(half), high = half == 0x7bff ? 65536 : halfValue(half + 1);
    double middle = (low + high) / 2;
    for (double x : {middle, std::nextafter(middle, 0), std::nextafter(middle, 1e9), low})
      tuples.push_back({{bitsOf(x)}});
  }
  for (const char *rounding : {"rn", "rz", "rm", "rp"})
    check({std::string("cvt.") + rounding + ".f16.f64 d, a",
           Kind::F16,
           {Kind::F64},
           [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return roundTo(kF16, f64(a), hostRounding(rounding));
           }},
          tuples);
}

TEST(Conversion, SameSizeFloats) {
  for (const Type &type : kFloats)
    for (const char *rounding : {"rni", "rzi", "rmi", "rpi"})
      for (bool flushes : {false, true})
        for (bool saturates : {false, true}) {
          if (flushes && type.bits != 32)
            continue;
          check({std::string("cvt.") + rounding + (flushes ? ".ftz" : "") +
                     (saturates ? ".sat." : ".") + type.name + "." + type.name + " d, a",
                 type.kind(),
                 {type.kind()},
                 [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                   double exact = integral(value(type, flushes ? flushed(a) : a), rounding);
                   if (saturates)
                     exact = clamped(exact);
                   return roundTo(type, exact, FE_TONEAREST);
                 }});
        }
  check({"cvt.f32.f32 d, a", Kind::I32, {Kind::F32}, [](uint64_t a, uint64_t, uint64_t, uint64_t) {
           return a;
         }});
  check({"cvt.sat.f32.f32 d, a",
         Kind::F32,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) { return bitsOf(float(clamped(f32(a)))); }});
  check({"cvt.ftz.f32.f32 d, a",
         Kind::F32,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) { return flushed(a); }});
  // In a kernel that keeps denormals.
  check({".reg .b32 t;\n add.f32 t, a, a;\n cvt.rpi.ftz.s32.f32 d, a",
         Kind::I32,
         {Kind::F32},
         [](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
           double exact = std::ceil(f32(flushed(a)));
           return std::isnan(exact)
                      ? 0
                      : uint32_t(int32_t(std::min(2147483647.0, std::max(-2147483648.0, exact))));
         }});
}
