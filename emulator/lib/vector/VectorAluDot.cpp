// SPDX-License-Identifier: Apache-2.0
// Dot products. Float ones add one product after the other in the order of RDNA3's pseudocode;
// assumed: each step is rounded, and nothing but MODE flushes denormals, except that gfx90a always
// flushes those of V_DOT2_F32_F16 and V_DOT2C_F32_F16 (PyTorch, "Reduced Precision FP16 and BF16
// GEMMs and Convolutions on AMD Instinct MI200 devices"; assumed: of the addend too).
#include "emulator/lib/machine/Lanewise.h"
#include "emulator/lib/machine/SmallFloat.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator::RUBIA_ISA {
namespace {

// The products of two f16 or bf16 are exact in float, apart from over- and underflow of bf16.
template <class T> float dot2(Pair<T> a, Pair<T> b, float c) {
  float sum = c + float(a.lo) * float(b.lo);
  return sum + float(a.hi) * float(b.hi);
}

float dot2Flushing(Pair<Half> a, Pair<Half> b, float c) {
  Pair<Half> x = {flushed(a.lo), flushed(a.hi)}, y = {flushed(b.lo), flushed(b.hi)};
  return flushed(dot2(x, y, flushed(c)));
}

/// Four products of 8-bit floats, the lowest byte first.
template <SmallFormat kA, SmallFormat kB> float dot4(uint32_t a, uint32_t b, float c) {
  for (unsigned shift = 0; shift < 32; shift += 8)
    c += decodeSmall(kA, a >> shift & 0xff) * decodeSmall(kB, b >> shift & 0xff);
  return c;
}

Half dot2InHalf(Pair<Half> a, Pair<Half> b, Half c) {
  return fusedMultiplyAdd(a.hi, b.hi, fusedMultiplyAdd(a.lo, b.lo, c));
}
Bfloat dot2InBfloat(Pair<Bfloat> a, Pair<Bfloat> b, Bfloat c) {
  Bfloat sum = Bfloat(float(c) + float(a.lo) * float(b.lo));
  return Bfloat(float(sum) + float(a.hi) * float(b.hi));
}

/// The sum of the products of kCount = 32 / kBits elements.
template <unsigned kBits> int64_t products(uint32_t a, uint32_t b, bool signedA, bool signedB) {
  constexpr unsigned kUnused = 32 - kBits;
  int64_t sum = 0;
  for (unsigned i = 0; i < 32; i += kBits) {
    uint32_t rawA = a << (kUnused - i), rawB = b << (kUnused - i);
    int32_t x = signedA ? int32_t(rawA) >> kUnused : int32_t(rawA >> kUnused);
    int32_t y = signedB ? int32_t(rawB) >> kUnused : int32_t(rawB >> kUnused);
    sum += int64_t(x) * y;
  }
  return sum;
}

template <unsigned kBits> int32_t signedDot(uint32_t a, uint32_t b, int32_t c, Saturate s) {
  return narrowed<int32_t>(products<kBits>(a, b, true, true) + c, s);
}
template <unsigned kBits> uint32_t unsignedDot(uint32_t a, uint32_t b, uint32_t c, Saturate s) {
  return narrowed<uint32_t>(products<kBits>(a, b, false, false) + c, s);
}
template <unsigned kBits>
int32_t mixedDot(uint32_t a, uint32_t b, int32_t c, Saturate s, Signs signs) {
  return narrowed<int32_t>(products<kBits>(a, b, signs[0], signs[1]) + c, s);
}

int32_t dot2(Pair<int16_t> a, Pair<int16_t> b, int32_t c, Saturate s) {
  return narrowed<int32_t>(int64_t(a.lo) * b.lo + int64_t(a.hi) * b.hi + c, s);
}
uint32_t dot2(Pair<uint16_t> a, Pair<uint16_t> b, uint32_t c, Saturate s) {
  return narrowed<uint32_t>(uint64_t(a.lo) * b.lo + uint64_t(a.hi) * b.hi + c, s);
}

using PackedHalf = Pair<Half>;
using PackedBfloat = Pair<Bfloat>;
using PackedI16 = Pair<int16_t>;
using PackedU16 = Pair<uint16_t>;

constexpr Semantics kRows[] = {
    {"V_DOT2_F32_F16", lanewise<[](PackedHalf a, PackedHalf b, float c) { return dot2(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT2C_F32_F16", lanewise<[](PackedHalf a, PackedHalf b, float d) { return dot2(a, b, d); }>,
     kUnorderedSum},
    // gfx90a's
    {"V_DOT2_F32_F16_MI200",
     lanewise<[](PackedHalf a, PackedHalf b, float c) { return dot2Flushing(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT2C_F32_F16_MI200",
     lanewise<[](PackedHalf a, PackedHalf b, float d) { return dot2Flushing(a, b, d); }>,
     kUnorderedSum},
    {"V_DOT2_F32_BF16",
     lanewise<[](PackedBfloat a, PackedBfloat b, float c) { return dot2(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT2C_F32_BF16",
     lanewise<[](PackedBfloat a, PackedBfloat b, float d) { return dot2(a, b, d); }>,
     kUnorderedSum},
    {"V_DOT2_F16_F16",
     lanewise<[](PackedHalf a, PackedHalf b, Half c) { return dot2InHalf(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT2_BF16_BF16",
     lanewise<[](PackedBfloat a, PackedBfloat b, Bfloat c) { return dot2InBfloat(a, b, c); }>,
     kUnorderedSum},

    {"V_DOT4_F32_FP8_FP8",
     lanewise<[](uint32_t a, uint32_t b, float c) { return dot4<kE4m3, kE4m3>(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT4_F32_FP8_BF8",
     lanewise<[](uint32_t a, uint32_t b, float c) { return dot4<kE4m3, kE5m2>(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT4_F32_BF8_FP8",
     lanewise<[](uint32_t a, uint32_t b, float c) { return dot4<kE5m2, kE4m3>(a, b, c); }>,
     kUnorderedSum},
    {"V_DOT4_F32_BF8_BF8",
     lanewise<[](uint32_t a, uint32_t b, float c) { return dot4<kE5m2, kE5m2>(a, b, c); }>,
     kUnorderedSum},

    {"V_DOT2_I32_I16",
     lanewise<[](Saturate s, PackedI16 a, PackedI16 b, int32_t c) { return dot2(a, b, c, s); }>},
    {"V_DOT2C_I32_I16",
     lanewise<[](Saturate s, PackedI16 a, PackedI16 b, int32_t d) { return dot2(a, b, d, s); }>},
    {"V_DOT2_U32_U16",
     lanewise<[](Saturate s, PackedU16 a, PackedU16 b, uint32_t c) { return dot2(a, b, c, s); }>},
    {"V_DOT4_I32_I8", lanewise<[](Saturate s, uint32_t a, uint32_t b, int32_t c) {
       return signedDot<8>(a, b, c, s);
     }>},
    {"V_DOT4C_I32_I8", lanewise<[](Saturate s, uint32_t a, uint32_t b, int32_t d) {
       return signedDot<8>(a, b, d, s);
     }>},
    {"V_DOT4_U32_U8", lanewise<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return unsignedDot<8>(a, b, c, s);
     }>},
    {"V_DOT4_I32_IU8", lanewise<[](Saturate s, Signs signs, uint32_t a, uint32_t b, int32_t c) {
       return mixedDot<8>(a, b, c, s, signs);
     }>},
    {"V_DOT8_I32_I4", lanewise<[](Saturate s, uint32_t a, uint32_t b, int32_t c) {
       return signedDot<4>(a, b, c, s);
     }>},
    {"V_DOT8C_I32_I4", lanewise<[](Saturate s, uint32_t a, uint32_t b, int32_t d) {
       return signedDot<4>(a, b, d, s);
     }>},
    {"V_DOT8_U32_U4", lanewise<[](Saturate s, uint32_t a, uint32_t b, uint32_t c) {
       return unsignedDot<4>(a, b, c, s);
     }>},
    {"V_DOT8_I32_IU4", lanewise<[](Saturate s, Signs signs, uint32_t a, uint32_t b, int32_t c) {
       return mixedDot<4>(a, b, c, s, signs);
     }>},
};

} // namespace

extern const SemanticsTable kVectorAluDot;
const SemanticsTable kVectorAluDot = table(kRows);

} // namespace rubia::emulator::RUBIA_ISA
