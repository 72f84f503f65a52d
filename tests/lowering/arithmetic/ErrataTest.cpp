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
    run("sub.u32 v, lb, ha;\n mov.b64 t, {la, v};\n cvt.u64.u32 u, lb;\n sub.cc.u64 d, t, u;\n subc.u64 u, 0, 0;\n"
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
