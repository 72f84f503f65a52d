// SPDX-License-Identifier: Apache-2.0
// gfx950's conversions with a scale, V_CVT_SCALEF32_*: f32, f16 and bf16 from and to FP8, BF8, FP6
// (E2M3), BF6 (E3M2) and FP4 (E2M1), of one value, two or 32.
//
// The scale is the power of two of an f32's exponent field, as in the E8M0 format; widening
// multiplies by it, narrowing divides (CDNA4 ISA). The scaled value is rounded once. Stochastic
// rounding of several values takes a fresh seed for each.
#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/machine/SmallFloat.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

/// value * 2^(exponent field - 127), or the reciprocal power; a NaN with the field 255.
double multiplied(double value, float scale, bool inversely) {
  const int exponent = int(std::bit_cast<uint32_t>(scale) >> 23 & 0xff);
  const double power = powerOfTwo(inversely ? 127 - exponent : exponent - 127);
  return exponent == 255 ? double(std::bit_cast<float>(0x7fc00000)) : value * power;
}

template <class T> T rounded(double value) {
  if constexpr (std::is_same_v<T, Half>)
    return roundToHalf(value);
  else
    return T(float(value));
}

template <class T, SmallFormat F> T widened(uint32_t code, float scale) {
  return rounded<T>(multiplied(decodeSmall(F, code), scale, false));
}
template <SmallFormat F, class T> uint8_t narrowed(const FloatMode &mode, T value, float scale) {
  return encodeSmall(F, multiplied(float(value), scale, true), mode.fp16Overflow);
}
template <SmallFormat F, class T>
uint8_t narrowedStochastically(const FloatMode &mode, T value, uint32_t seed, float scale) {
  return encodeSmallStochastic(F, multiplied(float(value), scale, true), seed, mode.fp16Overflow);
}

// One value, in a byte.
template <class T, SmallFormat F>
constexpr Operation kWiden =
    lanewise<[](uint8_t a, float scale) { return widened<T, F>(a, scale); }>;
template <SmallFormat F, class T>
constexpr Operation kNarrowStochastic =
    lanewise<[](const FloatMode &mode, T a, uint32_t seed, float scale) {
      return narrowedStochastically<F>(mode, a, seed, scale);
    }>;

// Two values: in a word, those of 4 bits in a byte.
template <SmallFormat F> using Two = std::conditional_t<(F.width() == 4), uint8_t, uint16_t>;

template <SmallFormat F> Two<F> joined(uint8_t low, uint8_t high) {
  return Two<F>(low | high << F.width());
}

template <class T, SmallFormat F>
constexpr Operation kWidenPair = lanewise<[](Two<F> a, float scale) {
  return Pair<T>{widened<T, F>(a, scale), widened<T, F>(uint32_t(a) >> F.width(), scale)};
}>;
template <SmallFormat F>
constexpr Operation kNarrowTwo = lanewise<[](const FloatMode &mode, float a, float b, float scale) {
  return joined<F>(narrowed<F>(mode, a, scale), narrowed<F>(mode, b, scale));
}>;
template <SmallFormat F, class T>
constexpr Operation kNarrowPair = lanewise<[](const FloatMode &mode, Pair<T> a, float scale) {
  return joined<F>(narrowed<F>(mode, a.lo, scale), narrowed<F>(mode, a.hi, scale));
}>;
template <SmallFormat F, class T>
constexpr Operation kNarrowPairStochastic =
    lanewise<[](const FloatMode &mode, Pair<T> a, uint32_t seed, float scale) {
      return joined<F>(narrowedStochastically<F>(mode, a.lo, seed, scale),
                       narrowedStochastically<F>(mode, a.hi, nextRandom(seed), scale));
    }>;

// 32 values: 6 registers of 6-bit ones, 16 or 32 registers of wider ones.
constexpr unsigned kMany = 32;

template <class T> T element(const WaveOperands &w, unsigned source, unsigned lane, unsigned i) {
  if constexpr (sizeof(T) == 4)
    return std::bit_cast<T>(w.source(source, lane, i));
  else
    return std::bit_cast<T>(uint16_t(w.source(source, lane, i / 2) >> (i % 2 * 16)));
}

template <class T, SmallFormat F> void widenMany(WaveOperands &w) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane) {
    if (!w.active(lane))
      continue;
    const float scale = std::bit_cast<float>(w.source(1, lane));
    uint32_t words[7] = {}, result[kMany] = {};
    for (unsigned i = 0; i < 6; ++i)
      words[i] = w.source(0, lane, i);
    for (unsigned i = 0; i < kMany; ++i) {
      const unsigned bit = i * F.width();
      uint64_t pair = uint64_t(words[bit / 32 + 1]) << 32 | words[bit / 32];
      const T value = widened<T, F>(uint32_t(pair >> bit % 32), scale);
      if constexpr (sizeof(T) == 4)
        result[i] = std::bit_cast<uint32_t>(value);
      else
        result[i / 2] |= uint32_t(std::bit_cast<uint16_t>(value)) << (i % 2 * 16);
    }
    for (unsigned i = 0; i < kMany * sizeof(T) / 4; ++i)
      w.setResult(lane, result[i], i);
  }
}

void writeCodes(WaveOperands &w, unsigned lane, const uint8_t (&codes)[kMany]) {
  uint64_t result[4] = {};
  for (unsigned i = 0; i < kMany; ++i) {
    const unsigned bit = i * 6;
    result[bit / 64] |= uint64_t(codes[i]) << bit % 64;
    if (bit % 64 > 58)
      result[bit / 64 + 1] |= uint64_t(codes[i]) >> (64 - bit % 64);
  }
  for (unsigned i = 0; i < 6; ++i)
    w.setResult(lane, uint32_t(result[i / 2] >> (i % 2 * 32)), i);
}

template <SmallFormat F, class T, bool kStochastic> void narrowMany(WaveOperands &w) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane) {
    if (!w.active(lane))
      continue;
    const float scale = std::bit_cast<float>(w.source(kStochastic ? 2 : 1, lane));
    uint32_t seed = w.source(1, lane);
    uint8_t codes[kMany];
    for (unsigned i = 0; i < kMany; ++i, seed = nextRandom(seed)) {
      const T value = element<T>(w, 0, lane, i);
      codes[i] = kStochastic ? narrowedStochastically<F>(w.mode(), value, seed, scale)
                             : narrowed<F>(w.mode(), value, scale);
    }
    writeCodes(w, lane, codes);
  }
}

// 16 values of each of two sources take turns.
template <SmallFormat F> void narrowTwoTimes16(WaveOperands &w) {
  for (unsigned lane = 0; lane < w.laneCount(); ++lane) {
    if (!w.active(lane))
      continue;
    const float scale = std::bit_cast<float>(w.source(2, lane));
    uint8_t codes[kMany];
    for (unsigned i = 0; i < kMany; ++i)
      codes[i] = narrowed<F>(w.mode(), element<float>(w, i % 2, lane, i / 2), scale);
    writeCodes(w, lane, codes);
  }
}

constexpr Semantics kRows[] = {
    {"V_CVT_SCALEF32_F32_FP8", kWiden<float, kE4m3>, kRoundNearest},
    {"V_CVT_SCALEF32_F32_BF8", kWiden<float, kE5m2>, kRoundNearest},
    {"V_CVT_SCALEF32_F16_FP8", kWiden<Half, kE4m3>, kRoundNearest | kKeepsHigh},
    {"V_CVT_SCALEF32_F16_BF8", kWiden<Half, kE5m2>, kRoundNearest | kKeepsHigh},
    {"V_CVT_SCALEF32_PK_F32_FP8", kWidenPair<float, kE4m3>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_F32_BF8", kWidenPair<float, kE5m2>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_F32_FP4", kWidenPair<float, kE2m1>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_F16_FP8", kWidenPair<Half, kE4m3>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_F16_BF8", kWidenPair<Half, kE5m2>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_F16_FP4", kWidenPair<Half, kE2m1>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_BF16_FP8", kWidenPair<Bfloat, kE4m3>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_BF16_BF8", kWidenPair<Bfloat, kE5m2>, kRoundNearest},
    {"V_CVT_SCALEF32_PK_BF16_FP4", kWidenPair<Bfloat, kE2m1>, kRoundNearest},

    {"V_CVT_SCALEF32_PK_FP8_F32", kNarrowTwo<kE4m3>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_BF8_F32", kNarrowTwo<kE5m2>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_FP4_F32", kNarrowTwo<kE2m1>},
    {"V_CVT_SCALEF32_PK_FP8_F16", kNarrowPair<kE4m3, Half>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_BF8_F16", kNarrowPair<kE5m2, Half>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_FP4_F16", kNarrowPair<kE2m1, Half>},
    {"V_CVT_SCALEF32_PK_FP8_BF16", kNarrowPair<kE4m3, Bfloat>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_BF8_BF16", kNarrowPair<kE5m2, Bfloat>, kKeepsHigh},
    {"V_CVT_SCALEF32_PK_FP4_BF16", kNarrowPair<kE2m1, Bfloat>},

    {"V_CVT_SCALEF32_SR_FP8_F32", kNarrowStochastic<kE4m3, float>},
    {"V_CVT_SCALEF32_SR_BF8_F32", kNarrowStochastic<kE5m2, float>},
    {"V_CVT_SCALEF32_SR_FP8_F16", kNarrowStochastic<kE4m3, Half>},
    {"V_CVT_SCALEF32_SR_BF8_F16", kNarrowStochastic<kE5m2, Half>},
    {"V_CVT_SCALEF32_SR_FP8_BF16", kNarrowStochastic<kE4m3, Bfloat>},
    {"V_CVT_SCALEF32_SR_BF8_BF16", kNarrowStochastic<kE5m2, Bfloat>},
    {"V_CVT_SCALEF32_SR_PK_FP4_F32", kNarrowPairStochastic<kE2m1, float>},
    {"V_CVT_SCALEF32_SR_PK_FP4_F16", kNarrowPairStochastic<kE2m1, Half>},
    {"V_CVT_SCALEF32_SR_PK_FP4_BF16", kNarrowPairStochastic<kE2m1, Bfloat>},

    {"V_CVT_SCALEF32_PK32_F32_FP6", wavewise<widenMany<float, kE2m3>>},
    {"V_CVT_SCALEF32_PK32_F32_BF6", wavewise<widenMany<float, kE3m2>>},
    {"V_CVT_SCALEF32_PK32_F16_FP6", wavewise<widenMany<Half, kE2m3>>},
    {"V_CVT_SCALEF32_PK32_F16_BF6", wavewise<widenMany<Half, kE3m2>>},
    {"V_CVT_SCALEF32_PK32_BF16_FP6", wavewise<widenMany<Bfloat, kE2m3>>},
    {"V_CVT_SCALEF32_PK32_BF16_BF6", wavewise<widenMany<Bfloat, kE3m2>>},
    {"V_CVT_SCALEF32_PK32_FP6_F16", wavewise<narrowMany<kE2m3, Half, false>>},
    {"V_CVT_SCALEF32_PK32_BF6_F16", wavewise<narrowMany<kE3m2, Half, false>>},
    {"V_CVT_SCALEF32_PK32_FP6_BF16", wavewise<narrowMany<kE2m3, Bfloat, false>>},
    {"V_CVT_SCALEF32_PK32_BF6_BF16", wavewise<narrowMany<kE3m2, Bfloat, false>>},
    {"V_CVT_SCALEF32_SR_PK32_FP6_F32", wavewise<narrowMany<kE2m3, float, true>>},
    {"V_CVT_SCALEF32_SR_PK32_BF6_F32", wavewise<narrowMany<kE3m2, float, true>>},
    {"V_CVT_SCALEF32_SR_PK32_FP6_F16", wavewise<narrowMany<kE2m3, Half, true>>},
    {"V_CVT_SCALEF32_SR_PK32_BF6_F16", wavewise<narrowMany<kE3m2, Half, true>>},
    {"V_CVT_SCALEF32_SR_PK32_FP6_BF16", wavewise<narrowMany<kE2m3, Bfloat, true>>},
    {"V_CVT_SCALEF32_SR_PK32_BF6_BF16", wavewise<narrowMany<kE3m2, Bfloat, true>>},
    {"V_CVT_SCALEF32_2XPK16_FP6_F32", wavewise<narrowTwoTimes16<kE2m3>>},
    {"V_CVT_SCALEF32_2XPK16_BF6_F32", wavewise<narrowTwoTimes16<kE3m2>>},
};

} // namespace

extern const SemanticsTable kVectorAluScaled;
const SemanticsTable kVectorAluScaled = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
