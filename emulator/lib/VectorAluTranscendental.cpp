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
  // 53 bits: signed, since compilers make -0 of an unsigned 0 when rounding down.
  return __builtin_scalbn(double(int64_t(twoOverPiBits(unsigned(position)))), scale);
}

constexpr Operation kReciprocal = lanewise<[](float a) { return reciprocal(a); }>;
constexpr Operation kSquareRoot = lanewise<[](float a) { return std::sqrt(flushed(a)); }>;
constexpr Operation kReciprocalRoot =
    lanewise<[](float a) { return reciprocalSqrtRounded(flushed(a)); }>;
constexpr Operation kExp = lanewise<[](float a) { return flushed(exp2Rounded(flushed(a))); }>;
constexpr Operation kLog = lanewise<[](float a) { return log2Rounded(flushed(a)); }>;
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
    {"V_SIN_F32", lanewise<[](float a) { return flushed(sinTurnsRounded(flushed(a))); }>, kSingle},
    {"V_COS_F32", lanewise<[](float a) { return flushed(cosTurnsRounded(flushed(a))); }>, kSingle},

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
    {"V_RSQ_F64", lanewise<[](double a) { return reciprocalSqrtRounded(a); }>,
     kApproximation | kRoundNearest},
    {"V_TRIG_PREOP_F64",
     lanewise<[](double a, uint32_t segment) { return reductionSegment(a, segment); }>},
};

} // namespace

extern const SemanticsTable kVectorAluTranscendental;
const SemanticsTable kVectorAluTranscendental = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
