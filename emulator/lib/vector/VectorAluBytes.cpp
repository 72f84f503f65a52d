// SPDX-License-Identifier: Apache-2.0
// Instructions on the bytes of a register: permutations, averages, sums of absolute differences.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

uint32_t byteOf(uint32_t word, unsigned index) { return word >> index * 8 & 0xff; }

uint32_t distance(uint32_t a, uint32_t b) { return a > b ? a - b : b - a; }

uint32_t sumOfDistances(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    sum += distance(byteOf(a, i), byteOf(b, i));
  return sum;
}

// Bytes of the reference `b` that are zero do not count.
uint32_t maskedSumOfDistances(uint32_t a, uint32_t b) {
  uint32_t sum = 0;
  for (unsigned i = 0; i < 4; ++i)
    sum += byteOf(b, i) ? distance(byteOf(a, i), byteOf(b, i)) : 0;
  return sum;
}

// One selector of V_PERM_B32: 0..7 a byte of {high, low}, 8..11 a sign, 12 zero, above all ones.
uint32_t permutedByte(uint64_t bytes, uint32_t selector) {
  uint32_t signs = 0 - uint32_t(bytes >> ((selector & 3) * 16 + 15) & 1);
  uint32_t picked = uint32_t(bytes >> (selector & 7) * 8);
  uint32_t byte = selector < 8 ? picked : selector < 12 ? signs : selector == 12 ? 0 : ~0u;
  return byte & 0xff;
}

uint32_t permute(uint32_t high, uint32_t low, uint32_t selectors) {
  uint64_t bytes = uint64_t(high) << 32 | low;
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= permutedByte(bytes, byteOf(selectors, i)) << i * 8;
  return result;
}

// The average of each pair of bytes, rounded up where bit 0 of c's byte is set.
uint32_t average(uint32_t a, uint32_t b, uint32_t c) {
  uint32_t result = 0;
  for (unsigned i = 0; i < 4; ++i)
    result |= (byteOf(a, i) + byteOf(b, i) + (byteOf(c, i) & 1)) >> 1 << i * 8;
  return result;
}

using Sum = uint32_t (*)(uint32_t, uint32_t);

// Four sums for the four byte offsets of a window over eight bytes, added to 16-bit accumulators.
template <Sum kSum>
uint64_t fourSums16(uint64_t window, uint32_t reference, uint64_t sums, Saturate s) {
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    uint32_t sum = kSum(uint32_t(window >> i * 8), reference) + uint32_t(sums >> i * 16 & 0xffff);
    result |= uint64_t(narrowed<uint16_t>(sum, s)) << i * 16;
  }
  return result;
}

using FourSums = std::array<uint32_t, 4>;
FourSums fourSums32(uint64_t window, uint32_t reference, FourSums sums, Saturate s) {
  for (unsigned i = 0; i < 4; ++i)
    sums[i] = narrowed<uint32_t>(
        uint64_t(sums[i]) + maskedSumOfDistances(uint32_t(window >> i * 8), reference), s);
  return sums;
}

constexpr Semantics kRows[] = {
    {"V_PERM_B32", hot<[](uint32_t high, uint32_t low, uint32_t selectors) {
       return permute(high, low, selectors);
     }>},
    {"V_LERP_U8", hot<[](uint32_t a, uint32_t b, uint32_t c) { return average(a, b, c); }>},
    {"V_SAD_U8", hot<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return narrowed<uint32_t>(uint64_t(sumOfDistances(a, b)) + c, s);
     }>},
    {"V_SAD_HI_U8", hot<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return narrowed<uint32_t>((uint64_t(sumOfDistances(a, b)) << 16) + c, s);
     }>},
    {"V_SAD_U16", hot<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       uint64_t sum = uint64_t(distance(a & 0xffff, b & 0xffff)) + distance(a >> 16, b >> 16);
       return narrowed<uint32_t>(sum + c, s);
     }>},
    {"V_SAD_U32", hot<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return narrowed<uint32_t>(uint64_t(distance(a, b)) + c, s);
     }>},
    {"V_MSAD_U8", hot<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return narrowed<uint32_t>(uint64_t(maskedSumOfDistances(a, b)) + c, s);
     }>},
    {"V_QSAD_PK_U16_U8", lanewise<[](Saturate s, uint64_t a, uint32_t b, uint64_t c) {
       return fourSums16<sumOfDistances>(a, b, c, s);
     }>},
    {"V_MQSAD_PK_U16_U8", lanewise<[](Saturate s, uint64_t a, uint32_t b, uint64_t c) {
       return fourSums16<maskedSumOfDistances>(a, b, c, s);
     }>},
    {"V_MQSAD_U32_U8", lanewise<[](Saturate s, uint64_t a, uint32_t b, FourSums c) {
       return fourSums32(a, b, c, s);
     }>},
};

} // namespace

extern const SemanticsTable kVectorAluBytes;
const SemanticsTable kVectorAluBytes = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
