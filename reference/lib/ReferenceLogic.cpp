// SPDX-License-Identifier: Apache-2.0
// PTX ISA: logic-and-shift-instructions, data-movement mov and prmt.
#include "reference/lib/ReferenceParts.h"
#include <algorithm>

using namespace llvm;

namespace rubia::reference {
namespace {

Reference bitwise(const std::string &op, unsigned bits) {
  return [=](const ReferenceInputs &in) {
    uint64_t a = in.source[0], b = in.source[1];
    uint64_t mask = bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1;
    uint64_t result = op == "and"   ? a & b
                      : op == "or"  ? a | b
                      : op == "xor" ? a ^ b
                      : op == "not" ? ~a
                                    : uint64_t((a & mask) == 0); // cnot
    return ReferenceOutput{result & mask};
  };
}

// The table's bit (a << 2 | b << 1 | c). With a BoolOp: p = (d != 0) op q.
Reference lop3(Words &words) {
  std::string combination = words.takeOne({"or", "and"}).str();
  if (!words.take("b32"))
    return {};
  return [=](const ReferenceInputs &in) {
    uint64_t result = 0;
    for (unsigned i = 0; i < 32; ++i) {
      unsigned index = 0;
      for (unsigned operand = 0; operand < 3; ++operand)
        index = index << 1 | (in.source[operand] >> i & 1);
      result |= (in.source[3] >> index & 1) << i;
    }
    bool q = in.source[4] & 1;
    return ReferenceOutput{result, combination == "or" ? result || q : result && q};
  };
}

// Amounts beyond the width behave as the width, from all 32 bits of the amount.
Reference shift(bool left, IntegerType type) {
  return [=](const ReferenceInputs &in) {
    unsigned amount = unsigned(std::min<uint64_t>(in.source[1] & 0xffffffff, type.bits));
    mpz_class value = toInteger(in.source[0], type), result;
    if (left)
      result = value << amount;
    else
      mpz_fdiv_q_2exp(result.get_mpz_t(), value.get_mpz_t(), amount);
    return ReferenceOutput{wrap(result, type)};
  };
}

// shf.dir.mode.b32 d, a, b, c: the 64-bit value b:a, shifted; its high (left) or low half.
Reference funnelShift(Words &words) {
  bool left = words.take("l");
  if (!left && !words.take("r"))
    return {};
  bool wrapping = words.take("wrap");
  if (!wrapping && !words.take("clamp"))
    return {};
  if (!words.take("b32"))
    return {};
  return [=](const ReferenceInputs &in) {
    uint64_t value = (in.source[1] & 0xffffffff) << 32 | (in.source[0] & 0xffffffff);
    uint32_t amount = in.source[2];
    amount = wrapping ? amount & 31 : std::min(amount, 32u);
    return ReferenceOutput{left ? (value << amount) >> 32 : value >> amount & 0xffffffff};
  };
}

// prmt.b32{.mode} d, a, b, c: bytes of b:a chosen by the nibbles of c, bit 3 of a nibble replicates
// the sign; the modes choose by c & 3.
Reference permute(Words &words) {
  std::string mode = words.takeOne({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}).str();
  if (!words.take("b32"))
    return {};
  return [=](const ReferenceInputs &in) {
    uint64_t value = (in.source[1] & 0xffffffff) << 32 | (in.source[0] & 0xffffffff);
    unsigned c = in.source[2] & 3;
    uint64_t result = 0;
    for (unsigned i = 0; i < 4; ++i) {
      unsigned nibble = in.source[2] >> (4 * i) & 15;
      if (mode == "f4e")
        nibble = c + i;
      else if (mode == "b4e")
        nibble = (c - i) & 7;
      else if (mode == "rc8")
        nibble = c;
      else if (mode == "ecl")
        nibble = std::max(c, i);
      else if (mode == "ecr")
        nibble = std::min(c, i);
      else if (mode == "rc16")
        nibble = (c & 1) * 2 + (i & 1);
      uint64_t byte = value >> (8 * (nibble & 7)) & 0xff;
      if (nibble & 8)
        byte = byte & 0x80 ? 0xff : 0;
      result |= byte << (8 * i);
    }
    return ReferenceOutput{result};
  };
}

} // namespace

Reference logicReference(Words &words) {
  StringRef op = words.opcode();
  if (op == "lop3")
    return lop3(words);
  if (op == "shf")
    return funnelShift(words);
  if (op == "prmt")
    return permute(words);
  StringRef typeWord = words.last();
  IntegerType type = typeWord == "pred" ? IntegerType{1, false} : integerType(typeWord);
  const FloatFormat *format = floatFormat(typeWord);
  if (!type.bits && !format)
    return {};
  words.take(typeWord);
  if (op == "mov") {
    IntegerType moved = format ? IntegerType{format->bits, false} : type;
    return [=](const ReferenceInputs &in) {
      return ReferenceOutput{wrap(toInteger(in.source[0], moved), moved)};
    };
  }
  if (format)
    return {};
  if (is_contained({"and", "or", "xor", "not", "cnot"}, op))
    return bitwise(op.str(), type.bits);
  if (op == "shl" || op == "shr")
    return shift(op == "shl", type);
  return {};
}

} // namespace rubia::reference
