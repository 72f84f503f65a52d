// SPDX-License-Identifier: Apache-2.0
// Packed instructions (VOP3P): two 16-bit or 32-bit values at once, and the mixed-precision FMAs.
#include "emulator/lib/vector/Fused.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

template <class T, class F> Pair<T> each(Pair<T> a, Pair<T> b, F f) {
  return {f(a.lo, b.lo), f(a.hi, b.hi)};
}
template <class T, class F> Pair<T> each(Pair<T> a, Pair<T> b, Pair<T> c, F f) {
  return {f(a.lo, b.lo, c.lo), f(a.hi, b.hi, c.hi)};
}

using PackedHalf = Pair<Half>;
using PackedI16 = Pair<int16_t>;
using PackedU16 = Pair<uint16_t>;
using PackedFloat = Pair<float>;

template <class I> Pair<I> sum(Pair<I> a, Pair<I> b, Saturate s) {
  return each(a, b, [s](I x, I y) { return narrowed<I>(int32_t(x) + int32_t(y), s); });
}
template <class I> Pair<I> difference(Pair<I> a, Pair<I> b, Saturate s) {
  return each(a, b, [s](I x, I y) { return narrowed<I>(int32_t(x) - int32_t(y), s); });
}
template <class I> Pair<I> multiplyAdd(Pair<I> a, Pair<I> b, Pair<I> c, Saturate s) {
  return each(a, b, c, [s](I x, I y, I z) { return narrowed<I>(int64_t(x) * y + z, s); });
}
PackedHalf fused(PackedHalf a, PackedHalf b, PackedHalf c) {
  return {fusedMultiplyAdd(a.lo, b.lo, c.lo), fusedMultiplyAdd(a.hi, b.hi, c.hi)};
}

constexpr Semantics kRows[] = {
    {"V_PK_ADD_F16", hot<[](PackedHalf a, PackedHalf b) {
       return each(a, b, [](Half x, Half y) { return Half(x + y); });
     }>},
    {"V_PK_MUL_F16", hot<[](PackedHalf a, PackedHalf b) {
       return each(a, b, [](Half x, Half y) { return Half(x * y); });
     }>},
    {"V_PK_FMA_F16", hot<[](PackedHalf a, PackedHalf b, PackedHalf c) { return fused(a, b, c); }>},
    // The destination is the addend.
    {"V_PK_FMAC_F16", hot<[](PackedHalf a, PackedHalf b, PackedHalf d) { return fused(a, b, d); }>},
    {"V_PK_MIN_F16", hot<[](const FloatMode &mode, PackedHalf a, PackedHalf b) {
       return each(a, b, [&](Half x, Half y) { return minNumber(x, y, mode.ieee); });
     }>},
    {"V_PK_MAX_F16", hot<[](const FloatMode &mode, PackedHalf a, PackedHalf b) {
       return each(a, b, [&](Half x, Half y) { return maxNumber(x, y, mode.ieee); });
     }>},
    {"V_PK_MINIMUM_F16", hot<[](PackedHalf a, PackedHalf b) {
       return each(a, b, [](Half x, Half y) { return minimum(x, y); });
     }>},
    {"V_PK_MAXIMUM_F16", hot<[](PackedHalf a, PackedHalf b) {
       return each(a, b, [](Half x, Half y) { return maximum(x, y); });
     }>},
    {"V_PK_MINIMUM3_F16", hot<[](PackedHalf a, PackedHalf b, PackedHalf c) {
       return each(a, b, c, [](Half x, Half y, Half z) { return minimum(minimum(x, y), z); });
     }>},
    {"V_PK_MAXIMUM3_F16", hot<[](PackedHalf a, PackedHalf b, PackedHalf c) {
       return each(a, b, c, [](Half x, Half y, Half z) { return maximum(maximum(x, y), z); });
     }>},

    {"V_PK_ADD_U16", hot<[](Saturate s, PackedU16 a, PackedU16 b) { return sum(a, b, s); }>},
    {"V_PK_ADD_I16", hot<[](Saturate s, PackedI16 a, PackedI16 b) { return sum(a, b, s); }>},
    {"V_PK_SUB_U16", hot<[](Saturate s, PackedU16 a, PackedU16 b) { return difference(a, b, s); }>},
    {"V_PK_SUB_I16", hot<[](Saturate s, PackedI16 a, PackedI16 b) { return difference(a, b, s); }>},
    {"V_PK_MUL_LO_U16", hot<[](PackedU16 a, PackedU16 b) {
       return each(a, b, [](uint16_t x, uint16_t y) { return uint16_t(uint32_t(x) * y); });
     }>},
    {"V_PK_MAD_U16", hot<[](Saturate s, PackedU16 a, PackedU16 b, PackedU16 c) {
       return multiplyAdd(a, b, c, s);
     }>},
    {"V_PK_MAD_I16", hot<[](Saturate s, PackedI16 a, PackedI16 b, PackedI16 c) {
       return multiplyAdd(a, b, c, s);
     }>},
    {"V_PK_MIN_U16", hot<[](PackedU16 a, PackedU16 b) { return each(a, b, lesser<uint16_t>); }>},
    {"V_PK_MAX_U16", hot<[](PackedU16 a, PackedU16 b) { return each(a, b, greater<uint16_t>); }>},
    {"V_PK_MIN_I16", hot<[](PackedI16 a, PackedI16 b) { return each(a, b, lesser<int16_t>); }>},
    {"V_PK_MAX_I16", hot<[](PackedI16 a, PackedI16 b) { return each(a, b, greater<int16_t>); }>},
    {"V_PK_LSHLREV_B16", hot<[](PackedU16 a, PackedU16 b) {
       return each(a, b, [](uint16_t x, uint16_t y) { return uint16_t(uint32_t(y) << (x & 15)); });
     }>},
    {"V_PK_LSHRREV_B16", hot<[](PackedU16 a, PackedU16 b) {
       return each(a, b, [](uint16_t x, uint16_t y) { return uint16_t(y >> (x & 15)); });
     }>},
    {"V_PK_ASHRREV_I16", hot<[](PackedI16 a, PackedI16 b) {
       return each(a, b, [](int16_t x, int16_t y) { return int16_t(y >> (x & 15)); });
     }>},

    {"V_PK_ADD_F32",
     hot<[](PackedFloat a, PackedFloat b) { return PackedFloat{a.lo + b.lo, a.hi + b.hi}; }>},
    {"V_PK_MUL_F32",
     hot<[](PackedFloat a, PackedFloat b) { return PackedFloat{a.lo * b.lo, a.hi * b.hi}; }>},
    {"V_PK_FMA_F32", hot<[](PackedFloat a, PackedFloat b, PackedFloat c) {
       return PackedFloat{std::fma(a.lo, b.lo, c.lo), std::fma(a.hi, b.hi, c.hi)};
     }>},
    // op_sel chooses the half of the first source for the low and of the second for the high
    // result.
    {"V_PK_MOV_B32",
     hot<[](Pair<uint32_t> a, Pair<uint32_t> b) { return Pair<uint32_t>{a.lo, b.lo}; }>},

    // The f32 result of the FMA is rounded again to f16, as the ISA's pseudocode says.
    {"V_FMA_MIX_F32", lanewise<[](float a, float b, float c) { return std::fma(a, b, c); }>,
     kMixedSources},
    {"V_FMA_MIXLO_F16", lanewise<[](float a, float b, float c) { return Half(std::fma(a, b, c)); }>,
     kMixedSources | kKeepsHigh},
    {"V_FMA_MIXHI_F16", lanewise<[](float a, float b, float c) { return Half(std::fma(a, b, c)); }>,
     kMixedSources | kResultHigh},
    // gfx900's: product and sum are rounded, denormals of f32 are flushed.
    {"V_MAD_MIX_F32",
     lanewise<[](float a, float b, float c) { return flushed(flushed(a * b) + c); }>,
     kMixedSources},
    {"V_MAD_MIXLO_F16",
     lanewise<[](float a, float b, float c) { return Half(flushed(flushed(a * b) + c)); }>,
     kMixedSources | kKeepsHigh},
    {"V_MAD_MIXHI_F16",
     lanewise<[](float a, float b, float c) { return Half(flushed(flushed(a * b) + c)); }>,
     kMixedSources | kResultHigh},
};

} // namespace

extern const SemanticsTable kVectorAluPacked;
const SemanticsTable kVectorAluPacked = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
