// SPDX-License-Identifier: Apache-2.0
// Compares: V_CMP_* write a lane mask. V_CMPX_* are the same rows with EXEC as the destination.
//
// The sixteen float conditions are the sixteen sets of {less, equal, greater, unordered}.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluFloat.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// Comparisons of 64 bits in halves: lanes of 32 bits need not be brought together.
bool same(uint64_t a, uint64_t b) {
  return (uint32_t(a) == uint32_t(b)) & (uint32_t(a >> 32) == uint32_t(b >> 32));
}
template <class I> bool below(I a, I b) {
  using High = std::conditional_t<std::is_signed_v<I>, int32_t, uint32_t>;
  const High x = High(a >> 32), y = High(b >> 32);
  return (x < y) | ((x == y) & (uint32_t(a) < uint32_t(b)));
}

constexpr Semantics kRows[] = {
    {"V_CMP_F_F32", lanewise<[](float, float) { return false; }>},
    {"V_CMP_LT_F32", hot<[](float a, float b) { return a < b; }>},
    {"V_CMP_EQ_F32", hot<[](float a, float b) { return a == b; }>},
    {"V_CMP_LE_F32", hot<[](float a, float b) { return a <= b; }>},
    {"V_CMP_GT_F32", hot<[](float a, float b) { return a > b; }>},
    {"V_CMP_LG_F32", hot<[](float a, float b) { return a < b || a > b; }>},
    {"V_CMP_GE_F32", hot<[](float a, float b) { return a >= b; }>},
    {"V_CMP_O_F32", hot<[](float a, float b) { return !(isNan(a) || isNan(b)); }>},
    {"V_CMP_U_F32", hot<[](float a, float b) { return isNan(a) || isNan(b); }>},
    {"V_CMP_NGE_F32", hot<[](float a, float b) { return !(a >= b); }>},
    {"V_CMP_NLG_F32", hot<[](float a, float b) { return !(a < b || a > b); }>},
    {"V_CMP_NGT_F32", hot<[](float a, float b) { return !(a > b); }>},
    {"V_CMP_NLE_F32", hot<[](float a, float b) { return !(a <= b); }>},
    {"V_CMP_NEQ_F32", hot<[](float a, float b) { return !(a == b); }>},
    {"V_CMP_NLT_F32", hot<[](float a, float b) { return !(a < b); }>},
    {"V_CMP_TRU_F32", lanewise<[](float, float) { return true; }>},
    {"V_CMP_CLASS_F32", hot<[](float a, uint32_t classes) { return inClass(a, classes); }>,
     kKeepSourceDenormals},

    {"V_CMP_F_F64", lanewise<[](double, double) { return false; }>},
    {"V_CMP_LT_F64", hot<[](double a, double b) { return a < b; }>},
    {"V_CMP_EQ_F64", hot<[](double a, double b) { return a == b; }>},
    {"V_CMP_LE_F64", hot<[](double a, double b) { return a <= b; }>},
    {"V_CMP_GT_F64", hot<[](double a, double b) { return a > b; }>},
    {"V_CMP_LG_F64", hot<[](double a, double b) { return a < b || a > b; }>},
    {"V_CMP_GE_F64", hot<[](double a, double b) { return a >= b; }>},
    {"V_CMP_O_F64", hot<[](double a, double b) { return !(isNan(a) || isNan(b)); }>},
    {"V_CMP_U_F64", hot<[](double a, double b) { return isNan(a) || isNan(b); }>},
    {"V_CMP_NGE_F64", hot<[](double a, double b) { return !(a >= b); }>},
    {"V_CMP_NLG_F64", hot<[](double a, double b) { return !(a < b || a > b); }>},
    {"V_CMP_NGT_F64", hot<[](double a, double b) { return !(a > b); }>},
    {"V_CMP_NLE_F64", hot<[](double a, double b) { return !(a <= b); }>},
    {"V_CMP_NEQ_F64", hot<[](double a, double b) { return !(a == b); }>},
    {"V_CMP_NLT_F64", hot<[](double a, double b) { return !(a < b); }>},
    {"V_CMP_TRU_F64", lanewise<[](double, double) { return true; }>},
    {"V_CMP_CLASS_F64", hot<[](double a, uint32_t classes) { return inClass(a, classes); }>,
     kKeepSourceDenormals},

    {"V_CMP_F_F16", lanewise<[](Half, Half) { return false; }>},
    {"V_CMP_LT_F16", lanewise<[](Half a, Half b) { return a < b; }>},
    {"V_CMP_EQ_F16", lanewise<[](Half a, Half b) { return a == b; }>},
    {"V_CMP_LE_F16", lanewise<[](Half a, Half b) { return a <= b; }>},
    {"V_CMP_GT_F16", lanewise<[](Half a, Half b) { return a > b; }>},
    {"V_CMP_LG_F16", lanewise<[](Half a, Half b) { return a < b || a > b; }>},
    {"V_CMP_GE_F16", lanewise<[](Half a, Half b) { return a >= b; }>},
    {"V_CMP_O_F16", lanewise<[](Half a, Half b) { return !(isNan(a) || isNan(b)); }>},
    {"V_CMP_U_F16", lanewise<[](Half a, Half b) { return isNan(a) || isNan(b); }>},
    {"V_CMP_NGE_F16", lanewise<[](Half a, Half b) { return !(a >= b); }>},
    {"V_CMP_NLG_F16", lanewise<[](Half a, Half b) { return !(a < b || a > b); }>},
    {"V_CMP_NGT_F16", lanewise<[](Half a, Half b) { return !(a > b); }>},
    {"V_CMP_NLE_F16", lanewise<[](Half a, Half b) { return !(a <= b); }>},
    {"V_CMP_NEQ_F16", lanewise<[](Half a, Half b) { return !(a == b); }>},
    {"V_CMP_NLT_F16", lanewise<[](Half a, Half b) { return !(a < b); }>},
    {"V_CMP_TRU_F16", lanewise<[](Half, Half) { return true; }>},
    {"V_CMP_CLASS_F16", lanewise<[](Half a, uint16_t classes) { return inClass(a, classes); }>,
     kKeepSourceDenormals},

    {"V_CMP_F_I16", lanewise<[](int16_t, int16_t) { return false; }>},
    {"V_CMP_LT_I16", lanewise<[](int16_t a, int16_t b) { return a < b; }>},
    {"V_CMP_EQ_I16", lanewise<[](int16_t a, int16_t b) { return a == b; }>},
    {"V_CMP_LE_I16", lanewise<[](int16_t a, int16_t b) { return a <= b; }>},
    {"V_CMP_GT_I16", lanewise<[](int16_t a, int16_t b) { return a > b; }>},
    {"V_CMP_NE_I16", lanewise<[](int16_t a, int16_t b) { return a != b; }>},
    {"V_CMP_GE_I16", lanewise<[](int16_t a, int16_t b) { return a >= b; }>},
    {"V_CMP_T_I16", lanewise<[](int16_t, int16_t) { return true; }>},

    {"V_CMP_F_U16", lanewise<[](uint16_t, uint16_t) { return false; }>},
    {"V_CMP_LT_U16", lanewise<[](uint16_t a, uint16_t b) { return a < b; }>},
    {"V_CMP_EQ_U16", lanewise<[](uint16_t a, uint16_t b) { return a == b; }>},
    {"V_CMP_LE_U16", lanewise<[](uint16_t a, uint16_t b) { return a <= b; }>},
    {"V_CMP_GT_U16", lanewise<[](uint16_t a, uint16_t b) { return a > b; }>},
    {"V_CMP_NE_U16", lanewise<[](uint16_t a, uint16_t b) { return a != b; }>},
    {"V_CMP_GE_U16", lanewise<[](uint16_t a, uint16_t b) { return a >= b; }>},
    {"V_CMP_T_U16", lanewise<[](uint16_t, uint16_t) { return true; }>},

    {"V_CMP_F_I32", lanewise<[](int32_t, int32_t) { return false; }>},
    {"V_CMP_LT_I32", hot<[](int32_t a, int32_t b) { return a < b; }>},
    {"V_CMP_EQ_I32", hot<[](int32_t a, int32_t b) { return a == b; }>},
    {"V_CMP_LE_I32", hot<[](int32_t a, int32_t b) { return a <= b; }>},
    {"V_CMP_GT_I32", hot<[](int32_t a, int32_t b) { return a > b; }>},
    {"V_CMP_NE_I32", hot<[](int32_t a, int32_t b) { return a != b; }>},
    {"V_CMP_GE_I32", hot<[](int32_t a, int32_t b) { return a >= b; }>},
    {"V_CMP_T_I32", lanewise<[](int32_t, int32_t) { return true; }>},

    {"V_CMP_F_U32", lanewise<[](uint32_t, uint32_t) { return false; }>},
    {"V_CMP_LT_U32", hot<[](uint32_t a, uint32_t b) { return a < b; }>},
    {"V_CMP_EQ_U32", hot<[](uint32_t a, uint32_t b) { return a == b; }>},
    {"V_CMP_LE_U32", hot<[](uint32_t a, uint32_t b) { return a <= b; }>},
    {"V_CMP_GT_U32", hot<[](uint32_t a, uint32_t b) { return a > b; }>},
    {"V_CMP_NE_U32", hot<[](uint32_t a, uint32_t b) { return a != b; }>},
    {"V_CMP_GE_U32", hot<[](uint32_t a, uint32_t b) { return a >= b; }>},
    {"V_CMP_T_U32", lanewise<[](uint32_t, uint32_t) { return true; }>},

    {"V_CMP_F_I64", lanewise<[](int64_t, int64_t) { return false; }>},
    {"V_CMP_LT_I64", hot<[](int64_t a, int64_t b) { return below(a, b); }>},
    {"V_CMP_EQ_I64", hot<[](int64_t a, int64_t b) { return same(a, b); }>},
    {"V_CMP_LE_I64", hot<[](int64_t a, int64_t b) { return !below(b, a); }>},
    {"V_CMP_GT_I64", hot<[](int64_t a, int64_t b) { return below(b, a); }>},
    {"V_CMP_NE_I64", hot<[](int64_t a, int64_t b) { return !same(a, b); }>},
    {"V_CMP_GE_I64", hot<[](int64_t a, int64_t b) { return !below(a, b); }>},
    {"V_CMP_T_I64", lanewise<[](int64_t, int64_t) { return true; }>},

    {"V_CMP_F_U64", lanewise<[](uint64_t, uint64_t) { return false; }>},
    {"V_CMP_LT_U64", hot<[](uint64_t a, uint64_t b) { return below(a, b); }>},
    {"V_CMP_EQ_U64", hot<[](uint64_t a, uint64_t b) { return same(a, b); }>},
    {"V_CMP_LE_U64", hot<[](uint64_t a, uint64_t b) { return !below(b, a); }>},
    {"V_CMP_GT_U64", hot<[](uint64_t a, uint64_t b) { return below(b, a); }>},
    {"V_CMP_NE_U64", hot<[](uint64_t a, uint64_t b) { return !same(a, b); }>},
    {"V_CMP_GE_U64", hot<[](uint64_t a, uint64_t b) { return !below(a, b); }>},
    {"V_CMP_T_U64", lanewise<[](uint64_t, uint64_t) { return true; }>},
};

} // namespace

extern const SemanticsTable kVectorAluCompare;
const SemanticsTable kVectorAluCompare = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
