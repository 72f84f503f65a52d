// Miscompiles of LLVM 22.1 that arithmetic runs into (docs/errata.md): each test fails without the
// work-around.
#include "tests/lowering/arithmetic/Harness.h"

using namespace rubia::lowering::test;

// On gfx9 the SDWA peephole turns the zero extension of an arithmetic 16-bit shift by 8 into a sign
// extension: `zext(ashr i16 x, 8)` becomes sext(x) with src0_sel:BYTE_1.
TEST(Errata, ZeroExtensionOfA16BitShiftStaysOne) {
  std::string text =
      kernelText(".reg .b16 t;\n .reg .b32 u;\n add.u16 t, a, b;\n shr.s16 t, t, 8;\n"
                 " cvt.u32.u16 u, t;\n add.u32 d, u, 5;",
                 Kind::I32, {Kind::I16, Kind::I16});
  for (const char *arch : {"gfx90a", "gfx942", "gfx950"}) {
    std::string assembly = emitAssembly(text, {.arch = arch});
    EXPECT_NE(assembly.find("v_ashrrev_i16"), std::string::npos) << arch;
    EXPECT_EQ(assembly.find("sext("), std::string::npos) << arch;
  }
}

// The same pass makes a sign-extended byte or half the operand of a floating-point instruction,
// where the modifier negates. As bits of a number, what is sign-extended is a NaN if it is
// negative.
TEST(Errata, SignedPartsAreNoOperandsOfFloats) {
  for (const char *arch : {"gfx90a", "gfx942", "gfx950"})
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
  for (const char *arch : {"gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"}) {
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
  for (const char *arch : {"gfx1030", "gfx1100", "gfx1201", "gfx90a", "gfx942", "gfx950"})
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
