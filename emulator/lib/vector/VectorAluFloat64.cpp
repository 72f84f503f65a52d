// SPDX-License-Identifier: Apache-2.0
// 64-bit float arithmetic: instructions whose operands are f64. Reciprocals and square roots are in
// VectorAluTranscendental.cpp, division steps in VectorAluDivision.cpp.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// x - floor(x), below 1; assumed as for V_FRACT_F32.
double fraction(double value) {
  constexpr double kBelowOne = 0x1.fffffffffffffp-1;
  double difference = value - __builtin_floor(value);
  return difference > kBelowOne ? kBelowOne : difference;
}

// x * 2^n, rounded once: a number of moderate exponent times 1, or times the power of two with
// which it over- or underflows.
double scaled(double value, int32_t power) {
  constexpr int64_t kStep = 64, kLargest = 2046;
  constexpr uint64_t kFraction = kFractionMask<double>;
  const bool isDenormal = magnitudeOf(value) <= kFraction;
  const double normal = isDenormal ? value * 0x1p54 : value;
  const int64_t field = int64_t(magnitudeOf(normal) >> 52);
  const int32_t within = power < -5000 ? -5000 : power > 5000 ? 5000 : power;
  const int64_t exponent = field + within - (isDenormal ? 54 : 0);
  const int64_t step = exponent < 1 ? kStep : exponent > kLargest ? -kStep : 0;
  int64_t moderate = exponent + step;
  moderate = moderate < 1 ? 1 : moderate > kLargest ? kLargest : moderate;
  const double factor = std::bit_cast<double>(uint64_t(1023 - step) << 52);
  const uint64_t bits = (bitsOf(normal) & (kSignBit<double> | kFraction)) | uint64_t(moderate)
                                                                                << 52;
  // Zeros, infinities and NaNs stay.
  return field == 0 || field == 2047 ? value + value : std::bit_cast<double>(bits) * factor;
}

constexpr auto kFusedMultiplyAdd = [](double a, double b, double c) { return std::fma(a, b, c); };
constexpr auto kMinNumber = [](const FloatMode &mode, double a, double b) {
  return minNumber(a, b, mode.ieee);
};
constexpr auto kMaxNumber = [](const FloatMode &mode, double a, double b) {
  return maxNumber(a, b, mode.ieee);
};
constexpr Semantics kRows[] = {
    {"V_ADD_F64", hot<[](double a, double b) { return a + b; }>},
    {"V_MUL_F64", hot<[](double a, double b) { return a * b; }>},
    {"V_FMA_F64", hot<kFusedMultiplyAdd>},
    {"V_FMAC_F64", hot<kFusedMultiplyAdd>},

    {"V_MIN_F64", hot<kMinNumber>},
    {"V_MAX_F64", hot<kMaxNumber>},
    {"V_MIN_NUM_F64", hot<kMinNumber>},
    {"V_MAX_NUM_F64", hot<kMaxNumber>},
    {"V_MINIMUM_F64", hot<[](double a, double b) { return minimum(a, b); }>},
    {"V_MAXIMUM_F64", hot<[](double a, double b) { return maximum(a, b); }>},

    {"V_TRUNC_F64", hot<[](double a) { return __builtin_trunc(a); }>},
    {"V_CEIL_F64", hot<[](double a) { return __builtin_ceil(a); }>},
    {"V_FLOOR_F64", hot<[](double a) { return __builtin_floor(a); }>},
    {"V_RNDNE_F64", hot<[](double a) { return __builtin_roundeven(a); }>},
    {"V_FRACT_F64", hot<[](double a) { return fraction(a); }>},
    {"V_FREXP_MANT_F64", hot<[](double a) { return fractionOf(a); }>},
    {"V_FREXP_EXP_I32_F64", hot<[](double a) { return int32_t(exponentOf(a)); }>},
    {"V_LDEXP_F64", hot<[](double a, int32_t exponent) { return scaled(a, exponent); }>},
};

} // namespace

extern const SemanticsTable kVectorAluFloat64;
const SemanticsTable kVectorAluFloat64 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
