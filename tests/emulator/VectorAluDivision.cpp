// SPDX-License-Identifier: Apache-2.0
// The steps of division one by one, and put together in LLVM's sequence, whose quotients must be
// those of IEEE 754.
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>
#include <random>

namespace rubia::emulator::test {

static Setting scaled(bool out) { return {.carryOut = out}; }
static const Setting kScaledIn = {.carryIn = true};

std::vector<Case> divisionCases() {
  return {
      // Sources: the value to scale, denominator, numerator.
      {"V_DIV_SCALE_F32", {f(3), f(3), f(2)}, f(3), scaled(false)},
      {"V_DIV_SCALE_F32", {f(2), f(3), f(2)}, f(2), scaled(false)},
      {"V_DIV_SCALE_F32", {f(3), f(0), f(3)}, kNanF, scaled(false)},
      {"V_DIV_SCALE_F32", {f(3), f(3), f(0)}, kNanF, scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p-60f), f(0x1p-60f), f(0x1p60f)}, f(0x1p4f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p60f), f(0x1p-60f), f(0x1p60f)}, f(0x1p60f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p-140f), f(0x1p-140f), f(0x1p-100f)}, f(0x1p-76f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p-100f), f(0x1p-140f), f(0x1p-100f)}, f(0x1p-36f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p127f), f(0x1p127f), f(1)}, f(0x1p63f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(1), f(0x1p127f), f(1)}, f(1), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p127f), f(0x1p127f), f(0x1p20f)}, f(0x1p63f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p20f), f(0x1p127f), f(0x1p20f)}, f(0x1p-44f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p-90f), f(0x1p40f), f(0x1p-90f)}, f(0x1p-26f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p40f), f(0x1p40f), f(0x1p-90f)}, f(0x1p40f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p-110f), f(2), f(0x1p-110f)}, f(0x1p-46f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(2), f(2), f(0x1p-110f)}, f(0x1p65f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(0x1p127f), f(0x1p127f), f(0x1p-149f)}, f(0x1p63f), scaled(true)},
      // The smallest normal quotient, and the one below it.
      {"V_DIV_SCALE_F32", {f(3), f(3), f(0x1.8p-125f)}, f(0x1.8p65f), scaled(false)},
      {"V_DIV_SCALE_F32", {f(3), f(3), f(0x1.7ffffep-125f)}, f(3), scaled(true)},
      {"V_DIV_SCALE_F32", {f(0x1p-140f), f(2), f(0x1p-140f)}, f(0x1p-76f), scaled(true)},
      {"V_DIV_SCALE_F32", {f(2), f(kInf), f(2)}, f(2), scaled(true)},
      {"V_DIV_SCALE_F64", {d(3), d(3), d(2)}, d(3), scaled(false)},
      {"V_DIV_SCALE_F64", {d(0x1p1023), d(0x1p1023), d(0x1p-1074)}, d(0x1p895), scaled(true)},
      {"V_DIV_SCALE_F64", {d(3), d(3), d(0x1.8p-1021)}, d(0x1.8p129), scaled(false)},
      {"V_DIV_SCALE_F64", {d(3), d(3), d(0x1.7ffffffffffffp-1021)}, d(3), scaled(true)},
      {"V_DIV_SCALE_F64", {d(3), d(0), d(2)}, kNanD, scaled(false)},
      {"V_DIV_SCALE_F64", {d(0x1p-500), d(0x1p-500), d(0x1p500)}, d(0x1p-372), scaled(true)},
      {"V_DIV_SCALE_F64", {d(0x1p1023), d(0x1p1023), d(1)}, d(0x1p895), scaled(true)},
      {"V_DIV_SCALE_F64", {d(0x1p-800), d(0x1p500), d(0x1p-800)}, d(0x1p-672), scaled(true)},
      // RDNA3: zeros, and tiny numerators, set the mask.
      {"V_DIV_SCALE_F32_RDNA3", {f(3), f(0), f(3)}, kNanF, scaled(true)},
      {"V_DIV_SCALE_F32_RDNA3", {f(3), f(3), f(0)}, kNanF, scaled(true)},
      {"V_DIV_SCALE_F32_RDNA3", {f(2), f(3), f(2)}, f(2), scaled(false)},
      {"V_DIV_SCALE_F32_RDNA3", {f(0x1p-110f), f(2), f(0x1p-110f)}, f(0x1p-46f), scaled(true)},
      {"V_DIV_SCALE_F32_RDNA3", {f(2), f(2), f(0x1p-110f)}, f(2), scaled(true)},
      {"V_DIV_SCALE_F32_RDNA3", {f(0x1p-103f), f(2), f(0x1p-103f)}, f(0x1p-103f), scaled(false)},
      {"V_DIV_SCALE_F32_RDNA3", {f(0x1p-104f), f(2), f(0x1p-104f)}, f(0x1p-40f), scaled(true)},
      // Both are scaled where the quotient is not far below 1: it needs nothing undone.
      {"V_DIV_SCALE_F32_RDNA3",
       {f(0x1p-110f), f(0x1p-100f), f(0x1p-110f)},
       f(0x1p-46f),
       scaled(false)},
      {"V_DIV_SCALE_F32_RDNA3",
       {f(0x1p-100f), f(0x1p-100f), f(0x1p-110f)},
       f(0x1p-36f),
       scaled(false)},
      {"V_DIV_SCALE_F64_RDNA3", {d(3), d(0), d(2)}, kNanD, scaled(true)},
      {"V_DIV_SCALE_F64_RDNA3", {d(0x1p-980), d(2), d(0x1p-980)}, d(0x1p-852), scaled(true)},
      {"V_DIV_FMAS_F32_RDNA3", {f(0), f(0), f(1.5f)}, f(0x1.8p-64f), kScaledIn},
      {"V_DIV_FMAS_F32_RDNA3", {f(0), f(0), f(2)}, f(0x1p65f), kScaledIn},
      {"V_DIV_FMAS_F32", {f(0), f(0), f(1.5f)}, f(0x1.8p64f), kScaledIn},
      {"V_DIV_FMAS_F64_RDNA3", {d(0), d(0), d(1.5)}, d(0x1.8p-128), kScaledIn},
      {"V_DIV_FMAS_F64_RDNA3", {d(0), d(0), d(2)}, d(0x1p129), kScaledIn},
      {"V_DIV_FMAS_F32", {f(2), f(3), f(4)}, f(10)},
      {"V_DIV_FMAS_F32", {f(2), f(3), f(4)}, f(0x1.4p67f), kScaledIn},
      {"V_DIV_FMAS_F32", {f(0), f(0), f(0x1p-60f)}, f(0x1p-124f), kScaledIn},
      // 1.5 units of the smallest denormal, and a little less: one rounding sees the difference.
      {"V_DIV_FMAS_F32", {f(0), f(0), f(0x1.8p-85f)}, f(0x1p-148f), kScaledIn},
      {"V_DIV_FMAS_F32", {f(-0x1p-120f), f(1), f(0x1.8p-85f)}, f(0x1p-149f), kScaledIn},
      {"V_DIV_FMAS_F64", {d(2), d(3), d(4)}, d(10)},
      {"V_DIV_FMAS_F64", {d(2), d(3), d(4)}, d(0x1.4p131), kScaledIn},
      {"V_DIV_FMAS_F64", {d(0), d(0), d(0x1.8p-946)}, d(0x1p-1073), kScaledIn},
      {"V_DIV_FMAS_F64", {d(-0x1p-1000), d(0x1p-20), d(0x1.8p-946)}, d(0x1p-1074), kScaledIn},
      // Sources: quotient, denominator, numerator.
      {"V_DIV_FIXUP_F32", {f(2), f(-3), f(6)}, f(-2)},
      {"V_DIV_FIXUP_F32", {f(-2), f(3), f(6)}, f(2)},
      {"V_DIV_FIXUP_F32", {f(2), f(3), kSnanF}, kSnanF | 0x400000},
      {"V_DIV_FIXUP_F32", {f(2), kSnanF, f(1)}, kSnanF | 0x400000},
      {"V_DIV_FIXUP_F32", {f(2), f(0), f(0)}, 0xffc00000},
      {"V_DIV_FIXUP_F32", {f(2), f(kInf), f(-kInf)}, 0xffc00000},
      {"V_DIV_FIXUP_F32", {f(2), f(-0.0f), f(1)}, f(-kInf)},
      {"V_DIV_FIXUP_F32", {f(2), f(2), f(kInf)}, f(kInf)},
      {"V_DIV_FIXUP_F32", {f(2), f(-kInf), f(3)}, f(-0.0f)},
      {"V_DIV_FIXUP_F32", {f(2), f(3), f(-0.0f)}, f(-0.0f)},
      {"V_DIV_FIXUP_F32", {f(2), f(0x1p100f), f(0x1p-100f)}, f(0)},
      {"V_DIV_FIXUP_F32", {f(2), f(0x1p100f), f(0x1p-100f)}, f(0x1p-149f), kUp},
      {"V_DIV_FIXUP_F32", {f(kInf), f(-0x1p-100f), f(0x1p100f)}, f(-kInf)},
      {"V_DIV_FIXUP_F32", {kNanF, f(0x1p-100f), f(0x1p100f)}, f(0x1.fffffep127f), kZero},
      {"V_DIV_FIXUP_F64", {d(2), d(-3), d(6)}, d(-2)},
      {"V_DIV_FIXUP_F64", {d(2), d(0), d(0)}, 0xfff8000000000000},
      {"V_DIV_FIXUP_F64", {d(2), d(0), d(-1)}, d(-kInfD)},
      {"V_DIV_FIXUP_F64", {kNanD, d(0x1p-1000), d(0x1p1000)}, d(kInfD)},
      {"V_DIV_FIXUP_F64", {d(2), d(0x1p1000), d(0x1p-1000)}, d(0)},
      {"V_DIV_FIXUP_F16", {h(2), h(-3), h(6)}, h(-2)},
      {"V_DIV_FIXUP_F16", {h(2), h(0), h(0)}, 0xfe00},
      {"V_DIV_FIXUP_F16", {h(2), h(-0.0f), h(1)}, h(-kInf)},
      {"V_DIV_FIXUP_F16", {kNanH, h(kInf), h(1)}, h(0)},
      {"V_DIV_FIXUP_F16", {kNanH, h(1), kSnanH}, kSnanH | 0x200},
  };
}

TEST(VectorAluDivision, Cases) { check(divisionCases()); }

/// The sequence that LLVM emits for a correctly rounded division (AMDGPU's LowerFDIV32,
/// LowerFDIV64).
static uint64_t dividedSingle(const std::string &target, uint64_t n, uint64_t d) {
  auto fma = [](uint64_t a, uint64_t b, uint64_t c) { return run("V_FMA_F32", {a, b, c}); };
  auto negated = [](uint64_t a) { return a ^ 0x80000000; };
  uint64_t denominator = run("V_DIV_SCALE_F32" + target, {d, d, n});
  Outcome numerator = execute(row("V_DIV_SCALE_F32" + target), {n, d, n}, {});
  uint64_t reciprocal = run("V_RCP_F32", {denominator});
  uint64_t error = fma(negated(denominator), reciprocal, f(1));
  uint64_t better = fma(error, reciprocal, reciprocal);
  uint64_t quotient = run("V_MUL_F32", {numerator.result, better});
  uint64_t rest = fma(negated(denominator), quotient, numerator.result);
  quotient = fma(rest, better, quotient);
  rest = fma(negated(denominator), quotient, numerator.result);
  uint64_t result =
      run("V_DIV_FMAS_F32" + target, {rest, better, quotient}, {.carryIn = numerator.carry});
  return run("V_DIV_FIXUP_F32", {result, d, n});
}

static uint64_t dividedDouble(const std::string &target, uint64_t n, uint64_t d) {
  auto fma = [](uint64_t a, uint64_t b, uint64_t c) { return run("V_FMA_F64", {a, b, c}); };
  auto negated = [](uint64_t a) { return a ^ (uint64_t(1) << 63); };
  uint64_t one = test::d(1);
  uint64_t denominator = run("V_DIV_SCALE_F64" + target, {d, d, n});
  uint64_t reciprocal = run("V_RCP_F64", {denominator});
  uint64_t error = fma(negated(denominator), reciprocal, one);
  uint64_t better = fma(reciprocal, error, reciprocal);
  error = fma(negated(denominator), better, one);
  Outcome numerator = execute(row("V_DIV_SCALE_F64" + target), {n, d, n}, {});
  better = fma(better, error, better);
  uint64_t quotient = run("V_MUL_F64", {numerator.result, better});
  uint64_t rest = fma(negated(denominator), quotient, numerator.result);
  uint64_t result =
      run("V_DIV_FMAS_F64" + target, {rest, better, quotient}, {.carryIn = numerator.carry});
  return run("V_DIV_FIXUP_F64", {result, d, n});
}

TEST(VectorAluDivision, SequenceForSingleIsExact) {
  std::vector<float> edges = {0,
                              -0.0f,
                              1,
                              3,
                              -7,
                              0x1p-149f,
                              0x1.8p-148f,
                              0x1p-126f,
                              0x1.fffffep-127f,
                              0x1.fffffep127f,
                              0x1p127f,
                              -0x1p126f,
                              0x1.000002p126f,
                              0x1p96f,
                              0x1p-96f,
                              0x1p63f,
                              0x1p-64f,
                              0x1p-103f,
                              0x1p-104f,
                              kInf,
                              -kInf,
                              0x1.234568p-20f,
                              0x1.fffffep20f};
  auto expect = [](float n, float d) {
    volatile float runtime = n;
    float quotient = runtime / d;
    for (const char *target : {"", "_RDNA3"}) {
      uint64_t result = dividedSingle(target, f(n), f(d));
      if (quotient != quotient)
        ASSERT_TRUE(std::isnan(asFloat(result))) << n << " / " << d << target;
      else
        ASSERT_EQ(result, f(quotient)) << std::hexfloat << n << " / " << d << target;
    }
  };
  for (float n : edges)
    for (float d : edges)
      expect(n, d);
  std::mt19937 random(4);
  for (unsigned k = 0; k < 20000; ++k)
    expect(asFloat(random()), asFloat(random()));
  for (unsigned k = 0; k < 20000; ++k) // tiny numerators
    expect(asFloat(random() % (24u << 23)), asFloat(random() % 0x7f800000));
}

TEST(VectorAluDivision, SequenceForDoubleIsExact) {
  std::vector<double> edges = {0,
                               1,
                               -3,
                               0x1p-1074,
                               0x1.8p-1073,
                               0x1p-1022,
                               0x1.fffffffffffffp1023,
                               0x1p1023,
                               0x1.0000000000001p1022,
                               0x1p768,
                               -0x1p-768,
                               0x1p127,
                               0x1p-969,
                               0x1p-970,
                               kInfD,
                               0x1.23456789abcdep-50};
  auto expect = [](double n, double d) {
    volatile double runtime = n;
    double quotient = runtime / d;
    for (const char *target : {"", "_RDNA3"}) {
      uint64_t result = dividedDouble(target, test::d(n), test::d(d));
      if (quotient != quotient)
        ASSERT_TRUE(std::isnan(asDouble(result))) << n << " / " << d << target;
      else
        ASSERT_EQ(result, test::d(quotient)) << std::hexfloat << n << " / " << d << target;
    }
  };
  for (double n : edges)
    for (double d : edges)
      expect(n, d);
  std::mt19937_64 random(5);
  for (unsigned k = 0; k < 20000; ++k)
    expect(asDouble(random()), asDouble(random()));
  for (unsigned k = 0; k < 20000; ++k)
    expect(asDouble(random() % (uint64_t(54) << 52)), asDouble(random() % 0x7ff0000000000000));
}

} // namespace rubia::emulator::test
