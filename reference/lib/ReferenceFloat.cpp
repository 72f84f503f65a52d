// SPDX-License-Identifier: Apache-2.0
// PTX ISA: floating-point-instructions, half-precision-floating-point-instructions and
// mixed-precision-floating-point-instructions, those that are exact.
#include "reference/lib/ReferenceParts.h"

using namespace llvm;

namespace rubia::reference {
namespace {

struct FloatRule {
  const FloatFormat *format;
  bool flush = false;
  ResultRule result = {};
};

using Operand = Float;

uint64_t zeroOf(const FloatFormat &format, bool negative) {
  return negative ? format.signBit() : 0;
}
uint64_t infinityOf(const FloatFormat &format, bool negative) {
  return format.infinity() | zeroOf(format, negative);
}

// IEEE 754 section 6.3: an exact zero sum of operands of unlike signs is +0, but -0 when rounding
// down.
uint64_t roundSum(const FloatRule &rule, const mpq_class &sum, bool bothNegative,
                  bool bothPositive) {
  bool negativeZero =
      bothNegative || (!bothPositive && rule.result.rounding.rounding == Rounding::Down);
  return encode(*rule.format, sum, rule.result.rounding, negativeZero);
}

uint64_t addFloats(const FloatRule &rule, const Operand &a, const Operand &b,
                   std::initializer_list<Float> nanPriority) {
  const FloatFormat &format = *rule.format;
  if (a.isNan() || b.isNan())
    return propagatedNan(format, nanPriority);
  if (a.isInfinity() && b.isInfinity() && a.negative != b.negative)
    return generatedNan(format);
  if (a.isInfinity() || b.isInfinity())
    return infinityOf(format, a.isInfinity() ? a.negative : b.negative);
  return roundSum(rule, a.value + b.value, a.negative && b.negative, !a.negative && !b.negative);
}

uint64_t multiplyFloats(const FloatRule &rule, const Operand &a, const Operand &b) {
  const FloatFormat &format = *rule.format;
  bool negative = a.negative != b.negative;
  if (a.isNan() || b.isNan())
    return propagatedNan(format, {b, a});
  if ((a.isInfinity() && b.isZero()) || (a.isZero() && b.isInfinity()))
    return generatedNan(format);
  if (a.isInfinity() || b.isInfinity())
    return infinityOf(format, negative);
  return encode(format, a.value * b.value, rule.result.rounding, negative);
}

uint64_t fuseFloats(const FloatRule &rule, const Operand &a, const Operand &b, const Operand &c) {
  const FloatFormat &format = *rule.format;
  if (a.isNan() || b.isNan() || c.isNan())
    return propagatedNan(format, {b, c, a});
  if ((a.isInfinity() && b.isZero()) || (a.isZero() && b.isInfinity()))
    return generatedNan(format);
  bool negative = a.negative != b.negative;
  if (a.isInfinity() || b.isInfinity())
    return c.isInfinity() && c.negative != negative ? generatedNan(format)
                                                    : infinityOf(format, negative);
  if (c.isInfinity())
    return infinityOf(format, c.negative);
  return roundSum(rule, a.value * b.value + c.value, negative && c.negative,
                  !negative && !c.negative);
}

uint64_t divideFloats(const FloatRule &rule, const Operand &a, const Operand &b) {
  const FloatFormat &format = *rule.format;
  bool negative = a.negative != b.negative;
  if (a.isNan() || b.isNan())
    return propagatedNan(format, {a, b});
  if ((a.isInfinity() && b.isInfinity()) || (a.isZero() && b.isZero()))
    return generatedNan(format);
  if (a.isInfinity() || b.isZero())
    return infinityOf(format, negative);
  if (b.isInfinity())
    return zeroOf(format, negative);
  return encode(format, a.value / b.value, rule.result.rounding, negative);
}

// The root is irrational or a short number: its floor at many more bits than the format has, made
// odd where it is not exact, rounds as the root itself does.
uint64_t squareRoot(const FloatRule &rule, const Operand &a) {
  const FloatFormat &format = *rule.format;
  if (a.isNan())
    return propagatedNan(format, {a});
  if (a.isZero())
    return zeroOf(format, a.negative);
  if (a.negative)
    return generatedNan(format);
  if (a.isInfinity())
    return infinityOf(format, false);
  int scale = 2 * (int(format.precision) + 4) - exponentOf(a.value);
  scale += scale & 1;
  mpz_class scaled(a.value * powerOfTwo(scale + 2 * 64)), root, rest;
  mpz_sqrtrem(root.get_mpz_t(), rest.get_mpz_t(), scaled.get_mpz_t());
  mpq_class value = mpq_class(root * 2 + (rest != 0)) / 2 / powerOfTwo(scale / 2 + 64);
  return encode(format, value, rule.result.rounding, false);
}

// min and max of numbers: -0 < +0. A NaN gives the other operand, or the NaN with .NaN.
struct ExtremeRule {
  bool isMin, propagateNan, absolute, xorSign;
};
uint64_t extreme(const FloatRule &rule, ExtremeRule which, Operand a, Operand b) {
  const FloatFormat &format = *rule.format;
  bool sign = a.negative != b.negative;
  if (which.absolute)
    for (Operand *operand : {&a, &b}) {
      operand->negative = false;
      operand->value = abs(operand->value);
      operand->bits &= ~format.signBit();
    }
  auto codeOf = [&](const Operand &o) {
    return o.isNan()        ? propagatedNan(format, {o})
           : o.isInfinity() ? infinityOf(format, o.negative)
                            : encode(format, o.value, {}, o.negative);
  };
  uint64_t result;
  if (a.isNan() || b.isNan()) {
    if (which.propagateNan || (a.isNan() && b.isNan()))
      return propagatedNan(format, {b, a});
    result = codeOf(a.isNan() ? b : a);
  } else {
    auto key = [&](const Operand &o) { // order by value, then -0 before +0
      return o.isInfinity() ? (o.negative ? -powerOfTwo(2000) : powerOfTwo(2000)) : o.value;
    };
    bool aFirst = key(a) != key(b) ? key(a) < key(b) : a.negative;
    result = codeOf(aFirst == which.isMin ? a : b);
  }
  if (which.xorSign && sign)
    result |= format.signBit();
  return result;
}

Reference withThird(const FloatRule &rule, ExtremeRule which, bool three) {
  return [=](const ReferenceInputs &in) {
    auto read = [&](uint64_t bits) { return readOperand(*rule.format, bits, rule.flush); };
    uint64_t result = extreme(rule, which, read(in.source[0]), read(in.source[1]));
    if (three)
      result = extreme(rule, which, read(result), read(in.source[2]));
    return ReferenceOutput{finish(*rule.format, result, rule.result)};
  };
}

// fma.rn.oob: the NaN 7ff7 marks an element out of bounds; as a factor it makes the result +0.
bool isOutOfBounds(uint64_t bits) { return (bits & 0x7fff) == 0x7ff7; }

Reference arithmetic(const std::string &op, FloatRule rule, bool outOfBounds) {
  return [=](const ReferenceInputs &in) {
    const FloatFormat &format = *rule.format;
    Operand a = readOperand(format, in.source[0], rule.flush);
    Operand b = readOperand(format, in.source[1], rule.flush);
    Operand c = readOperand(format, in.source[2], rule.flush);
    uint64_t result = 0;
    if (op == "add")
      result = addFloats(rule, a, b, {b, a});
    else if (op == "sub") {
      Operand minusB = b;
      minusB.value = -b.value;
      minusB.negative = !b.negative;
      result = addFloats(rule, a, minusB, {b, a});
    } else if (op == "mul")
      result = multiplyFloats(rule, a, b);
    else if (op == "fma" || op == "mad")
      result = outOfBounds && (isOutOfBounds(in.source[0]) || isOutOfBounds(in.source[1]))
                   ? 0
                   : fuseFloats(rule, a, b, c);
    else if (op == "div")
      result = divideFloats(rule, a, b);
    else if (op == "rcp")
      result = divideFloats(rule, decode(format, encode(format, 1, {}, false)), a);
    else
      result = squareRoot(rule, a);
    return ReferenceOutput{finish(format, result, rule.result)};
  };
}

// abs and neg change the sign of numbers; a NaN becomes what a result NaN is.
Reference changeSign(FloatRule rule, bool negate) {
  return [=](const ReferenceInputs &in) {
    const FloatFormat &format = *rule.format;
    Operand a = readOperand(format, in.source[0], rule.flush);
    if (a.isNan())
      return ReferenceOutput{propagatedNan(format, {a})};
    bool negative = negate && !a.negative;
    if (a.isInfinity())
      return ReferenceOutput{infinityOf(format, negative)};
    return ReferenceOutput{
        encode(format, negative ? mpq_class(-abs(a.value)) : abs(a.value), {}, negative)};
  };
}

Reference testProperty(Words &words, const FloatFormat &format) {
  std::string property =
      words.takeOne({"finite", "infinite", "number", "notanumber", "normal", "subnormal"}).str();
  if (property.empty())
    return {};
  return [=](const ReferenceInputs &in) {
    Operand a = decode(format, in.source[0]);
    bool small = a.isFinite() && abs(a.value) < powerOfTwo(format.minExponent);
    bool result = property == "finite"       ? a.isFinite()
                  : property == "infinite"   ? a.isInfinity()
                  : property == "number"     ? !a.isNan()
                  : property == "notanumber" ? a.isNan()
                  : property == "normal"     ? a.isFinite() && (!small || a.isZero())
                                             : small && !a.isZero();
    return ReferenceOutput{result};
  };
}

// copysign d, a, b: the magnitude of b with the sign of a; NaN bits stay.
Reference copySign(const FloatFormat &format) {
  return [=](const ReferenceInputs &in) {
    uint64_t sign = format.signBit();
    return ReferenceOutput{(in.source[0] & sign) | (in.source[1] & (sign - 1))};
  };
}

// add.f32.f16 d, a, c and fma.f32.f16 d, a, b, c: a (and b) are read as the narrow type; the sum is
// an f32's.
Reference mixed(const std::string &op, FloatRule rule, const FloatFormat &narrow) {
  return [=](const ReferenceInputs &in) {
    auto widen = [&](uint64_t bits) { return decode(narrow, bits); };
    Operand a = widen(in.source[0]);
    uint64_t result;
    if (op == "fma")
      result = fuseFloats(rule, a, widen(in.source[1]), decode(kF32, in.source[2]));
    else {
      Operand c = decode(kF32, in.source[1]);
      if (op == "sub") {
        c.negative = !c.negative;
        c.value = -c.value;
      }
      result = addFloats(rule, a, c, {c, a});
    }
    return ReferenceOutput{finish(kF32, result, rule.result)};
  };
}

} // namespace

Reference floatReference(Words &words) {
  StringRef op = words.opcode();
  bool hasThree = words.take("3");
  StringRef typeWord = words.last();
  bool isPacked = typeWord.consume_back("x2");
  const FloatFormat *format = floatFormat(typeWord);
  if (!format || words.has("approx") || words.has("full") ||
      !is_contained({"add", "sub", "mul", "fma", "mad", "div", "rcp", "sqrt", "abs", "neg", "min",
                     "max", "copysign", "testp"},
                    op))
    return {};
  if ((op == "div" || op == "rcp" || op == "sqrt") && format == &kF32 &&
      !(words.has("rn") || words.has("rz") || words.has("rm") || words.has("rp")))
    return {}; // the PTX 1 forms are approximate
  words.take(words.last());
  FloatRule rule{format};
  rule.result.rounding.rounding = takeRounding(words);
  rule.flush = rule.result.rounding.flush = words.take("ftz");
  rule.result.saturateToUnit = words.take("sat");
  rule.result.relu = words.take("relu");
  Reference reference;
  if (words.peek() == "f32" && format->bits == 16) {
    words.take("f32");
    rule.format = &kF32;
    return mixed(op.str(), rule, *format);
  }
  if (op == "abs" || op == "neg")
    reference = changeSign(rule, op == "neg");
  else if (op == "testp")
    reference = testProperty(words, *format);
  else if (op == "copysign")
    reference = copySign(*format);
  else if (op == "min" || op == "max") {
    bool nan = words.take("NaN"), xorSign = words.take("xorsign"), absolute = words.take("abs");
    reference = withThird(rule, {op == "min", nan, absolute, xorSign}, hasThree);
  } else
    reference = arithmetic(op.str(), rule, words.take("oob"));
  if (!reference)
    return {};
  return isPacked ? packed(format->bits, reference) : reference;
}

} // namespace rubia::reference
