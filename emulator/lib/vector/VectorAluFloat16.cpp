// SPDX-License-Identifier: Apache-2.0
// 16-bit float arithmetic: instructions on single f16 values. Packed ones are in
// VectorAluPacked.cpp.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// Two roundings to f16, as V_MAD_F16 and V_MAC_F16 of gfx8 and gfx9 do.
Half multiplyThenAdd(Half a, Half b, Half c) { return Half(Half(a * b) + c); }

Half fraction(Half value) {
  float difference = value - __builtin_floorf(value);
  constexpr float kBelowOne = 0x1.ffcp-1f; // assumed as for V_FRACT_F32
  return Half(difference > kBelowOne ? kBelowOne : difference);
}

Half scaled(Half value, int16_t exponent) {
  int limited = exponent < -60 ? -60 : exponent > 60 ? 60 : exponent;
  return roundToHalf(double(float(value)) * std::bit_cast<double>(uint64_t(1023 + limited) << 52));
}

constexpr Semantics kRows[] = {
    {"V_ADD_F16", hot<[](Half a, Half b) { return Half(a + b); }>},
    {"V_SUB_F16", hot<[](Half a, Half b) { return Half(a - b); }>},
    {"V_SUBREV_F16", hot<[](Half a, Half b) { return Half(b - a); }>},
    {"V_MUL_F16", hot<[](Half a, Half b) { return Half(a * b); }>},
    {"V_FMA_F16", hot<[](Half a, Half b, Half c) { return fusedMultiplyAdd(a, b, c); }>,
     kKeepsHigh},
    {"V_FMAC_F16", hot<[](Half a, Half b, Half d) { return fusedMultiplyAdd(a, b, d); }>,
     kKeepsHigh},
    {"V_FMAMK_F16", hot<[](Half a, Half k, Half b) { return fusedMultiplyAdd(a, k, b); }>,
     kKeepsHigh},
    {"V_FMAAK_F16", hot<[](Half a, Half b, Half k) { return fusedMultiplyAdd(a, b, k); }>,
     kKeepsHigh},
    {"V_MAD_F16", hot<[](Half a, Half b, Half c) { return multiplyThenAdd(a, b, c); }>, kKeepsHigh},
    {"V_MAC_F16", hot<[](Half a, Half b, Half d) { return multiplyThenAdd(a, b, d); }>, kKeepsHigh},
    {"V_MADMK_F16", hot<[](Half a, Half k, Half b) { return multiplyThenAdd(a, k, b); }>,
     kKeepsHigh},
    {"V_MADAK_F16", hot<[](Half a, Half b, Half k) { return multiplyThenAdd(a, b, k); }>,
     kKeepsHigh},

    {"V_MIN_F16",
     hot<[](const FloatMode &mode, Half a, Half b) { return minNumber(a, b, mode.ieee); }>},
    {"V_MAX_F16",
     hot<[](const FloatMode &mode, Half a, Half b) { return maxNumber(a, b, mode.ieee); }>},
    {"V_MIN3_F16", hot<[](const FloatMode &mode, Half a, Half b, Half c) {
       return minNumber(minNumber(a, b, mode.ieee), c, mode.ieee);
     }>,
     kKeepsHigh},
    {"V_MAX3_F16", hot<[](const FloatMode &mode, Half a, Half b, Half c) {
       return maxNumber(maxNumber(a, b, mode.ieee), c, mode.ieee);
     }>,
     kKeepsHigh},
    {"V_MED3_F16", hot<[](const FloatMode &mode, Half a, Half b, Half c) {
       return medianNumber(a, b, c, mode.ieee);
     }>,
     kKeepsHigh},
    {"V_MAXMIN_F16", hot<[](const FloatMode &mode, Half a, Half b, Half c) {
       return minNumber(maxNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MINMAX_F16", hot<[](const FloatMode &mode, Half a, Half b, Half c) {
       return maxNumber(minNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MINIMUM_F16", hot<[](Half a, Half b) { return minimum(a, b); }>},
    {"V_MAXIMUM_F16", hot<[](Half a, Half b) { return maximum(a, b); }>},
    {"V_MINIMUM3_F16", hot<[](Half a, Half b, Half c) { return minimum(minimum(a, b), c); }>},
    {"V_MAXIMUM3_F16", hot<[](Half a, Half b, Half c) { return maximum(maximum(a, b), c); }>},
    {"V_MAXIMUMMINIMUM_F16", hot<[](Half a, Half b, Half c) { return minimum(maximum(a, b), c); }>},
    {"V_MINIMUMMAXIMUM_F16", hot<[](Half a, Half b, Half c) { return maximum(minimum(a, b), c); }>},

    {"V_TRUNC_F16", hot<[](Half a) { return Half(__builtin_truncf(a)); }>},
    {"V_CEIL_F16", hot<[](Half a) { return Half(__builtin_ceilf(a)); }>},
    {"V_FLOOR_F16", hot<[](Half a) { return Half(__builtin_floorf(a)); }>},
    {"V_RNDNE_F16", hot<[](Half a) { return Half(__builtin_roundevenf(a)); }>},
    {"V_FRACT_F16", hot<[](Half a) { return fraction(a); }>},
    {"V_FREXP_MANT_F16", hot<[](Half a) { return fractionOf(a); }>},
    {"V_FREXP_EXP_I16_F16", hot<[](Half a) { return int16_t(exponentOf(a)); }>},
    {"V_LDEXP_F16", hot<[](Half a, int16_t exponent) { return scaled(a, exponent); }>},
    {"V_PACK_B32_F16", hot<[](Half a, Half b) { return Pair<Half>{a, b}; }>},
};

} // namespace

extern const SemanticsTable kVectorAluFloat16;
const SemanticsTable kVectorAluFloat16 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
