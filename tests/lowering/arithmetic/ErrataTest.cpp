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
