// SPDX-License-Identifier: Apache-2.0
// Conversions to and from 8, 6 and 4 bits, with and without a scale.
#include "tests/emulator/VectorAluAssembly.h"
#include "tests/emulator/VectorAluCase.h"
#include <gtest/gtest.h>

namespace rubia::emulator::test {

// E4M3: 0x38 is 1, 0x7e 448. E5M2: 0x3c is 1, 0x7b 57344. FNUZ: 0x40 is 1 in both, 0x7f 240 and
// 57344. E2M1: 2 is 1, 7 is 6.
std::vector<Case> float8Cases() {
  const uint64_t two = f(2), half = f(0.5f);
  std::vector<Case> cases = {
      {"V_CVT_F32_FP8", {0x38}, f(1)},
      {"V_CVT_F32_FP8", {0xfe}, f(-448)},
      {"V_CVT_F32_FP8", {0x01}, f(0x1p-9f)},
      {"V_CVT_F32_FP8", {0x80}, f(-0.0f)},
      {"V_CVT_F32_FP8", {0x7f}, kNanF},
      {"V_CVT_F32_FP8_FNUZ", {0x40}, f(1)},
      {"V_CVT_F32_FP8_FNUZ", {0x7f}, f(240)},
      {"V_CVT_F32_FP8_FNUZ", {0x80}, kNanF},
      {"V_CVT_F32_BF8", {0x3c}, f(1)},
      {"V_CVT_F32_BF8", {0xfb}, f(-57344)},
      {"V_CVT_F32_BF8", {0x7c}, f(kInf)},
      {"V_CVT_F32_BF8_FNUZ", {0x40}, f(1)},
      {"V_CVT_F32_BF8_FNUZ", {0x7f}, f(57344)},
      {"V_CVT_PK_F32_FP8", {0xb838}, pair32(f(1), f(-1))},
      {"V_CVT_PK_F32_FP8_FNUZ", {0xc040}, pair32(f(1), f(-1))},
      {"V_CVT_PK_F32_BF8", {0xbc40}, pair32(f(2), f(-1))},
      {"V_CVT_PK_F32_BF8_FNUZ", {0xc044}, pair32(f(2), f(-1))},
      {"V_CVT_PK_FP8_F32", {f(1.0625f), f(-1.1875f)}, 0xba38},
      {"V_CVT_PK_FP8_F32", {f(1000), f(-464)}, 0xfe7f}, // 464 is a tie and rounds down
      {"V_CVT_PK_FP8_F32", {f(1.001f), f(-0.0f)}, 0x8038, kUp},
      {"V_CVT_PK_FP8_F32_FNUZ", {f(1), f(-1000)}, 0x8040},
      {"V_CVT_PK_FP8_F32_FNUZ", {f(240), f(-0.0f)}, 0x007f},
      {"V_CVT_PK_BF8_F32", {f(1.125f), f(-1.375f)}, 0xbe3c},
      {"V_CVT_PK_BF8_F32", {f(1e6f), f(-kInf)}, 0xfc7c},
      {"V_CVT_PK_BF8_F32_FNUZ", {f(1), f(-1e6f)}, 0x8040},
      // 1 + 1/16 is halfway between two codes.
      {"V_CVT_SR_FP8_F32", {f(1.0625f), 0x7fffffff}, 0x38},
      {"V_CVT_SR_FP8_F32", {f(1.0625f), 0x80000000}, 0x39},
      {"V_CVT_SR_FP8_F32", {f(-1.0625f), 0x80000000}, 0xb9},
      {"V_CVT_SR_FP8_F32", {f(1), 0xffffffff}, 0x38},
      {"V_CVT_SR_FP8_F32_FNUZ", {f(1.0625f), 0x80000000}, 0x41},
      {"V_CVT_SR_BF8_F32", {f(1.0625f), 0xbfffffff}, 0x3c},
      {"V_CVT_SR_BF8_F32", {f(1.0625f), 0xc0000000}, 0x3d},
      {"V_CVT_SR_BF8_F32_FNUZ", {f(1.0625f), 0xc0000000}, 0x41},
      {"V_CVT_SR_F16_F32", {f(0x1.002p0f), 0x7fffffff}, h(1)},
      {"V_CVT_SR_F16_F32", {f(0x1.002p0f), 0x80000000}, h(0x1.004p0f)},
      {"V_CVT_SR_F16_F32", {f(-0x1p-25f), 0x80000000}, h(-0x1p-24f)},
      {"V_CVT_SR_F16_F32", {f(-0x1p-25f), 0x7fffffff}, h(-0.0f)},
      {"V_CVT_SR_F16_F32", {f(kInf), 0}, h(kInf)},
      {"V_CVT_SR_BF16_F32", {f(0x1.01p0f), 0x7fffffff}, 0x3f80},
      {"V_CVT_SR_BF16_F32", {f(0x1.01p0f), 0x80000000}, 0x3f81},
      {"V_CVT_SR_BF16_F32", {kNanF, 0}, 0x7fc0},

      {"V_CVT_SCALEF32_F32_FP8", {0x38, two}, f(2)},
      {"V_CVT_SCALEF32_F32_FP8", {0x38, f(-3)}, f(2)}, // the exponent alone counts
      {"V_CVT_SCALEF32_F32_FP8", {0x38, f(kInf)}, kNanF},
      {"V_CVT_SCALEF32_F32_BF8", {0x3c, half}, f(0.5f)},
      {"V_CVT_SCALEF32_F16_FP8", {0x38, two}, h(2)},
      {"V_CVT_SCALEF32_F16_BF8", {0xbc, half}, h(-0.5f)},
      {"V_CVT_SCALEF32_PK_F32_FP8", {0xb838, two}, pair32(f(2), f(-2))},
      {"V_CVT_SCALEF32_PK_F32_BF8", {0xbc3c, two}, pair32(f(2), f(-2))},
      {"V_CVT_SCALEF32_PK_F32_FP4", {0x72, two}, pair32(f(2), f(12))},
      {"V_CVT_SCALEF32_PK_F16_FP8", {0xb838, two}, pair16(h(2), h(-2))},
      {"V_CVT_SCALEF32_PK_F16_BF8", {0xbc3c, two}, pair16(h(2), h(-2))},
      {"V_CVT_SCALEF32_PK_F16_FP4", {0xa7, two}, pair16(h(12), h(-2))},
      {"V_CVT_SCALEF32_PK_F16_FP8", {0x387e, f(0x1p10f)}, pair16(h(kInf), h(1024))},
      {"V_CVT_SCALEF32_PK_BF16_FP8", {0xb838, two}, pair16(0x4000, 0xc000)},
      {"V_CVT_SCALEF32_PK_BF16_BF8", {0xbc3c, two}, pair16(0x4000, 0xc000)},
      {"V_CVT_SCALEF32_PK_BF16_FP4", {0xa2, two}, pair16(0x4000, 0xc000)},
      {"V_CVT_SCALEF32_PK_FP8_F32", {two, f(-3), two}, 0xbc38},
      {"V_CVT_SCALEF32_PK_BF8_F32", {two, f(-3), two}, 0xbe3c},
      {"V_CVT_SCALEF32_PK_FP4_F32", {two, f(-100), two}, 0xf2},
      {"V_CVT_SCALEF32_PK_FP4_F32", {f(2.5f), f(3.5f), f(1)}, 0x64}, // ties to even
      {"V_CVT_SCALEF32_PK_FP8_F16", {pair16(h(2), h(-2)), two}, 0xb838},
      {"V_CVT_SCALEF32_PK_BF8_F16", {pair16(h(2), h(-2)), two}, 0xbc3c},
      {"V_CVT_SCALEF32_PK_FP4_F16", {pair16(h(2), h(-12)), two}, 0xf2},
      {"V_CVT_SCALEF32_PK_FP8_BF16", {pair16(0x4000, 0xc000), two}, 0xb838},
      {"V_CVT_SCALEF32_PK_BF8_BF16", {pair16(0x4000, 0xc000), two}, 0xbc3c},
      {"V_CVT_SCALEF32_PK_FP4_BF16", {pair16(0x4000, 0xc000), two}, 0xa2},
      {"V_CVT_SCALEF32_SR_FP8_F32", {f(2.125f), 0x80000000, two}, 0x39},
      {"V_CVT_SCALEF32_SR_FP8_F32", {f(2.125f), 0x7fffffff, two}, 0x38},
      {"V_CVT_SCALEF32_SR_BF8_F32", {f(2.125f), 0xc0000000, two}, 0x3d},
      {"V_CVT_SCALEF32_SR_FP8_F16", {h(2.125f), 0x80000000, two}, 0x39},
      {"V_CVT_SCALEF32_SR_BF8_F16", {h(2.125f), 0xbfffffff, two}, 0x3c},
      {"V_CVT_SCALEF32_SR_FP8_BF16", {0x4008, 0x80000000, two}, 0x39},
      {"V_CVT_SCALEF32_SR_BF8_BF16", {0x4008, 0xc0000000, two}, 0x3d},
      // The second value takes the seed's successor: 0x80000000 becomes 197.
      {"V_CVT_SCALEF32_SR_PK_FP4_F32", {pair32(f(2.5f), f(2.5f)), 0x80000000, two}, 0x23},
      {"V_CVT_SCALEF32_SR_PK_FP4_F16", {pair16(h(2.5f), h(2.5f)), 0x80000000, two}, 0x23},
      {"V_CVT_SCALEF32_SR_PK_FP4_BF16", {pair16(0x4020, 0x4020), 0x80000000, two}, 0x23},
  };
  return cases;
}

TEST(VectorAluFloat8, Cases) { check(float8Cases()); }

/// 6 bits at position i of the registers from v<first> on.
static uint32_t code(AssemblyWave &w, unsigned first, unsigned i) {
  uint64_t bits = 0;
  for (unsigned n = 0; n < 6; ++n)
    bits |= uint64_t(w.v(first + (i * 6 + n) / 32, 7) >> (i * 6 + n) % 32 & 1) << n;
  return uint32_t(bits);
}

// E2M3: code n is n / 8 up to 15, twice that step from 16 on. E3M2: n / 16 up to 7.
TEST(VectorAluFloat8, ThirtyTwoAtATime) {
  for (bool isBf6 : {false, true}) {
    const std::string six = isBf6 ? "bf6" : "fp6";
    const float unit = isBf6 ? 0.0625f : 0.125f;
    for (const char *type : {"f32", "f16", "bf16"}) {
      SCOPED_TRACE(six + type);
      AssemblyWave w("gfx950");
      const bool wide = type == std::string("f32");
      auto expected = [&](unsigned i) { return (i % 8) * unit * 2 * (i & 8 ? -1.0f : 1.0f); };
      auto encoded = [&](float value) -> uint32_t {
        return wide                         ? uint32_t(f(value))
               : type == std::string("f16") ? uint32_t(h(value))
                                            : uint32_t(f(value) >> 16);
      };
      for (unsigned i = 0; i < 32; ++i) {
        uint32_t &dword = w.v(wide ? 16 + i : 16 + i / 2, 7);
        const uint32_t bits = encoded(expected(i));
        dword = wide ? bits : i % 2 ? (dword & 0xffff) | bits << 16 : bits;
      }
      w.set(50, uint32_t(f(2))).set(51, 0);
      const std::string source = wide ? "v[16:47]" : "v[16:31]";
      // Seed 0 never rounds up, and all values are exact.
      w.run("v_cvt_scalef32_sr_pk32_" + six + "_" + type + " v[0:5], " + source + ", v51, v50");
      for (unsigned i = 0; i < 32; ++i)
        EXPECT_EQ(code(w, 0, i), i % 8 | (i & 8 ? 0x20 : 0)) << i;
      if (!wide) {
        w.set(0, 0).set(5, 0);
        w.run("v_cvt_scalef32_pk32_" + six + "_" + type + " v[0:5], " + source + ", v50");
        for (unsigned i = 0; i < 32; ++i)
          EXPECT_EQ(code(w, 0, i), i % 8 | (i & 8 ? 0x20 : 0)) << i;
      } else {
        w.run("v_cvt_scalef32_2xpk16_" + six + "_f32 v[6:11], v[16:31], v[32:47], v50");
        for (unsigned i = 0; i < 32; ++i)
          EXPECT_EQ(code(w, 6, i), i / 2 % 8 | (i / 2 & 8 ? 0x20 : 0)) << i;
      }
      w.set(16, 0).set(31, 0);
      w.run("v_cvt_scalef32_pk32_" + std::string(type) + "_" + six + " " + source +
            ", v[0:5], v50");
      for (unsigned i = 0; i < 32; ++i) {
        const uint32_t dword = w.v(wide ? 16 + i : 16 + i / 2, 7);
        EXPECT_EQ(wide ? dword : dword >> i % 2 * 16 & 0xffff, encoded(expected(i))) << i;
      }
    }
  }
}

TEST(VectorAluFloat8, BytesOfScaledConversions) {
  AssemblyWave w("gfx950");
  w.set(1, uint32_t(f(2))).set(2, uint32_t(f(-2))).set(3, uint32_t(f(2)));
  w.set(4, 0x30b83840);
  for (unsigned byte = 0; byte < 4; ++byte) {
    const std::string low = std::to_string(byte & 1), high = std::to_string(byte >> 1);
    w.set(0, 0x11223344)
        .run("v_cvt_scalef32_pk_fp4_f32 v0, v1, v2, v3 op_sel:[0,0," + low + "," + high + "]");
    EXPECT_EQ(w.v(0, 9), (0x11223344 & ~(0xffu << byte * 8)) | 0xa2u << byte * 8);
    w.run("v_cvt_scalef32_f32_fp8 v0, v4, v3 op_sel:[" + low + "," + high + "]");
    const float want[] = {4, 2, -2, 1};
    EXPECT_EQ(asFloat(w.v(0, 9)), want[byte]);
  }
  w.set(0, 0x11223344).run("v_cvt_scalef32_pk_fp8_f32 v0, v1, v2, v3 op_sel:[0,0,0,1]");
  EXPECT_EQ(w.v(0, 9), 0xb8383344u);
  w.set(0, 0x11223344).run("v_cvt_scalef32_f16_fp8 v0, v4, v3 op_sel:[1,0,1]");
  EXPECT_EQ(w.v(0, 9), uint32_t(pair16(0x3344, h(2))));
  w.run("v_cvt_scalef32_pk_f16_fp8 v0, v4, v3 op_sel:[1,0,0]");
  EXPECT_EQ(w.v(0, 9), uint32_t(pair16(h(-2), h(1))));
}

} // namespace rubia::emulator::test
