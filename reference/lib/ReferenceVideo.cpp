// SPDX-License-Identifier: Apache-2.0
// PTX ISA: scalar-video-instructions, simd-video-instructions. Where the manual's pseudocode and
// the hardware differ, this is what the hardware does.
#include "reference/lib/ReferenceParts.h"
#include <vector>

using namespace llvm;

namespace rubia::reference {
namespace {

/// A byte, half or all of a register: bits `first` .. `first + width - 1`.
struct Part {
  unsigned first = 0, width = 32;
};
Part partOf(StringRef selector) {
  if (selector.consume_front("b"))
    return {unsigned(selector[0] - '0') * 8, 8};
  if (selector.consume_front("h"))
    return {unsigned(selector[0] - '0') * 16, 16};
  return {};
}
mpz_class read(uint64_t bits, Part part, bool isSigned) {
  return toInteger(bits >> part.first, {part.width, isSigned});
}

bool compares(StringRef comparison, int sign) {
  return comparison == "eq"   ? sign == 0
         : comparison == "ne" ? sign != 0
         : comparison == "lt" ? sign < 0
         : comparison == "le" ? sign <= 0
         : comparison == "gt" ? sign > 0
                              : sign >= 0;
}

struct VideoRule {
  std::string operation; // "add", "set" ...: the opcode without v, 2 and 4
  bool aSigned = false, bSigned = false, dSigned = false;
  bool saturating = false, wrapping = false;
  std::string comparison, secondary;
};

mpz_class combineElements(const VideoRule &rule, const mpz_class &a, const mpz_class &b) {
  StringRef op = rule.operation;
  if (op == "add")
    return a + b;
  if (op == "sub")
    return a - b;
  if (op == "absdiff")
    return abs(a - b);
  if (op == "min")
    return std::min(a, b);
  if (op == "max")
    return std::max(a, b);
  if (op == "avrg") {
    mpz_class sum = a + b + (a + b >= 0), half;
    mpz_fdiv_q_2exp(half.get_mpz_t(), sum.get_mpz_t(), 1);
    return half;
  }
  if (op == "set")
    return compares(rule.comparison, cmp(a, b));
  unsigned amount = unsigned(b.get_ui());
  amount = rule.wrapping ? amount & 31 : std::min(amount, 32u);
  mpz_class result;
  if (op == "shl")
    result = toInteger(wrap(mpz_class(a << amount), {64, true}), {64, true});
  else
    mpz_fdiv_q_2exp(result.get_mpz_t(), a.get_mpz_t(), amount);
  return result;
}

bool isShift(const VideoRule &rule) { return rule.operation == "shl" || rule.operation == "shr"; }

mpz_class clampTo(const mpz_class &value, IntegerType type) {
  return std::clamp(value, smallest(type), largest(type));
}

// The manual clamps to the type and size of the destination. The hardware does so for a whole
// register of .s32. A whole one of .u32 becomes 0 if it is negative and wraps above, and where a
// byte or half is replaced every number out of its range, also a negative one, gives the largest.
// Shifts clamp the low 34 bits of the result, to 32 bits even where a part is replaced.
mpz_class saturateScalar(const VideoRule &rule, const mpz_class &value, unsigned width) {
  if (isShift(rule))
    return clampTo(toInteger(wrap(value, {34, true}), {34, true}), {32, rule.dSigned});
  if (width == 32)
    return rule.dSigned ? clampTo(value, {32, true}) : std::max(value, mpz_class(0));
  mpz_class most = largest({width, rule.dSigned});
  return value < 0 || value > most ? most : value;
}

// Whether the operands' types alone say that the result is not negative.
bool isNeverNegative(const VideoRule &rule) {
  StringRef op = rule.operation;
  return op == "absdiff" || op == "set" || (op == "max" && !(rule.aSigned && rule.bSigned)) ||
         (op == "min" && !rule.aSigned && !rule.bSigned);
}

// The result and c as secondary .min and .max compare them: by all of its bits if it is never
// negative or comes out of a shift without .sat, else by the low 32 as a signed number. With an
// unsigned destination a negative result is larger than every c.
mpz_class chooseSecondary(const VideoRule &rule, const mpz_class &value, uint64_t c) {
  mpz_class result = value;
  if (isShift(rule) ? rule.saturating : !isNeverNegative(rule))
    result = toInteger(wrap(value, {32, true}), {32, true});
  if (!rule.dSigned && result < 0)
    result += mpz_class(1) << 64;
  mpz_class other = toInteger(c, {32, rule.dSigned});
  return rule.secondary == "min" ? std::min(result, other) : std::max(result, other);
}

// v<op>.dtype.atype.btype{.sat}{.op2} d{.dsel}, a{.asel}, b{.bsel}{, c}
Reference scalarVideo(const VideoRule &rule, ArrayRef<std::string> selectors, bool merges) {
  Part into = partOf(selectors[0]), aPart = partOf(selectors[1]), bPart = partOf(selectors[2]);
  return [=](const ReferenceInputs &in) {
    mpz_class value = combineElements(rule, read(in.source[0], aPart, rule.aSigned),
                                      read(in.source[1], bPart, rule.bSigned));
    if (rule.saturating)
      value = saturateScalar(rule, value, into.width);
    if (rule.secondary == "add")
      return ReferenceOutput{wrap(value + toInteger(in.source[2], {32, false}), {32, false})};
    if (!rule.secondary.empty())
      return ReferenceOutput{wrap(chooseSecondary(rule, value, in.source[2]), {32, false})};
    uint64_t bits = wrap(value, {32, false});
    if (!merges || into.width == 32)
      return ReferenceOutput{bits};
    uint64_t mask = ((uint64_t(1) << into.width) - 1) << into.first;
    if (into.width != 16 || into.first == 0) // .h1 takes the upper half of the result
      bits <<= into.first;
    return ReferenceOutput{(bits & mask) | (in.source[2] & ~mask & 0xffffffff)};
  };
}

// vmad.dtype.atype.btype{.sat}{.scale} d, {-}a{.asel}, {-}b{.bsel}, {-}c; .po adds one. Whole
// registers and c are signed whatever their types. .sat clamps to .s32, or to .u32 if both types
// are unsigned and nothing is negated; it then takes a negative sum that was scaled for a large
// one.
Reference videoMad(const VideoRule &rule, ArrayRef<std::string> selectors, bool plusOne,
                   unsigned scale) {
  Part aPart = partOf(selectors[1]), bPart = partOf(selectors[2]);
  return [=](const ReferenceInputs &in) {
    bool isSigned = rule.aSigned || rule.bSigned;
    mpz_class product = read(in.source[0], aPart, rule.aSigned || aPart.width == 32) *
                        read(in.source[1], bPart, rule.bSigned || bPart.width == 32);
    mpz_class sum = product + toInteger(in.source[2], {32, true}) + int(plusOne), result;
    if (rule.saturating && !isSigned && scale && sum < 0)
      sum += mpz_class(1) << 64;
    mpz_fdiv_q_2exp(result.get_mpz_t(), sum.get_mpz_t(), scale);
    return ReferenceOutput{
        wrap(rule.saturating ? clampTo(result, {32, isSigned}) : result, {32, false})};
  };
}

// The elements of a and b that the digits of the selectors name (4 to 7 are b's); results go to the
// elements of the mask, the others are c's. .add: the sum of the results of the mask, and c.
Reference simdVideo(const VideoRule &rule, ArrayRef<std::string> selectors, unsigned elements) {
  unsigned width = 32 / elements;
  std::string all = elements == 2 ? "10" : "3210", second = elements == 2 ? "32" : "7654";
  std::string mask = selectors[0].empty() ? all : selectors[0].substr(1);
  std::string aDigits = selectors[1].empty() ? all : selectors[1].substr(1);
  std::string bDigits = selectors[2].empty() ? second : selectors[2].substr(1);
  return [=](const ReferenceInputs &in) {
    uint64_t both = (in.source[0] & 0xffffffff) | in.source[1] << 32;
    auto element = [&](const std::string &digits, unsigned i, bool isSigned) {
      unsigned digit = unsigned(digits[elements - 1 - i] - '0');
      return toInteger(both >> (digit * width), {width, isSigned});
    };
    uint64_t result = in.source[2] & 0xffffffff;
    mpz_class sum = toInteger(in.source[2], {32, rule.dSigned});
    for (unsigned i = 0; i < elements; ++i) {
      if (mask.find(char('0' + i)) == std::string::npos)
        continue;
      mpz_class value = combineElements(rule, element(aDigits, i, rule.aSigned),
                                        element(bDigits, i, rule.bSigned));
      sum += value;
      uint64_t bits =
          rule.saturating ? saturate(value, {width, rule.dSigned}) : wrap(value, {width, false});
      uint64_t lane = ((uint64_t(1) << width) - 1) << (i * width);
      result = (result & ~lane) | (bits << (i * width) & lane);
    }
    return ReferenceOutput{rule.secondary.empty() ? result : wrap(sum, {32, false})};
  };
}

} // namespace

Reference videoReference(Words &words, ArrayRef<std::string> given) {
  StringRef name = words.opcode();
  if (!name.consume_front("v"))
    return {};
  unsigned elements = name.ends_with("2") ? 2 : name.ends_with("4") ? 4 : 1;
  if (elements > 1)
    name = name.drop_back();
  VideoRule rule;
  rule.operation = name.str();
  if (!is_contained({"add", "sub", "absdiff", "min", "max", "shl", "shr", "mad", "set", "avrg"},
                    name))
    return {};
  bool isSet = name == "set";
  if (!isSet)
    rule.dSigned = integerType(words.takeNext()).isSigned;
  rule.aSigned = integerType(words.takeNext()).isSigned;
  rule.bSigned = integerType(words.takeNext()).isSigned;
  if (isSet) {
    rule.dSigned = rule.aSigned; // of c, for a secondary operation
    rule.comparison = words.takeNext().str();
  }
  bool plusOne = words.take("po");
  rule.saturating = words.take("sat");
  if (name == "shl" || name == "shr") {
    rule.wrapping = words.take("wrap");
    if (!rule.wrapping)
      words.take("clamp");
  }
  unsigned scale = words.take("shr7") ? 7 : words.take("shr15") ? 15 : 0;
  std::vector<std::string> selectors(given.begin(), given.end());
  selectors.resize(4);
  if (name == "mad")
    return videoMad(rule, selectors, plusOne, scale);
  rule.secondary = words.takeOne({"add", "min", "max"}).str();
  return elements > 1 ? simdVideo(rule, selectors, elements)
                      : scalarVideo(rule, selectors, !selectors[0].empty());
}

} // namespace rubia::reference
