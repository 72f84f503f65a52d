// SPDX-License-Identifier: Apache-2.0
// Reciprocals, roots, powers, logarithms, sines: the instructions of the transcendental unit.
//
// The f32 ones flush denormal sources and results whatever MODE says (LLVM scales around them); the
// f16 and f64 ones follow MODE. v_rcp and v_sqrt are rounded in MODE's direction, the others to
// nearest (assumed: neither is documented, and f64 results are only approximate on hardware).
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/Transcendental.h"
#include "emulator/lib/vector/VectorAluFloat.h"
#include <numbers>

namespace rubia::emulator::RUBIA_ISA {
namespace {

float reciprocal(float value) { return flushed(1.0f / flushed(value)); }

// 2/pi from bit 53 * segment on, further down for large arguments (RDNA3 ISA V_TRIG_PREOP_F64).
double reductionSegment(double value, uint32_t segment) {
  int exponent = int(magnitudeOf(value) >> 52);
  int position = int(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  int scale = -53 - position + (exponent >= 1968 ? 128 : 0);
  // 53 bits: signed, since compilers make -0 of an unsigned 0 when rounding down.
  return __builtin_scalbn(double(int64_t(twoOverPiBits(unsigned(position)))), scale);
}

// Approximations within 2^-51, so that all lanes are computed at once. Where that does not decide
// how the float is rounded, and for what has no such value, the functions of Transcendental.h are
// asked.

struct Factorials {
  double at[20] = {1};
  constexpr Factorials() {
    for (int k = 1; k < 20; ++k)
      at[k] = k * at[k - 1];
  }
};
constexpr Factorials kFactorials;

// A float, whose error e = 1 - x y^2 is exact but for its last bits, and two terms of the series of
// y (1 - e)^(-1/2): a fraction of the time of square root and division in double.
double approximateReciprocalRoot(float x) {
  const double y = double(1 / std::sqrt(x)), e = std::fma(-(double(x) * y), y, 1.0);
  const double corrected = std::fma(y * e, std::fma(e, 0.375, 0.5), y);
  return y > 0 && y < std::numeric_limits<double>::infinity() ? corrected : y;
}

// A sum of it and a whole number has that in its lowest bits. NaNs cannot be converted.
constexpr double kInteger = 0x1.8p52;

// sin(2 pi x), cos(2 pi x) for |x| <= 256: the nearest quarter turn, and the series of both for the
// rest, within an eighth of a turn. A zero of either sign is left to the exact function.
template <unsigned kQuarters> double approximateTurns(double x) {
  const double turn = x - __builtin_roundeven(x), quarter = __builtin_roundeven(turn * 4);
  const double angle = (turn - quarter * 0.25) * (2 * std::numbers::pi), square = angle * angle;
  double sine = 0, cosine = 0;
  for (int k = 19; k > 0; k -= 2) {
    const double sign = k % 4 == 1 ? 1 : -1;
    sine = std::fma(sine, square, sign / kFactorials.at[k]);
    cosine = std::fma(cosine, square, sign / kFactorials.at[k - 1]);
  }
  const uint64_t quadrant = bitsOf(quarter + kInteger) + kQuarters;
  const double chosen = quadrant & 1 ? cosine : sine * angle;
  const double result = quadrant & 2 ? -chosen : chosen;
  return result != 0 && x >= -256 && x <= 256 ? result : std::numeric_limits<double>::quiet_NaN();
}

// 2^n times the series of 2^f = e^(f ln 2), |f| <= 1/2, whose next term is below 2^-57.
double approximateExp2(double x) {
  constexpr double kLimit = 200; // beyond which a float is 0 or infinite
  x = x < -kLimit ? -kLimit : x;
  x = x > kLimit ? kLimit : x;
  const double whole = __builtin_rint(x), f = (x - whole) * std::numbers::ln2;
  double sum = 0;
  for (int k = 13; k >= 0; --k)
    sum = std::fma(sum, f, 1.0 / kFactorials.at[k]);
  const uint64_t exponent = (1023 + bitsOf(whole + kInteger)) << 52;
  return sum * std::bit_cast<double>(exponent);
}

// x = 2^e m with m about 1; log m = 2 artanh((m - 1) / (m + 1)), whose argument is below 0.172.
double approximateLog2(double x) {
  constexpr uint64_t kRootOfHalf = 0x3fe6a09e667f3bcd;
  const uint64_t above = std::bit_cast<uint64_t>(x) - kRootOfHalf;
  const int64_t exponent = int64_t(above) >> 52;
  const double m = std::bit_cast<double>((above & 0x000fffffffffffff) + kRootOfHalf);
  const double s = (m - 1) / (m + 1), square = s * s;
  double sum = 1.0 / 29;
  for (int k = 27; k > 0; k -= 2)
    sum = std::fma(sum, square, 1.0 / k);
  const double result = double(exponent) + s * sum * (2 * std::numbers::log2e);
  // Zeros, negative numbers, infinities and NaNs have no result here.
  return x > 0 && x < std::numeric_limits<double>::infinity()
             ? result
             : std::numeric_limits<double>::quiet_NaN();
}

/// A result, and whether it is rounded correctly for sure.
template <class T> struct Decided {
  T value;
  bool isSure;
};

/// Asks `Exact` for the lanes that `Decide` is not sure about.
template <class T, auto Decide, auto Exact>
void decidedLanes(uint32_t *result, const uint32_t *a, const uint32_t *, const uint32_t *,
                  LaneState &state) {
  T values[kBlockLanes];
  uint32_t unsure[kBlockLanes];
#pragma clang loop vectorize(assume_safety) vectorize_width(kLaneWidth) unroll(disable)
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const Decided<T> decided = Decide(detail::loadLane<T>(a, lane));
    values[lane] = decided.value;
    unsure[lane] = decided.isSure ? 0 : ~0u;
  }
  for (uint32_t rest = detail::packFlags(unsure) & state.active; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    values[lane] = Exact(detail::loadLane<T>(a, lane));
  }
#pragma clang loop vectorize(assume_safety) vectorize_width(kLaneWidth) unroll(disable)
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    detail::storeLane(result, lane, values[lane]);
}

template <auto Approximate, bool kFlushed> Decided<float> decideFloat(float x) {
  constexpr double kMargin = 0x1p-50;
  const double y = Approximate(flushed(x));
  const float low = float(y * (1 - kMargin)), high = float(y * (1 + kMargin));
  return {kFlushed ? flushed(high) : high, low == high};
}

/// 1 / sqrt(x) = y (1 - e)^(-1/2) with e = 1 - x y^2, of which a product of two parts gives all
/// bits that matter. Exponents at which one of the parts could be denormal are not decided here.
Decided<double> decideReciprocalRoot(double x) {
  constexpr double kMargin = 0x1p-60;
  const double y = 1 / std::sqrt(x), square = y * y, rest = std::fma(y, y, -square);
  const double e = std::fma(-x, rest, std::fma(-x, square, 1.0));
  const double correction = y * (e * 0.5);
  const double low = y + (correction - y * kMargin), high = y + (correction + y * kMargin);
  return {high, low == high && x >= 0x1p-900 && x <= 0x1p900};
}

template <auto Approximate, auto Exact, bool kFlushed = false> constexpr Operation makeRounded() {
  Operation operation = lanewise<[](float a) { return Exact(a); }>;
  operation.kernel = decidedLanes<float, decideFloat<Approximate, kFlushed>, [](float x) {
    const float exact = Exact(flushed(x));
    return kFlushed ? flushed(exact) : exact;
  }>;
  return operation;
}

float exactReciprocalRoot(float x) { return reciprocalSqrtRounded(x); }

constexpr Operation makeReciprocalRoot64() {
  Operation operation = lanewise<[](double a) { return reciprocalSqrtRounded(a); }>;
  operation.kernel =
      decidedLanes<double, decideReciprocalRoot, [](double x) { return reciprocalSqrtRounded(x); }>;
  return operation;
}

constexpr Operation kReciprocal = hot<[](float a) { return reciprocal(a); }>;
constexpr Operation kSquareRoot = hot<[](float a) { return std::sqrt(flushed(a)); }>;
constexpr Operation kReciprocalRoot = makeRounded<approximateReciprocalRoot, exactReciprocalRoot>();
constexpr Operation kExp = makeRounded<approximateExp2, exp2Rounded, true>();
constexpr Operation kLog = makeRounded<approximateLog2, log2Rounded>();
constexpr Operation kSin = makeRounded<approximateTurns<0>, sinTurnsRounded, true>();
constexpr Operation kCos = makeRounded<approximateTurns<1>, cosTurnsRounded, true>();
constexpr uint32_t kFollowsMode = kKeepDenormals | kWithinUlp;
constexpr uint32_t kSingle = kFollowsMode | kRoundNearest;

constexpr Operation kReciprocal16 = lanewise<[](Half a) { return Half(1.0f / a); }>;
constexpr Operation kSquareRoot16 = lanewise<[](Half a) { return Half(std::sqrt(float(a))); }>;
constexpr Operation kReciprocalRoot16 =
    lanewise<[](Half a) { return roundToHalf(1.0 / std::sqrt(double(float(a)))); }>;
constexpr Operation kExp16 = lanewise<[](Half a) { return roundToHalf(exp2OfHalf(a)); }>;
constexpr Operation kLog16 = lanewise<[](Half a) { return roundToHalf(log2OfHalf(a)); }>;

// V_S_*: gfx12's, on scalar registers.
constexpr Semantics kRows[] = {
    {"V_RCP_F32", kReciprocal, kFollowsMode},
    {"V_RCP_IFLAG_F32", kReciprocal, kFollowsMode},
    {"V_S_RCP_F32", kReciprocal, kFollowsMode},
    {"V_SQRT_F32", kSquareRoot, kFollowsMode},
    {"V_S_SQRT_F32", kSquareRoot, kFollowsMode},
    {"V_RSQ_F32", kReciprocalRoot, kSingle},
    {"V_S_RSQ_F32", kReciprocalRoot, kSingle},
    {"V_EXP_F32", kExp, kSingle},
    {"V_EXP_LEGACY_F32", kExp, kSingle},
    {"V_S_EXP_F32", kExp, kSingle},
    {"V_LOG_F32", kLog, kSingle},
    {"V_LOG_LEGACY_F32", kLog, kSingle},
    {"V_S_LOG_F32", kLog, kSingle},
    {"V_SIN_F32", kSin, kSingle},
    {"V_COS_F32", kCos, kSingle},

    {"V_RCP_F16", kReciprocal16, kWithinUlp | kExactInfinity},
    {"V_S_RCP_F16", kReciprocal16, kWithinUlp | kExactInfinity},
    {"V_SQRT_F16", kSquareRoot16, kWithinUlp},
    {"V_S_SQRT_F16", kSquareRoot16, kWithinUlp},
    {"V_RSQ_F16", kReciprocalRoot16, kWithinUlp | kExactInfinity},
    {"V_S_RSQ_F16", kReciprocalRoot16, kWithinUlp | kExactInfinity},
    {"V_EXP_F16", kExp16, kWithinUlp},
    {"V_S_EXP_F16", kExp16, kWithinUlp},
    {"V_LOG_F16", kLog16, kWithinUlp | kExactInfinity},
    {"V_S_LOG_F16", kLog16, kWithinUlp | kExactInfinity},
    {"V_SIN_F16", lanewise<[](Half a) { return roundToHalf(sinTurnsOfHalf(a)); }>, kWithinUlp},
    {"V_COS_F16", lanewise<[](Half a) { return roundToHalf(cosTurnsOfHalf(a)); }>, kWithinUlp},

    {"V_RCP_F64", lanewise<[](double a) { return 1.0 / a; }>, kApproximation},
    {"V_SQRT_F64", lanewise<[](double a) { return std::sqrt(a); }>, kApproximation},
    {"V_RSQ_F64", makeReciprocalRoot64(), kApproximation | kRoundNearest},
    {"V_TRIG_PREOP_F64",
     lanewise<[](double a, uint32_t segment) { return reductionSegment(a, segment); }>},
};

} // namespace

extern const SemanticsTable kVectorAluTranscendental;
const SemanticsTable kVectorAluTranscendental = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
