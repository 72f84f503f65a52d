// SPDX-License-Identifier: Apache-2.0
// 16-bit integer arithmetic, logic and shifts on single values.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

template <class I> I sum(I a, I b, Saturate saturate) {
  return narrowed<I>(int32_t(a) + int32_t(b), saturate);
}
template <class I> I difference(I a, I b, Saturate saturate) {
  return narrowed<I>(int32_t(a) - int32_t(b), saturate);
}
template <class I> I multiplyAdd(I a, I b, I c, Saturate saturate) {
  return narrowed<I>(int64_t(a) * b + c, saturate);
}

constexpr Semantics kRows[] = {
    // V_ADD_NC_U16 is gfx10's and later's, V_ADD_U16 gfx8's and gfx9's.
    {"V_ADD_NC_U16", hot<[](Saturate s, uint16_t a, uint16_t b) { return sum(a, b, s); }>},
    {"V_ADD_U16", hot<[](Saturate s, uint16_t a, uint16_t b) { return sum(a, b, s); }>},
    {"V_ADD_I16", hot<[](Saturate s, int16_t a, int16_t b) { return sum(a, b, s); }>, kKeepsHigh},
    {"V_SUB_NC_U16", hot<[](Saturate s, uint16_t a, uint16_t b) { return difference(a, b, s); }>},
    {"V_SUB_U16", hot<[](Saturate s, uint16_t a, uint16_t b) { return difference(a, b, s); }>},
    {"V_SUBREV_U16", hot<[](Saturate s, uint16_t a, uint16_t b) { return difference(b, a, s); }>},
    {"V_SUB_I16", hot<[](Saturate s, int16_t a, int16_t b) { return difference(a, b, s); }>,
     kKeepsHigh},
    {"V_MUL_LO_U16", hot<[](uint16_t a, uint16_t b) { return uint16_t(uint32_t(a) * b); }>},
    {"V_MAD_U16",
     hot<[](Saturate s, uint16_t a, uint16_t b, uint16_t c) { return multiplyAdd(a, b, c, s); }>,
     kKeepsHigh},
    {"V_MAD_I16",
     hot<[](Saturate s, int16_t a, int16_t b, int16_t c) { return multiplyAdd(a, b, c, s); }>,
     kKeepsHigh},

    {"V_MIN_I16", hot<[](int16_t a, int16_t b) { return lesser(a, b); }>},
    {"V_MAX_I16", hot<[](int16_t a, int16_t b) { return greater(a, b); }>},
    {"V_MIN_U16", hot<[](uint16_t a, uint16_t b) { return lesser(a, b); }>},
    {"V_MAX_U16", hot<[](uint16_t a, uint16_t b) { return greater(a, b); }>},
    {"V_MIN3_I16", hot<[](int16_t a, int16_t b, int16_t c) { return lesser(lesser(a, b), c); }>,
     kKeepsHigh},
    {"V_MAX3_I16", hot<[](int16_t a, int16_t b, int16_t c) { return greater(greater(a, b), c); }>,
     kKeepsHigh},
    {"V_MIN3_U16", hot<[](uint16_t a, uint16_t b, uint16_t c) { return lesser(lesser(a, b), c); }>,
     kKeepsHigh},
    {"V_MAX3_U16",
     hot<[](uint16_t a, uint16_t b, uint16_t c) { return greater(greater(a, b), c); }>, kKeepsHigh},
    {"V_MED3_I16", hot<[](int16_t a, int16_t b, int16_t c) { return middle(a, b, c); }>,
     kKeepsHigh},
    {"V_MED3_U16", hot<[](uint16_t a, uint16_t b, uint16_t c) { return middle(a, b, c); }>,
     kKeepsHigh},

    {"V_AND_B16", hot<[](uint16_t a, uint16_t b) { return uint16_t(a & b); }>},
    {"V_OR_B16", hot<[](uint16_t a, uint16_t b) { return uint16_t(a | b); }>},
    {"V_XOR_B16", hot<[](uint16_t a, uint16_t b) { return uint16_t(a ^ b); }>},
    {"V_NOT_B16", hot<[](uint16_t a) { return uint16_t(~a); }>},
    {"V_BITOP3_B16", hot<[](Immediate table, uint16_t a, uint16_t b, uint16_t c) {
       return uint16_t(lookedUp(table.value, a, b, c));
     }>,
     kKeepsHigh},
    {"V_LSHLREV_B16",
     hot<[](uint16_t a, uint16_t b) { return uint16_t(uint32_t(b) << (a & 15)); }>},
    {"V_LSHRREV_B16", hot<[](uint16_t a, uint16_t b) { return uint16_t(b >> (a & 15)); }>},
    {"V_ASHRREV_I16", hot<[](uint16_t a, int16_t b) { return int16_t(b >> (a & 15)); }>},
};

} // namespace

extern const SemanticsTable kVectorAluInteger16;
const SemanticsTable kVectorAluInteger16 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
