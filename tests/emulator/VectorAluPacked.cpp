// SPDX-License-Identifier: Apache-2.0
// Packed instructions, mixed-precision FMAs and dot products.
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>
#include <tuple>

namespace rubia::emulator::test {

static Setting signs(uint32_t bits, bool saturate = false) {
  return {.saturate = saturate, .signs = bits};
}

static uint64_t hh(float lo, float hi) { return pair16(h(lo), h(hi)); }
static uint64_t ff(float lo, float hi) { return pair32(f(lo), f(hi)); }
static uint64_t bb(float lo, float hi) { return pair16(f(lo) >> 16, f(hi) >> 16); }

static std::vector<Case> dotCases() {
  std::vector<Case> cases = {
      {"V_DOT2_F16_F16", {hh(1, 2), hh(3, 4), h(5)}, h(16)},
      {"V_DOT2_BF16_BF16", {bb(1, 2), bb(3, 4), f(5) >> 16}, f(16) >> 16},
      {"V_DOT4_I32_IU8", {0x01ff0203, 0x01ff0203, 1}, 1 + 65025 + 4 + 9 + 1, signs(0)},
      {"V_DOT4_I32_IU8", {0x01ff0203, 0x01ff0203, 1}, i(1 - 255 + 4 + 9 + 1), signs(1)},
      {"V_DOT4_I32_IU8", {0x01ff0203, 0x01ff0203, 1}, i(1 - 255 + 4 + 9 + 1), signs(2)},
      {"V_DOT4_I32_IU8", {0x01ff0203, 0x01ff0203, 1}, 1 + 1 + 4 + 9 + 1, signs(3)},
      {"V_DOT4_I32_IU8", {0xffffffff, 0xffffffff, 0x7fffffff}, 0x7fffffff, signs(0, true)},
      {"V_DOT4_U32_U8", {0x01ff0203, 0x01ff0203, 1}, 65040},
      {"V_DOT4_U32_U8", {0x01ff0203, 0x01ff0203, i(-1)}, i(-1), kClamp},
      {"V_DOT8_I32_IU4", {0x1f000023, 0x1f000023, 1}, 1 + 225 + 4 + 9 + 1, signs(0)},
      {"V_DOT8_I32_IU4", {0x1f000023, 0x1f000023, 1}, i(1 - 15 + 4 + 9 + 1), signs(1)},
      {"V_DOT8_I32_IU4", {0x1f000023, 0x1f000023, 1}, 1 + 1 + 4 + 9 + 1, signs(3)},
      {"V_DOT8_U32_U4", {0x1f000023, 0x1f000023, 1}, 240},
      {"V_DOT2_U32_U16", {pair16(0xffff, 2), pair16(2, 3), 4}, 0x1fffe + 10},
      {"V_DOT2_U32_U16", {pair16(0xffff, 0xffff), pair16(0xffff, 0xffff), 4}, i(-1), kClamp},
  };
  for (const char *op : {"V_DOT2_F32_F16", "V_DOT2C_F32_F16"}) {
    cases.push_back({op, {hh(1, 2), hh(3, 4), f(5)}, f(16)});
    // The low product is added first: 2^24 + 1 rounds to 2^24.
    cases.push_back({op, {hh(1, -4096), hh(1, 4096), f(0x1p24f)}, f(0)});
    cases.push_back({op, {hh(-4096, 1), hh(4096, 1), f(0x1p24f)}, f(1)});
  }
  // gfx90a flushes denormal sources and results.
  for (const char *op : {"V_DOT2_F32_F16_MI200", "V_DOT2C_F32_F16_MI200"}) {
    cases.push_back({op, {hh(1, 2), hh(3, 4), f(5)}, f(16)});
    cases.push_back({op, {hh(0x1p-15f, 0x1p-14f), hh(1, 1), 0}, f(0x1p-14f)});
    cases.push_back({op, {hh(1, 0), hh(0x1p-15f, 0), f(-0x1p-127f)}, f(0)});
  }
  // 1, 1.5, -2 and 0.5 in each format
  for (auto [op, a, b] : {std::tuple("V_DOT4_F32_FP8_FP8", 0x30c03c38u, 0x38383838u),
                          std::tuple("V_DOT4_F32_FP8_BF8", 0x30c03c38u, 0x3c3c3c3cu),
                          std::tuple("V_DOT4_F32_BF8_FP8", 0x38c03e3cu, 0x38383838u),
                          std::tuple("V_DOT4_F32_BF8_BF8", 0x38c03e3cu, 0x3c3c3c3cu)}) {
    cases.push_back({op, {a, b, f(10)}, f(11)});
    // The lowest byte is added first, each step rounded.
    cases.push_back({op, {a & 0xffff, b, f(0x1p24f)}, f(0x1p24f + 2)});
    cases.push_back({op, {a & 0xff, b, f(0x1p24f)}, f(0x1p24f)});
  }
  for (const char *op : {"V_DOT2_F32_BF16", "V_DOT2C_F32_BF16"})
    cases.push_back({op, {bb(1, 2), bb(3, 4), f(5)}, f(16)});
  for (const char *op : {"V_DOT2_I32_I16", "V_DOT2C_I32_I16"}) {
    cases.push_back({op, {pair16(0xffff, 2), pair16(2, 3), 4}, 8});
    cases.push_back({op, {pair16(0x8000, 0x8000), pair16(0x8000, 0x8000), 0}, 0x7fffffff, kClamp});
  }
  for (const char *op : {"V_DOT4_I32_I8", "V_DOT4C_I32_I8"})
    cases.push_back({op, {0x01ff0203, 0x01fe0203, 1}, 1 + 2 + 4 + 9 + 1});
  for (const char *op : {"V_DOT8_I32_I4", "V_DOT8C_I32_I4"})
    cases.push_back({op, {0x1f000023, 0x1e000023, 1}, 1 + 2 + 4 + 9 + 1});
  return cases;
}

std::vector<Case> packedCases() {
  std::vector<Case> cases = {
      {"V_PK_ADD_F16", {hh(1, 65504), hh(2, 65504)}, hh(3, kInf)},
      {"V_PK_MUL_F16", {hh(3, -0.0f), hh(2, 2)}, hh(6, -0.0f)},
      {"V_PK_FMA_F16",
       {hh(0x1.004p0f, 2), hh(0x1.004p0f, 3), hh(-0x1.008p0f, 4)},
       hh(0x1p-20f, 10)},
      {"V_PK_FMAC_F16", {hh(2, 2), hh(3, 3), hh(1, -6)}, hh(7, 0)},
      {"V_PK_MINIMUM3_F16", {hh(1, -0.0f), hh(2, 0), hh(3, 1)}, hh(1, -0.0f)},
      {"V_PK_MINIMUM3_F16", {hh(1, 3), hh(2, 2), pair16(kNanH, h(1))}, pair16(kNanH, h(1))},
      {"V_PK_MAXIMUM3_F16", {hh(1, -0.0f), hh(2, 0), hh(3, -1)}, hh(3, 0)},
      {"V_PK_MAXIMUM3_F16", {pair16(kNanH, h(1)), hh(2, 2), hh(3, 3)}, pair16(kNanH, h(3))},
      {"V_PK_MIN_F16", {hh(1, -0.0f), hh(2, 0)}, hh(1, -0.0f)},
      {"V_PK_MIN_F16", {pair16(kNanH, h(1)), pair16(h(2), kSnanH)}, pair16(h(2), 0x7e01)},
      {"V_PK_MAX_F16", {hh(1, -0.0f), hh(2, 0)}, hh(2, 0)},
      {"V_PK_MAX_F16", {pair16(kNanH, h(1)), pair16(h(2), kSnanH)}, hh(2, 1), kNoIeee},
      {"V_PK_MINIMUM_F16", {pair16(kNanH, h(1)), hh(2, 3)}, pair16(kNanH, h(1))},
      {"V_PK_MAXIMUM_F16", {pair16(kNanH, h(1)), hh(2, 3)}, pair16(kNanH, h(3))},
      {"V_PK_ADD_U16", {pair16(0xffff, 1), pair16(2, 3)}, pair16(1, 4)},
      {"V_PK_ADD_U16", {pair16(0xffff, 1), pair16(2, 3)}, pair16(0xffff, 4), kClamp},
      {"V_PK_ADD_I16", {pair16(0x7fff, 0xffff), pair16(1, 3)}, pair16(0x8000, 2)},
      {"V_PK_ADD_I16", {pair16(0x7fff, 0x8000), pair16(1, 0xffff)}, 0x80007fff, kClamp},
      {"V_PK_SUB_U16", {pair16(1, 5), pair16(2, 3)}, pair16(0xffff, 2)},
      {"V_PK_SUB_U16", {pair16(1, 5), pair16(2, 3)}, pair16(0, 2), kClamp},
      {"V_PK_SUB_I16", {pair16(0x8000, 5), pair16(1, 7)}, pair16(0x7fff, 0xfffe)},
      {"V_PK_SUB_I16", {pair16(0x8000, 5), pair16(1, 7)}, pair16(0x8000, 0xfffe), kClamp},
      {"V_PK_MUL_LO_U16", {pair16(0xffff, 3), pair16(0xffff, 5)}, pair16(1, 15)},
      {"V_PK_MAD_U16", {pair16(0xffff, 3), pair16(2, 5), pair16(3, 1)}, pair16(1, 16)},
      {"V_PK_MAD_U16", {pair16(0xffff, 3), pair16(2, 5), pair16(3, 1)}, 0x0010ffff, kClamp},
      {"V_PK_MAD_I16", {pair16(0xffff, 3), pair16(2, 5), pair16(3, 1)}, pair16(1, 16)},
      {"V_PK_MAD_I16", {pair16(0x8000, 3), pair16(2, 5), pair16(0, 1)}, 0x00108000, kClamp},
      {"V_PK_MIN_U16", {pair16(0xffff, 3), pair16(1, 5)}, pair16(1, 3)},
      {"V_PK_MAX_U16", {pair16(0xffff, 3), pair16(1, 5)}, pair16(0xffff, 5)},
      {"V_PK_MIN_I16", {pair16(0xffff, 3), pair16(1, 5)}, pair16(0xffff, 3)},
      {"V_PK_MAX_I16", {pair16(0xffff, 3), pair16(1, 5)}, pair16(1, 5)},
      {"V_PK_LSHLREV_B16", {pair16(17, 4), pair16(0xc001, 3)}, pair16(0x8002, 48)},
      {"V_PK_LSHRREV_B16", {pair16(31, 4), pair16(0x8000, 0x30)}, pair16(1, 3)},
      {"V_PK_ASHRREV_I16", {pair16(31, 4), pair16(0x8000, 0x30)}, pair16(0xffff, 3)},
      {"V_PK_ADD_F32", {ff(1, 2), ff(3, 4)}, ff(4, 6)},
      {"V_PK_MUL_F32", {ff(1, 2), ff(3, 4)}, ff(3, 8)},
      {"V_PK_FMA_F32", {ff(1, 2), ff(3, 4), ff(5, 6)}, ff(8, 14)},
      {"V_PK_MOV_B32", {pair32(1, 2), pair32(3, 4)}, pair32(1, 3)},
      {"V_FMA_MIX_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_FMA_MIXLO_F16", {f(2), f(3), f(4)}, h(10)},
      {"V_FMA_MIXHI_F16", {f(2), f(3), f(4)}, h(10)},
      // A tie in f16 that the sum in f32 does not show: rounded twice.
      {"V_FMA_MIXLO_F16", {f(0x1p-30f), f(1), f(0x1.002p0f)}, h(1)},
      {"V_MAD_MIX_F32", {f(0x1p-130f), f(0x1p3f), f(0)}, f(0)},
      {"V_MAD_MIXLO_F16", {f(2), f(3), f(4)}, h(10)},
      {"V_MAD_MIXHI_F16", {f(2), f(3), f(4)}, h(10)},
  };
  for (const Case &c : dotCases())
    cases.push_back(c);
  return cases;
}

TEST(VectorAluPacked, Cases) { check(packedCases()); }

} // namespace rubia::emulator::test
