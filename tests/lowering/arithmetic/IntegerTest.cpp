// SPDX-License-Identifier: Apache-2.0
// PTX ISA: integer-arithmetic-instructions and extended-precision-arithmetic-instructions, executed
// on edge values and compared with references written from the manual's pseudocode.
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include "llvm/Support/FormatVariadic.h"

using namespace rubia::lowering::test;
using I = __int128;
using U = unsigned __int128;

namespace {

struct IntegerType {
  const char *name;
  unsigned bits;
  bool isSigned;
  Kind kind() const { return bits == 16 ? Kind::I16 : bits == 32 ? Kind::I32 : Kind::I64; }
  uint64_t mask() const { return ~0ull >> (64 - bits); }
  // The number that a pattern stands for.
  I value(uint64_t pattern) const {
    pattern &= mask();
    return isSigned && (pattern >> (bits - 1)) ? I(pattern) - (I(1) << bits) : I(pattern);
  }
  uint64_t pattern(I value) const { return uint64_t(value) & mask(); }
};

const IntegerType kTypes[] = {{"u16", 16, false}, {"s16", 16, true},  {"u32", 32, false},
                              {"s32", 32, true},  {"u64", 64, false}, {"s64", 64, true}};
const IntegerType kS32 = kTypes[3];

I clampTo32(I value) { return std::max<I>(INT32_MIN, std::min<I>(INT32_MAX, value)); }

using Binary = std::function<I(const IntegerType &, I, I)>;

void checkBinary(const std::string &operation, const IntegerType &type, const Binary &reference) {
  Kind kind = type.kind();
  check({operation + "." + type.name + " d, a, b",
         kind,
         {kind, kind},
         [&](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return type.pattern(reference(type, type.value(a), type.value(b)));
         }});
}

void checkBinary(const std::string &operation, const Binary &reference) {
  for (const IntegerType &type : kTypes)
    checkBinary(operation, type, reference);
}

} // namespace

TEST(IntegerArithmetic, AddSubWrap) {
  checkBinary("add", [](const IntegerType &, I a, I b) { return a + b; });
  checkBinary("sub", [](const IntegerType &, I a, I b) { return a - b; });
}

TEST(IntegerArithmetic, SaturatingAddSub) {
  checkBinary("add.sat", kS32, [](const IntegerType &, I a, I b) { return clampTo32(a + b); });
  checkBinary("sub.sat", kS32, [](const IntegerType &, I a, I b) { return clampTo32(a - b); });
}

TEST(IntegerArithmetic, MinMax) {
  checkBinary("min", [](const IntegerType &, I a, I b) { return std::min(a, b); });
  checkBinary("max", [](const IntegerType &, I a, I b) { return std::max(a, b); });
}

TEST(IntegerArithmetic, MulLowHigh) {
  checkBinary("mul.lo", [](const IntegerType &, I a, I b) { return I(U(a) * U(b)); });
  checkBinary("mul.hi", [](const IntegerType &type, I a, I b) {
    return type.isSigned ? (a * b) >> type.bits : I((U(a) * U(b)) >> type.bits);
  });
}

TEST(IntegerArithmetic, MulMadWide) {
  for (const IntegerType &type : kTypes) {
    if (type.bits == 64)
      continue;
    Kind wide = type.bits == 16 ? Kind::I32 : Kind::I64;
    uint64_t mask = ~0ull >> (64 - type.bits * 2);
    std::string suffix = type.name;
    check({"mul.wide." + suffix + " d, a, b",
           wide,
           {type.kind(), type.kind()},
           [&](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return uint64_t(type.value(a) * type.value(b)) & mask;
           }});
    check({"mad.wide." + suffix + " d, a, b, c",
           wide,
           {type.kind(), type.kind(), wide},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             return (uint64_t(type.value(a) * type.value(b)) + c) & mask;
           }});
  }
}

TEST(IntegerArithmetic, Mad) {
  for (const IntegerType &type : kTypes) {
    Kind kind = type.kind();
    std::string suffix = type.name;
    check(
        {"mad.lo." + suffix + " d, a, b, c",
         kind,
         {kind, kind, kind},
         [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) { return (a * b + c) & type.mask(); }});
    check({"mad.hi." + suffix + " d, a, b, c",
           kind,
           {kind, kind, kind},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             U product = type.isSigned ? U(type.value(a) * type.value(b)) : U(a) * U(b);
             return (uint64_t(product >> type.bits) + c) & type.mask();
           }});
  }
  check({"mad.hi.sat.s32 d, a, b, c",
         Kind::I32,
         {Kind::I32, Kind::I32, Kind::I32},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
           I high = (kS32.value(a) * kS32.value(b)) >> 32;
           return kS32.pattern(clampTo32(high + kS32.value(c)));
         }});
}

TEST(IntegerArithmetic, Mul24UsesTheLowBits) {
  for (bool isSigned : {false, true}) {
    IntegerType type = {isSigned ? "s32" : "u32", 24, isSigned};
    std::string suffix = type.name;
    auto product = [&](uint64_t a, uint64_t b) { return type.value(a) * type.value(b); };
    Kind k = Kind::I32;
    check({"mul24.lo." + suffix + " d, a, b",
           k,
           {k, k},
           [&](uint64_t a, uint64_t b, uint64_t, uint64_t) { return uint32_t(product(a, b)); }});
    check({"mul24.hi." + suffix + " d, a, b",
           k,
           {k, k},
           [&](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return uint32_t(product(a, b) >> 16);
           }});
    check({"mad24.lo." + suffix + " d, a, b, c",
           k,
           {k, k, k},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             return uint32_t(product(a, b) + c);
           }});
    check({"mad24.hi." + suffix + " d, a, b, c",
           k,
           {k, k, k},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             return uint32_t((product(a, b) >> 16) + c);
           }});
  }
  check({"mad24.hi.sat.s32 d, a, b, c",
         Kind::I32,
         {Kind::I32, Kind::I32, Kind::I32},
         [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
           IntegerType type = {"s32", 24, true};
           I high = (type.value(a) * type.value(b)) >> 16;
           return kS32.pattern(clampTo32(I(int32_t(high)) + kS32.value(c)));
         }});
}

TEST(IntegerArithmetic, Sad) {
  for (const IntegerType &type : kTypes) {
    Kind kind = type.kind();
    check({std::string("sad.") + type.name + " d, a, b, c",
           kind,
           {kind, kind, kind},
           [&](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             I x = type.value(a), y = type.value(b);
             return type.pattern((x > y ? x - y : y - x) + type.value(c));
           }});
  }
}

TEST(IntegerArithmetic, DivisionIsDefinedEverywhere) {
  checkBinary("div", [](const IntegerType &, I a, I b) { return b ? a / b : I(-1); });
  checkBinary("rem", [](const IntegerType &, I a, I b) { return b ? a % b : I(-1); });
}

// Multiples of many divisors below 2^bits, and the numbers next to them.
static std::vector<Operands> multiplesAndNeighbours(unsigned bits) {
  // The first two get too large a reciprocal if v_rcp_f32 is one unit off. The third is a product
  // of single precision that is rounded up to the next integer.
  std::vector<Operands> tuples = {
      {{4270283733, 24683721}}, {{24683720, 24683721}}, {{16777214, 3}}, {{8388608, 29}}};
  uint64_t state = 1;
  for (unsigned i = 0; i < 2000; ++i) {
    auto next = [&] {
      state = state * 6364136223846793005 + 1442695040888963407;
      return (state ^ state >> 32) & (~uint64_t(0) >> (64 - bits));
    };
    const uint64_t divisor = next() >> i % bits, quotient = next() >> (bits - 1 - i % bits);
    for (uint64_t offset : {-1, 0, 1})
      tuples.push_back({{divisor * quotient + offset, i % 5 ? divisor : 0 - divisor}});
  }
  return tuples;
}

static void checkDivisions(const IntegerType &type, unsigned bits, unsigned optLevel) {
  const uint64_t mask = ~uint64_t(0) >> (64 - bits);
  std::string limited;
  if (bits < type.bits)
    for (const char *name : {"a", "b"})
      limited += llvm::formatv("and.b{0} {1}, {1}, {2}; ", type.bits, name, mask);
  for (const char *operation : {"div", "rem"}) {
    auto reference = [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
      const I x = type.value(bits < type.bits ? a & mask : a);
      const I y = type.value(bits < type.bits ? b & mask : b);
      return type.pattern(y ? operation[0] == 'd' ? x / y : x % y : I(-1));
    };
    check({limited + operation + "." + type.name + " d, a, b",
           type.kind(),
           {type.kind(), type.kind()},
           reference},
          multiplesAndNeighbours(bits), {.optLevel = optLevel});
  }
}

// Quotients are estimated and corrected. Another entry of ctest has v_rcp_f32 at its worst.
TEST(IntegerArithmetic, DivisionNextToMultiples) {
  for (const IntegerType &type : kTypes)
    for (unsigned optLevel : {0, 1, 3})
      if (type.bits >= 32)
        checkDivisions(type, type.bits, optLevel);
}

// nvcc has a branch before each division of 64 bits: numbers that fit 32 are divided as such.
TEST(IntegerArithmetic, DivisionBehindAWidthCheckNextToMultiples) {
  std::vector<Operands> tuples = multiplesAndNeighbours(64);
  for (unsigned bits : {16, 32, 33, 40})
    llvm::append_range(tuples, multiplesAndNeighbours(bits));
  for (uint64_t divisor :
       {uint64_t(0), uint64_t(1), uint64_t(UINT32_MAX), uint64_t(UINT32_MAX) + 1})
    for (uint64_t dividend : {uint64_t(0), uint64_t(UINT32_MAX), uint64_t(1) << 32, ~uint64_t(0)})
      tuples.push_back({{dividend, divisor}});
  for (const IntegerType &type : kTypes)
    for (std::string operation : {"div", "rem"}) {
      if (type.bits != 64)
        continue;
      auto reference = [&](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
        if ((a | b) <= UINT32_MAX)
          return b ? operation == "div" ? a / b : a % b : UINT32_MAX;
        const I x = type.value(a), y = type.value(b);
        return type.pattern(y ? operation == "div" ? x / y : x % y : I(-1));
      };
      check({".reg .pred fits; .reg .b64 both; .reg .b32 x, y; or.b64 both, a, b; "
             "and.b64 both, both, -4294967296; setp.eq.s64 fits, both, 0; @fits bra narrow; " +
                 operation + "." + type.name +
                 " d, a, b; bra done; narrow: cvt.u32.u64 x, a; cvt.u32.u64 y, b; " + operation +
                 ".u32 x, x, y; cvt.u64.u32 d, x; done: mov.b64 d, d",
             type.kind(),
             {type.kind(), type.kind()},
             reference},
            tuples, {.optLevel = 3});
    }
}

TEST(IntegerArithmetic, DivisionOfFewBitsNextToMultiples) {
  for (const IntegerType &type : kTypes)
    for (unsigned bits : {16, 22, 23, 24, 25, 32, 40})
      if (bits < type.bits)
        checkDivisions(type, bits, 3);
}

TEST(IntegerArithmetic, AbsNegOfTheMostNegative) {
  for (const IntegerType &type : kTypes) {
    if (!type.isSigned)
      continue;
    Kind kind = type.kind();
    check({std::string("abs.") + type.name + " d, a",
           kind,
           {kind},
           [&](uint64_t a, uint64_t, uint64_t, uint64_t) {
             I value = type.value(a);
             return type.pattern(value < 0 ? -value : value);
           }});
    check({std::string("neg.") + type.name + " d, a",
           kind,
           {kind},
           [&](uint64_t a, uint64_t, uint64_t, uint64_t) { return type.pattern(-type.value(a)); }});
  }
}

static uint64_t leadingZeros(uint64_t value, unsigned bits) {
  return value ? __builtin_clzll(value) - (64 - bits) : bits;
}

TEST(IntegerArithmetic, CountAndFindBits) {
  for (unsigned bits : {32u, 64u}) {
    Kind kind = bits == 32 ? Kind::I32 : Kind::I64;
    std::string b = std::to_string(bits);
    check({"popc.b" + b + " d, a", Kind::I32, {kind}, [](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return __builtin_popcountll(a);
           }});
    check({"clz.b" + b + " d, a", Kind::I32, {kind}, [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return leadingZeros(a, bits);
           }});
    check({"brev.b" + b + " d, a", kind, {kind}, [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
             return __builtin_bitreverse64(a) >> (64 - bits);
           }});
    for (bool isSigned : {false, true})
      for (bool shiftamt : {false, true})
        check({std::string("bfind.") + (shiftamt ? "shiftamt." : "") + (isSigned ? "s" : "u") + b +
                   " d, a",
               Kind::I32,
               {kind},
               [=](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
                 if (isSigned && (a >> (bits - 1)))
                   a = ~a & (~0ull >> (64 - bits));
                 if (a == 0)
                   return 0xffffffff;
                 uint64_t zeros = leadingZeros(a, bits);
                 return shiftamt ? zeros : bits - 1 - zeros;
               }});
  }
}

// PTX ISA: integer-arithmetic-instructions-bfe, the pseudocode bit by bit.
static uint64_t extractField(uint64_t a, uint64_t position, uint64_t length, unsigned bits,
                             bool isSigned) {
  if (bits == 32)
    position &= 0xff, length &= 0xff;
  uint64_t msb = bits - 1;
  bool sign = isSigned && length && (a >> std::min(position + length - 1, msb) & 1);
  uint64_t result = 0;
  for (uint64_t i = 0; i <= msb; ++i) {
    bool bit = i < length && position + i <= msb ? a >> (position + i) & 1 : sign;
    result |= uint64_t(bit) << i;
  }
  return result;
}

TEST(IntegerArithmetic, BitFields) {
  for (unsigned bits : {32u, 64u}) {
    Kind kind = bits == 32 ? Kind::I32 : Kind::I64;
    std::string width = std::to_string(bits);
    for (bool isSigned : {false, true})
      check({std::string("bfe.") + (isSigned ? "s" : "u") + width + " d, a, b, c",
             kind,
             {kind, Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               return extractField(a, b, c, bits, isSigned);
             }});
    check({"bfi.b" + width + " d, a, b, c, e",
           kind,
           {kind, kind, Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t c, uint64_t e) {
             uint64_t position = bits == 32 ? c & 0xff : c, length = bits == 32 ? e & 0xff : e;
             for (uint64_t i = 0; i < length && position + i < bits; ++i) {
               b &= ~(1ull << (position + i));
               b |= (a >> i & 1) << (position + i);
             }
             return b;
           }});
  }
}

TEST(IntegerArithmetic, Dp4a) {
  for (bool aSigned : {false, true})
    for (bool bSigned : {false, true}) {
      std::string instruction = std::string("dp4a.") + (aSigned ? "s32." : "u32.") +
                                (bSigned ? "s32" : "u32") + " d, a, b, c";
      std::vector<Kind> sources = {Kind::I32, Kind::I32, Kind::I32};
      check({instruction, Kind::I32, sources, [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               for (unsigned n = 0; n < 4; ++n) {
                 int x = aSigned ? int8_t(a >> 8 * n) : uint8_t(a >> 8 * n);
                 int y = bSigned ? int8_t(b >> 8 * n) : uint8_t(b >> 8 * n);
                 c += x * y;
               }
               return uint32_t(c);
             }});
      // Without an instruction for it, or with some only.
      for (const char *arch : rubia::test::allTargets())
        EXPECT_FALSE(
            compileToCode(kernelText(instruction + ";", Kind::I32, sources), {.arch = arch})
                .empty());
    }
}

TEST(IntegerArithmetic, Dp2a) {
  for (bool aSigned : {false, true})
    for (bool bSigned : {false, true})
      for (bool high : {false, true})
        check({std::string("dp2a.") + (high ? "hi." : "lo.") + (aSigned ? "s32." : "u32.") +
                   (bSigned ? "s32" : "u32") + " d, a, b, c",
               Kind::I32,
               {Kind::I32, Kind::I32, Kind::I32},
               [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
                 for (unsigned n = 0; n < 2; ++n) {
                   uint64_t byte = b >> (8 * n + (high ? 16 : 0));
                   int64_t x = aSigned ? int16_t(a >> 16 * n) : uint16_t(a >> 16 * n);
                   c += uint64_t(x * (bSigned ? int8_t(byte) : uint8_t(byte)));
                 }
                 return uint32_t(c);
               }});
}

TEST(IntegerArithmetic, SignExtendAndMask) {
  for (bool wraps : {false, true}) {
    std::string mode = wraps ? ".wrap" : ".clamp";
    auto limited = [=](uint64_t amount) {
      return wraps ? amount & 31 : std::min<uint64_t>(amount, 32);
    };
    for (bool isSigned : {false, true})
      check({"szext" + mode + (isSigned ? ".s32" : ".u32") + " d, a, b",
             Kind::I32,
             {Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
               uint64_t width = limited(b);
               if (width == 0)
                 return 0;
               uint64_t field = a & ((uint64_t(1) << width) - 1);
               bool negative = isSigned && field >> (width - 1);
               return uint32_t(negative ? field - (uint64_t(1) << width) : field);
             }});
    check({"bmsk" + mode + ".b32 d, a, b",
           Kind::I32,
           {Kind::I32, Kind::I32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             return uint32_t(((uint64_t(1) << limited(b)) - 1) << limited(a));
           }});
  }
}

TEST(IntegerArithmetic, ProductsWithoutCarries) {
  for (bool isHigh : {false, true})
    check({std::string("clmad.") + (isHigh ? "hi" : "lo") + ".u64 d, a, b, c",
           Kind::I64,
           {Kind::I64, Kind::I64, Kind::I64},
           [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             for (unsigned bit = 0; bit < 64; ++bit)
               if (b >> bit & 1)
                 c ^= isHigh ? (bit ? a >> (64 - bit) : 0) : a << bit;
             return c;
           }});
}

// PTX ISA: integer-arithmetic-instructions-fns, the pseudocode.
static uint64_t findNthSet(uint32_t mask, uint32_t base, int32_t offset) {
  if (offset == INT32_MIN)
    return 0; // as hardware has it
  if (offset == 0)
    return base < 32 && mask >> base & 1 ? base : 0xffffffff;
  int64_t step = offset > 0 ? 1 : -1, left = std::abs(offset);
  for (int64_t at = base; at >= 0 && at < 32; at += step)
    if (mask >> at & 1 && --left == 0)
      return uint64_t(at);
  return 0xffffffff;
}

TEST(IntegerArithmetic, FindNthSet) {
  std::vector<Kind> words = {Kind::I32, Kind::I32, Kind::I32};
  auto reference = [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
    return findNthSet(uint32_t(a), uint32_t(b), int32_t(c));
  };
  check({"fns.b32 d, a, b, c", Kind::I32, words, reference});
  std::vector<Operands> tuples; // those that find something
  for (uint32_t mask : {0xffffffffu, 0x80000001u, 0x55555555u, 0x12345678u, 0xf0u, 0u})
    for (uint32_t base : {0u, 1u, 7u, 15u, 16u, 30u, 31u, 32u})
      for (int offset : {-33, -32, -17, -3, -2, -1, 0, 1, 2, 3, 5, 16, 31, 32, 33})
        tuples.push_back({{mask, base, uint32_t(offset)}});
  check({"fns.b32 d, a, b, c", Kind::I32, words, reference}, tuples);
}

// The carry chains: a 64-bit operation from 32-bit halves (128 from 64), against wide arithmetic.
TEST(ExtendedPrecision, CarryChains) {
  struct Chain {
    const char *low, *high;
    bool subtracts;
  };
  for (const Chain &chain :
       {Chain{"add.cc.u32", "addc.u32", false}, Chain{"sub.cc.u32", "subc.u32", true},
        Chain{"add.cc.s32", "addc.cc.s32", false}, Chain{"sub.cc.s32", "subc.cc.s32", true}})
    check(
        {std::string(
             ".reg .b32 la, ha, lb, hb, ld, hd;\n mov.b64 {la, ha}, a;\n mov.b64 {lb, hb}, b;\n") +
             chain.low + " ld, la, lb;\n" + chain.high + " hd, ha, hb;\n mov.b64 d, {ld, hd}",
         Kind::I64,
         {Kind::I64, Kind::I64},
         [=](uint64_t a, uint64_t b, uint64_t, uint64_t) {
           return chain.subtracts ? a - b : a + b;
         }});
  // The carry out of a 64-bit addition and of one with a carry in.
  for (bool subtracts : {false, true}) {
    std::string op = subtracts ? "sub" : "add";
    check({".reg .b64 t;\n" + op + ".cc.u64 t, a, b;\n" + op + "c.cc.u64 t, a, b;\n" + op +
               "c.u64 d, c, 0",
           Kind::I64,
           {Kind::I64, Kind::I64, Kind::I64},
           [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
             U first = subtracts ? U(a) - b : U(a) + b;
             unsigned carry = first >> 64 & 1;
             U second = subtracts ? U(a) - b - carry : U(a) + b + carry;
             carry = second >> 64 & 1;
             return subtracts ? c - carry : c + carry;
           }});
  }
}

TEST(ExtendedPrecision, MultiplyAdd) {
  for (unsigned bits : {32u, 64u})
    for (bool isSigned : {false, true}) {
      Kind kind = bits == 32 ? Kind::I32 : Kind::I64;
      std::string type = (isSigned ? "s" : "u") + std::to_string(bits), b = std::to_string(bits);
      IntegerType t = {"", bits, isSigned};
      // mad.lo.cc, madc.hi.cc: the result is the high word plus the carry out of the whole.
      check({".reg .b" + b + " l, h, x;\n mad.lo.cc." + type + " l, a, b, c;\n madc.hi.cc." + type +
                 " h, a, b, c;\n addc." + type + " x, l, 0;\n xor.b" + b + " d, x, h",
             kind,
             {kind, kind, kind},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               U product = isSigned ? U(t.value(a) * t.value(b)) : U(a) * U(b);
               U low = U(uint64_t(product) & t.mask()) + c;
               unsigned carry = low >> bits & 1;
               U high = U(uint64_t(product >> bits) & t.mask()) + c + carry;
               carry = high >> bits & 1;
               return (uint64_t(low + carry) ^ uint64_t(high)) & t.mask();
             }});
      check({".reg .b" + b + " h;\n mad.hi.cc." + type + " h, a, b, c;\n madc.lo." + type +
                 " d, a, h, c",
             kind,
             {kind, kind, kind},
             [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               U product = isSigned ? U(t.value(a) * t.value(b)) : U(a) * U(b);
               U high = U(uint64_t(product >> bits) & t.mask()) + c;
               return (a * uint64_t(high) + c + uint64_t(high >> bits & 1)) & t.mask();
             }});
    }
}
