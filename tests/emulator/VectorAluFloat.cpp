// SPDX-License-Identifier: Apache-2.0
// Float arithmetic rows: edge values from the RDNA3 ISA's definitions, and f16 against exact
// arithmetic.
#include "emulator/lib/machine/HostFloat.h"
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>
#include <random>

namespace rubia::emulator::test {

std::vector<Case> float32Cases() {
  std::vector<Case> cases = {
      {"V_ADD_F32", {f(1), f(2)}, f(3)},
      {"V_ADD_F32", {f(1), f(0x1p-24f)}, f(1)},
      {"V_ADD_F32", {f(1), f(0x1p-24f)}, f(0x1.000002p0f), kUp},
      {"V_ADD_F32", {f(-1), f(-0x1p-24f)}, f(-0x1.000002p0f), kDown},
      {"V_ADD_F32", {f(0x1.fffffep127f), f(0x1.fffffep127f)}, f(kInf)},
      {"V_ADD_F32", {f(0x1.fffffep127f), f(0x1.fffffep127f)}, f(0x1.fffffep127f), kZero},
      {"V_ADD_F32", {f(0x1p-149f), f(0x1p-149f)}, f(0x1p-148f)},
      {"V_ADD_F32", {f(-0.0f), f(-0.0f)}, f(-0.0f)},
      {"V_ADD_F32", {f(-0.0f), f(0.0f)}, f(0.0f)},
      {"V_SUB_F32", {f(1), f(3)}, f(-2)},
      {"V_SUBREV_F32", {f(1), f(3)}, f(2)},
      {"V_MUL_F32", {f(-0.0f), f(3)}, f(-0.0f)},
      {"V_MUL_F32", {f(0x1p-100f), f(0x1p-49f)}, f(0x1p-149f)},
      {"V_MUL_F32", {f(0x1p-100f), f(0x1p-50f)}, f(0)},
      {"V_MUL_F32", {f(0x1p-100f), f(0x1p-50f)}, f(0x1p-149f), kUp},
      {"V_MUL_LEGACY_F32", {f(0), f(kInf)}, f(0)},
      {"V_MUL_LEGACY_F32", {f(-0.0f), f(2)}, f(0)},
      {"V_MUL_LEGACY_F32", {f(3), f(2)}, f(6)},
      {"V_FMA_LEGACY_F32", {kNanF, f(0), f(5)}, f(5)},
      {"V_FMA_LEGACY_F32", {f(2), f(3), f(5)}, f(11)},
      {"V_FMAC_LEGACY_F32", {f(0), f(kInf), f(5)}, f(5)},
      {"V_FMAC_LEGACY_F32", {f(2), f(3), f(5)}, f(11)},
      {"V_MULLIT_F32", {f(3), f(2), f(1)}, f(6)},
      {"V_MULLIT_F32", {f(3), f(2), f(0)}, f(-0x1.fffffep127f)},
      {"V_MULLIT_F32", {f(3), f(-kInf), f(1)}, f(-0x1.fffffep127f)},
      {"V_MULLIT_F32", {f(3), kNanF, f(1)}, f(-0x1.fffffep127f)},
      {"V_FMAMK_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_FMAAK_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_MADMK_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_MADAK_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_MAD_LEGACY_F32", {f(kInf), f(0), f(4)}, f(4)},
      {"V_MAC_LEGACY_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_TRUNC_F32", {f(-1.5f)}, f(-1)},
      {"V_TRUNC_F32", {f(-0.5f)}, f(-0.0f)},
      {"V_TRUNC_F32", {f(0x1p30f)}, f(0x1p30f)},
      {"V_CEIL_F32", {f(1.25f)}, f(2)},
      {"V_CEIL_F32", {f(-0.25f)}, f(-0.0f)},
      {"V_CEIL_F32", {f(0x1p-149f)}, f(1)},
      {"V_FLOOR_F32", {f(-1.25f)}, f(-2)},
      {"V_FLOOR_F32", {f(-0.0f)}, f(-0.0f)},
      {"V_FLOOR_F32", {f(-kInf)}, f(-kInf)},
      {"V_RNDNE_F32", {f(2.5f)}, f(2)},
      {"V_RNDNE_F32", {f(3.5f)}, f(4)},
      {"V_RNDNE_F32", {f(-0.5f)}, f(-0.0f)},
      {"V_RNDNE_F32", {f(2.25f)}, f(2), kUp},
      {"V_FRACT_F32", {f(1.25f)}, f(0.25f)},
      {"V_FRACT_F32", {f(-1.25f)}, f(0.75f)},
      {"V_FRACT_F32", {f(-1e-10f)}, f(0x1.fffffep-1f)},
      {"V_FREXP_MANT_F32", {f(12)}, f(0.75f)},
      {"V_FREXP_MANT_F32", {f(-0x1p-149f)}, f(-0.5f)},
      {"V_FREXP_MANT_F32", {f(0x1.8p-127f)}, f(0.75f)},
      {"V_FREXP_MANT_F32", {f(-0.0f)}, f(-0.0f)},
      {"V_FREXP_MANT_F32", {f(kInf)}, f(kInf)},
      {"V_FREXP_MANT_F32", {kSnanF}, 0x7fc00001},
      {"V_FREXP_EXP_I32_F32", {f(12)}, i(4)},
      {"V_FREXP_EXP_I32_F32", {f(0x1p-149f)}, i(-148)},
      {"V_FREXP_EXP_I32_F32", {f(0x1p-126f)}, i(-125)},
      {"V_FREXP_EXP_I32_F32", {f(0)}, i(0)},
      {"V_FREXP_EXP_I32_F32", {f(-kInf)}, i(0)},
      {"V_FREXP_EXP_I32_F32", {kNanF}, i(0)},
      {"V_LDEXP_F32", {f(3), i(4)}, f(48)},
      {"V_LDEXP_F32", {f(1), i(128)}, f(kInf)},
      {"V_LDEXP_F32", {f(1), i(128)}, f(0x1.fffffep127f), kZero},
      {"V_LDEXP_F32", {f(0x1p-149f), i(INT32_MAX)}, f(kInf)},
      {"V_LDEXP_F32", {f(0x1p-149f), i(276)}, f(0x1p127f)},
      {"V_LDEXP_F32", {f(-0x1.8p0f), i(-149)}, f(-0x1p-148f)},
      {"V_LDEXP_F32", {f(1), i(-150)}, f(0)},
      {"V_LDEXP_F32", {f(1), i(INT32_MIN)}, f(0)},
      {"V_LDEXP_F32", {f(1), i(INT32_MIN)}, f(0x1p-149f), kUp},
      {"V_CUBEID_F32", {f(1), f(2), f(3)}, f(4)},
      {"V_CUBEID_F32", {f(1), f(2), f(-3)}, f(5)},
      {"V_CUBEID_F32", {f(1), f(-2), f(1)}, f(3)},
      {"V_CUBEID_F32", {f(3), f(2), f(1)}, f(0)},
      {"V_CUBEID_F32", {f(-3), f(2), f(1)}, f(1)},
      {"V_CUBESC_F32", {f(1), f(2), f(-3)}, f(-1)},
      {"V_CUBESC_F32", {f(1), f(2), f(1)}, f(1)},
      {"V_CUBESC_F32", {f(3), f(2), f(1)}, f(-1)},
      {"V_CUBESC_F32", {f(-3), f(2), f(1)}, f(1)},
      {"V_CUBETC_F32", {f(1), f(2), f(3)}, f(-2)},
      {"V_CUBETC_F32", {f(1), f(-4), f(3)}, f(-3)},
      {"V_CUBETC_F32", {f(1), f(4), f(3)}, f(3)},
      {"V_CUBEMA_F32", {f(1), f(-4), f(3)}, f(-8)},
      {"V_CUBEMA_F32", {f(-5), f(-4), f(3)}, f(-10)},
  };
  // a * b + c with a product that needs more than 24 bits: fused keeps them, unfused does not.
  float a = 0x1.000002p0f;
  for (const char *op : {"V_FMA_F32", "V_FMAC_F32"})
    cases.push_back({op, {f(a), f(a), f(-0x1.000004p0f)}, f(0x1p-46f)});
  for (const char *op : {"V_MAD_F32", "V_MAC_F32"}) {
    cases.push_back({op, {f(a), f(a), f(-0x1.000004p0f)}, f(0)});
    cases.push_back({op, {f(0x1p-130f), f(0x1p10f), f(1)}, f(1)});
    cases.push_back({op, {f(0), f(0), f(0x1p-130f)}, f(0)});
  }
  return cases;
}

/// Minimum and maximum: the ISA's rules are the same for the three widths.
struct Width {
  const char *name;
  uint64_t one, two, three, zero, minusZero, nan, snan, snanQuieted;
};

static std::vector<Case> minMaxCases(const Width &w) {
  auto op = [&](const char *prefix) { return std::string(prefix) + w.name; };
  std::vector<Case> cases;
  for (const char *suffix : {"", "_NUM"}) {
    if (*suffix && w.name != std::string("F64"))
      continue;
    std::string min = op(("V_MIN" + std::string(suffix) + "_").c_str());
    std::string max = op(("V_MAX" + std::string(suffix) + "_").c_str());
    cases.insert(cases.end(), {
                                  {min, {w.one, w.two}, w.one},
                                  {min, {w.two, w.one}, w.one},
                                  {min, {w.minusZero, w.zero}, w.minusZero},
                                  {min, {w.zero, w.minusZero}, w.minusZero},
                                  {min, {w.nan, w.one}, w.one},
                                  {min, {w.one, w.nan}, w.one},
                                  {min, {w.nan, w.nan}, w.nan},
                                  {min, {w.snan, w.one}, w.snanQuieted},
                                  {min, {w.one, w.snan}, w.snanQuieted},
                                  {min, {w.snan, w.one}, w.one, kNoIeee},
                                  {max, {w.one, w.two}, w.two},
                                  {max, {w.two, w.one}, w.two},
                                  {max, {w.minusZero, w.zero}, w.zero},
                                  {max, {w.zero, w.minusZero}, w.zero},
                                  {max, {w.nan, w.one}, w.one},
                                  {max, {w.one, w.nan}, w.one},
                                  {max, {w.one, w.snan}, w.snanQuieted},
                                  {max, {w.snan, w.one}, w.one, kNoIeee},
                              });
  }
  std::string minimum = op("V_MINIMUM_"), maximum = op("V_MAXIMUM_");
  cases.insert(cases.end(), {
                                {minimum, {w.one, w.two}, w.one},
                                {minimum, {w.nan, w.one}, w.nan},
                                {minimum, {w.one, w.snan}, w.snanQuieted},
                                {minimum, {w.zero, w.minusZero}, w.minusZero},
                                {maximum, {w.one, w.two}, w.two},
                                {maximum, {w.one, w.nan}, w.nan},
                                {maximum, {w.minusZero, w.zero}, w.zero},
                            });
  if (w.name == std::string("F64"))
    return cases;
  cases.insert(cases.end(), {
                                {op("V_MIN3_"), {w.three, w.one, w.two}, w.one},
                                {op("V_MIN3_"), {w.nan, w.nan, w.two}, w.two},
                                {op("V_MAX3_"), {w.one, w.three, w.two}, w.three},
                                {op("V_MAX3_"), {w.one, w.snan, w.two}, w.two},
                                {op("V_MED3_"), {w.three, w.one, w.two}, w.two},
                                {op("V_MED3_"), {w.one, w.three, w.two}, w.two},
                                {op("V_MED3_"), {w.one, w.two, w.three}, w.two},
                                {op("V_MED3_"), {w.two, w.two, w.one}, w.two},
                                {op("V_MED3_"), {w.nan, w.three, w.two}, w.two},
                                {op("V_MED3_"), {w.three, w.two, w.nan}, w.two},
                                {op("V_MAXMIN_"), {w.one, w.three, w.two}, w.two},
                                {op("V_MINMAX_"), {w.one, w.three, w.two}, w.two},
                                {op("V_MINIMUM3_"), {w.three, w.one, w.two}, w.one},
                                {op("V_MINIMUM3_"), {w.three, w.nan, w.two}, w.nan},
                                {op("V_MAXIMUM3_"), {w.three, w.one, w.two}, w.three},
                                {op("V_MAXIMUM3_"), {w.three, w.one, w.nan}, w.nan},
                                {op("V_MAXIMUMMINIMUM_"), {w.one, w.three, w.two}, w.two},
                                {op("V_MINIMUMMAXIMUM_"), {w.one, w.three, w.two}, w.two},
                            });
  return cases;
}

static const Width kWidths[] = {
    {"F32", f(1), f(2), f(3), f(0), f(-0.0f), kNanF, kSnanF, kSnanF | 0x400000},
    {"F64", d(1), d(2), d(3), d(0), d(-0.0), kNanD, kSnanD, kSnanD | 0x8000000000000},
    {"F16", h(1), h(2), h(3), h(0), h(-0.0f), kNanH, kSnanH, kSnanH | 0x200},
};

std::vector<Case> float64Cases() {
  std::vector<Case> cases = {
      {"V_ADD_F64", {d(1), d(0x1p-53)}, d(1)},
      {"V_ADD_F64", {d(1), d(0x1p-53)}, d(0x1.0000000000001p0), kUp},
      {"V_MUL_F64", {d(3), d(-0.5)}, d(-1.5)},
      {"V_MUL_F64", {d(0x1p-1000), d(0x1p-74)}, d(0x1p-1074)},
      {"V_FMA_F64",
       {d(0x1.0000000000001p0), d(0x1.0000000000001p0), d(-0x1.0000000000002p0)},
       d(0x1p-104)},
      {"V_FMAC_F64",
       {d(0x1.0000000000001p0), d(0x1.0000000000001p0), d(-0x1.0000000000002p0)},
       d(0x1p-104)},
      {"V_TRUNC_F64", {d(-1.75)}, d(-1)},
      {"V_CEIL_F64", {d(-0.75)}, d(-0.0)},
      {"V_CEIL_F64", {d(1.0000001)}, d(2)},
      {"V_FLOOR_F64", {d(-0x1p-1074)}, d(-1)},
      {"V_RNDNE_F64", {d(0.5)}, d(0)},
      {"V_RNDNE_F64", {d(1.5)}, d(2)},
      {"V_FRACT_F64", {d(-0.25)}, d(0.75)},
      {"V_FRACT_F64", {d(-1e-300)}, d(0x1.fffffffffffffp-1)},
      {"V_FREXP_MANT_F64", {d(0x1p-1074)}, d(0.5)},
      {"V_FREXP_MANT_F64", {d(-10)}, d(-0.625)},
      {"V_FREXP_EXP_I32_F64", {d(0x1p-1074)}, i(-1073)},
      {"V_FREXP_EXP_I32_F64", {d(0)}, i(0)},
      {"V_FREXP_EXP_I32_F64", {d(-10)}, i(4)},
      {"V_LDEXP_F64", {d(1), i(-1074)}, d(0x1p-1074)},
      {"V_LDEXP_F64", {d(0x1.8p0), i(-1074)}, d(0x1p-1073)},
      {"V_LDEXP_F64", {d(0x1.8p0), i(-1074)}, d(0x1p-1074), kZero},
      {"V_LDEXP_F64", {d(1), i(1024)}, d(kInfD)},
      {"V_LDEXP_F64", {d(0x1p-1074), i(2097)}, d(0x1p1023)},
      {"V_LDEXP_F64", {d(-1), i(INT32_MIN)}, d(-0.0)},
      {"V_LDEXP_F64", {d(-1), i(INT32_MIN)}, d(-0x1p-1074), kDown},
      {"V_LDEXP_F64", {d(1), i(INT32_MAX)}, d(0x1.fffffffffffffp1023), kZero},
      {"V_LDEXP_F64", {d(0x1.4p-1030), i(-43)}, d(0x1p-1073)},
      {"V_LDEXP_F64", {d(0x1.4p-1030), i(-44)}, d(0x1p-1074)},
      {"V_LDEXP_F64", {d(-0.0), i(5)}, d(-0.0)},
      {"V_LDEXP_F64", {d(-kInfD), i(-3000)}, d(-kInfD)},
  };
  for (const Case &c : minMaxCases(kWidths[0]))
    cases.push_back(c);
  for (const Case &c : minMaxCases(kWidths[1]))
    cases.push_back(c);
  return cases;
}

std::vector<Case> float16Cases() {
  std::vector<Case> cases = {
      {"V_ADD_F16", {h(1), h(0x1p-11f)}, h(1)},
      {"V_ADD_F16", {h(1), h(0x1.8p-11f)}, h(0x1.004p0f)},
      {"V_ADD_F16", {h(1), h(0x1p-24f)}, h(0x1.004p0f), kUp},
      {"V_ADD_F16", {h(65504), h(16)}, h(kInf)},
      {"V_ADD_F16", {h(65504), h(8)}, h(65504)},
      {"V_ADD_F16", {h(65504), h(65504)}, h(65504), kZero},
      {"V_SUB_F16", {h(1), h(2)}, h(-1)},
      {"V_SUBREV_F16", {h(1), h(2)}, h(1)},
      {"V_MUL_F16", {h(0x1p-14f), h(0x1p-10f)}, h(0x1p-24f)},
      {"V_MUL_F16", {h(0x1p-14f), h(0x1p-11f)}, h(0)},
      {"V_MUL_F16", {h(0x1p-14f), h(0x1.8p-11f)}, h(0x1p-24f)},
      {"V_MUL_F16", {h(-300), h(300)}, h(-kInf)},
      {"V_MAD_F16", {h(0x1.004p0f), h(0x1.004p0f), h(-0x1.008p0f)}, h(0)},
      {"V_MAC_F16", {h(0x1.004p0f), h(0x1.004p0f), h(-0x1.008p0f)}, h(0)},
      {"V_MADMK_F16", {h(2), h(3), h(4)}, h(10)},
      {"V_MADAK_F16", {h(2), h(3), h(4)}, h(10)},
      {"V_FMAMK_F16", {h(2), h(3), h(4)}, h(10)},
      {"V_FMAAK_F16", {h(2), h(3), h(4)}, h(10)},
      {"V_TRUNC_F16", {h(-1.5f)}, h(-1)},
      {"V_CEIL_F16", {h(0x1p-24f)}, h(1)},
      {"V_FLOOR_F16", {h(-0.5f)}, h(-1)},
      {"V_RNDNE_F16", {h(2.5f)}, h(2)},
      {"V_FRACT_F16", {h(-0.25f)}, h(0.75f)},
      {"V_FRACT_F16", {h(-0x1p-24f)}, h(0x1.ffcp-1f)},
      {"V_FREXP_MANT_F16", {h(-0x1p-24f)}, h(-0.5f)},
      {"V_FREXP_MANT_F16", {h(6)}, h(0.75f)},
      {"V_FREXP_EXP_I16_F16", {h(0x1p-24f)}, uint16_t(-23)},
      {"V_FREXP_EXP_I16_F16", {h(6)}, 3},
      {"V_FREXP_EXP_I16_F16", {h(kInf)}, 0},
      {"V_LDEXP_F16", {h(1), uint16_t(-24)}, h(0x1p-24f)},
      {"V_LDEXP_F16", {h(0x1.8p0f), uint16_t(-24)}, h(0x1p-23f)},
      {"V_LDEXP_F16", {h(1), 16}, h(kInf)},
      {"V_LDEXP_F16", {h(0x1p-24f), 39}, h(0x1p15f)},
      {"V_LDEXP_F16", {h(1), 0x8000}, h(0)},
      {"V_PACK_B32_F16", {h(1), h(-2)}, pair16(h(1), h(-2))},
  };
  for (const char *op : {"V_FMA_F16", "V_FMAC_F16"}) {
    cases.push_back({op, {h(0x1.004p0f), h(0x1.004p0f), h(-0x1.008p0f)}, h(0x1p-20f)});
    cases.push_back({op, {h(65504), h(1), h(16)}, h(kInf)});
    cases.push_back({op, {h(65504), h(1), h(16)}, h(65504), kDown});
    cases.push_back({op, {h(-65504), h(1), h(-16)}, h(-kInf), kDown});
    cases.push_back({op, {h(300), h(300), h(-kInf)}, h(-kInf)});
    // The product is a tie, the addend breaks it.
    cases.push_back({op, {h(0x1.004p0f), h(0x1.8p0f), h(0x1p-24f)}, h(0x1.808p0f)});
    cases.push_back({op, {h(0x1.004p0f), h(0x1.8p0f), h(-0x1p-24f)}, h(0x1.804p0f)});
  }
  for (const Case &c : minMaxCases(kWidths[2]))
    cases.push_back(c);
  return cases;
}

TEST(VectorAluFloat, Single) { check(float32Cases()); }
TEST(VectorAluFloat, Double) { check(float64Cases()); }
TEST(VectorAluFloat, Half) { check(float16Cases()); }

/// The two finite or infinite f16 around an exact value, and the one that a mode chooses.
static uint16_t roundedHalf(Quad exact, Rounding rounding) {
  bool negative = exact < 0;
  Quad magnitude = negative ? -exact : exact;
  // Positive halves are ordered as their bits; 0x7c00 stands for 2^16.
  auto value = [](uint32_t bits) { return bits == 0x7c00 ? Quad(65536) : asHalf(bits); };
  uint32_t low = 0, high = 0x7c00;
  while (high - low > 1) {
    uint32_t middle = (low + high) / 2;
    (value(middle) <= magnitude ? low : high) = middle;
  }
  if (magnitude >= 65536)
    low = 0x7c00, high = 0x7c00;
  uint32_t chosen = low;
  bool finiteOverflow = low == 0x7c00;
  if (value(low) != magnitude || finiteOverflow) {
    Quad below = magnitude - value(low), above = value(high) - magnitude;
    switch (rounding) {
    case kNearest:
      chosen = below < above || (below == above && !(low & 1)) ? low : high;
      break;
    case kUpward:
      chosen = negative ? low : high;
      break;
    case kDownward:
      chosen = negative ? high : low;
      break;
    case kTowardZero:
      chosen = low;
      break;
    }
    bool towardZero = rounding == kTowardZero || (rounding == kUpward && negative) ||
                      (rounding == kDownward && !negative);
    if (finiteOverflow && towardZero)
      chosen = 0x7bff;
  }
  return uint16_t(chosen | (negative ? 0x8000 : 0));
}

TEST(VectorAluFloat, HalfArithmeticIsRoundedOnce) {
  std::mt19937 random(2);
  auto finite = [&] {
    uint16_t bits = uint16_t(random());
    return uint64_t((bits & 0x7c00) == 0x7c00 ? bits & 0xbfff : bits);
  };
  for (unsigned n = 0; n < 20000; ++n) {
    uint64_t a = finite(), b = finite(), c = finite();
    if (n % 4 == 0) // an addend near the product, or far below it
      c = hd(-double(asHalf(a)) * asHalf(b));
    if ((c & 0x7c00) == 0x7c00)
      continue;
    auto rounding = Rounding(n & 3);
    Setting setting = {.rounding = rounding};
    Quad x = asHalf(a), y = asHalf(b), z = asHalf(c);
    struct {
      const char *op;
      std::vector<uint64_t> sources;
      Quad exact;
    } const kOperations[] = {{"V_ADD_F16", {a, b}, x + y},
                             {"V_MUL_F16", {a, b}, x * y},
                             {"V_FMA_F16", {a, b, c}, x * y + z}};
    for (const auto &operation : kOperations) {
      uint64_t result = run(operation.op, operation.sources, setting);
      if (operation.exact == 0) // its sign is a matter of operands and mode
        EXPECT_EQ(result & 0x7fff, 0u);
      else
        ASSERT_EQ(result, roundedHalf(operation.exact, rounding))
            << operation.op << std::hex << " " << a << " " << b << " " << c << " mode "
            << int(rounding);
    }
  }
}

TEST(VectorAluFloat, ConversionToHalfFollowsTheMode) {
  std::mt19937 random(3);
  for (unsigned n = 0; n < 40000; ++n) {
    // Exponents around f16's range, fractions that are ties, near ties and arbitrary.
    uint32_t exponent = 127 - 30 + random() % 50, fraction = random() & 0x7fffff;
    if (n & 1)
      fraction = (fraction & ~0x1fffu) | (0x1000 + n % 3 - 1);
    uint32_t single = (random() & 1) << 31 | exponent << 23 | fraction;
    auto rounding = Rounding(n >> 1 & 3);
    uint64_t half = run("V_CVT_F16_F32", {single}, {.rounding = rounding});
    ASSERT_EQ(half, roundedHalf(asFloat(single), rounding)) << asFloat(single);
    uint64_t truncated = run("V_CVT_PKRTZ_F16_F32", {single, f(0)}, {.rounding = rounding});
    ASSERT_EQ(truncated, roundedHalf(asFloat(single), kTowardZero)) << asFloat(single);
  }
}

} // namespace rubia::emulator::test
