// PTX ISA: data-movement-and-conversion-instructions-cvt and -cvt-pack.
#include "diff/lib/ReferenceParts.h"

using namespace llvm;

namespace rubia::diff {
namespace {

struct ConversionRule {
  Rounding rounding = Rounding::NearestEven;
  bool roundToIntegral = false; // .rni .rzi .rmi .rpi
  bool hasRounding = false;
  bool flush = false, saturate = false, relu = false, saturateFinite = false;
};

bool takeIntegralRounding(Words &words, Rounding &rounding) {
  StringRef word = words.takeOne({"rni", "rzi", "rmi", "rpi"});
  if (word.empty())
    return false;
  rounding = word == "rni"   ? Rounding::NearestEven
             : word == "rzi" ? Rounding::Zero
             : word == "rmi" ? Rounding::Down
                             : Rounding::Up;
  return true;
}

// A NaN becomes 0 when the source has at most 32 bits and the destination too; else the bit pattern
// of the destination's sign.
uint64_t floatToInteger(const FloatFormat &from, IntegerType to, const ConversionRule &rule,
                        uint64_t bits) {
  Float a = readOperand(from, bits, rule.flush && from.bits == 32);
  if (a.isNan())
    return from.bits <= 32 && to.bits <= 32 ? 0 : wrap(mpz_class(1) << (to.bits - 1), to);
  if (a.isInfinity())
    return wrap(a.negative ? smallest(to) : largest(to), to);
  return saturate(roundToInteger(a.value, rule.rounding), to);
}

// f64's NaN bits that fit, quieted.
uint64_t convertNan(const FloatFormat &from, const FloatFormat &to, const ConversionRule &rule,
                    uint64_t bits) {
  unsigned fromFraction = from.precision - 1, toFraction = to.precision - 1;
  uint64_t sign = bits & from.signBit() ? to.signBit() : 0;
  uint64_t quiet = uint64_t(1) << (toFraction - 1);
  uint64_t fraction = bits & ((uint64_t(1) << fromFraction) - 1);
  if (from.bits == 64 && to.bits == 32 && !rule.flush)
    return sign | to.infinity() | quiet | fraction >> (fromFraction - toFraction);
  if (to.bits == 64) {
    if (from.bits == 32 && rule.flush) { // canonicalised first
      sign = 0;
      fraction = (uint64_t(1) << fromFraction) - 1;
    }
    return sign | to.infinity() | quiet | fraction << (toFraction - fromFraction);
  }
  return to.signBit() - 1;
}

uint64_t floatToFloat(const FloatFormat &from, const FloatFormat &to, const ConversionRule &rule,
                      uint64_t bits) {
  bool sameFormat = &from == &to;
  bool widening = from.precision <= to.precision && from.maxExponent <= to.maxExponent;
  // Only f32 denormals are flushed, on either side; half denormals never.
  Float a = readOperand(from, bits, rule.flush && from.bits == 32 && to.bits != 16);
  bool isMove = sameFormat && !rule.roundToIntegral && !rule.flush && !rule.saturate && !rule.relu;
  if (isMove)
    return bits;
  if (&from == &kBf16 && &to == &kF32 && !rule.saturate)
    return bits << 16; // payload and all
  ResultRule result;
  result.saturateToUnit = rule.saturate;
  result.relu = rule.relu;
  uint64_t code;
  if (a.isNan())
    code = sameFormat && to.bits == 64 ? propagatedNan(to, {a})
           : sameFormat                ? to.signBit() - 1
                                       : convertNan(from, to, rule, bits);
  else if (a.isInfinity())
    code = rule.saturateFinite ? encode(to, to.largest() * (a.negative ? -1 : 1), {}, false)
                               : to.infinity() | (a.negative ? to.signBit() : 0);
  else {
    mpq_class value = a.value;
    if (rule.roundToIntegral)
      value = mpq_class(roundToInteger(value, rule.rounding));
    RoundingRule rounding{widening ? Rounding::NearestEven : rule.rounding,
                          rule.flush && to.bits == 32, rule.saturateFinite};
    code = encode(to, value, rounding, a.negative);
  }
  return finish(to, code, result);
}

uint64_t integerToFloat(IntegerType from, const FloatFormat &to, const ConversionRule &rule,
                        uint64_t bits) {
  uint64_t code = encode(to, mpq_class(toInteger(bits, from)), {rule.rounding}, false);
  ResultRule result;
  result.saturateToUnit = rule.saturate;
  return finish(to, code, result);
}

// tf32 is an f32 with 13 zero bits. .rna rounds the bit pattern, NaNs included.
uint64_t toTf32(const ConversionRule &rule, uint64_t bits) {
  if (rule.rounding == Rounding::NearestAway && (bits & 0x7f800000) == 0x7f800000)
    return bits & 0x7fffff ? (bits + 0x1000) & 0xffffe000 : bits;
  Float a = decode(kF32, bits);
  if (a.isNan())
    return 0x7fffe000;
  ResultRule result;
  result.relu = rule.relu;
  uint64_t code =
      a.isInfinity()
          ? (rule.saturateFinite ? encode(kTf32, kTf32.largest() * (a.negative ? -1 : 1), {}, false)
                                 : bits)
          : encode(kTf32, a.value, {rule.rounding, false, rule.saturateFinite}, a.negative);
  return finish(kTf32, code, result);
}

const FloatFormat *smallFormat(StringRef word) {
  static const std::pair<StringRef, const FloatFormat *> kFormats[] = {
      {"e4m3", &kE4m3}, {"e5m2", &kE5m2}, {"e2m3", &kE2m3}, {"e3m2", &kE3m2}, {"e2m1", &kE2m1}};
  for (const auto &[name, format] : kFormats)
    if (word == name)
      return format;
  return nullptr;
}

// Infinities saturate to the largest number of either sign; NaN is 7f, or the largest number where
// the format has no NaN.
uint64_t toSmall(const FloatFormat &from, const FloatFormat &to, bool relu, uint64_t bits) {
  Float a = decode(from, bits);
  if (a.isNan())
    return to.specials == FloatFormat::Specials::None ? encode(to, to.largest(), {}, false) : 0x7f;
  if (relu && a.negative)
    return 0;
  mpq_class value = a.isInfinity() ? mpq_class(to.largest() * (a.negative ? -1 : 1)) : a.value;
  return encode(to, value, {Rounding::NearestEven, false, true}, a.negative);
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b (a is the high half) and .e4m3x2.f16x2 d, a; back:
// cvt.rn{.relu}.f16x2.e4m3x2. Six-bit formats take a byte each, e2m1 a nibble.
Reference smallConversion(StringRef toWord, StringRef fromWord, const ConversionRule &rule) {
  if (!toWord.consume_back("x2") || toWord.empty())
    return {};
  bool relu = rule.relu;
  if (const FloatFormat *to = smallFormat(toWord)) {
    unsigned step = to->bits == 4 ? 4 : 8;
    if (fromWord == "f32")
      return [=](const ReferenceInputs &in) {
        return ReferenceOutput{toSmall(kF32, *to, relu, in.source[0] & 0xffffffff) << step |
                               toSmall(kF32, *to, relu, in.source[1] & 0xffffffff)};
      };
    const FloatFormat *from = fromWord.consume_back("x2") ? floatFormat(fromWord) : nullptr;
    if (!from || from->bits != 16)
      return {};
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{toSmall(*from, *to, relu, in.source[0] >> 16 & 0xffff) << step |
                             toSmall(*from, *to, relu, in.source[0] & 0xffff)};
    };
  }
  const FloatFormat *from = fromWord.consume_back("x2") ? smallFormat(fromWord) : nullptr;
  if (!from || toWord != "f16")
    return {};
  unsigned step = from->bits == 4 ? 4 : 8;
  return [=](const ReferenceInputs &in) {
    auto half = [&](unsigned index) -> uint64_t {
      Float a = decode(*from, in.source[0] >> (index * step) & ((1u << from->bits) - 1));
      if (a.isNan())
        return 0x7fff;
      uint64_t code = a.isInfinity() ? kF16.infinity() | (a.negative ? kF16.signBit() : 0)
                                     : encode(kF16, a.value, {}, a.negative);
      ResultRule result;
      result.relu = relu;
      return finish(kF16, code, result);
    };
    return ReferenceOutput{half(0) | half(1) << 16};
  };
}

// cvt.pack.sat.u8.s32.b32 d, a, b, c: a and b saturated, a the higher; c's low bits fill the rest.
Reference conversionPack(Words &words) {
  if (!words.take("sat"))
    return {};
  IntegerType to = integerType(words.takeNext());
  if (!words.take("s32") || to.bits == 0)
    return {};
  bool hasThird = words.take("b32");
  return [=](const ReferenceInputs &in) {
    auto converted = [&](uint64_t bits) {
      uint64_t code = saturate(toInteger(bits, {32, true}), to);
      return code & ((uint64_t(1) << to.bits) - 1);
    };
    uint64_t pair = converted(in.source[0]) << to.bits | converted(in.source[1]);
    if (hasThird)
      pair |= in.source[2] << (2 * to.bits);
    return ReferenceOutput{pair & 0xffffffff};
  };
}

} // namespace

Reference conversionReference(Words &words) {
  if (words.opcode() != "cvt")
    return {};
  if (words.take("pack"))
    return conversionPack(words);
  ConversionRule rule;
  rule.roundToIntegral = takeIntegralRounding(words, rule.rounding);
  if (!rule.roundToIntegral)
    rule.rounding = takeRounding(words);
  rule.flush = words.take("ftz");
  rule.saturate = words.take("sat");
  rule.relu = words.take("relu");
  rule.saturateFinite = words.take("satfinite");
  StringRef toWord = words.takeNext(), fromWord = words.takeNext();
  const FloatFormat *to = floatFormat(toWord), *from = floatFormat(fromWord);
  IntegerType toType = integerType(toWord), fromType = integerType(fromWord);
  if (to == &kTf32 && from == &kF32)
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{toTf32(rule, in.source[0] & 0xffffffff)};
    };
  auto readable = [](unsigned bits) {
    return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
  };
  if ((toWord == "f16x2" || toWord == "bf16x2") && fromWord == "f32") {
    const FloatFormat *half = toWord == "f16x2" ? &kF16 : &kBf16;
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{floatToFloat(kF32, *half, rule, in.source[0] & 0xffffffff) << 16 |
                             floatToFloat(kF32, *half, rule, in.source[1] & 0xffffffff)};
    };
  }
  if (to && from)
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{floatToFloat(*from, *to, rule, in.source[0] & readable(from->bits))};
    };
  if (to && fromType.bits)
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{integerToFloat(fromType, *to, rule, in.source[0])};
    };
  if (toType.bits && from)
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{
          floatToInteger(*from, toType, rule, in.source[0] & readable(from->bits))};
    };
  if (toType.bits && fromType.bits)
    return [=](const ReferenceInputs &in) {
      mpz_class value = toInteger(in.source[0], fromType);
      return ReferenceOutput{rule.saturate ? saturate(value, toType) : wrap(value, toType)};
    };
  return smallConversion(toWord, fromWord, rule);
}

} // namespace rubia::diff
