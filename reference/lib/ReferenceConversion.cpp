// SPDX-License-Identifier: Apache-2.0
// PTX ISA: data-movement-and-conversion-instructions-cvt and -cvt-pack.
#include "reference/lib/ReferenceParts.h"

using namespace llvm;

namespace rubia::reference {
namespace {

struct ConversionRule {
  Rounding rounding = Rounding::NearestEven;
  bool roundToIntegral = false; // .rni .rzi .rmi .rpi
  bool flush = false, saturate = false, relu = false, saturateFinite = false;
  bool stochastic = false, scaled = false; // .rs, .scaled::n2::ue8m0
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

// NaN of f64 keeps its sign and what fits of its payload, quieted. NaN of f32 widened to f64 does
// too, but .ftz makes it canonical first. All others are canonical.
uint64_t convertNan(const FloatFormat &from, const FloatFormat &to, const ConversionRule &rule,
                    uint64_t bits) {
  unsigned fromFraction = from.precision - 1, toFraction = to.precision - 1;
  uint64_t sign = bits & from.signBit() ? to.signBit() : 0;
  uint64_t quiet = uint64_t(1) << (toFraction - 1);
  uint64_t fraction = bits & ((uint64_t(1) << fromFraction) - 1);
  if (from.bits == 64)
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
  // f32 and bf16 denormals are flushed, on either side; half denormals never, nor what becomes
  // half.
  Float a = readOperand(from, bits, rule.flush && &from != &kF16 && &to != &kF16);
  // Moves keep NaNs as they are; of 16 bits there are none.
  bool isMove = sameFormat && from.bits != 16 && !rule.roundToIntegral && !rule.flush &&
                !rule.saturate && !rule.relu;
  if (isMove)
    return bits;
  if (&from == &kBf16 && &to == &kF32 && !rule.saturate && !rule.flush)
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

// tf32 is an f32 with 13 zero bits. .rna works on bit patterns: what is not finite is truncated,
// and with .satfinite whatever is then not finite is the pattern before it, of infinity the largest
// number (read off an H100: 7f801fff -> 7f800000, .satfinite 7f7fe000; 7f802fff -> 7f802000,
// .satfinite 7f800000).
uint64_t toTf32(const ConversionRule &rule, uint64_t bits) {
  const uint64_t kUnit = 0x2000;
  if (rule.rounding == Rounding::NearestAway) {
    uint64_t magnitude = bits & 0x7fffffff;
    magnitude = (magnitude < kF32.infinity() ? magnitude + kUnit / 2 : magnitude) & ~(kUnit - 1);
    if (rule.saturateFinite && magnitude >= kF32.infinity())
      magnitude -= kUnit;
    return (bits & kF32.signBit()) | magnitude;
  }
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

// ---------- Several at a time

const FloatFormat *smallFormat(StringRef word) {
  static const std::pair<StringRef, const FloatFormat *> kFormats[] = {
      {"e4m3", &kE4m3}, {"e5m2", &kE5m2}, {"e2m3", &kE2m3}, {"e3m2", &kE3m2}, {"e2m1", &kE2m1}};
  for (const auto &[name, format] : kFormats)
    if (word == name)
      return format;
  return nullptr;
}

// .rs: `random` of `randomBits` bits is a fraction of the unit in the last place that is added
// before truncation. The manual does not say what becomes of numbers beyond the range; here they
// are infinite, or the largest number with .satfinite.
mpq_class stochastic(const FloatFormat &to, const mpq_class &value, uint64_t random,
                     unsigned randomBits) {
  if (value == 0)
    return value;
  mpq_class quantum =
      powerOfTwo(std::max(exponentOf(value), to.minExponent) - int(to.precision) + 1);
  mpq_class units =
      abs(value) / quantum + mpq_class(mpz_class(random)) / powerOfTwo(int(randomBits));
  return mpq_class(roundToInteger(units, Rounding::Down)) * quantum * sgn(value);
}

// Infinities saturate to the largest number of either sign; NaN is 7f, or the largest number where
// the format has no NaN. `random`: 16 bits for .rs.
uint64_t toSmall(const FloatFormat &from, const FloatFormat &to, const ConversionRule &rule,
                 uint64_t bits, uint64_t random) {
  Float a = decode(from, bits);
  if (a.isNan())
    return to.specials == FloatFormat::Specials::None ? encode(to, to.largest(), {}, false) : 0x7f;
  if (rule.relu && a.negative)
    return 0;
  mpq_class value = a.isInfinity() ? mpq_class(to.largest() * (a.negative ? -1 : 1)) : a.value;
  if (rule.stochastic)
    value = stochastic(to, value, random, 16);
  return encode(to, value, {Rounding::NearestEven, false, true}, a.negative);
}

uint64_t fromSmall(const FloatFormat &from, const ConversionRule &rule, uint64_t bits) {
  Float a = decode(from, bits);
  if (a.isNan())
    return 0x7fff;
  uint64_t code = a.isInfinity() ? kF16.infinity() | (a.negative ? kF16.signBit() : 0)
                                 : encode(kF16, a.value, {}, a.negative);
  ResultRule result;
  result.relu = rule.relu;
  return finish(kF16, code, result);
}

// ue8m0 is the exponent of a power of two, 2^-127 to 2^127; ff is NaN. Signs are dropped; .rz takes
// the power below a magnitude, .rp the one above. Beyond the range is NaN, with .satfinite 2^127.
uint64_t toScale(const FloatFormat &from, const ConversionRule &rule, uint64_t bits) {
  Float a = decode(from, bits);
  if (a.isNan())
    return 0xff;
  int last = rule.saturateFinite ? 0xfe : 0xff;
  if (a.isInfinity())
    return uint64_t(last);
  if (a.value == 0)
    return 0;
  int exponent = exponentOf(a.value);
  if (rule.rounding == Rounding::Up && abs(a.value) != powerOfTwo(exponent))
    ++exponent;
  return uint64_t(std::clamp(exponent + 127, 0, last));
}

uint64_t fromScale(uint64_t code) {
  return code == 0xff ? 0x7fff : encode(kBf16, powerOfTwo(int(code) - 127), {}, false);
}

// s2f6 is a signed byte of 64ths. A number is divided by its scale (ue8m0) on the way there, and
// multiplied on the way back; NaN is the largest number.
uint64_t toFixed(const FloatFormat &from, const ConversionRule &rule, uint64_t bits,
                 uint64_t scale) {
  Float a = decode(from, bits);
  if (a.isNan() || scale == 0xff)
    return 0x7f;
  if (rule.relu && a.negative)
    return 0;
  IntegerType byte{8, true};
  if (a.isInfinity())
    return wrap(a.negative ? smallest(byte) : largest(byte), byte) & 0xff;
  mpq_class units = a.value / powerOfTwo(int(scale) - 127) * 64;
  return saturate(roundToInteger(units, Rounding::NearestEven), byte) & 0xff;
}

uint64_t fromFixed(const ConversionRule &rule, uint64_t code, uint64_t scale) {
  if (scale == 0xff)
    return 0x7fff;
  mpq_class value = mpq_class(toInteger(code, {8, true})) * powerOfTwo(int(scale) - 127 - 6);
  ResultRule result;
  result.relu = rule.relu;
  return finish(kBf16,
                encode(kBf16, value, {Rounding::NearestEven, false, rule.saturateFinite}, false),
                result);
}

uint64_t toHalfStochastic(const FloatFormat &to, const ConversionRule &rule, uint64_t bits,
                          uint64_t random) {
  Float a = decode(kF32, bits);
  if (!a.isFinite())
    return floatToFloat(kF32, to, rule, bits);
  ResultRule result;
  result.relu = rule.relu;
  mpq_class value = stochastic(to, a.value, random, 24 - to.precision);
  return finish(to,
                encode(to, value, {Rounding::NearestEven, false, rule.saturateFinite}, a.negative),
                result);
}

/// One element of a packed conversion; `extra` is its scale, or its random bits.
using ElementConversion = std::function<uint64_t(uint64_t bits, uint64_t extra)>;

ElementConversion elementConversion(StringRef toWord, StringRef fromWord,
                                    const ConversionRule &rule) {
  const FloatFormat *to = floatFormat(toWord), *from = floatFormat(fromWord);
  const FloatFormat *toNarrow = smallFormat(toWord), *fromNarrow = smallFormat(fromWord);
  if (from && toNarrow)
    return
        [=](uint64_t bits, uint64_t extra) { return toSmall(*from, *toNarrow, rule, bits, extra); };
  if (fromNarrow && to == &kF16)
    return [=](uint64_t bits, uint64_t) { return fromSmall(*fromNarrow, rule, bits); };
  if (from && toWord == "ue8m0")
    return [=](uint64_t bits, uint64_t) { return toScale(*from, rule, bits); };
  if (fromWord == "ue8m0" && to == &kBf16)
    return [=](uint64_t bits, uint64_t) { return fromScale(bits); };
  if (from && toWord == "s2f6")
    return [=](uint64_t bits, uint64_t extra) { return toFixed(*from, rule, bits, extra); };
  if (fromWord == "s2f6" && to == &kBf16)
    return [=](uint64_t bits, uint64_t extra) { return fromFixed(rule, bits, extra); };
  if (from == &kF32 && to && to->bits == 16)
    return [=](uint64_t bits, uint64_t extra) {
      return rule.stochastic ? toHalfStochastic(*to, rule, bits, extra)
                             : floatToFloat(kF32, *to, rule, bits);
    };
  return {};
}

// Bits from one element of a packed operand to the next; six-bit formats take a byte each.
unsigned stepOf(StringRef word) {
  const FloatFormat *format = floatFormat(word);
  return format ? format->bits : word == "e2m1" ? 4 : 8;
}

// The random bits of the element with this index, 0 the highest. The manual: of two elements each
// has its half of the operand, f16 the low 13 bits of it; of four elements two share 16 bits, and
// e2m1 takes these from a byte of each half. Seen on a B200 and published: the first of the two
// reads its 16 bits in reverse.
uint64_t randomBitsOf(StringRef toWord, unsigned count, unsigned index, uint64_t random) {
  auto part = [&](unsigned shift, unsigned bits) {
    return random >> shift & ((uint64_t(1) << bits) - 1);
  };
  bool upper = index < count / 2;
  if (count == 2)
    return part(upper ? 16 : 0, toWord == "f16" ? 13 : 16);
  uint64_t field = toWord == "e2m1" ? part(upper ? 24 : 16, 8) << 8 | part(upper ? 8 : 0, 8)
                                    : part(upper ? 16 : 0, 16);
  if (index % 2 != 0)
    return field;
  uint64_t reversed = 0;
  for (unsigned i = 0; i < 16; ++i)
    reversed = reversed << 1 | (field >> i & 1);
  return reversed;
}

// cvt.rn.satfinite{.relu}.e4m3x2.f32 d, a, b (a is the high half), .e4m3x2.f16x2 d, a, back:
// cvt.rn{.relu}.f16x2.e4m3x2, four at a time: cvt.rs.satfinite.e4m3x4.f32 d, {a, b, e, f}, rbits.
// Random bits and scales come last.
Reference packedConversion(StringRef toWord, StringRef fromWord, const ConversionRule &rule) {
  unsigned count = toWord.consume_back("x2") ? 2 : toWord.consume_back("x4") ? 4 : 0;
  bool packedSource = fromWord.consume_back("x2");
  ElementConversion convert = elementConversion(toWord, fromWord, rule);
  if (count == 0 || (!packedSource && fromWord != "f32") || !convert)
    return {};
  unsigned toStep = stepOf(toWord), fromStep = stepOf(fromWord);
  unsigned last = packedSource ? 1 : count;
  return [=](const ReferenceInputs &in) {
    uint64_t result = 0;
    for (unsigned i = 0; i < count; ++i) {
      uint64_t bits = packedSource ? in.source[0] >> (fromStep * (count - 1 - i)) : in.source[i];
      uint64_t extra = rule.stochastic ? randomBitsOf(toWord, count, i, in.source[last])
                       : rule.scaled   ? in.source[last] >> (8 * (count - 1 - i)) & 0xff
                                       : 127; // the scale 1
      unsigned width = smallFormat(fromWord) ? smallFormat(fromWord)->bits : fromStep;
      result = result << toStep | convert(bits & ((uint64_t(1) << width) - 1), extra);
    }
    return ReferenceOutput{result};
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
  rule.stochastic = words.take("rs");
  if (!rule.roundToIntegral)
    rule.rounding = takeRounding(words);
  rule.flush = words.take("ftz");
  rule.saturate = words.take("sat");
  rule.relu = words.take("relu");
  rule.saturateFinite = words.take("satfinite");
  rule.scaled = words.take("scaled::n2::ue8m0");
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
  return packedConversion(toWord, fromWord, rule);
}

} // namespace rubia::reference
