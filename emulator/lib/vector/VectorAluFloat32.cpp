// SPDX-License-Identifier: Apache-2.0
// 32-bit float arithmetic: VOP2 and VOP3 instructions whose operands are f32.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// V_MAD_F32 and V_MAC_F32 round the product and never see denormals, whatever MODE says (GCN3 ISA).
float multiplyThenAdd(float a, float b, float c) {
  float product = flushed(flushed(a) * flushed(b));
  return flushed(product + flushed(c));
}

// DX9 rules: zero times anything is zero.
float legacyProduct(float a, float b) { return isZero(a) || isZero(b) ? 0.0f : a * b; }
float legacyFma(float a, float b, float c) {
  return isZero(a) || isZero(b) ? c : std::fma(a, b, c);
}
float legacyMad(float a, float b, float c) {
  return isZero(flushed(a)) || isZero(flushed(b)) ? flushed(c) : multiplyThenAdd(a, b, c);
}

// The major axis of a cube map direction: 2 is z, 1 is y, 0 is x (RDNA3 ISA V_CUBEID_F32).
int majorAxis(float x, float y, float z) {
  x = std::fabs(x), y = std::fabs(y), z = std::fabs(z);
  return z >= x && z >= y ? 2 : y >= x ? 1 : 0;
}
float cubeFace(float x, float y, float z) {
  int axis = majorAxis(x, y, z);
  float major = axis == 2 ? z : axis == 1 ? y : x;
  return float(axis) * 2.0f + (major < 0.0f ? 1.0f : 0.0f);
}
float cubeS(float x, float y, float z) {
  int axis = majorAxis(x, y, z);
  float alongZ = z < 0.0f ? -x : x, alongX = x < 0.0f ? z : -z;
  return axis == 2 ? alongZ : axis == 1 ? x : alongX;
}
float cubeT(float x, float y, float z) {
  return majorAxis(x, y, z) == 1 ? (y < 0.0f ? -z : z) : -y;
}
float cubeMajor(float x, float y, float z) {
  int axis = majorAxis(x, y, z);
  return (axis == 2 ? z : axis == 1 ? y : x) * 2.0f;
}

// RDNA3 ISA V_MULLIT_F32: the product, or -FLT_MAX where the light must not count.
float lightProduct(float a, float b, float c) {
  constexpr float kLowest = -0x1.fffffep127f;
  bool none = b == kLowest || b == -INFINITY || isNan(b) || c <= 0.0f || isNan(c);
  return none ? kLowest : a * b;
}

// x * 2^n, rounded once: the product is exact in double for every exponent that matters.
float scaled(float value, int32_t exponent) {
  exponent = exponent < -400 ? -400 : exponent > 400 ? 400 : exponent;
  return float(double(value) * std::bit_cast<double>(uint64_t(1023 + exponent) << 52));
}

// x - floor(x), below 1 also where the difference rounds to it. Assumed: the ISA does not bound the
// result, LLVM relies on the bound when it forms the instruction.
float fraction(float value) {
  constexpr float kBelowOne = 0x1.fffffep-1f;
  float difference = value - __builtin_floorf(value);
  return difference > kBelowOne ? kBelowOne : difference;
}

constexpr auto kMultiplyThenAdd = [](float a, float b, float c) {
  return multiplyThenAdd(a, b, c);
};
constexpr auto kFusedMultiplyAdd = [](float a, float b, float c) { return std::fma(a, b, c); };
constexpr Semantics kRows[] = {
    {"V_ADD_F32", hot<[](float a, float b) { return a + b; }>},
    {"V_SUB_F32", hot<[](float a, float b) { return a - b; }>},
    {"V_SUBREV_F32", hot<[](float a, float b) { return b - a; }>},
    {"V_MUL_F32", hot<[](float a, float b) { return a * b; }>},
    {"V_MUL_LEGACY_F32", lanewise<[](float a, float b) { return legacyProduct(a, b); }>},
    {"V_FMA_F32", hot<kFusedMultiplyAdd>},
    {"V_FMAC_F32", hot<kFusedMultiplyAdd>},
    {"V_FMAMK_F32", hot<[](float a, float k, float b) { return std::fma(a, k, b); }>},
    {"V_FMAAK_F32", hot<kFusedMultiplyAdd>},
    {"V_FMA_LEGACY_F32", lanewise<[](float a, float b, float c) { return legacyFma(a, b, c); }>},
    {"V_FMAC_LEGACY_F32", lanewise<[](float a, float b, float d) { return legacyFma(a, b, d); }>},
    {"V_MAD_F32", hot<kMultiplyThenAdd>},
    {"V_MAC_F32", hot<kMultiplyThenAdd>},
    {"V_MADMK_F32", hot<[](float a, float k, float b) { return multiplyThenAdd(a, k, b); }>},
    {"V_MADAK_F32", hot<kMultiplyThenAdd>},
    {"V_MAD_LEGACY_F32", lanewise<[](float a, float b, float c) { return legacyMad(a, b, c); }>},
    {"V_MAC_LEGACY_F32", lanewise<[](float a, float b, float d) { return legacyMad(a, b, d); }>},
    {"V_MULLIT_F32", lanewise<[](float a, float b, float c) { return lightProduct(a, b, c); }>},

    {"V_MIN_F32",
     hot<[](const FloatMode &mode, float a, float b) { return minNumber(a, b, mode.ieee); }>},
    {"V_MAX_F32",
     hot<[](const FloatMode &mode, float a, float b) { return maxNumber(a, b, mode.ieee); }>},
    {"V_MIN3_F32", hot<[](const FloatMode &mode, float a, float b, float c) {
       return minNumber(minNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MAX3_F32", hot<[](const FloatMode &mode, float a, float b, float c) {
       return maxNumber(maxNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MED3_F32", hot<[](const FloatMode &mode, float a, float b, float c) {
       return medianNumber(a, b, c, mode.ieee);
     }>},
    {"V_MAXMIN_F32", lanewise<[](const FloatMode &mode, float a, float b, float c) {
       return minNumber(maxNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MINMAX_F32", lanewise<[](const FloatMode &mode, float a, float b, float c) {
       return maxNumber(minNumber(a, b, mode.ieee), c, mode.ieee);
     }>},
    {"V_MINIMUM_F32", hot<[](float a, float b) { return minimum(a, b); }>},
    {"V_MAXIMUM_F32", hot<[](float a, float b) { return maximum(a, b); }>},
    {"V_MINIMUM3_F32",
     lanewise<[](float a, float b, float c) { return minimum(minimum(a, b), c); }>},
    {"V_MAXIMUM3_F32",
     lanewise<[](float a, float b, float c) { return maximum(maximum(a, b), c); }>},
    {"V_MAXIMUMMINIMUM_F32",
     lanewise<[](float a, float b, float c) { return minimum(maximum(a, b), c); }>},
    {"V_MINIMUMMAXIMUM_F32",
     lanewise<[](float a, float b, float c) { return maximum(minimum(a, b), c); }>},

    {"V_TRUNC_F32", hot<[](float a) { return __builtin_truncf(a); }>},
    {"V_CEIL_F32", hot<[](float a) { return __builtin_ceilf(a); }>},
    {"V_FLOOR_F32", hot<[](float a) { return __builtin_floorf(a); }>},
    {"V_RNDNE_F32", hot<[](float a) { return __builtin_roundevenf(a); }>},
    {"V_FRACT_F32", hot<[](float a) { return fraction(a); }>},
    {"V_FREXP_MANT_F32", hot<[](float a) { return fractionOf(a); }>},
    {"V_FREXP_EXP_I32_F32", hot<[](float a) { return int32_t(exponentOf(a)); }>},
    {"V_LDEXP_F32", hot<[](float a, int32_t exponent) { return scaled(a, exponent); }>},

    {"V_CUBEID_F32", hot<[](float x, float y, float z) { return cubeFace(x, y, z); }>},
    {"V_CUBESC_F32", hot<[](float x, float y, float z) { return cubeS(x, y, z); }>},
    {"V_CUBETC_F32", hot<[](float x, float y, float z) { return cubeT(x, y, z); }>},
    {"V_CUBEMA_F32", hot<[](float x, float y, float z) { return cubeMajor(x, y, z); }>},
};

} // namespace

extern const SemanticsTable kVectorAluFloat32;
const SemanticsTable kVectorAluFloat32 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
