// 64-bit integer shifts, additions and multiply-adds.
#include "emulator/lib/Fused.h"
#include "emulator/lib/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

constexpr uint64_t kLargest = ~uint64_t(0);

constexpr Semantics kRows[] = {
    {"V_LSHLREV_B64", hot<[](uint32_t a, uint64_t b) { return b << (a & 63); }>},
    {"V_LSHRREV_B64", hot<[](uint32_t a, uint64_t b) { return b >> (a & 63); }>},
    {"V_ASHRREV_I64", hot<[](uint32_t a, int64_t b) { return b >> (a & 63); }>},
    // CDNA4 ISA: of the shift amount three bits count, and amounts above 4 are none.
    {"V_LSHL_ADD_U64",
     hot<[](uint64_t a, uint32_t b, uint64_t c) { return (a << ((b & 7) > 4 ? 0 : b & 7)) + c; }>},
    {"V_MAD_U64_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b, uint64_t c) {
       uint64_t result = uint64_t(a) * b + c;
       bool carry = result < c;
       return Carry<uint64_t>{saturate.on && carry ? kLargest : result, carry};
     }>},
    // The mask result is bit 64 of the sum of the sign-extended operands.
    {"V_MAD_I64_I32", hot<[](Saturate saturate, int32_t a, int32_t b, int64_t c) {
       int64_t product = int64_t(a) * b;
       int64_t result = int64_t(uint64_t(product) + uint64_t(c));
       bool overflow = ((product ^ result) & (c ^ result)) < 0;
       bool bit64 = (result < 0) != overflow;
       int64_t bound = c < 0 ? INT64_MIN : INT64_MAX;
       return Carry<int64_t>{saturate.on && overflow ? bound : result, bit64};
     }>},
    {"V_MOV_B64", hot<[](uint64_t a) { return a; }>},
};

} // namespace

extern const SemanticsTable kVectorAluInteger64;
const SemanticsTable kVectorAluInteger64 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
