// SPDX-License-Identifier: Apache-2.0
// Conversions between f32 and FP8 (E4M3) and BF8 (E5M2), and stochastic rounding to 16 bits. Rows
// in _FNUZ are gfx942's formats, the others OCP's.
//
// Results beyond the largest number are infinity or NaN, with MODE.FP16_OVFL the largest number.
// They are rounded to nearest even whatever MODE says, or stochastically (assumed: the bits that do
// not fit plus the seed's highest ones carry into the result).
#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/machine/SmallFloat.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

uint16_t packed(uint8_t low, uint8_t high) { return uint16_t(low | high << 8); }

template <SmallFormat F>
constexpr Operation kWiden = lanewise<[](uint8_t a) { return decodeSmall(F, a); }>;

template <SmallFormat F>
constexpr Operation kWidenPair = lanewise<[](uint16_t a) {
  return Pair<float>{decodeSmall(F, a), decodeSmall(F, uint32_t(a) >> 8)};
}>;

template <SmallFormat F>
constexpr Operation kNarrowPair = lanewise<[](const FloatMode &mode, float a, float b) {
  return packed(encodeSmall(F, a, mode.fp16Overflow), encodeSmall(F, b, mode.fp16Overflow));
}>;

template <SmallFormat F>
constexpr Operation kNarrowStochastic = lanewise<[](const FloatMode &mode, float a, uint32_t seed) {
  return encodeSmallStochastic(F, a, seed, mode.fp16Overflow);
}>;

/// Adds the seed's highest bits to those that a format of kFraction fraction bits drops, and drops
/// them. Denormals have the quantum of the smallest normal number, of exponent kLowest.
template <int kFraction, int kLowest> float stochastic(float value, uint32_t seed) {
  const uint32_t magnitude = std::bit_cast<uint32_t>(value) & 0x7fffffff;
  const int exponent = int(magnitude >> 23) - 127;
  const int quantum = (exponent < kLowest ? kLowest : exponent) - kFraction;
  const double scale = std::bit_cast<double>(uint64_t(1023 - quantum) << 52);
  const double steps =
      __builtin_floor(double(std::bit_cast<float>(magnitude)) * scale + double(seed) * 0x1p-32);
  const float rounded = float(steps * std::bit_cast<double>(uint64_t(1023 + quantum) << 52));
  return magnitude >= 0x7f800000 ? value : std::copysign(rounded, value);
}

constexpr Semantics kRows[] = {
    {"V_CVT_F32_FP8", kWiden<kE4m3>},
    {"V_CVT_F32_FP8_FNUZ", kWiden<kE4m3Fnuz>},
    {"V_CVT_F32_BF8", kWiden<kE5m2>},
    {"V_CVT_F32_BF8_FNUZ", kWiden<kE5m2Fnuz>},
    {"V_CVT_PK_F32_FP8", kWidenPair<kE4m3>},
    {"V_CVT_PK_F32_FP8_FNUZ", kWidenPair<kE4m3Fnuz>},
    {"V_CVT_PK_F32_BF8", kWidenPair<kE5m2>},
    {"V_CVT_PK_F32_BF8_FNUZ", kWidenPair<kE5m2Fnuz>},
    {"V_CVT_PK_FP8_F32", kNarrowPair<kE4m3>, kKeepsHigh},
    {"V_CVT_PK_FP8_F32_FNUZ", kNarrowPair<kE4m3Fnuz>, kKeepsHigh},
    {"V_CVT_PK_BF8_F32", kNarrowPair<kE5m2>, kKeepsHigh},
    {"V_CVT_PK_BF8_F32_FNUZ", kNarrowPair<kE5m2Fnuz>, kKeepsHigh},
    {"V_CVT_SR_FP8_F32", kNarrowStochastic<kE4m3>},
    {"V_CVT_SR_FP8_F32_FNUZ", kNarrowStochastic<kE4m3Fnuz>},
    {"V_CVT_SR_BF8_F32", kNarrowStochastic<kE5m2>},
    {"V_CVT_SR_BF8_F32_FNUZ", kNarrowStochastic<kE5m2Fnuz>},
    {"V_CVT_SR_F16_F32",
     lanewise<[](float a, uint32_t seed) { return Half(stochastic<10, -14>(a, seed)); }>,
     kKeepsHigh | kRoundNearest},
    {"V_CVT_SR_BF16_F32",
     lanewise<[](float a, uint32_t seed) { return Bfloat(stochastic<7, -126>(a, seed)); }>,
     kKeepsHigh | kRoundNearest},
};

} // namespace

extern const SemanticsTable kVectorAluFloat8;
const SemanticsTable kVectorAluFloat8 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
