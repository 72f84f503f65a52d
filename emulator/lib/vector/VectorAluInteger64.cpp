// SPDX-License-Identifier: Apache-2.0
// 64-bit integer shifts, additions and multiply-adds.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

constexpr uint64_t kLargest = ~uint64_t(0);

// (a << shift) + c for shifts below 32, in halves: lanes of 32 bits need not be brought together.
uint64_t shiftedSum(uint64_t a, uint32_t shift, uint64_t c) {
  const uint32_t low = uint32_t(a), high = uint32_t(a >> 32);
  const uint32_t sum = (low << shift) + uint32_t(c), carry = sum < uint32_t(c) ? 1 : 0;
  const uint32_t moved = high << shift | low >> 1 >> (31 - shift);
  return uint64_t(moved + uint32_t(c >> 32) + carry) << 32 | sum;
}

// a * b + c and its bit 64. The high half of a product is at most 2^32 - 2, so the carry from the
// low half does not overflow it.
Carry<uint64_t> productSum(uint32_t a, uint32_t b, uint64_t c) {
  const uint32_t product = a * b, low = product + uint32_t(c);
  const uint32_t high = uint32_t(uint64_t(a) * b >> 32) + (low < product ? 1 : 0);
  const uint32_t sum = high + uint32_t(c >> 32);
  return {uint64_t(sum) << 32 | low, sum < high};
}

constexpr Semantics kRows[] = {
    {"V_LSHLREV_B64", hot<[](uint32_t a, uint64_t b) { return b << (a & 63); }>},
    {"V_LSHRREV_B64", hot<[](uint32_t a, uint64_t b) { return b >> (a & 63); }>},
    {"V_ASHRREV_I64", hot<[](uint32_t a, int64_t b) { return b >> (a & 63); }>},
    // CDNA4 ISA: of the shift amount three bits count, and amounts above 4 are none.
    {"V_LSHL_ADD_U64", hot<[](uint64_t a, uint32_t b, uint64_t c) {
       return shiftedSum(a, (b & 7) > 4 ? 0 : b & 7, c);
     }>},
    {"V_MAD_U64_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b, uint64_t c) {
       const Carry<uint64_t> sum = productSum(a, b, c);
       return Carry<uint64_t>{saturate.on && sum.carry ? kLargest : sum.value, sum.carry};
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
