// SPDX-License-Identifier: Apache-2.0
// Conversions: saturation, NaN, rounding and its direction.
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>

namespace rubia::emulator::test {

std::vector<Case> conversionCases() {
  std::vector<Case> cases = {
      {"V_CVT_F32_I32", {i(-5)}, f(-5)},
      {"V_CVT_F32_I32", {0x7fffffff}, f(0x1p31f)},
      {"V_CVT_F32_I32", {0x7fffffff}, f(0x1.fffffep30f), kZero},
      {"V_CVT_F32_U32", {0xffffffff}, f(0x1p32f)},
      {"V_CVT_F32_U32", {0xffffffff}, f(0x1.fffffep31f), kDown},
      {"V_CVT_F32_U32", {0}, f(0), kDown},
      {"V_CVT_F32_U32", {0x80000081}, f(0x1.000002p31f)},
      {"V_CVT_RPI_I32_F32", {f(2.5f)}, 3},
      {"V_CVT_RPI_I32_F32", {f(-2.5f)}, i(-2)},
      {"V_CVT_FLR_I32_F32", {f(-2.25f)}, i(-3)},
      {"V_CVT_FLR_I32_F32", {f(1e10f)}, 0x7fffffff},
      {"V_CVT_F32_UBYTE0", {0x04030280}, f(128)},
      {"V_CVT_F32_UBYTE0", {0x04030200}, f(0), kDown},
      {"V_CVT_F32_UBYTE1", {0x04030280}, f(2)},
      {"V_CVT_F32_UBYTE2", {0x04030280}, f(3)},
      {"V_CVT_F32_UBYTE3", {0xff030280}, f(255)},
      {"V_CVT_OFF_F32_I4", {0xf7}, f(7 / 16.0f)},
      {"V_CVT_OFF_F32_I4", {8}, f(-0.5f)},
      {"V_CVT_OFF_F32_I4", {15}, f(-0.0625f)},
      {"V_CVT_F64_I32", {0x80000000}, d(-0x1p31)},
      {"V_CVT_F64_U32", {0xffffffff}, d(4294967295.0)},
      {"V_CVT_F64_U32", {0}, d(0), kDown},
      {"V_CVT_F32_F64", {d(0x1.000001p0)}, f(1)},
      {"V_CVT_F32_F64", {d(0x1.000001p0)}, f(0x1.000002p0f), kUp},
      {"V_CVT_F32_F64", {d(1e300)}, f(kInf)},
      {"V_CVT_F32_F64", {d(1e300)}, f(0x1.fffffep127f), kZero},
      {"V_CVT_F32_F64", {d(0x1p-149)}, f(0x1p-149f)},
      {"V_CVT_F32_F64", {d(-0.0)}, f(-0.0f)},
      {"V_CVT_F64_F32", {f(0x1p-149f)}, d(0x1p-149)},
      {"V_CVT_F64_F32", {f(-kInf)}, d(-kInfD)},
      {"V_CVT_F16_F32", {f(65519.996f)}, h(65504)},
      {"V_CVT_F16_F32", {f(65520)}, h(kInf)},
      {"V_CVT_F16_F32", {f(65520)}, h(65504), kDown},
      {"V_CVT_F16_F32", {f(-65520)}, h(-kInf), kDown},
      {"V_CVT_F16_F32", {f(kInf)}, h(kInf), kZero},
      {"V_CVT_F16_F32", {f(0x1p-25f)}, h(0)},
      {"V_CVT_F16_F32", {f(0x1.000002p-25f)}, h(0x1p-24f)},
      {"V_CVT_F16_F32", {f(-0.0f)}, h(-0.0f)},
      {"V_CVT_F16_F32", {0x7fc02000}, 0x7e01},
      {"V_CVT_F16_F32", {kSnanF}, 0x7e00},
      {"V_CVT_F32_F16", {h(0x1p-24f)}, f(0x1p-24f)},
      {"V_CVT_F32_F16", {h(-65504)}, f(-65504)},
      {"V_CVT_F32_F16", {h(0)}, f(0), kDown},
      {"V_CVT_F32_F16", {h(-kInf)}, f(-kInf)},
      {"V_CVT_F32_F16", {kSnanH}, 0x7fc02000},
      {"V_CVT_F32_BF16", {0xc040}, f(-3)},
      {"V_CVT_F16_I16", {0xfffb}, h(-5)},
      {"V_CVT_F16_I16", {2049}, h(2048)},
      {"V_CVT_F16_I16", {2049}, h(2050), kUp},
      {"V_CVT_F16_U16", {0xffff}, h(kInf)},
      {"V_CVT_F16_U16", {0}, h(0), kDown},
      {"V_CVT_F16_U16", {0xffff}, h(65504), kZero},
      {"V_CVT_I32_I16", {0x1238001}, i(-32767)},
      {"V_CVT_U32_U16", {0x1238001}, 0x8001},
      {"V_CVT_PKRTZ_F16_F32", {f(0x1.fffffep0f), f(-1e10f)}, pair16(h(0x1.ffcp0f), h(-65504))},
      {"V_CVT_PKRTZ_F16_F32",
       {f(0x1.8p-24f), f(-0x1.fffffep-15f)},
       pair16(h(0x1p-24f), h(-0x1.ff8p-15f))},
      {"V_CVT_PKRTZ_F16_F32", {f(-kInf), kNanF}, pair16(h(-kInf), kNanH)},
      {"V_CVT_PKRTZ_F16_F32", {f(0x1.fffffep-25f), f(-0.0f)}, pair16(h(0), h(-0.0f)), kUp},
      {"V_CVT_PK_F16_F32", {f(1), f(0x1.002p0f)}, pair16(h(1), h(1))},
      {"V_CVT_PK_BF16_F32", {f(1), f(0x1.03p0f)}, pair16(0x3f80, 0x3f82)},
      {"V_CVT_NORM_I16_F16", {h(1)}, 32767},
      {"V_CVT_NORM_I16_F16", {h(-2)}, uint16_t(-32767)},
      {"V_CVT_NORM_I16_F16", {kNanH}, 0},
      {"V_CVT_NORM_U16_F16", {h(0.5f)}, 32768},
      {"V_CVT_NORM_U16_F16", {h(-1)}, 0},
      {"V_CVT_PKNORM_I16_F16", {h(1), h(-0.5f)}, pair16(32767, uint16_t(-16384))},
      {"V_CVT_PKNORM_U16_F16", {h(1), h(0.25f)}, pair16(65535, 16384)},
      {"V_CVT_PKNORM_I16_F32", {f(-1), f(1e-5f)}, pair16(uint16_t(-32767), 0)},
      {"V_CVT_PKNORM_I16_F32", {kNanF, f(kInf)}, pair16(0, 32767)},
      {"V_CVT_PKNORM_U16_F32", {f(2), f(1e-5f)}, pair16(65535, 1)},
      {"V_CVT_PK_I16_F32", {f(-40000), f(1.75f)}, pair16(0x8000, 1)},
      {"V_CVT_PK_U16_F32", {f(-40000), f(70000)}, pair16(0, 0xffff)},
      {"V_CVT_PK_I16_I32", {i(-40000), 40000}, pair16(0x8000, 0x7fff)},
      {"V_CVT_PK_I16_I32", {i(-5), 5}, pair16(0xfffb, 5)},
      {"V_CVT_PK_U16_U32", {0x10000, 7}, pair16(0xffff, 7)},
      {"V_SAT_PK_U8_I16", {pair16(0xffff, 300)}, 0xff00},
      {"V_SAT_PK_U8_I16", {pair16(7, 255)}, 0xff07},
  };
  cases.push_back({"V_CVT_PK_U8_F32", {f(300), 5, 0x11223344}, 0x1122ff44});
  cases.push_back({"V_CVT_PK_U8_F32", {f(-1), 3, 0x11223344}, 0x00223344});
  cases.push_back({"V_CVT_PK_U8_F32", {f(2), 0, 0x11223344}, 0x11223302});
  cases.push_back({"V_CVT_PK_U8_F32", {kNanF, 2, 0x11223344}, 0x11003344});
  // To integers: {type, source, result} for f32 and f64 sources that mean the same.
  struct {
    double value;
    uint32_t asSigned, asUnsigned;
  } const kToInteger[] = {
      {0.0, 0, 0},
      {-0.75, 0, 0},
      {1.999, 1, 1},
      {-7.5, uint32_t(-7), 0},
      {0x1p31, 0x7fffffff, 0x80000000},
      {-0x1p31, 0x80000000, 0},
      {-0x1.1p31, 0x80000000, 0},
      {0x1.fffffep31, 0x7fffffff, 0xffffff00},
      {0x1p32, 0x7fffffff, 0xffffffff},
      {kInfD, 0x7fffffff, 0xffffffff},
      {-kInfD, 0x80000000, 0},
      {NAN, 0, 0},
  };
  for (const auto &c : kToInteger) {
    cases.push_back({"V_CVT_I32_F32", {f(float(c.value))}, c.asSigned});
    cases.push_back({"V_CVT_U32_F32", {f(float(c.value))}, c.asUnsigned});
    cases.push_back({"V_CVT_I32_F64", {d(c.value)}, c.asSigned});
    cases.push_back({"V_CVT_U32_F64", {d(c.value)}, c.asUnsigned});
  }
  cases.push_back({"V_CVT_I32_F64", {d(2147483647.9)}, 0x7fffffff});
  cases.push_back({"V_CVT_U32_F64", {d(4294967295.9)}, 0xffffffff});
  struct {
    float value;
    uint16_t asSigned, asUnsigned;
  } const kToShort[] = {{-0.5f, 0, 0},           {1.9f, 1, 1},        {-7.5f, uint16_t(-7), 0},
                        {32768, 0x7fff, 0x8000}, {-32768, 0x8000, 0}, {65504, 0x7fff, 65504},
                        {kInf, 0x7fff, 0xffff},  {NAN, 0, 0}};
  for (const auto &c : kToShort) {
    cases.push_back({"V_CVT_I16_F16", {h(c.value)}, c.asSigned});
    cases.push_back({"V_CVT_U16_F16", {h(c.value)}, c.asUnsigned});
  }
  return cases;
}

TEST(VectorAluConversion, Cases) { check(conversionCases()); }

TEST(VectorAluConversion, EveryHalfSurvivesFloat) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    uint64_t single = run("V_CVT_F32_F16", {bits});
    bool nan = (bits & 0x7fff) > 0x7c00;
    ASSERT_EQ(run("V_CVT_F16_F32", {single}), nan ? bits | 0x200 : bits);
  }
}

} // namespace rubia::emulator::test
