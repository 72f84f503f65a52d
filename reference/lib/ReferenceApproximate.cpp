// SPDX-License-Identifier: Apache-2.0
// PTX ISA: the approximate floating-point instructions. MPFR gives the true value; the bounds are
// those that the PTX ISA documents under each instruction.
#include "reference/lib/ReferenceParts.h"
#include <cmath>
#include <limits>
#include <mpfr.h>

using namespace llvm;

namespace rubia::reference {
namespace {

constexpr unsigned kPrecision = 160;

class BigFloat {
public:
  explicit BigFloat(const mpq_class &value) {
    mpfr_init2(number, kPrecision);
    mpfr_set_q(number, value.get_mpq_t(), MPFR_RNDN);
  }
  ~BigFloat() { mpfr_clear(number); }
  BigFloat(const BigFloat &) = delete;
  double apply(int (*function)(mpfr_t, const mpfr_t, mpfr_rnd_t)) {
    function(number, number, MPFR_RNDN);
    return mpfr_get_d(number, MPFR_RNDN);
  }

private:
  mpfr_t number;
};

int reciprocal(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_ui_div(result, 1, operand, rounding);
}
int squareRoot(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_sqrt(result, operand, rounding);
}
int reciprocalRoot(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_rec_sqrt(result, operand, rounding);
}
int sine(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_sin(result, operand, rounding);
}
int cosine(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_cos(result, operand, rounding);
}
int logarithm(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_log2(result, operand, rounding);
}
int power(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_exp2(result, operand, rounding);
}
int hyperbolicTangent(mpfr_t result, const mpfr_t operand, mpfr_rnd_t rounding) {
  return mpfr_tanh(result, operand, rounding);
}

// What an operation does where the true value is not a number to be near to.
enum class At : uint8_t {
  Nan,
  PlusZero,
  SignedZero,
  PlusInfinity,
  MinusInfinity,
  SignedInfinity,
  SignedOne,
  Function
};
struct Operation {
  StringRef name;
  int (*function)(mpfr_t, const mpfr_t, mpfr_rnd_t);
  At zero, negative, plusInfinity, minusInfinity; // the operand's class
};
constexpr Operation kOperations[] = {
    {"rcp", reciprocal, At::SignedInfinity, At::Function, At::SignedZero, At::SignedZero},
    {"sqrt", squareRoot, At::SignedZero, At::Nan, At::PlusInfinity, At::Nan},
    {"rsqrt", reciprocalRoot, At::SignedInfinity, At::Nan, At::PlusZero, At::Nan},
    {"sin", sine, At::SignedZero, At::Function, At::Nan, At::Nan},
    {"cos", cosine, At::Function, At::Function, At::Nan, At::Nan},
    {"lg2", logarithm, At::MinusInfinity, At::Nan, At::PlusInfinity, At::Nan},
    {"ex2", power, At::Function, At::Function, At::PlusInfinity, At::PlusZero},
    {"tanh", hyperbolicTangent, At::SignedZero, At::Function, At::SignedOne, At::SignedOne},
};

uint64_t exactCase(const FloatFormat &format, At at, bool negative) {
  uint64_t sign = negative ? format.signBit() : 0;
  switch (at) {
  case At::Nan:
  case At::Function:
    return format.signBit() - 1;
  case At::PlusZero:
    return 0;
  case At::SignedZero:
    return sign;
  case At::PlusInfinity:
    return format.infinity();
  case At::MinusInfinity:
    return format.infinity() | format.signBit();
  case At::SignedInfinity:
    return format.infinity() | sign;
  case At::SignedOne:
    return encode(format, 1, {}, false) | sign;
  }
  __builtin_unreachable();
}

// The documented bound at operand `a`.
ErrorBound documentedBound(StringRef name, const FloatFormat &format, double a) {
  ErrorBound bound{&format, 0};
  auto relative = [&](double exponent) { bound.relative = std::exp2(exponent); };
  auto absolute = [&](double exponent) { bound.absolute = std::exp2(exponent); };
  if (format.bits == 16) {
    bool isBf16 = format.precision == 8;
    if (name == "tanh")
      isBf16 ? relative(-8 + 1) : absolute(-10.987);
    else
      isBf16 ? relative(-7) : relative(-9.9);
  } else if (format.bits == 64)
    relative(-20);
  else if (name == "rcp")
    bound.ulps = 1;
  else if (name == "sqrt")
    relative(-23);
  else if (name == "rsqrt")
    relative(-22.9);
  else if (name == "sin" || name == "cos")
    std::fabs(a) <= M_PI         ? absolute(-20.5)
    : std::fabs(a) <= 100 * M_PI ? absolute(-14.7)
                                 : absolute(1); // nothing is documented farther out
  else if (name == "lg2")
    a > 0.5 && a < 2 ? absolute(-22) : relative(-22);
  else if (name == "ex2")
    bound.ulps = 2;
  else // tanh
    relative(-11);
  return bound;
}

Reference unary(const Operation &operation, const FloatFormat &format, bool flush) {
  return [&operation, &format, flush](const ReferenceInputs &in) {
    uint64_t bits = in.source[0] & (format.bits == 64 ? ~uint64_t(0) : 2 * format.signBit() - 1);
    if (format.bits == 64 && flush)
      bits &= 0xffffffff00000000; // only the high word counts
    Float a = readOperand(format, bits, flush);
    auto exact = [&](At at) { return ReferenceOutput{exactCase(format, at, a.negative)}; };
    auto highWord = [&](ReferenceOutput output) {
      if (format.bits == 64)
        output.bits &= 0xffffffff00000000;
      return output;
    };
    // rsqrt.approx.f64 treats NaNs as exact f64 instructions do; the .ftz forms have one NaN.
    bool keepsNan = format.bits == 64 && !flush;
    if (a.isNan())
      return keepsNan ? ReferenceOutput{propagatedNan(format, {a})} : highWord(exact(At::Nan));
    if (a.isInfinity() && !(keepsNan && a.negative))
      return highWord(exact(a.negative ? operation.minusInfinity : operation.plusInfinity));
    if (a.isZero() && operation.zero != At::Function)
      return exact(operation.zero);
    if (a.negative && !a.isZero() && operation.negative != At::Function)
      return keepsNan ? ReferenceOutput{generatedNan(format)} : highWord(exact(operation.negative));
    ErrorBound bound = documentedBound(operation.name, format, a.value.get_d());
    // ex2 of a large operand would be slow to compute exactly, and is an infinity or a zero anyway.
    bool farOut = operation.function == power && abs(a.value) > 5000;
    bound.trueValue = farOut ? (a.negative ? 0 : std::numeric_limits<double>::infinity())
                             : BigFloat(a.value).apply(operation.function);
    bound.flush = flush;
    ReferenceOutput output;
    output.bounds[0] = bound;
    return output;
  };
}

// div.approx and div.full: 2 ulp. div.approx of a finite number by |b| > 2^126 is a zero.
Reference divide(bool full, bool flush) {
  return [=](const ReferenceInputs &in) {
    Float a = readOperand(kF32, in.source[0] & 0xffffffff, flush);
    Float b = readOperand(kF32, in.source[1] & 0xffffffff, flush);
    uint64_t sign = a.negative != b.negative ? kF32.signBit() : 0;
    bool farOut = !full && b.isFinite() && abs(b.value) > powerOfTwo(126);
    ReferenceOutput output;
    if (a.isNan() || b.isNan() || (a.isInfinity() && (b.isInfinity() || farOut)) ||
        (a.isZero() && b.isZero()))
      output.bits = generatedNan(kF32);
    else if (a.isInfinity() || b.isZero())
      output.bits = kF32.infinity() | sign;
    else if (b.isInfinity() || a.isZero() || farOut)
      output.bits = sign;
    else {
      ErrorBound bound{&kF32, mpq_class(a.value / b.value).get_d()};
      bound.ulps = 2;
      bound.flush = flush;
      output.bounds[0] = bound;
    }
    return output;
  };
}

} // namespace

Reference approximateReference(Words &words) {
  StringRef op = words.opcode(), typeWord = words.last();
  bool isPacked = typeWord.consume_back("x2");
  const FloatFormat *format = floatFormat(typeWord);
  if (!format)
    return {};
  bool full = words.take("full"), approximate = words.take("approx") || full;
  bool ptx1 = format == &kF32 && !words.has("rn") && !words.has("rz") && !words.has("rm") &&
              !words.has("rp");
  if (!approximate && !ptx1)
    return {};
  words.take(words.last());
  bool flush = words.take("ftz");
  if (op == "div" && format == &kF32)
    return divide(full, flush);
  for (const Operation &operation : kOperations)
    if (op == operation.name) {
      Reference reference = unary(operation, *format, flush);
      return isPacked ? packed(16, reference) : reference;
    }
  return {};
}

ErrorBound documentedF32Bound(StringRef opcode, double a) {
  return documentedBound(opcode, kF32, a);
}

double allowedError(const ErrorBound &bound) {
  const FloatFormat &format = *bound.format;
  double magnitude = std::fabs(bound.trueValue);
  int exponent = std::max(magnitude > 0 && std::isfinite(magnitude) ? std::ilogb(magnitude)
                                                                    : format.minExponent,
                          format.minExponent);
  double ulp = std::ldexp(1.0, exponent - int(format.precision) + 1);
  double quantum = std::ldexp(1.0, format.minExponent - int(format.precision) + 1);
  return std::max({bound.ulps * ulp, bound.relative * magnitude, bound.absolute, quantum});
}

double errorFraction(const ErrorBound &bound, uint64_t resultBits) {
  const FloatFormat &format = *bound.format;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  Float result = decode(format, resultBits);
  if (result.isNan())
    return kInfinity;
  double magnitude = std::fabs(bound.trueValue);
  double smallestNormal = std::ldexp(1.0, format.minExponent);
  if (bound.flush && result.isZero() && magnitude < smallestNormal * (1 + 4 * bound.relative))
    return 0;
  double allowed = allowedError(bound);
  double largest = format.largest().get_d();
  if (result.isInfinity())
    return (bound.trueValue < 0) == result.negative && magnitude + allowed > largest ? 0
                                                                                     : kInfinity;
  if (magnitude == kInfinity)
    return kInfinity;
  return std::fabs(result.value.get_d() - bound.trueValue) / allowed;
}

} // namespace rubia::reference
