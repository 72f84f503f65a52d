// Reciprocals, roots, powers, logarithms, sines: the instructions of the transcendental unit.
//
// The f32 ones flush denormal sources and results whatever MODE says (LLVM scales around them); the
// f16 and f64 ones follow MODE. v_rcp and v_sqrt are rounded in MODE's direction, the others to
// nearest (assumed: neither is documented, and f64 results are only approximate on hardware).
#include "emulator/lib/Transcendental.h"
#include "emulator/lib/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

float reciprocal(float value) { return flushed(1.0f / flushed(value)); }

// 2/pi from bit 53 * segment on, further down for large arguments (RDNA3 ISA V_TRIG_PREOP_F64).
double reductionSegment(double value, uint32_t segment) {
  int exponent = int(magnitudeOf(value) >> 52);
  int position = int(segment & 31) * 53 + (exponent > 1077 ? exponent - 1077 : 0);
  int scale = -53 - position + (exponent >= 1968 ? 128 : 0);
  return __builtin_scalbn(double(twoOverPiBits(unsigned(position))), scale);
}

constexpr Semantics kRows[] = {
    {"V_RCP_F32", lanewise<[](float a) { return reciprocal(a); }>, kKeepDenormals},
    {"V_RCP_IFLAG_F32", lanewise<[](float a) { return reciprocal(a); }>, kKeepDenormals},
    {"V_SQRT_F32", lanewise<[](float a) { return std::sqrt(flushed(a)); }>, kKeepDenormals},
    {"V_RSQ_F32", lanewise<[](float a) { return reciprocalSqrtRounded(flushed(a)); }>,
     kKeepDenormals},
    {"V_EXP_F32", lanewise<[](float a) { return flushed(exp2Rounded(flushed(a))); }>,
     kKeepDenormals},
    {"V_EXP_LEGACY_F32", lanewise<[](float a) { return flushed(exp2Rounded(flushed(a))); }>,
     kKeepDenormals},
    {"V_LOG_F32", lanewise<[](float a) { return log2Rounded(flushed(a)); }>, kKeepDenormals},
    {"V_LOG_LEGACY_F32", lanewise<[](float a) { return log2Rounded(flushed(a)); }>, kKeepDenormals},
    {"V_SIN_F32", lanewise<[](float a) { return flushed(sinTurnsRounded(flushed(a))); }>,
     kKeepDenormals},
    {"V_COS_F32", lanewise<[](float a) { return flushed(cosTurnsRounded(flushed(a))); }>,
     kKeepDenormals},

    {"V_RCP_F16", lanewise<[](Half a) { return Half(1.0f / a); }>},
    {"V_SQRT_F16", lanewise<[](Half a) { return Half(std::sqrt(float(a))); }>},
    {"V_RSQ_F16", lanewise<[](Half a) { return roundToHalf(1.0 / std::sqrt(double(float(a)))); }>},
    {"V_EXP_F16", lanewise<[](Half a) { return roundToHalf(exp2OfHalf(a)); }>},
    {"V_LOG_F16", lanewise<[](Half a) { return roundToHalf(log2OfHalf(a)); }>},
    {"V_SIN_F16", lanewise<[](Half a) { return roundToHalf(sinTurnsOfHalf(a)); }>},
    {"V_COS_F16", lanewise<[](Half a) { return roundToHalf(cosTurnsOfHalf(a)); }>},

    {"V_RCP_F64", lanewise<[](double a) { return 1.0 / a; }>},
    {"V_SQRT_F64", lanewise<[](double a) { return std::sqrt(a); }>},
    {"V_RSQ_F64", lanewise<[](double a) { return reciprocalSqrtRounded(a); }>},
    {"V_TRIG_PREOP_F64",
     lanewise<[](double a, uint32_t segment) { return reductionSegment(a, segment); }>},
};

} // namespace

extern const SemanticsTable kVectorAluTranscendental;
const SemanticsTable kVectorAluTranscendental = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
