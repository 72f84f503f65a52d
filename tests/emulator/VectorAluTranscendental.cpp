// SPDX-License-Identifier: Apache-2.0
// The transcendental unit: special cases, flushed denormals, and correct rounding against x87's
// long double, which has 11 and more bits to spare over f32.
#include "emulator/lib/vector/Transcendental.h"
#include "tests/emulator/VectorAluAssembly.h"
#include "tests/emulator/VectorAluCase.h"

#include <gtest/gtest.h>
#include <numbers>
#include <random>

namespace rubia::emulator::test {

std::vector<Case> transcendentalCases() {
  std::vector<Case> cases = {
      {"V_SQRT_F32", {f(2)}, f(std::sqrt(2.0f))},
      {"V_SQRT_F32", {f(-0.0f)}, f(-0.0f)},
      {"V_SQRT_F32", {f(0x1p-140f)}, f(0)},
      {"V_SQRT_F32", {f(kInf)}, f(kInf)},
      {"V_RSQ_F32", {f(4)}, f(0.5f)},
      {"V_RSQ_F32", {f(0x1p-140f)}, f(kInf)},
      {"V_RSQ_F32", {f(-0x1p-140f)}, f(-kInf)},
      {"V_RSQ_F32", {f(kInf)}, f(0)},
      {"V_SIN_F32", {f(0.25f)}, f(1)},
      {"V_SIN_F32", {f(-0.25f)}, f(-1)},
      {"V_SIN_F32", {f(0.5f)}, f(0)},
      {"V_SIN_F32", {f(-0.0f)}, f(-0.0f)},
      {"V_SIN_F32", {f(0x1p-140f)}, f(0)},
      {"V_SIN_F32", {f(100.25f)}, f(1)},
      {"V_SIN_F32", {f(256.25f)}, f(0)},
      {"V_SIN_F32", {f(-0x1.fffffep127f)}, f(0)},
      {"V_COS_F32", {f(0)}, f(1)},
      {"V_COS_F32", {f(0.25f)}, f(0)},
      {"V_COS_F32", {f(0.5f)}, f(-1)},
      {"V_COS_F32", {f(1000)}, f(1)},
      {"V_RCP_F16", {h(4)}, h(0.25f)},
      {"V_RCP_F16", {h(0x1p-24f)}, h(kInf)},
      {"V_RCP_F16", {h(65504)}, hd(1 / 65504.0)},
      {"V_SQRT_F16", {h(2)}, hd(1.4142135623730951)},
      {"V_RSQ_F16", {h(0x1p-24f)}, h(4096)},
      {"V_EXP_F16", {h(-24)}, h(0x1p-24f)},
      {"V_EXP_F16", {h(16)}, h(kInf)},
      {"V_LOG_F16", {h(0x1p-24f)}, h(-24)},
      {"V_LOG_F16", {h(0)}, h(-kInf)},
      {"V_SIN_F16", {h(0.75f)}, h(-1)},
      {"V_COS_F16", {h(0.5f)}, h(-1)},
      {"V_RCP_F64", {d(3)}, d(1.0 / 3)},
      {"V_RCP_F64", {d(0x1p-1074)}, d(kInfD)},
      {"V_RCP_F64", {d(-0.0)}, d(-kInfD)},
      {"V_SQRT_F64", {d(2)}, d(std::sqrt(2.0))},
      {"V_SQRT_F64", {d(0x1p-1074)}, d(0x1p-537)},
      {"V_RSQ_F64", {d(0x1p-1074)}, d(0x1p537)},
      {"V_RSQ_F64", {d(0)}, d(kInfD)},
      {"V_TRIG_PREOP_F64", {d(1), 0}, d(0x1.45f306dc9c882p-1)},
      {"V_TRIG_PREOP_F64", {d(0x1p1000), 31}, d(0)},
  };
  for (const char *op : {"V_RCP_F32", "V_RCP_IFLAG_F32"}) {
    cases.push_back({op, {f(3)}, f(1.0f / 3)});
    cases.push_back({op, {f(0)}, f(kInf)});
    cases.push_back({op, {f(-0x1p-127f)}, f(-kInf)});
    cases.push_back({op, {f(-0x1.8p126f)}, f(-0.0f)});
    cases.push_back({op, {f(0x1p126f)}, f(0x1p-126f)});
    cases.push_back({op, {f(-kInf)}, f(-0.0f)});
  }
  for (const char *op : {"V_EXP_F32", "V_EXP_LEGACY_F32"}) {
    cases.push_back({op, {f(10)}, f(1024)});
    cases.push_back({op, {f(128)}, f(kInf)});
    cases.push_back({op, {f(-126)}, f(0x1p-126f)});
    cases.push_back({op, {f(-126.5f)}, f(0)});
    cases.push_back({op, {f(-kInf)}, f(0)});
    cases.push_back({op, {f(0x1p-140f)}, f(1)});
  }
  for (const char *op : {"V_LOG_F32", "V_LOG_LEGACY_F32"}) {
    cases.push_back({op, {f(0.125f)}, f(-3)});
    cases.push_back({op, {f(0)}, f(-kInf)});
    cases.push_back({op, {f(0x1p-140f)}, f(-kInf)});
    cases.push_back({op, {f(kInf)}, f(kInf)});
    cases.push_back({op, {f(1)}, f(0)});
  }
  // V_S_* are the same functions.
  for (size_t n = 0, count = cases.size(); n < count; ++n)
    for (const char *name : {"RCP", "SQRT", "RSQ", "EXP", "LOG"})
      for (const char *type : {"_F32", "_F16"})
        if (cases[n].op == std::string("V_") + name + type) {
          Case scalar = cases[n];
          scalar.op = std::string("V_S_") + name + type;
          cases.push_back(scalar);
        }
  return cases;
}

TEST(VectorAluTranscendental, Cases) { check(transcendentalCases()); }

TEST(VectorAluTranscendental, OutsideTheDomainIsNan) {
  for (const char *op : {"V_SQRT_F32", "V_RSQ_F32", "V_LOG_F32"})
    EXPECT_TRUE(std::isnan(asFloat(run(op, {f(-1)})))) << op;
  for (const char *op : {"V_SIN_F32", "V_COS_F32", "V_RCP_F32", "V_EXP_F32"})
    EXPECT_TRUE(std::isnan(asFloat(run(op, {kNanF})))) << op;
  EXPECT_TRUE(std::isnan(asFloat(run("V_SIN_F32", {f(kInf)}))));
  EXPECT_TRUE(std::isnan(asHalf(run("V_COS_F16", {h(-kInf)}))));
}

TEST(VectorAluTranscendental, SingleIsCorrectlyRounded) {
  constexpr long double kTurn = 2 * std::numbers::pi_v<long double>;
  std::mt19937 random(6);
  for (unsigned n = 0; n < 200000; ++n) {
    float positive = asFloat(0x00800000 + random() % 0x7f000000);
    ASSERT_EQ(log2Rounded(positive), float(std::log2((long double)positive))) << positive;
    ASSERT_EQ(reciprocalSqrtRounded(positive), float(1 / std::sqrt((long double)positive)))
        << positive;
    float power = (float(random()) / 0x1p32f - 0.5f) * 300;
    ASSERT_EQ(exp2Rounded(power), float(std::exp2((long double)power))) << power;
    // The angle's rounding to 64 bits is 2^-64 of it, below what float's rounding sees.
    float turns = (float(random()) / 0x1p32f - 0.5f) * 0.25f;
    ASSERT_EQ(sinTurnsRounded(turns), float(std::sin(turns * kTurn))) << turns;
    ASSERT_EQ(cosTurnsRounded(turns), float(std::cos(turns * kTurn))) << turns;
  }
}

// The kernels decide most lanes by an approximation, all at once.
TEST(VectorAluTranscendental, LanesTogetherAreAsEachByItself) {
  std::mt19937 random(8);
  const std::pair<const char *, float (*)(float)> kFunctions[] = {
      {"V_RSQ_F32", reciprocalSqrtRounded},
      {"V_EXP_F32", exp2Rounded},
      {"V_LOG_F32", log2Rounded},
      {"V_SIN_F32", sinTurnsRounded},
      {"V_COS_F32", cosTurnsRounded}};
  auto flushed = [](float x) { return std::fabs(x) < 0x1p-126f ? std::copysign(0.0f, x) : x; };
  LaneState state;
  for (const auto &[op, function] : kFunctions)
    for (unsigned n = 0; n < 2000; ++n) {
      uint32_t source[kBlockLanes], result[kBlockLanes];
      for (uint32_t &bits : source)
        bits = n % 2 ? uint32_t(random()) : uint32_t(f((float(random()) / 0x1p32f - 0.5f) * 300));
      kernelOf(op)(result, source, source, source, state);
      for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
        const float want = flushed(function(flushed(asFloat(source[lane]))));
        ASSERT_EQ(std::isnan(asFloat(result[lane])), std::isnan(want)) << op << " " << source[lane];
        if (!std::isnan(want)) {
          ASSERT_EQ(result[lane], f(want)) << op << " " << source[lane];
        }
      }
    }
  for (unsigned n = 0; n < 4000; ++n) {
    uint32_t source[2 * kBlockLanes], result[2 * kBlockLanes];
    for (uint32_t &bits : source)
      bits = uint32_t(random());
    kernelOf("V_RSQ_F64")(result, source, source, source, state);
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      const double x = asDouble(pair32(source[lane], source[lane + kBlockLanes]));
      const double want = double(1 / std::sqrt((long double)x));
      if (x > 0) {
        ASSERT_EQ(asDouble(pair32(result[lane], result[lane + kBlockLanes])), want) << x;
      }
    }
  }
}

TEST(VectorAluTranscendental, SineIsPeriodic) {
  for (int n = -1024; n <= 1024; ++n) {
    float x = float(n) / 1024;
    for (float period : {1.0f, -3.0f, 200.0f}) {
      ASSERT_EQ(sinTurnsRounded(x + period) + 0.0f, sinTurnsRounded(x) + 0.0f) << x;
      ASSERT_EQ(cosTurnsRounded(x + period), cosTurnsRounded(x)) << x;
    }
    ASSERT_EQ(sinTurnsRounded(x + 0.25f) + 0.0f, cosTurnsRounded(x) + 0.0f) << x;
    ASSERT_EQ(sinTurnsRounded(-x), -sinTurnsRounded(x)) << x;
  }
}

TEST(VectorAluTranscendental, EveryHalfIsCorrectlyRounded) {
  constexpr long double kTurn = 2 * std::numbers::pi_v<long double>;
  auto expected = [](long double exact) {
    // Through a float that is rounded to odd, so that the result is rounded once.
    float single = float(exact);
    uint32_t bits = std::bit_cast<uint32_t>(single);
    if ((long double)single != exact && std::isfinite(single) && !(bits & 1))
      bits += std::fabs(exact) > std::fabs((long double)single) ? 1 : -1;
    return h(asFloat(bits));
  };
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float x = asHalf(bits);
    if (x != x)
      continue;
    ASSERT_EQ(run("V_EXP_F16", {bits}), expected(std::exp2((long double)x))) << x;
    ASSERT_EQ(run("V_RCP_F16", {bits}), expected(1.0l / x)) << x;
    if (x > 0) {
      ASSERT_EQ(run("V_LOG_F16", {bits}), expected(std::log2((long double)x))) << x;
      ASSERT_EQ(run("V_RSQ_F16", {bits}), expected(1.0l / std::sqrt((long double)x))) << x;
      ASSERT_EQ(run("V_SQRT_F16", {bits}), expected(std::sqrt((long double)x))) << x;
    }
    if (std::fabs(x) <= 0.125f) {
      ASSERT_EQ(run("V_SIN_F16", {bits}), expected(std::sin(x * kTurn))) << x;
      ASSERT_EQ(run("V_COS_F16", {bits}), expected(std::cos(x * kTurn))) << x;
    }
  }
}

/// Fixed-point numbers of 1344 bits after the point and 64 before it, for Machin's formula.
namespace {
class Fixed {
public:
  static constexpr unsigned kWords = 22; // the first one is the whole part
  uint64_t words[kWords] = {};

  explicit Fixed(uint64_t whole = 0) { words[0] = whole; }
  bool isZero() const {
    for (uint64_t word : words)
      if (word)
        return false;
    return true;
  }
  void divide(uint64_t divisor) {
    unsigned __int128 rest = 0;
    for (uint64_t &word : words) {
      rest = rest << 64 | word;
      word = uint64_t(rest / divisor);
      rest %= divisor;
    }
  }
  void multiply(uint64_t factor) {
    unsigned __int128 carry = 0;
    for (unsigned i = kWords; i-- > 0;) {
      carry += (unsigned __int128)words[i] * factor;
      words[i] = uint64_t(carry);
      carry >>= 64;
    }
  }
  void add(const Fixed &other, bool subtract) {
    unsigned carry = subtract;
    for (unsigned i = kWords; i-- > 0;) {
      unsigned __int128 sum =
          (unsigned __int128)words[i] + (subtract ? ~other.words[i] : other.words[i]) + carry;
      words[i] = uint64_t(sum);
      carry = unsigned(sum >> 64);
    }
  }
  static Fixed arctangentOfInverse(uint64_t n) {
    Fixed term(1), sum;
    term.divide(n);
    for (uint64_t k = 1; !term.isZero(); k += 2) {
      Fixed part = term;
      part.divide(k);
      sum.add(part, k & 2);
      term.divide(n * n);
    }
    return sum;
  }
};
} // namespace

TEST(VectorAluTranscendental, TwoOverPiIsExact) {
  // pi = 16 arctan(1/5) - 4 arctan(1/239)
  Fixed pi = Fixed::arctangentOfInverse(5), other = Fixed::arctangentOfInverse(239);
  pi.multiply(16);
  other.multiply(4);
  pi.add(other, true);
  // The constant q of 1201 bits is right if pi * q <= 2 < pi * (q + 2^-1201). The product is summed
  // over the bits of q.
  auto product = [&](bool next) {
    Fixed sum, shifted = pi;
    for (unsigned bit = 0; bit < 1201; ++bit) {
      shifted.divide(2);
      bool one = twoOverPiBits(bit) >> 52 & 1;
      if (one)
        sum.add(shifted, false);
    }
    if (next)
      sum.add(shifted, false);
    return sum;
  };
  EXPECT_EQ(product(false).words[0], 1u); // below 2: 2/pi is irrational
  EXPECT_EQ(product(true).words[0], 2u);
  for (unsigned bit = 1201; bit < 1400; ++bit)
    EXPECT_EQ(twoOverPiBits(bit), 0u);
}

TEST(VectorAluTranscendental, TrigPreopSegmentsSumToTwoOverPi) {
  double sum = 0;
  for (uint64_t segment = 3; segment-- > 0;)
    sum += asDouble(run("V_TRIG_PREOP_F64", {d(1), segment}));
  EXPECT_EQ(sum, 2 / std::numbers::pi);
  // Large arguments start further down: 2^100 has exponent field 1123, 46 above 1077.
  double first = asDouble(run("V_TRIG_PREOP_F64", {d(0x1p100), 0}));
  double expected = std::ldexp(double(twoOverPiBits(46)), -53 - 46);
  EXPECT_EQ(first, expected);
  // From exponent field 1968 on the result is scaled up by 2^128.
  double huge = asDouble(run("V_TRIG_PREOP_F64", {d(0x1p1000), 0}));
  EXPECT_EQ(huge, std::ldexp(double(twoOverPiBits(946)), -53 - 946 + 128));
}

TEST(VectorAluTranscendental, WorstResultsDifferWithinTheBound) {
  for (const char *op : {"v_rcp_f32", "v_sqrt_f32", "v_rsq_f32", "v_exp_f32", "v_log_f32",
                         "v_sin_f32", "v_cos_f32"}) {
    SCOPED_TRACE(op);
    AssemblyWave exact("gfx90a"), worst("gfx90a");
    worst.perturb = true;
    unsigned moved = 0;
    for (unsigned round = 0; round < 16; ++round) {
      for (unsigned lane = 0; lane < 64; ++lane)
        exact.v(1, lane) = worst.v(1, lane) =
            uint32_t(f(0.37f + 0.01f * float(lane) + 0.7f * float(round)));
      const std::string text = std::string(op) + " v0, v1";
      exact.run(text);
      worst.run(text);
      for (unsigned lane = 0; lane < 64; ++lane) {
        const int64_t ulps = int64_t(worst.v(0, lane)) - int64_t(exact.v(0, lane));
        EXPECT_LE(std::abs(ulps), 1);
        moved += ulps != 0;
      }
      worst.run(std::string(op) + " v2, v1");
      for (unsigned lane = 0; lane < 64; ++lane)
        EXPECT_EQ(worst.v(2, lane), worst.v(0, lane));
    }
    EXPECT_GT(moved, 400u); // of 1024
    EXPECT_LT(moved, 900u);
  }
}

TEST(VectorAluTranscendental, WorstDoublesAreWideApproximations) {
  AssemblyWave exact("gfx1100"), worst("gfx1100");
  worst.perturb = true;
  uint64_t largest = 0;
  for (AssemblyWave *w : {&exact, &worst}) {
    for (unsigned lane = 0; lane < 32; ++lane) {
      w->v(2, lane) = uint32_t(d(1.1 + lane));
      w->v(3, lane) = uint32_t(d(1.1 + lane) >> 32);
    }
    w->run("v_rcp_f64 v[0:1], v[2:3]");
  }
  for (unsigned lane = 0; lane < 32; ++lane) {
    const int64_t ulps = int64_t(pair32(worst.v(0, lane), worst.v(1, lane)) -
                                 pair32(exact.v(0, lane), exact.v(1, lane)));
    largest = std::max(largest, uint64_t(std::abs(ulps)));
  }
  EXPECT_LE(largest, uint64_t(1) << 29);
  EXPECT_GT(largest, uint64_t(1) << 24);
}

// The manuals' examples and what is no number of its own.
TEST(VectorAluTranscendental, WorstResultsKeepPowersOfTwo) {
  AssemblyWave w("gfx1201");
  w.perturb = true;
  const std::pair<const char *, float> kExact[] = {
      {"v_rcp_f32 v0, -2.0", -0.5f}, {"v_sqrt_f32 v0, 4.0", 2}, {"v_exp_f32 v0, 0", 1},
      {"v_log_f32 v0, 1.0", 0},      {"v_rcp_f32 v0, 0", kInf}, {"v_log_f32 v0, 0", -kInf},
      {"v_rsq_f32 v0, 4.0", 0.5f},   {"v_exp_f32 v0, 4.0", 16}};
  for (const auto &[text, want] : kExact)
    EXPECT_EQ(w.run(text).v(0, 0), f(want)) << text;
}

TEST(VectorAluTranscendental, RowsTellHowExactTheyAre) {
  EXPECT_EQ(exactnessOf("V_EXP_F32"), Exactness::WithinUlp);
  EXPECT_EQ(exactnessOf("V_S_LOG_F16"), Exactness::WithinUlp);
  EXPECT_EQ(exactnessOf("V_RSQ_F64"), Exactness::Approximation);
  for (const char *op : {"V_ADD_F32", "V_FMA_F64", "V_DIV_FIXUP_F32", "V_TRIG_PREOP_F64"})
    EXPECT_EQ(exactnessOf(op), Exactness::Exact) << op;
}

} // namespace rubia::emulator::test
