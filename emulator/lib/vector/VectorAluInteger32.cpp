// SPDX-License-Identifier: Apache-2.0
// 32-bit integer arithmetic, logic and shifts.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

uint32_t reversed(uint32_t x) {
  x = __builtin_bswap32(x);
  x = (x >> 4 & 0x0f0f0f0f) | (x & 0x0f0f0f0f) << 4;
  x = (x >> 2 & 0x33333333) | (x & 0x33333333) << 2;
  return (x >> 1 & 0x55555555) | (x & 0x55555555) << 1;
}

uint32_t populationCount(uint32_t x) {
  x -= x >> 1 & 0x55555555;
  x = (x & 0x33333333) + (x >> 2 & 0x33333333);
  return ((x + (x >> 4) & 0x0f0f0f0f) * 0x01010101) >> 24;
}

// Leading zeros; -1 if no bit is set. The first set bit is smeared down and the ones are counted.
int32_t firstHigh(uint32_t x) {
  uint32_t y = x | x >> 1;
  y |= y >> 2;
  y |= y >> 4;
  y |= y >> 8;
  y |= y >> 16;
  return x ? int32_t(32 - populationCount(y)) : -1;
}

// V_ASHR_PK_*: two shifted and saturated bytes.
template <class I> uint16_t shiftedBytes(int32_t a, int32_t b, uint32_t amount) {
  uint8_t low = uint8_t(saturated<I>(a >> (amount & 31)));
  uint8_t high = uint8_t(saturated<I>(b >> (amount & 31)));
  return uint16_t(low | high << 8);
}

constexpr auto kLowProduct = [](uint32_t a, uint32_t b) { return a * b; };
constexpr Semantics kRows[] = {
    {"V_ADD_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       uint32_t sum = a + b;
       return saturate.on && sum < a ? ~0u : sum;
     }>},
    {"V_SUB_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return saturate.on && b > a ? 0 : a - b;
     }>},
    {"V_SUBREV_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return saturate.on && a > b ? 0 : b - a;
     }>},
    {"V_ADD_I32", lanewise<[](Saturate saturate, int32_t a, int32_t b) {
       return narrowed<int32_t>(int64_t(a) + b, saturate);
     }>},
    {"V_SUB_I32", lanewise<[](Saturate saturate, int32_t a, int32_t b) {
       return narrowed<int32_t>(int64_t(a) - b, saturate);
     }>},
    {"V_ADD_CO_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       bool carry = a + b < a;
       return Carry<uint32_t>{saturate.on && carry ? ~0u : a + b, carry};
     }>},
    {"V_SUB_CO_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return Carry<uint32_t>{saturate.on && b > a ? 0 : a - b, b > a};
     }>},
    {"V_SUBREV_CO_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return Carry<uint32_t>{saturate.on && a > b ? 0 : b - a, a > b};
     }>},
    {"V_ADDC_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b, bool carry) {
       const uint32_t sum = a + b + carry;
       const bool above = carry ? sum <= a : sum < a;
       return Carry<uint32_t>{saturate.on && above ? ~0u : sum, above};
     }>},
    {"V_SUBB_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b, bool borrow) {
       const bool below = borrow ? b >= a : b > a;
       return Carry<uint32_t>{saturate.on && below ? 0 : a - b - borrow, below};
     }>},
    {"V_SUBBREV_U32", hot<[](Saturate saturate, uint32_t a, uint32_t b, bool borrow) {
       const bool below = borrow ? a >= b : a > b;
       return Carry<uint32_t>{saturate.on && below ? 0 : b - a - borrow, below};
     }>},
    {"V_ADD3_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return a + b + c; }>},
    {"V_LSHL_ADD_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) + c; }>},
    {"V_ADD_LSHL_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a + b) << (c & 31); }>},
    {"V_XAD_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a ^ b) + c; }>},

    {"V_MUL_LO_U32", hot<kLowProduct>},
    {"V_MUL_LO_I32", hot<kLowProduct>},
    {"V_MUL_HI_U32", hot<[](uint32_t a, uint32_t b) { return uint32_t(uint64_t(a) * b >> 32); }>},
    {"V_MUL_HI_I32", hot<[](int32_t a, int32_t b) { return int32_t(int64_t(a) * b >> 32); }>},
    {"V_MUL_I32_I24", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return narrowed<int32_t>(int64_t(signExtend24(a)) * signExtend24(b), saturate);
     }>},
    {"V_MUL_HI_I32_I24", lanewise<[](uint32_t a, uint32_t b) {
       return int32_t(int64_t(signExtend24(a)) * signExtend24(b) >> 32);
     }>},
    {"V_MUL_U32_U24", hot<[](Saturate saturate, uint32_t a, uint32_t b) {
       return narrowed<uint32_t>(uint64_t(zeroExtend24(a)) * zeroExtend24(b), saturate);
     }>},
    {"V_MUL_HI_U32_U24", lanewise<[](uint32_t a, uint32_t b) {
       return uint32_t(uint64_t(zeroExtend24(a)) * zeroExtend24(b) >> 32);
     }>},
    {"V_MAD_I32_I24", hot<[](Saturate saturate, uint32_t a, uint32_t b, int32_t c) {
       return narrowed<int32_t>(int64_t(signExtend24(a)) * signExtend24(b) + c, saturate);
     }>},
    {"V_MAD_U32_U24", hot<[](Saturate saturate, uint32_t a, uint32_t b, uint32_t c) {
       return narrowed<uint32_t>(uint64_t(zeroExtend24(a)) * zeroExtend24(b) + c, saturate);
     }>},
    {"V_MAD_I32_I16", lanewise<[](Saturate saturate, int16_t a, int16_t b, int32_t c) {
       return narrowed<int32_t>(int64_t(a) * b + c, saturate);
     }>},
    {"V_MAD_U32_U16", lanewise<[](Saturate saturate, uint16_t a, uint16_t b, uint32_t c) {
       return narrowed<uint32_t>(uint64_t(a) * b + c, saturate);
     }>},

    {"V_MIN_I32", hot<[](int32_t a, int32_t b) { return lesser(a, b); }>},
    {"V_MAX_I32", hot<[](int32_t a, int32_t b) { return greater(a, b); }>},
    {"V_MIN_U32", hot<[](uint32_t a, uint32_t b) { return lesser(a, b); }>},
    {"V_MAX_U32", hot<[](uint32_t a, uint32_t b) { return greater(a, b); }>},
    {"V_MIN3_I32", hot<[](int32_t a, int32_t b, int32_t c) { return lesser(lesser(a, b), c); }>},
    {"V_MAX3_I32", hot<[](int32_t a, int32_t b, int32_t c) { return greater(greater(a, b), c); }>},
    {"V_MIN3_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return lesser(lesser(a, b), c); }>},
    {"V_MAX3_U32",
     hot<[](uint32_t a, uint32_t b, uint32_t c) { return greater(greater(a, b), c); }>},
    {"V_MED3_I32", hot<[](int32_t a, int32_t b, int32_t c) { return middle(a, b, c); }>},
    {"V_MED3_U32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return middle(a, b, c); }>},
    {"V_MAXMIN_I32",
     lanewise<[](int32_t a, int32_t b, int32_t c) { return lesser(greater(a, b), c); }>},
    {"V_MINMAX_I32",
     lanewise<[](int32_t a, int32_t b, int32_t c) { return greater(lesser(a, b), c); }>},
    {"V_MAXMIN_U32",
     lanewise<[](uint32_t a, uint32_t b, uint32_t c) { return lesser(greater(a, b), c); }>},
    {"V_MINMAX_U32",
     lanewise<[](uint32_t a, uint32_t b, uint32_t c) { return greater(lesser(a, b), c); }>},

    {"V_AND_B32", hot<[](uint32_t a, uint32_t b) { return a & b; }>},
    {"V_OR_B32", hot<[](uint32_t a, uint32_t b) { return a | b; }>},
    {"V_XOR_B32", hot<[](uint32_t a, uint32_t b) { return a ^ b; }>},
    {"V_XNOR_B32", hot<[](uint32_t a, uint32_t b) { return ~(a ^ b); }>},
    {"V_NOT_B32", hot<[](uint32_t a) { return ~a; }>},
    {"V_AND_OR_B32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a & b) | c; }>},
    {"V_OR3_B32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return a | b | c; }>},
    {"V_XOR3_B32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return a ^ b ^ c; }>},
    {"V_LSHL_OR_B32", hot<[](uint32_t a, uint32_t b, uint32_t c) { return (a << (b & 31)) | c; }>},
    {"V_LSHLREV_B32", hot<[](uint32_t a, uint32_t b) { return b << (a & 31); }>},
    {"V_LSHRREV_B32", hot<[](uint32_t a, uint32_t b) { return b >> (a & 31); }>},
    {"V_ASHRREV_I32", hot<[](uint32_t a, int32_t b) { return b >> (a & 31); }>},

    {"V_BITOP3_B32", hot<[](Immediate table, uint32_t a, uint32_t b, uint32_t c) {
       return lookedUp(table.value, a, b, c);
     }>},
    {"V_PRNG_B32", lanewise<[](uint32_t a) { return nextRandom(a); }>},
    {"V_ASHR_PK_I8_I32", lanewise<[](int32_t a, int32_t b, uint32_t amount) {
       return shiftedBytes<int8_t>(a, b, amount);
     }>,
     kKeepsHigh},
    {"V_ASHR_PK_U8_I32", lanewise<[](int32_t a, int32_t b, uint32_t amount) {
       return shiftedBytes<uint8_t>(a, b, amount);
     }>,
     kKeepsHigh},

    {"V_BFE_U32", hot<[](uint32_t a, uint32_t offset, uint32_t width) {
       return (a >> (offset & 31)) & ((1u << (width & 31)) - 1);
     }>},
    {"V_BFE_I32", hot<[](int32_t a, uint32_t offset, uint32_t width) {
       // Beyond the register the field is filled with the sign.
       uint32_t unused = 32 - (width & 31);
       int32_t field = int32_t(uint32_t(a >> (offset & 31)) << (unused & 31)) >> (unused & 31);
       return width & 31 ? field : 0;
     }>},
    {"V_BFI_B32",
     hot<[](uint32_t mask, uint32_t a, uint32_t b) { return (mask & a) | (~mask & b); }>},
    {"V_BFM_B32", hot<[](uint32_t width, uint32_t offset) {
       return ((1u << (width & 31)) - 1) << (offset & 31);
     }>},
    {"V_BFREV_B32", hot<[](uint32_t a) { return reversed(a); }>},
    {"V_BCNT_U32_B32", hot<[](uint32_t a, uint32_t b) { return populationCount(a) + b; }>},
    {"V_FFBH_U32", hot<[](uint32_t a) { return firstHigh(a); }>},
    {"V_FFBL_B32", hot<[](uint32_t a) { return a ? int32_t(populationCount(~a & (a - 1))) : -1; }>},
    {"V_FFBH_I32", hot<[](int32_t a) {
       // The first bit that differs from the sign; -1 if none does.
       return firstHigh(uint32_t(a ^ a >> 31));
     }>},
    // gfx11 takes the amount from 16 bits; only the lowest ones count.
    {"V_ALIGNBIT_B32", hot<[](uint32_t high, uint32_t low, uint16_t shift) {
       return uint32_t((uint64_t(high) << 32 | low) >> (shift & 31));
     }>},
    {"V_ALIGNBYTE_B32", lanewise<[](uint32_t high, uint32_t low, uint16_t shift) {
       return uint32_t((uint64_t(high) << 32 | low) >> (shift & 3) * 8);
     }>},
};

} // namespace

extern const SemanticsTable kVectorAluInteger32;
const SemanticsTable kVectorAluInteger32 = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
