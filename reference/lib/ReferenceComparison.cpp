// SPDX-License-Identifier: Apache-2.0
// PTX ISA: comparison-and-selection-instructions, half-precision-comparison-instructions.
#include "reference/lib/ReferenceParts.h"

using namespace llvm;

namespace rubia::reference {
namespace {

enum class Order : uint8_t { Less, Equal, Greater, Unordered };

Order compareFloats(const Float &a, const Float &b) {
  if (a.isNan() || b.isNan())
    return Order::Unordered;
  auto key = [](const Float &o) {
    return o.isInfinity() ? (o.negative ? -powerOfTwo(2000) : powerOfTwo(2000)) : o.value;
  };
  int sign = cmp(key(a), key(b));
  return sign < 0 ? Order::Less : sign > 0 ? Order::Greater : Order::Equal;
}

// eq ne lt le gt ge are false for NaNs; equ .. geu are true; num and nan ask for NaNs alone. lo ls
// hi hs are the unsigned names.
struct Comparison {
  bool less = false, equal = false, greater = false, unordered = false, known = true;
  bool operator()(Order order) const {
    switch (order) {
    case Order::Less:
      return less;
    case Order::Equal:
      return equal;
    case Order::Greater:
      return greater;
    case Order::Unordered:
      return unordered;
    }
    __builtin_unreachable();
  }
};
Comparison takeComparison(Words &words) {
  StringRef name = words.takeNext();
  if (name == "num")
    return {true, true, true, false};
  if (name == "nan")
    return {false, false, false, true};
  bool unordered = name.size() == 3 && name.consume_back("u");
  if (name == "eq")
    return {false, true, false, unordered};
  if (name == "ne")
    return {true, false, true, unordered};
  if (name == "lt" || name == "lo")
    return {true, false, false, unordered};
  if (name == "le" || name == "ls")
    return {true, true, false, unordered};
  if (name == "gt" || name == "hi")
    return {false, false, true, unordered};
  if (name == "ge" || name == "hs")
    return {false, true, true, unordered};
  return {false, false, false, false, false};
}

using Compare = std::function<bool(uint64_t, uint64_t)>;
Compare comparisonOf(Comparison comparison, StringRef typeWord, bool flush) {
  if (const FloatFormat *format = floatFormat(typeWord))
    return [=](uint64_t a, uint64_t b) {
      return comparison(
          compareFloats(readOperand(*format, a, flush), readOperand(*format, b, flush)));
    };
  IntegerType type = integerType(typeWord);
  if (!type.bits)
    return {};
  return [=](uint64_t a, uint64_t b) {
    int sign = cmp(toInteger(a, type), toInteger(b, type));
    return comparison(sign < 0 ? Order::Less : sign > 0 ? Order::Greater : Order::Equal);
  };
}

// p = t op c, q = !t op c.
bool combine(StringRef op, bool t, bool c) {
  return op == "and" ? t && c : op == "or" ? t || c : op == "xor" ? t != c : t;
}

// The value that `set` gives for true: all ones, or 1.0.
uint64_t trueValue(StringRef typeWord) {
  if (const FloatFormat *format = floatFormat(typeWord))
    return encode(*format, 1, {}, false);
  IntegerType type = integerType(typeWord);
  return wrap(-1, type);
}

Reference setOrSetp(Words &words, bool isSet) {
  Comparison comparison = takeComparison(words);
  if (!comparison.known)
    return {};
  std::string combination = words.takeOne({"and", "or", "xor"}).str();
  bool flush = words.take("ftz");
  StringRef destination = isSet ? words.takeNext() : StringRef();
  StringRef source = words.takeNext();
  bool halves = source.consume_back("x2");
  Compare compare = comparisonOf(comparison, source, flush);
  if (!compare)
    return {};
  if (!isSet)
    return [=](const ReferenceInputs &in) {
      bool c = in.source[2] & 1;
      bool t = compare(in.source[0], in.source[1]);
      if (!halves)
        return ReferenceOutput{combine(combination, t, c), combine(combination, !t, c)};
      bool high = compare(in.source[0] >> 16 & 0xffff, in.source[1] >> 16 & 0xffff);
      return ReferenceOutput{
          combine(combination, compare(in.source[0] & 0xffff, in.source[1] & 0xffff), c),
          combine(combination, high, c)};
    };
  bool packedResult = destination.consume_back("x2");
  uint64_t yes = trueValue(destination);
  if (halves && !packedResult)
    yes = 0xffff; // set.f16x2 into .u32 or .s32: a mask per half
  Reference scalar = [=](const ReferenceInputs &in) {
    bool t = compare(in.source[0], in.source[1]);
    return ReferenceOutput{combine(combination, t, in.source[2] & 1) ? yes : 0};
  };
  if (!halves)
    return scalar;
  return [=](const ReferenceInputs &in) {
    // The predicate belongs to both halves.
    ReferenceInputs low = in, high = in;
    for (unsigned i = 0; i < 2; ++i) {
      low.source[i] = in.source[i] & 0xffff;
      high.source[i] = in.source[i] >> 16 & 0xffff;
    }
    return ReferenceOutput{scalar(low).bits | scalar(high).bits << 16};
  };
}

uint64_t extended(uint64_t bits, StringRef typeWord) {
  IntegerType type = integerType(typeWord);
  if (!type.bits)
    type = {floatFormat(typeWord)->bits, false};
  return wrap(toInteger(bits, type), type);
}

Reference selp(Words &words) {
  std::string type = words.takeNext().str();
  if (!integerType(type).bits && !floatFormat(type))
    return {};
  return [=](const ReferenceInputs &in) {
    return ReferenceOutput{extended(in.source[in.source[2] & 1 ? 0 : 1], type)};
  };
}

// slct.dtype.s32 / .f32 d, a, b, c: a where c >= 0 (also -0), else b; a NaN picks b.
Reference slct(Words &words) {
  bool flush = words.take("ftz");
  std::string type = words.takeNext().str();
  StringRef condition = words.takeNext();
  bool isFloat = condition == "f32";
  if ((!integerType(type).bits && !floatFormat(type)) || (!isFloat && condition != "s32"))
    return {};
  return [=](const ReferenceInputs &in) {
    bool takeFirst = !(in.source[2] & 0x80000000);
    if (isFloat) {
      Order order = compareFloats(readOperand(kF32, in.source[2], flush), Float());
      takeFirst = order == Order::Greater || order == Order::Equal;
    }
    return ReferenceOutput{extended(in.source[takeFirst ? 0 : 1], type)};
  };
}

} // namespace

Reference comparisonReference(Words &words) {
  if (words.opcode() == "set" || words.opcode() == "setp")
    return setOrSetp(words, words.opcode() == "set");
  if (words.opcode() == "selp")
    return selp(words);
  if (words.opcode() == "slct")
    return slct(words);
  return {};
}

} // namespace rubia::reference
