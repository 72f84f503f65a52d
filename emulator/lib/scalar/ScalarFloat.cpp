// SPDX-License-Identifier: Apache-2.0
// The scalar float instructions of gfx12 (RDNA4 ISA "Scalar ALU Operations", "Scalar
// Floating-Point"). Rounding and denormals are ScalarSemantics.h's work.
#include "emulator/lib/scalar/ScalarAlu.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator {
namespace {

using namespace RUBIA_ISA;

// S_FMAC, S_FMAAK and S_FMAMK round once.
float fused(float a, float b, float c) { return std::fma(a, b, c); }
Half fused(Half a, Half b, Half c) { return fusedMultiplyAdd(a, b, c); }

constexpr auto kLess = [](auto a, auto b) { return a < b; };
constexpr auto kEqual = [](auto a, auto b) { return a == b; };
constexpr auto kLessEqual = [](auto a, auto b) { return a <= b; };
constexpr auto kGreater = [](auto a, auto b) { return a > b; };
constexpr auto kLessGreater = [](auto a, auto b) { return a < b || a > b; };
constexpr auto kGreaterEqual = [](auto a, auto b) { return a >= b; };
constexpr auto kOrdered = [](auto a, auto b) { return !isNan(a) && !isNan(b); };
template <auto Compare> constexpr auto kNot = [](auto a, auto b) { return !Compare(a, b); };

template <class T, auto Compare>
constexpr ScalarHandlers compare = scalar<[](T a, T b) { return SccOnly{Compare(a, b)}; }>;

constexpr ScalarSemantics kRows[] = {
    // SOP1
    {"S_CVT_F32_I32", scalar<[](int32_t a) { return float(a); }>},
    {"S_CVT_F32_U32", scalar<[](uint32_t a) { return float(a); }>},
    {"S_CVT_I32_F32", scalar<[](float a) { return toInteger<int32_t>(a); }>},
    {"S_CVT_U32_F32", scalar<[](float a) { return toInteger<uint32_t>(a); }>},
    {"S_CVT_F16_F32", scalar<[](float a) { return Half(a); }>},
    {"S_CVT_F32_F16", scalar<[](Half a) { return float(a); }>},
    {"S_CVT_HI_F32_F16", scalar<[](Wave &w, uint32_t a) {
       return float(rubia::emulator::detail::flushedSource(w, Half::fromBits(uint16_t(a >> 16))));
     }>},
    {"S_CEIL_F32", scalar<[](float a) { return std::ceil(a); }>},
    {"S_FLOOR_F32", scalar<[](float a) { return std::floor(a); }>},
    {"S_TRUNC_F32", scalar<[](float a) { return std::trunc(a); }>},
    {"S_RNDNE_F32", scalar<[](float a) { return __builtin_roundevenf(a); }>},
    {"S_CEIL_F16", scalar<[](Half a) { return Half(std::ceil(float(a))); }>},
    {"S_FLOOR_F16", scalar<[](Half a) { return Half(std::floor(float(a))); }>},
    {"S_TRUNC_F16", scalar<[](Half a) { return Half(std::trunc(float(a))); }>},
    {"S_RNDNE_F16", scalar<[](Half a) { return Half(__builtin_roundevenf(float(a))); }>},
    // SOP2
    {"S_ADD_F32", scalar<[](float a, float b) { return a + b; }>},
    {"S_SUB_F32", scalar<[](float a, float b) { return a - b; }>},
    {"S_MUL_F32", scalar<[](float a, float b) { return a * b; }>},
    {"S_MIN_F32",
     scalar<[](Wave &w, float a, float b) { return minNumber(a, b, w.lane.mode.ieee); }>},
    {"S_MAX_F32",
     scalar<[](Wave &w, float a, float b) { return maxNumber(a, b, w.lane.mode.ieee); }>},
    {"S_MINIMUM_F32", scalar<[](float a, float b) { return minimum(a, b); }>},
    {"S_MAXIMUM_F32", scalar<[](float a, float b) { return maximum(a, b); }>},
    {"S_FMAC_F32", scalar<[](float a, float b, Old<float> d) { return fused(a, b, d.value); }>},
    {"S_FMAAK_F32", scalar<[](float a, float b, float k) { return fused(a, b, k); }>},
    {"S_FMAMK_F32", scalar<[](float a, float k, float b) { return fused(a, k, b); }>},
    {"S_ADD_F16", scalar<[](Half a, Half b) { return Half(float(a) + float(b)); }>},
    {"S_SUB_F16", scalar<[](Half a, Half b) { return Half(float(a) - float(b)); }>},
    {"S_MUL_F16", scalar<[](Half a, Half b) { return Half(float(a) * float(b)); }>},
    {"S_MIN_F16",
     scalar<[](Wave &w, Half a, Half b) { return minNumber(a, b, w.lane.mode.ieee); }>},
    {"S_MAX_F16",
     scalar<[](Wave &w, Half a, Half b) { return maxNumber(a, b, w.lane.mode.ieee); }>},
    {"S_MINIMUM_F16", scalar<[](Half a, Half b) { return minimum(a, b); }>},
    {"S_MAXIMUM_F16", scalar<[](Half a, Half b) { return maximum(a, b); }>},
    {"S_FMAC_F16", scalar<[](Half a, Half b, Old<Half> d) { return fused(a, b, d.value); }>},
    {"S_CVT_PK_RTZ_F16_F32", scalar<[](float a, float b) {
       return uint32_t(truncateToHalf(a).bits) | uint32_t(truncateToHalf(b).bits) << 16;
     }>},
    // SOPC
    {"S_CMP_LT_F32", compare<float, kLess>},
    {"S_CMP_EQ_F32", compare<float, kEqual>},
    {"S_CMP_LE_F32", compare<float, kLessEqual>},
    {"S_CMP_GT_F32", compare<float, kGreater>},
    {"S_CMP_LG_F32", compare<float, kLessGreater>},
    {"S_CMP_GE_F32", compare<float, kGreaterEqual>},
    {"S_CMP_O_F32", compare<float, kOrdered>},
    {"S_CMP_U_F32", compare<float, kNot<kOrdered>>},
    {"S_CMP_NGE_F32", compare<float, kNot<kGreaterEqual>>},
    {"S_CMP_NLG_F32", compare<float, kNot<kLessGreater>>},
    {"S_CMP_NGT_F32", compare<float, kNot<kGreater>>},
    {"S_CMP_NLE_F32", compare<float, kNot<kLessEqual>>},
    {"S_CMP_NEQ_F32", compare<float, kNot<kEqual>>},
    {"S_CMP_NLT_F32", compare<float, kNot<kLess>>},
    {"S_CMP_LT_F16", compare<Half, kLess>},
    {"S_CMP_EQ_F16", compare<Half, kEqual>},
    {"S_CMP_LE_F16", compare<Half, kLessEqual>},
    {"S_CMP_GT_F16", compare<Half, kGreater>},
    {"S_CMP_LG_F16", compare<Half, kLessGreater>},
    {"S_CMP_GE_F16", compare<Half, kGreaterEqual>},
    {"S_CMP_O_F16", compare<Half, kOrdered>},
    {"S_CMP_U_F16", compare<Half, kNot<kOrdered>>},
    {"S_CMP_NGE_F16", compare<Half, kNot<kGreaterEqual>>},
    {"S_CMP_NLG_F16", compare<Half, kNot<kLessGreater>>},
    {"S_CMP_NGT_F16", compare<Half, kNot<kGreater>>},
    {"S_CMP_NLE_F16", compare<Half, kNot<kLessEqual>>},
    {"S_CMP_NEQ_F16", compare<Half, kNot<kEqual>>},
    {"S_CMP_NLT_F16", compare<Half, kNot<kLess>>},
};

} // namespace

const ScalarTable kScalarFloat = table(kRows);

} // namespace rubia::emulator
