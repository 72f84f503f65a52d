// SPDX-License-Identifier: Apache-2.0
// PTX ISA: integer-arithmetic-instructions, extended-precision-integer-arithmetic-instructions.
#include "reference/lib/ReferenceParts.h"
#include "llvm/ADT/STLExtras.h"
#include <bit>

using namespace llvm;

namespace rubia::reference {
namespace {

// Most instructions take all their operands as the same type and give a value of it.
using Operands = std::array<mpz_class, 3>;
Reference ofIntegers(IntegerType type, mpz_class (*compute)(const Operands &, IntegerType),
                     bool saturating = false) {
  return [=](const ReferenceInputs &in) {
    Operands operands;
    for (unsigned i = 0; i < 3; ++i)
      operands[i] = toInteger(in.source[i], type);
    mpz_class result = compute(operands, type);
    return ReferenceOutput{saturating ? saturate(result, type) : wrap(result, type)};
  };
}

// A quotient by 0 has all bits set, the remainder then is 0 divided by ... all bits set too.
mpz_class quotient(const Operands &o, IntegerType) {
  if (o[1] == 0)
    return -1;
  mpz_class q;
  mpz_tdiv_q(q.get_mpz_t(), o[0].get_mpz_t(), o[1].get_mpz_t());
  return q;
}
mpz_class remainder(const Operands &o, IntegerType) {
  if (o[1] == 0)
    return -1;
  mpz_class r;
  mpz_tdiv_r(r.get_mpz_t(), o[0].get_mpz_t(), o[1].get_mpz_t());
  return r;
}

// mul/mad .lo .hi .wide, with .cc and the carry of madc.
Reference multiply(Words &words, IntegerType type, bool add, bool carryIn) {
  bool high = words.take("hi"), wide = words.take("wide"), carryOut = words.take("cc");
  if (!high && !wide && !words.take("lo"))
    return {};
  bool saturating = words.take("sat");
  IntegerType resultType{wide ? 2 * type.bits : type.bits, type.isSigned};
  return [=](const ReferenceInputs &in) {
    mpz_class product = toInteger(in.source[0], type) * toInteger(in.source[1], type);
    if (high)
      mpz_fdiv_q_2exp(product.get_mpz_t(), product.get_mpz_t(), type.bits);
    if (!add)
      return ReferenceOutput{wrap(product, resultType)};
    if (saturating)
      return ReferenceOutput{saturate(product + toInteger(in.source[2], type), type)};
    // The carry is that of the unsigned addition of the low bits, whatever the type.
    IntegerType bitsOnly{resultType.bits, false};
    mpz_class sum = mpz_class(static_cast<unsigned long>(wrap(product, bitsOnly))) +
                    toInteger(in.source[2], bitsOnly) + int(carryIn && in.carry);
    return ReferenceOutput{wrap(sum, resultType), carryOut && sum > largest(bitsOnly)};
  };
}

// A subtraction adds the complement, and the carry is that of this addition: 1 if nothing is
// borrowed.
Reference addWithCarry(IntegerType type, bool subtract, bool carryIn) {
  return [=](const ReferenceInputs &in) {
    IntegerType bitsOnly{type.bits, false};
    mpz_class a = toInteger(in.source[0], bitsOnly), b = toInteger(in.source[1], bitsOnly);
    if (subtract)
      b = largest(bitsOnly) - b;
    mpz_class sum = a + b + int(carryIn ? in.carry : subtract);
    return ReferenceOutput{wrap(sum, type), sum > largest(bitsOnly)};
  };
}

// The products of mul24 and mad24 are of the low 24 bits, and 48 bits long: .lo gives bits 31:0,
// .hi bits 47:16.
Reference multiply24(Words &words, IntegerType type, bool add) {
  bool high = words.take("hi"), saturating = words.take("sat");
  if (!high && !words.take("lo"))
    return {};
  return [=](const ReferenceInputs &in) {
    IntegerType narrow{24, type.isSigned};
    mpz_class product = toInteger(in.source[0], narrow) * toInteger(in.source[1], narrow);
    if (high)
      mpz_fdiv_q_2exp(product.get_mpz_t(), product.get_mpz_t(), 16);
    mpz_class sum = toInteger(wrap(product, type), type);
    if (add)
      sum += toInteger(in.source[2], type);
    return ReferenceOutput{saturating ? saturate(sum, type) : wrap(sum, type)};
  };
}

uint64_t masked(uint64_t bits, unsigned width) {
  return width == 64 ? bits : bits & ((uint64_t(1) << width) - 1);
}

// The position of the highest bit that differs from the sign; -1 if there is none.
Reference bfind(IntegerType type, bool shiftAmount) {
  return [=](const ReferenceInputs &in) {
    mpz_class value = toInteger(in.source[0], type);
    if (value < 0)
      value = -value - 1;
    if (value == 0)
      return ReferenceOutput{0xffffffff};
    unsigned position = unsigned(mpz_sizeinbase(value.get_mpz_t(), 2)) - 1;
    return ReferenceOutput{shiftAmount ? type.bits - 1 - position : position};
  };
}

// Position or length of a bit field: the manual takes 8 bits of it, the hardware does so for 32-bit
// operations and takes all bits for 64-bit ones. From 64 on all are alike.
unsigned fieldOperand(uint64_t bits, IntegerType type) {
  return type.bits == 64 ? unsigned(std::min<uint64_t>(uint32_t(bits), 64)) : unsigned(bits & 0xff);
}

Reference bfe(IntegerType type) {
  return [=](const ReferenceInputs &in) {
    unsigned position = fieldOperand(in.source[1], type), length = fieldOperand(in.source[2], type);
    unsigned msb = type.bits - 1;
    bool sign = false;
    if (type.isSigned && length != 0)
      sign = in.source[0] >> std::min(position + length - 1, msb) & 1;
    uint64_t result = 0;
    for (unsigned i = 0; i <= msb; ++i) {
      bool bit = i < length && position + i <= msb ? in.source[0] >> (position + i) & 1 : sign;
      result |= uint64_t(bit) << i;
    }
    return ReferenceOutput{wrap(mpz_class(static_cast<unsigned long>(result)), type)};
  };
}

Reference bfi(IntegerType type) {
  return [=](const ReferenceInputs &in) {
    unsigned position = fieldOperand(in.source[2], type), length = fieldOperand(in.source[3], type);
    uint64_t result = masked(in.source[1], type.bits);
    for (unsigned i = 0; i < length && position + i < type.bits; ++i) {
      uint64_t bit = uint64_t(1) << (position + i);
      result = in.source[0] >> i & 1 ? result | bit : result & ~bit;
    }
    return ReferenceOutput{result};
  };
}

// The n-th set bit of the mask from the base on: forwards for n > 0, backwards for n < 0, the base
// itself for n = 0. The hardware gives 0 for n = -2^31, whose magnitude it cannot count.
ReferenceOutput fns(const ReferenceInputs &in) {
  uint32_t mask = uint32_t(in.source[0]);
  int64_t base = int64_t(in.source[1] & 0xffffffff);
  int32_t n = int32_t(in.source[2]);
  if (n == INT32_MIN)
    return {0};
  if (n == 0)
    return {base < 32 && mask >> base & 1 ? uint64_t(base) : 0xffffffff};
  int64_t step = n > 0 ? 1 : -1, wanted = n > 0 ? n : -int64_t(n);
  for (int64_t position = base; position >= 0 && position < 32; position += step)
    if (mask >> position & 1 && --wanted == 0)
      return {uint64_t(position)};
  return {0xffffffff};
}

// szext.mode.type d, a, b: a as a number of b bits.
Reference szext(Words &words, IntegerType type) {
  bool wrapping = words.take("wrap");
  if (!wrapping && !words.take("clamp"))
    return {};
  return [=](const ReferenceInputs &in) {
    uint32_t width = in.source[1];
    width = wrapping ? width & 31 : std::min(width, 32u);
    mpz_class value = width == 0 ? mpz_class(0) : toInteger(in.source[0], {width, type.isSigned});
    return ReferenceOutput{wrap(value, type)};
  };
}

// clmad.(lo|hi).u64 d, a, b, c: half of a * b, plus c, all without carries.
Reference clmad(Words &words) {
  const bool isHigh = words.take("hi");
  if (!isHigh && !words.take("lo"))
    return {};
  return [=](const ReferenceInputs &in) {
    unsigned __int128 product = 0;
    for (unsigned bit = 0; bit < 64; ++bit)
      if (in.source[1] >> bit & 1)
        product ^= static_cast<unsigned __int128>(in.source[0]) << bit;
    return ReferenceOutput{uint64_t(isHigh ? product >> 64 : product) ^ in.source[2]};
  };
}

Reference bmsk(Words &words) {
  bool wrapping = words.take("wrap");
  if (!wrapping && !words.take("clamp"))
    return {};
  return [=](const ReferenceInputs &in) {
    uint32_t position = in.source[0], width = in.source[1];
    position = wrapping ? position & 31 : std::min(position, 32u);
    width = wrapping ? width & 31 : std::min(width, 32u);
    return ReferenceOutput{((uint64_t(1) << width) - 1) << position & 0xffffffff};
  };
}

// dp4a.atype.btype d, a, b, c; dp2a.mode: two 16-bit elements of a, the low or high two bytes of b.
Reference dotProduct(Words &words, unsigned elements) {
  bool high = elements == 2 && words.take("hi");
  if (elements == 2 && !high && !words.take("lo"))
    return {};
  IntegerType a = integerType(words.takeNext()), b = integerType(words.takeNext());
  if (a.bits != 32 || b.bits != 32)
    return {};
  return [=](const ReferenceInputs &in) {
    IntegerType result{32, a.isSigned || b.isSigned};
    mpz_class sum = toInteger(in.source[2], result);
    unsigned aBits = 32 / elements;
    for (unsigned i = 0; i < elements; ++i)
      sum += toInteger(in.source[0] >> i * aBits, {aBits, a.isSigned}) *
             toInteger(in.source[1] >> (i + (high ? 2 : 0)) * 8, {8, b.isSigned});
    return ReferenceOutput{wrap(sum, result)};
  };
}

Reference bitCount(const std::string &opcode, IntegerType type) {
  return [=](const ReferenceInputs &in) {
    uint64_t bits = masked(in.source[0], type.bits);
    if (opcode == "popc")
      return ReferenceOutput{uint64_t(std::popcount(bits))};
    if (opcode == "clz")
      return ReferenceOutput{uint64_t(std::countl_zero(bits)) - (64 - type.bits)};
    uint64_t reversed = 0;
    for (unsigned i = 0; i < type.bits; ++i)
      reversed |= (bits >> i & 1) << (type.bits - 1 - i);
    return ReferenceOutput{reversed};
  };
}

mpz_class add(const Operands &o, IntegerType) { return o[0] + o[1]; }
mpz_class subtract(const Operands &o, IntegerType) { return o[0] - o[1]; }
mpz_class absolute(const Operands &o, IntegerType) { return abs(o[0]); }
mpz_class negate(const Operands &o, IntegerType) { return -o[0]; }
mpz_class minimum(const Operands &o, IntegerType) { return std::min(o[0], o[1]); }
mpz_class maximum(const Operands &o, IntegerType) { return std::max(o[0], o[1]); }
mpz_class sumOfDifference(const Operands &o, IntegerType) { return o[2] + abs(o[0] - o[1]); }

Reference withRelu(const Reference &reference, IntegerType type) {
  return [=](const ReferenceInputs &in) {
    ReferenceOutput output = reference(in);
    if (toInteger(output.bits, type) < 0)
      output.bits = 0;
    return output;
  };
}

Reference minOrMax(Words &words, IntegerType type, bool isMin) {
  Reference reference = ofIntegers(type, isMin ? minimum : maximum);
  return words.take("relu") ? withRelu(reference, type) : reference;
}

} // namespace

Reference integerReference(Words &words) {
  StringRef op = words.opcode();
  if (op == "dp4a" || op == "dp2a")
    return dotProduct(words, op == "dp4a" ? 4 : 2);
  StringRef typeWord = words.last();
  if (typeWord == "u16x2" || typeWord == "s16x2") {
    words.take(typeWord);
    IntegerType half{16, typeWord[0] == 's'};
    if (op == "add")
      return packed(16, ofIntegers(half, add));
    if (op == "min" || op == "max")
      return packed(16, minOrMax(words, half, op == "min"));
    return {};
  }
  IntegerType type = integerType(typeWord);
  if (type.bits < 16)
    return {};
  words.take(typeWord);
  if (op == "add" || op == "sub") {
    if (words.take("cc"))
      return addWithCarry(type, op == "sub", false);
    return ofIntegers(type, op == "add" ? add : subtract, words.take("sat"));
  }
  if (op == "addc" || op == "subc") {
    bool carryOut = words.take("cc");
    Reference reference = addWithCarry(type, op == "subc", true);
    if (carryOut)
      return reference;
    return [=](const ReferenceInputs &in) { return ReferenceOutput{reference(in).bits}; };
  }
  if (op == "mul" || op == "mad" || op == "madc")
    return multiply(words, type, op != "mul", op == "madc");
  if (op == "mul24" || op == "mad24")
    return multiply24(words, type, op == "mad24");
  if (op == "sad")
    return ofIntegers(type, sumOfDifference);
  if (op == "div")
    return ofIntegers(type, quotient);
  if (op == "rem")
    return ofIntegers(type, remainder);
  if (op == "abs")
    return ofIntegers(type, absolute);
  if (op == "neg")
    return ofIntegers(type, negate);
  if (op == "min" || op == "max")
    return minOrMax(words, type, op == "min");
  if (op == "popc" || op == "clz" || op == "brev")
    return bitCount(op.str(), type);
  if (op == "bfind")
    return bfind(type, words.take("shiftamt"));
  if (op == "bfe")
    return bfe(type);
  if (op == "bfi")
    return bfi(type);
  if (op == "fns")
    return fns;
  if (op == "szext")
    return szext(words, type);
  if (op == "clmad")
    return clmad(words);
  if (op == "bmsk")
    return bmsk(words);
  return {};
}

} // namespace rubia::reference
