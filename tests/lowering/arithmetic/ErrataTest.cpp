// SPDX-License-Identifier: Apache-2.0
// Miscompiles of LLVM 22.1 that arithmetic runs into (docs/errata.md): each test fails without the
// work-around.
#include "targets/Generation.h"
#include "tests/Targets.h"
#include "tests/lowering/arithmetic/Harness.h"
#include <algorithm>
#include <bit>
#include <cmath>

using namespace rubia::lowering::test;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

static std::vector<const char *> wave64Targets() {
  std::vector<const char *> names = rubia::test::testTargets();
  std::erase_if(names, [](const char *name) { return rubia::test::rowOf(name).hasWave32; });
  return names;
}

// On gfx9 the SDWA peephole turns the zero extension of an arithmetic 16-bit shift by 8 into a sign
// extension: `zext(ashr i16 x, 8)` becomes sext(x) with src0_sel:BYTE_1.
TEST(Errata, ZeroExtensionOfA16BitShiftStaysOne) {
  std::string text =
      kernelText(".reg .b16 t;\n .reg .b32 u;\n add.u16 t, a, b;\n shr.s16 t, t, 8;\n"
                 " cvt.u32.u16 u, t;\n add.u32 d, u, 5;",
                 Kind::I32, {Kind::I16, Kind::I16});
  for (const char *arch : wave64Targets()) {
    std::string assembly = emitAssembly(text, {.arch = arch});
    EXPECT_NE(assembly.find("v_ashrrev_i16"), std::string::npos) << arch;
    EXPECT_EQ(assembly.find("sext("), std::string::npos) << arch;
  }
}

// The same pass makes a sign-extended byte or half the operand of a floating-point instruction,
// where the modifier negates. As bits of a number, what is sign-extended is a NaN if it is
// negative.
TEST(Errata, SignedPartsAreNoOperandsOfFloats) {
  for (const char *arch : wave64Targets())
    for (const auto &[part, shift] :
         {std::pair("cvt.s32.s16 t, a", 16u), std::pair("bfe.s32 t, a, 16, 16", 0u),
          std::pair("cvt.s32.s8 t, a", 24u), std::pair("bfe.s32 t, a, 8, 8", 16u)})
      check({".reg .b32 t;\n .reg .pred p;\n " + std::string(part) +
                 ";\n setp.nan.f32 p, t, t;\n selp.u32 d, 1, 0, p",
             Kind::I32,
             {Kind::I32},
             [=, shift = shift](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
               return uint32_t(a) << shift >> 31;
             }},
            {.arch = arch});
}

// Where 16-bit values lie in halves of registers, a load of a uniform value that becomes the low
// half of a vector in another block is deleted as dead.
TEST(Errata, LoadOfAUniformHalfStays) {
  std::string assembly = emitAssembly(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 a, b; .reg .b32 t; .reg .b16 u, v; .reg .pred q;\n"
      "ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 b, t, 4, a;\n"
      "ld.global.b16 v, [b+256]; ld.global.b16 u, [a+8];\n"
      "setp.lt.u32 q, t, 5; @q bra skip; st.global.b32 [b+4096], t;\n"
      "skip: st.global.v2.b16 [b], {u, v}; ret; }\n",
      {.arch = "gfx1100"});
  unsigned loads = 0;
  for (size_t at = 0; (at = assembly.find("global_load_", at)) != std::string::npos; ++at)
    ++loads;
  EXPECT_EQ(loads, 2u) << assembly;
}

// The low word of b, which costs nothing, was moved out of the block `taken`. It became the result
// of threads that do not come there, or they had what it is without the branch. Two or three edges
// meet at the end.
TEST(Errata, FreeValuesOfABranchThatWasNotTaken) {
  const std::string third = " and.b32 t, a, 4;\n setp.eq.u32 p, t, 0;\n @p bra done;\n";
  for (const char *arch : rubia::test::testTargets())
    for (bool hasThird : {false, true})
      check({".shared .b32 s;\n .reg .b32 t, r;\n .reg .pred p;\n"
             " and.b32 t, a, 1;\n setp.ne.u32 p, t, 0;\n @p bra taken;\n"
             " st.volatile.shared.u32 [s], a;\n mul.lo.u32 r, a, 5;\n"
             " and.b32 t, a, 2;\n setp.eq.u32 p, t, 0;\n @p bra done;\n"
             " st.volatile.shared.u32 [s], r;\n" +
                 (hasThird ? third : "") +
                 "taken:\n st.volatile.shared.u32 [s], t;\n cvt.u32.u64 r, b;\n"
                 "done:\n mov.u32 d, r",
             Kind::I32,
             {Kind::I32, Kind::I64},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
               const bool isTaken = (a & 1) || ((a & 2) && (!hasThird || (a & 4)));
               return uint32_t(isTaken ? b : 5 * a);
             }},
            {.arch = arch});
}

// A loop with the entries `first` and `second`. The block `either` within it leads to both; on its
// way to `first` the values became undefined.
TEST(Errata, ValuesOnTheWayToOneOfSeveralEntries) {
  const std::string text = ".reg .b32 x, y, s, n, t;\n .reg .pred p;\n"
                           " mov.u32 x, a;\n mov.u32 y, b;\n mov.u32 s, 0;\n mov.u32 n, 0;\n"
                           " and.b32 t, x, 1;\n setp.ne.u32 p, t, 0;\n @p bra second;\n"
                           "first:\n add.u32 s, s, x;\n add.u32 n, n, 1;\n"
                           " setp.gt.u32 p, n, 40;\n @p bra done;\n"
                           " and.b32 t, x, 2;\n setp.eq.u32 p, t, 0;\n @p bra third;\n"
                           " mad.lo.u32 x, x, 5, 1;\n bra second;\n"
                           "third:\n mad.lo.u32 x, x, 3, y;\n"
                           "either:\n and.b32 t, s, 3;\n setp.ne.u32 p, t, 3;\n @p bra first;\n"
                           "second:\n mad.lo.u32 y, y, 9, 3;\n xor.b32 s, s, y;\n"
                           " add.u32 n, n, 1;\n setp.gt.u32 p, n, 40;\n @p bra done;\n"
                           " and.b32 t, y, 4;\n setp.eq.u32 p, t, 0;\n @p bra either;\n"
                           " bra first;\n"
                           "done:\n add.u32 d, s, n";
  const auto expected = [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
    enum { First, Either, Second } at = a & 1 ? Second : First;
    uint32_t x = uint32_t(a), y = uint32_t(b), s = 0, n = 0;
    while (true) {
      if (at == First) {
        s += x;
        if (++n > 40)
          break;
        at = x & 2 ? Second : Either;
        x = x & 2 ? x * 5 + 1 : x * 3 + y;
      } else if (at == Second) {
        y = y * 9 + 3;
        s ^= y;
        if (++n > 40)
          break;
        at = y & 4 ? First : Either;
      } else {
        at = (s & 3) == 3 ? Second : First;
      }
    }
    return s + n;
  };
  for (const char *arch : rubia::test::testTargets())
    check({text, Kind::I32, {Kind::I32, Kind::I32}, expected}, {.arch = arch});
}

// 2^64 - 161 or - 160 is not less than 0 or 2^63, as the back end can tell: its difference became
// 161 or 160, as if it were signed.
TEST(Errata, DifferencesOf64BitsHaveNoSign) {
  const std::string operands = ".reg .b32 l;\n .reg .b64 t, u, v, x, y;\n .reg .pred p;\n"
                               " sub.cc.u32 l, 8, 0;\n addc.cc.u64 t, a, a;\n cnot.b64 u, t;\n"
                               " brev.b64 v, u;\n subc.cc.s64 t, u, 160;\n",
                    select = "sub.u64 x, t, v;\n sub.u64 y, v, t;\n";
  for (const char *arch : rubia::test::testTargets())
    for (const auto &[difference, isNegated] :
         {std::pair("sad.u64 d, t, v, 0", false),
          std::pair("setp.gt.u64 p, t, v;\n selp.b64 d, x, y, p", false),
          std::pair("setp.lt.u64 p, t, v;\n selp.b64 d, x, y, p", true),
          std::pair("max.u64 x, t, v;\n min.u64 y, t, v;\n sub.u64 d, x, y", false)})
      check({operands + select + difference,
             Kind::I64,
             {Kind::I64},
             [=, isNegated = isNegated](uint64_t a, uint64_t, uint64_t, uint64_t) -> uint64_t {
               const uint64_t expected = (a >> 63) - 161;
               return isNegated ? -expected : expected;
             }},
            {.arch = arch});
}

// The factors lost their masks.
TEST(Errata, ProductsOf24BitsAreAddedWhole) {
  for (const char *arch : rubia::test::testTargets())
    for (const char *instruction :
         {"and.b64 a, a, 16777215;\n and.b64 b, b, 16777215;\n mad.lo.u64 d, a, b, c",
          "and.b64 a, a, 16777215;\n and.b64 b, b, 16777215;\n mul.lo.u64 a, a, b;\n"
          " sub.u64 b, 0, c;\n sub.u64 d, a, b"})
      check({instruction,
             Kind::I64,
             {Kind::I64, Kind::I64, Kind::I64},
             [](uint64_t a, uint64_t b, uint64_t c, uint64_t) {
               return (a & 0xffffff) * (b & 0xffffff) + c;
             }},
            {.arch = arch});
}

// Each thread has local memory of its own at the address. Long computations of what is loaded were
// those of one thread.
TEST(Errata, VolatileLoadsOfLocalMemory) {
  std::string body = ".local .align 4 .b8 own[4];\n .reg .b64 p;\n .reg .b32 v, t;\n"
                     " mov.u64 p, own;\n cvta.local.u64 p, p;\n st.volatile.u32 [p], a;\n"
                     " ld.volatile.u32 v, [p];\n bfe.s32 v, v, 3, 5;\n";
  constexpr int kRounds = 6;
  for (int i = 0; i < kRounds; ++i)
    body += "mul.lo.u32 v, v, 0x9e3779b9;\n shr.u32 t, v, 15;\n xor.b32 v, v, t;\n";
  for (const char *arch : rubia::test::testTargets())
    check({body + "xor.b32 d, v, b",
           Kind::I32,
           {Kind::I32, Kind::I32},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             uint32_t v = uint32_t(int32_t(uint32_t(a) << 24) >> 27);
             for (int i = 0; i < kRounds; ++i) {
               v *= 0x9e3779b9;
               v ^= v >> 15;
             }
             return v ^ uint32_t(b);
           }},
          {.arch = arch});
}

// LLVM's own f32 division in a unit that flushes denormals loses the residual of dividends up to
// 2^-102.
TEST(Errata, FlushingDivisionOfSmallDividends) {
  check({"div.rn.ftz.f32 d, a, b",
         Kind::F32,
         {Kind::F32, Kind::F32},
         [](uint64_t, uint64_t, uint64_t, uint64_t) -> uint64_t { return 0x0c000001; }},
        std::vector<Operands>{{{0x0c000000, 0x3f7fffff}}});
}

// (x + y) + 0 + carry becomes x + y + carry, whose carry out is another if x + y wraps. Here x + y
// is a word of a product or a sum, and the carry out is asked for in all ways that LLVM recognises.
TEST(Errata, CarryOutOfASumWithACarryAlone) {
  auto wraps = [](uint64_t sum, uint64_t addend) { return uint64_t(sum < addend); };
  std::vector<Operands> tuples = operandsFor({Kind::I64, Kind::I64});
  tuples.push_back({{0xbfffffffffffffff, 0}});
  for (const char *arch : rubia::test::testTargets()) {
    auto run = [&](const std::string &body, auto reference) {
      check(
          {".reg .b64 t, u;\n .reg .b32 la, ha, lb, hb, v, w;\n .reg .pred p;\n "
           "mov.b64 {la, ha}, a;\n mov.b64 {lb, hb}, b;\n" +
               body,
           Kind::I64,
           {Kind::I64, Kind::I64},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t { return reference(a, b); }},
          tuples, {.arch = arch});
    };
    run("add.cc.u64 t, a, a;\n madc.lo.cc.s64 t, a, 0xaaaaaaaa, 13;\n addc.u64 u, 0, 0;\n"
        " add.u64 d, u, t",
        [=](uint64_t a, uint64_t) {
          uint64_t addend = 13 + (a >> 63), sum = a * 0xaaaaaaaa + addend;
          return wraps(sum, addend) + sum;
        });
    run("mul.lo.u64 t, a, b;\n cvt.u64.u32 d, lb;\n add.u64 u, t, d;\n setp.lt.u64 p, u, t;\n"
        " selp.u64 t, 1, 0, p;\n add.u64 d, t, u",
        [=](uint64_t a, uint64_t b) {
          uint64_t sum = a * b + uint32_t(b);
          return wraps(sum, uint32_t(b)) + sum;
        });
    run("mul.lo.u64 t, a, b;\n add.u64 u, t, 1;\n setp.eq.u64 p, t, -1;\n selp.u64 t, 1, 0, p;\n"
        " xor.b64 d, t, u",
        [=](uint64_t a, uint64_t b) { return wraps(a * b + 1, 1) ^ (a * b + 1); });
    run("sub.u32 v, lb, ha;\n mov.b64 t, {la, v};\n cvt.u64.u32 u, lb;\n sub.cc.u64 d, t, u;\n "
        "subc.u64 u, 0, 0;\n"
        " xor.b64 d, d, u",
        [=](uint64_t a, uint64_t b) {
          uint64_t minuend = uint32_t(a) | (b - (a >> 32)) << 32;
          return (minuend - uint32_t(b)) ^ -uint64_t(minuend < uint32_t(b));
        });
    // A carry added to a sum of 32 bits, of which the carry out is asked for, and within 64 bits.
    run("add.u32 v, la, hb;\n add.cc.u32 w, la, lb;\n addc.cc.u32 v, v, 0;\n addc.u32 w, 0, 0;\n"
        " mov.b64 d, {v, w}",
        [](uint64_t a, uint64_t b) {
          uint64_t carry = (uint64_t(uint32_t(a)) + uint32_t(b)) >> 32;
          return uint64_t(uint32_t(a + (b >> 32))) + carry;
        });
    run("add.u32 v, la, hb;\n cvt.u64.u32 t, v;\n add.cc.u32 w, la, lb;\n addc.u64 d, t, 0;\n"
        " cvt.u64.u32 u, w;\n xor.b64 d, d, u",
        [](uint64_t a, uint64_t b) {
          uint64_t low = uint64_t(uint32_t(a)) + uint32_t(b);
          return (uint64_t(uint32_t(a + (b >> 32))) + (low >> 32)) ^ uint32_t(low);
        });
  }
}

// A word that LLVM finds to be zero only when it selects instructions: here the difference of two
// loads, one of which is of a vector. What was added to it, a product, is then at risk.
TEST(Errata, CarryOutOfASumWithALateZero) {
  for (const char *arch : rubia::test::testTargets())
    check({".reg .b64 %even, x, y, zero, t;\n and.b64 %even, %address, -16;\n"
           " ld.global.b64 x, [%even];\n ld.global.nc.v2.u64 {y, t}, [%even];\n"
           " sub.cc.s64 zero, x, y;\n madc.lo.cc.s64 t, a, b, zero;\n"
           " madc.lo.cc.s64 d, t, x, a;\n mul.lo.u64 t, t, y;\n sub.u64 d, d, t",
           Kind::I64,
           {Kind::I64, Kind::I64},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) { return a + (a * b + 1 == 0); }},
          [] {
            std::vector<Operands> tuples = operandsFor({Kind::I64, Kind::I64});
            tuples.push_back({{uint64_t(-1), 1}});
            tuples.push_back({{0x1ffffffff, 1}});
            tuples.push_back({{0x4d09cbcf00000001, 0xb2f63430ffffffff}});
            tuples.resize(tuples.size() & ~size_t(1));
            return tuples;
          }(),
          {.arch = arch});
}

// The high half of a product by -2^n is that of a difference, which loses a borrow if the low bits
// of the factor are known.
TEST(Errata, HighHalfOfAProductByANegativePowerOfTwo) {
  for (const char *arch : rubia::test::testTargets())
    for (unsigned shift : {0, 1, 31, 32, 63})
      for (int addend : {0, 1, -13}) {
        int64_t factor = int64_t(-(uint64_t(1) << shift));
        check({".reg .b64 t;\n shl.b64 t, a, 34;\n add.s64 t, t, " + std::to_string(addend) +
                   ";\n mul.hi.s64 d, t, " + std::to_string(factor),
               Kind::I64,
               {Kind::I64},
               [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
                 return uint64_t(__int128(int64_t((a << 34) + addend)) * factor >> 64);
               }},
              {.arch = arch});
      }
}

// x | -1 became x where the word is one of 64 bits, which LLVM takes apart after selection.
TEST(Errata, AllOnesInAWordOfTwo) {
  for (const char *arch : rubia::test::testTargets())
    check({".reg .b32 low, zeros, ones;\n .reg .b64 t, u;\n cvt.u32.u64 low, a;\n"
           " mov.b32 ones, -1;\n mov.b64 t, {low, ones};\n brev.b64 u, t;\n clz.b64 zeros, u;\n"
           " cvt.u32.u64 low, b;\n mul.wide.u32 u, zeros, low;\n or.b64 d, u, t",
           Kind::I64,
           {Kind::I64, Kind::I64},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             const uint64_t word = a | 0xffffffff00000000;
             return uint64_t(std::countr_zero(word)) * uint32_t(b) | word;
           }},
          {.arch = arch});
}

// The low word of ~mask is -1 for any length, which a choice between two masks hides.
TEST(Errata, AllOnesOfAChoice) {
  for (const char *arch : rubia::test::testTargets())
    check({".reg .b32 size;\n .reg .b64 t;\n cvt.u32.u64 size, b;\n and.b32 size, size, 255;\n"
           " shr.u64 t, a, 12;\n bfi.b64 d, t, -1, 32, size",
           Kind::I64,
           {Kind::I64, Kind::I64},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             const unsigned size = unsigned(b & 255);
             const uint64_t mask = (size < 32 ? (uint64_t(1) << size) - 1 : 0xffffffff) << 32;
             return ~mask | (a >> 12 << 32 & mask);
           }},
          {.arch = arch});
}

// The sum of the low words is needed in the loop and behind it, and its carry too. Lanes leave the
// loop after one to four rounds.
TEST(Errata, CarriesOfALoopWhoseLanesHaveLeft) {
  for (const char *arch : rubia::test::testTargets())
    check({".reg .b32 i, last;\n .reg .b64 t, u, v;\n .reg .pred p;\n cvt.u32.u64 last, b;\n"
           " and.b32 last, last, 3;\n mov.u32 i, 0;\n mov.b64 t, 0;\n"
           "again:\n and.b64 u, t, 4294967295;\n sub.cc.s64 v, 0, u;\n"
           " subc.cc.u64 t, -2479769962730295251, a;\n add.u32 i, i, 1;\n setp.le.u32 p, i, last;\n"
           " @p bra again;\n and.b64 u, t, 8388607;\n sad.s64 d, t, u, a",
           Kind::I64,
           {Kind::I64, Kind::I64},
           [](uint64_t a, uint64_t b, uint64_t, uint64_t) {
             uint64_t t = 0;
             for (unsigned i = 0; i <= (b & 3); ++i)
               t = 0xdd96165b76c6f02d - a - (uint32_t(t) != 0);
             const int64_t u = int64_t(t & 0x7fffff), difference = int64_t(t) - u;
             return (int64_t(t) < u ? 0 - uint64_t(difference) : uint64_t(difference)) + a;
           }},
          {.arch = arch});
}

// One condition for a choice and a branch, of a number that is the same for all lanes and lies in
// a vector register, as memory may have been written before it is loaded. With s_cselect_b32 alone
// the choice was made by whatever SCC held.
TEST(Errata, AConditionForAChoiceAndABranch) {
  for (const char *arch : rubia::test::testTargets())
    for (int bound : {41, -41})
      check({".reg .b32 uniform, chosen;\n .reg .b64 base;\n .reg .pred p;\n"
             " .shared .b32 cell;\n st.volatile.shared.b32 [cell], 7;\n bar.sync 0;\n"
             " ld.param.u64 base, [in1];\n ld.global.b32 uniform, [base];\n"
             " setp.gt.s32 p, uniform, " +
                 std::to_string(bound) +
                 ";\n selp.b32 chosen, 70, 100, p;\n xor.b32 d, chosen, a;\n"
                 " @!p bra done;\n not.b32 d, d;\n red.shared.or.b32 [cell], 1;\n"
                 "done:\n mov.b32 d, d",
             Kind::I32,
             {Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t, uint64_t, uint64_t) {
               return uint64_t(uint32_t(1 > bound ? ~(a ^ 70) : a ^ 100));
             }},
            std::vector<Operands>{{{0, 1}}, {{5, 1}}, {{0xffffffff, 1}}}, {.arch = arch});
}

// Behind a branch, (x & x) & 3 became 3 & 3: such words were taken for masks of lanes. That both
// are one word is found late: one is loaded alone, one within 64 bits. Its last bits are zero,
// since it is of an address; so x | 3 is x + 3. The inputs are not written: none is 0.
TEST(Errata, AndOfAnAndBehindABranch) {
  const std::string head =
      ".version 8.1\n.target sm_90\n.address_size 64\n"
      ".visible .entry k(.param .u64 in0, .param .u64 in1, .param .u64 in2, .param .u64 in3,\n"
      "  .param .u64 out, .param .u32 count) {\n .reg .b64 from, to, whole, x;\n"
      " .reg .b32 t, low, high, same, sum, size, block;\n .reg .pred p;\n"
      " ld.param.b32 low, [in0];\n ld.param.b32 high, [in0+4];\n ld.param.b64 whole, [in0];\n"
      " cvt.u32.u64 same, whole;\n mov.u32 t, %tid.x;\n mov.u32 size, %ntid.x;\n"
      " mov.u32 block, %ctaid.x;\n mad.lo.u32 t, size, block, t;\n"
      " mad.wide.u32 from, t, 8, whole;\n ld.param.u64 to, [out];\n mad.wide.u32 to, t, 8, to;\n"
      " ld.global.u64 x, [from];\n sub.u32 high, low, high;\n cvt.u64.u32 whole, high;\n"
      " setp.lt.u64 p, x, 1;\n @p st.global.b64 [from], whole;\n add.u32 sum, low, 3;\n";
  const std::vector<Operands> tuples(256, Operands{{1}});
  for (const char *body : {" and.b32 low, low, same;\n and.b32 low, low, 3;\n",
                           " or.b32 low, low, same;\n or.b32 low, low, 3;\n"
                           " sub.u32 low, low, sum;\n"})
    for (const char *arch : rubia::test::testTargets()) {
      auto code =
          compileToCode(head + body + " cvt.u64.u32 x, low;\n st.global.b64 [to], x;\n ret;\n}\n",
                        {.arch = arch});
      EXPECT_EQ(execute(code, Kind::I64, {Kind::I64}, tuples), std::vector<uint64_t>(tuples.size()))
          << arch << body;
    }
}

// v_fma_mixlo_f16 and v_fma_mixhi_f16 for products have the addend +0, which makes +0 of -0.
TEST(Errata, SignOfAProductOfZeroRoundedToHalf) {
  struct Chain {
    std::string
        body; // a and b are f32, ha and hb f16; d is 32 bits with the half in the lower ones
    bool isNegated = false, isPair = false;
  };
  const Chain kChains[] = {
      {"mul.rn.f32 t, a, b;\n cvt.rn.f16.f32 h, t;"},
      {"mul.rn.ftz.f32 t, a, b;\n cvt.rn.f16.f32 h, t;"},
      {"mul.rn.f32 t, ea, eb;\n cvt.rn.f16.f32 h, t;"},
      {"mul.rn.f32 t, a, eb;\n cvt.rn.f16.f32 h, t;"},
      {"fma.rn.f32 t, a, b, 0f80000000;\n cvt.rn.f16.f32 h, t;"},
      {"mul.rn.f32 t, a, b;\n neg.f32 t, t;\n cvt.rn.f16.f32 h, t;", true},
      {"neg.f32 t, a;\n mul.rn.f32 t, t, b;\n cvt.rn.f16.f32 h, t;", true},
      {"mul.rn.f32 t, a, b;\n cvt.rn.f16.f32 h, t;\n neg.f16 h, h;", true},
      {"mul.rn.f32 t, a, b;\n mul.rn.f32 u, b, a;\n cvt.rn.f16x2.f32 d, t, u;", false, true},
      {"mul.rn.f32 t, ea, eb;\n mul.rn.f32 u, b, a;\n cvt.rn.f16x2.f32 d, t, u;", false, true},
      {"mul.rn.f32 t, a, b;\n mul.rn.f32 u, b, a;\n neg.f32 t, t;\n neg.f32 u, u;\n"
       " cvt.rn.f16x2.f32 d, u, t;",
       true, true},
      {"mul.rn.f32 t, a, b;\n setp.gt.f32 p, a, b;\n selp.f32 t, t, 0f3f800000, p;\n"
       " @!p mul.rn.f32 t, b, a;\n cvt.rn.f16.f32 h, t;"}};
  const uint32_t kZero = 0, kNumbers[] = {0, 0x80000000, 0x3f800000, 0xbf800000, 0x41200000};
  std::vector<Operands> tuples;
  for (uint32_t number : kNumbers)
    for (uint32_t sign : {0u, 0x80000000u}) {
      tuples.push_back({{kZero | sign, number}});
      tuples.push_back({{number, kZero | sign}});
    }
  for (const char *arch : rubia::test::testTargets())
    for (const Chain &chain : kChains)
      check({".reg .b16 h, ha, hb;\n .reg .f32 t, u, ea, eb;\n .reg .pred p;\n"
             " cvt.rn.f16.f32 ha, a;\n cvt.rn.f16.f32 hb, b;\n cvt.f32.f16 ea, ha;\n"
             " cvt.f32.f16 eb, hb;\n" +
                 chain.body + (chain.isPair ? "" : "\n cvt.u32.u16 d, h;") + "\n mov.b32 d, d",
             Kind::I32,
             {Kind::F32, Kind::F32},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
               uint32_t half = ((a ^ b) >> 16 & 0x8000) ^ (chain.isNegated ? 0x8000 : 0);
               return chain.isPair ? half | half << 16 : half;
             }},
            tuples, {.arch = arch});
}

namespace {

const std::vector<const char *> kAllTargets = rubia::test::testTargets();

uint32_t pairOf(uint32_t low, uint32_t high) { return (low & 0xffff) | high << 16; }

} // namespace

// The negation of a vector becomes that of the last word of the integers that it was made of.
TEST(Errata, NegationOfAllElementsOfAVector) {
  const std::vector<Operands> tuples = {{{0x3f800000, 0x40000000}},
                                        {{0xc0400000, 0x3f800000}},
                                        {{0x3f800000, 0xc0400000}},
                                        {{0, 0x80000000}}};
  auto relu = [](uint64_t bits) { return int32_t(bits) < 0 ? 0 : uint32_t(bits); };
  auto half = [](uint32_t bits) { // of what needs no rounding
    return bits ? (bits >> 13 & 0x3ff) | ((bits >> 23) - 127 + 15) << 10 : 0;
  };
  const std::string selected = ".reg .pred p, q;\n .reg .b32 s, t, u, v;\n"
                               " setp.lt.s32 p, a, 0;\n setp.lt.s32 q, b, 0;\n"
                               " selp.b32 s, 0, a, p;\n selp.b32 t, 0, b, q;\n ";
  const std::string negations[] = {"neg.f32 u, s;\n neg.f32 v, t;\n mov.b64 d, {u, v}",
                                   "neg.ftz.f32 u, s;\n neg.ftz.f32 v, t;\n mov.b64 d, {u, v}",
                                   "xor.b32 u, s, 0x80000000;\n xor.b32 v, t, 0x80000000;\n"
                                   " mul.rn.f32 u, u, 0f3f800000;\n mul.rn.f32 v, v, 0f3f800000;\n"
                                   " mov.b64 d, {u, v}"};
  for (const char *arch : kAllTargets) {
    check({".reg .b32 t;\n cvt.rn.relu.f16x2.f32 t, b, a;\n neg.f16x2 d, t",
           Kind::I32,
           {Kind::F32, Kind::F32},
           [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
             return pairOf(half(relu(a)), half(relu(b))) ^ 0x80008000;
           }},
          tuples, {.arch = arch});
    for (const std::string &negation : negations)
      check({selected + negation,
             Kind::I64,
             {Kind::I32, Kind::I32},
             [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
               return (relu(a) | uint64_t(relu(b)) << 32) ^ 0x80000000'80000000;
             }},
            tuples, {.arch = arch});
  }
}

// The same where the negation meets a comparison with itself, as canonical NaNs make it.
TEST(Errata, NegationBesideItsNanTest) {
  std::string assembly = emitAssembly(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 a; .reg .b32 t; .reg .f32 b, c, u, v, nu, nv;\n"
      "ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 a, t, 8, a;\n"
      "ld.global.v2.f32 {b, c}, [a]; mul.rn.f32 u, b, c; add.rn.f32 v, b, c;\n"
      "neg.f32 nu, u; neg.f32 nv, v; st.global.v4.f32 [a+4096], {u, nu, nv, v};\n"
      "ret; }\n",
      {.arch = "gfx942", .nan = rubia::settings::NanMode::Canonical});
  unsigned flips = 0;
  for (size_t at = 0; (at = assembly.find("v_xor_b32", at)) != std::string::npos; ++at)
    ++flips;
  EXPECT_EQ(flips, 2u) << assembly;
}

// The packed negation of two f32 is an addition, which flushes denormals in units that do.
TEST(Errata, NegationOfDenormalsInAUnitThatFlushes) {
  std::string assembly = emitAssembly(
      ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p) {\n"
      ".reg .b64 a; .reg .b32 t; .reg .f32 u, v, w;\n"
      "ld.param.u64 a, [p]; mov.u32 t, %tid.x; mad.wide.u32 a, t, 8, a;\n"
      "ld.global.v2.f32 {u, v}, [a]; neg.f32 u, u; neg.f32 v, v;\n"
      "st.global.v2.f32 [a+4096], {u, v}; mul.rn.ftz.f32 w, u, v; st.global.f32 [a+8192], w;\n"
      "ret; }\n",
      {.arch = "gfx942"});
  EXPECT_NE(assembly.find("v_xor_b32"), std::string::npos) << assembly;
  EXPECT_EQ(assembly.find("v_pk_add_f32"), std::string::npos) << assembly;
}

// A half that is negated on its way into a vector makes a modifier of packed integer instructions.
TEST(Errata, PackedIntegersAreNotNegatedAsHalves) {
  const std::string kParts = ".reg .b16 l, h, nl, nh;\n .reg .b32 t;\n cvt.rn.f16.f32 l, a;\n"
                             " cvt.rn.f16.f32 h, b;\n neg.f16 nl, l;\n neg.f16 nh, h;\n ";
  const std::vector<Kind> sources = {Kind::F32, Kind::F32, Kind::I32};
  const std::vector<Operands> tuples = {{{0x3f800000, 0x40000000, 0x12345678}},
                                        {{0xc0400000, 0x3f800000, 0x89abcdef}}};
  auto half = [](uint64_t bits) { // of what needs no rounding
    return uint32_t((bits >> 16 & 0x8000) | (bits >> 13 & 0x3ff) |
                    ((bits >> 23 & 0xff) - 127 + 15) << 10);
  };
  struct Pair {
    const char *text;
    uint32_t (*of)(uint32_t low, uint32_t high);
  };
  const Pair pairs[] = {
      {"{nl, h}", [](uint32_t l, uint32_t h) { return pairOf(l ^ 0x8000, h); }},
      {"{h, nl}", [](uint32_t l, uint32_t h) { return pairOf(h, l ^ 0x8000); }},
      {"{nl, l}", [](uint32_t l, uint32_t) { return pairOf(l ^ 0x8000, l); }},
      {"{h, nh}", [](uint32_t, uint32_t h) { return pairOf(h, h ^ 0x8000); }},
      {"{nl, nl}", [](uint32_t l, uint32_t) { return pairOf(l, l) ^ 0x80008000; }}};
  struct Operation {
    const char *text;
    uint32_t (*of)(uint32_t a, uint32_t b);
  };
  const Operation operations[] = {
      {"add.u16x2 d, t, c", [](uint32_t a, uint32_t b) { return a + b; }},
      {"max.s16x2 d, t, c",
       [](uint32_t a, uint32_t b) { return uint32_t(std::max(int16_t(a), int16_t(b))); }},
      {"min.u16x2 d, c, t",
       [](uint32_t a, uint32_t b) { return uint32_t(std::min(uint16_t(a), uint16_t(b))); }}};
  for (const char *arch : kAllTargets)
    for (const Pair &pair : pairs)
      for (const Operation &operation : operations) {
        if (&operation != operations && &pair != pairs &&
            rubia::test::rowOf(arch).generation != rubia::targets::Generation::Cdna3)
          continue;
        const std::string body = kParts + "mov.b32 t, " + pair.text + ";\n " + operation.text;
        check({body, Kind::I32, sources,
               [=](uint64_t a, uint64_t b, uint64_t c, uint64_t) -> uint64_t {
                 const uint32_t t = pair.of(half(a), half(b));
                 return pairOf(operation.of(t & 0xffff, uint32_t(c) & 0xffff),
                               operation.of(t >> 16, uint32_t(c) >> 16));
               }},
              tuples, {.arch = arch});
        const std::string assembly =
            emitAssembly(kernelText(body + ";", Kind::I32, sources), {.arch = arch});
        EXPECT_NE(assembly.find("v_pk_"), std::string::npos) << arch << ": " << body;
        EXPECT_EQ(assembly.find("neg_lo"), std::string::npos) << arch << ": " << body;
        EXPECT_EQ(assembly.find("neg_hi"), std::string::npos) << arch << ": " << body;
      }
}

// Selection takes the upper half of a clamped half for zero, and that of three-operand minima,
// maxima and medians, which keep it.
TEST(Errata, UpperHalvesBehindHalvesAreCleared) {
  const std::vector<Operands> tuples = {{{0x3800, 0x3a00}}, {{0x3400, 0x3c00}}, {{0x4000, 0x3800}}};
  struct Operation {
    const char *text;
    double (*of)(double a, double b);
  };
  const Operation operations[] = {
      {"fma.rn.sat.f16 h, a, b, a", [](double a, double b) { return std::min(a * b + a, 1.0); }},
      {"cvt.f32.f16 t, a;\n cvt.f32.f16 u, b;\n fma.rn.f32 t, t, u, t;\n cvt.rn.sat.f16.f32 h, t",
       [](double a, double b) { return std::min(a * b + a, 1.0); }},
      {"max.f16 h, a, q;\n min.f16 h, h, w",
       [](double a, double) { return std::min(std::max(a, 0.5), 0.75); }},
      {"min.f16 h, a, b;\n min.f16 h, h, w",
       [](double a, double b) { return std::min(std::min(a, b), 0.75); }},
      {"max.f16 h, a, b;\n max.f16 h, h, q",
       [](double a, double b) { return std::max(std::max(a, b), 0.5); }},
      {"mul.rn.sat.f16 h, a, b", [](double a, double b) { return std::min(a * b, 1.0); }}};
  auto valueOf = [](uint64_t half) {
    return std::ldexp(double((half & 0x3ff) | 0x400), int(half >> 10 & 31) - 25);
  };
  auto halfOf = [](double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent); // of at least 0.5
    return uint32_t(int(fraction * 2048) - 1024 + ((exponent + 14) << 10));
  };
  for (const char *arch : {"gfx90a", "gfx942", "gfx950"})
    for (unsigned optLevel : {0u, 3u})
      for (const Operation &operation : operations)
        check({".reg .b16 h, q, w;\n .reg .f32 t, u;\n mov.b16 q, 0x3800;\n mov.b16 w, 0x3a00;\n " +
                   std::string(operation.text) + ";\n mov.b32 d, {h, h}",
               Kind::I32,
               {Kind::F16, Kind::F16},
               [=](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
                 const uint32_t half = halfOf(operation.of(valueOf(a), valueOf(b)));
                 return pairOf(half, half);
               }},
              tuples, {.arch = arch, .optLevel = optLevel});
}

// A ballot of "different, and neither is a NaN" is selected as that of "different, or a NaN". All
// comparisons, inverted and not, are here once; these two on all processors.
TEST(Errata, BallotOfNumbersThatDiffer) {
  struct Type {
    const char *name;
    Kind kind;
  };
  struct Test {
    const char *name;
    bool less, equal, greater, unordered;
  };
  const Test tests[] = {{"eq", false, true, false, false}, {"ne", true, false, true, false},
                        {"lt", true, false, false, false}, {"le", true, true, false, false},
                        {"num", true, true, true, false},  {"equ", false, true, false, true},
                        {"neu", true, false, true, true},  {"ltu", true, false, false, true},
                        {"geu", false, true, true, true},  {"nan", false, false, false, true}};
  for (const char *arch : kAllTargets)
    for (const auto &[name, kind] :
         {Type{"f16", Kind::F16}, Type{"f32", Kind::F32}, Type{"f64", Kind::F64}})
      for (const Test &test : tests)
        for (bool isInverted : {false, true}) {
          const bool isFirst =
              rubia::test::rowOf(arch).tests == rubia::targets::Tests::Default && kind == Kind::F32;
          const bool isWrong = llvm::StringRef(test.name) == (isInverted ? "equ" : "ne");
          if (!isFirst && !isWrong)
            continue;
          const unsigned bits = bitsOf(kind);
          auto order = [=](uint64_t value) {
            const uint64_t magnitude = value & ((uint64_t(1) << (bits - 1)) - 1);
            return value >> (bits - 1) ? -int64_t(magnitude) : int64_t(magnitude);
          };
          check({std::string(".reg .pred p;\n .reg .b32 m, l;\n setp.") + test.name + "." + name +
                     " p, a, b;\n activemask.b32 m;\n vote.sync.ballot.b32 m, " +
                     (isInverted ? "!" : "") +
                     "p, m;\n mov.u32 l, %laneid;\n shr.u32 m, m, l;\n and.b32 d, m, 1",
                 Kind::I32,
                 {kind, kind},
                 [=, kind = kind](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
                   if (isNan(kind, a) || isNan(kind, b))
                     return test.unordered != isInverted;
                   const int64_t x = order(a), y = order(b);
                   return (x < y ? test.less : x == y ? test.equal : test.greater) != isInverted;
                 }},
                {.arch = arch});
        }
}

// The same of an element of packed halves.
TEST(Errata, BallotOfPackedNumbersThatDiffer) {
  const std::vector<Operands> tuples = {{{0x3c007e00, 0x3c003c00}}, // a NaN, and two equal ones
                                        {{0x7e003c00, 0x40004000}},
                                        {{0x3c003c00, 0x40003c00}},
                                        {{0x7e007e00, 0x7e003c00}}};
  for (const char *arch : kAllTargets)
    for (const auto &[test, sign] : {std::pair("equ", "!"), std::pair("ne", "")})
      check({std::string(".reg .pred p, q;\n .reg .b32 m, n, l;\n setp.") + test +
                 ".f16x2 p|q, a, b;\n activemask.b32 m;\n vote.sync.ballot.b32 n, " + sign +
                 "q, m;\n vote.sync.ballot.b32 m, " + sign +
                 "p, m;\n mov.u32 l, %laneid;\n shr.u32 m, m, l;\n shr.u32 n, n, l;\n"
                 " and.b32 m, m, 1;\n and.b32 n, n, 1;\n shl.b32 n, n, 1;\n or.b32 d, m, n",
             Kind::I32,
             {Kind::I32, Kind::I32},
             [](uint64_t a, uint64_t b, uint64_t, uint64_t) -> uint64_t {
               auto differ = [](uint64_t x, uint64_t y) {
                 return !isNan(Kind::F16, x) && !isNan(Kind::F16, y) && x != y;
               };
               return uint64_t(differ(a & 0xffff, b & 0xffff)) | uint64_t(differ(a >> 16, b >> 16))
                                                                     << 1;
             }},
            tuples, {.arch = arch});
}
