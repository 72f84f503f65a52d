// SPDX-License-Identifier: Apache-2.0
// The arithmetic of MatrixFunctions.cpp: number formats, the fused sum of an H100's tensor core,
// and the kinds of products of a row of A with a column of B.
#pragma once

// that are zero behind theirs, which adds nothing to a sum.
#include <stdint.h>

#define DEVICE_FUNCTION extern "C" __attribute__((used))
#define INLINE __attribute__((always_inline)) inline
#define UNROLL _Pragma("clang loop unroll(full)")

namespace {

template <unsigned N> struct Words {
  uint32_t w[N];
};
template struct Words<8>; // complete where a function with C's linkage returns it

INLINE uint32_t pull(uint32_t value, uint32_t lane) {
  return uint32_t(__nvvm_shfl_sync_idx_i32(~0u, int(value), int(lane), 31));
}
// A copy of an operand of which clang keeps the words in registers: it would choose between
// addresses of the parameter's words.
template <unsigned N> INLINE Words<N> inRegisters(const Words<N> &from) {
  Words<N> words;
  UNROLL for (unsigned i = 0; i < N; ++i) {
    words.w[i] = from.w[i];
    asm("" : "+r"(words.w[i]));
  }
  return words;
}
INLINE uint32_t laneIndex() { return uint32_t(__nvvm_read_ptx_sreg_laneid()); }

// ---------- Number formats

template <unsigned kExponent, unsigned kMantissa, bool kHasInfinity> struct Format {
  static constexpr unsigned mantissa = kMantissa;
  static constexpr uint32_t mantissaMask = (1u << kMantissa) - 1;
  static constexpr uint32_t exponentMask = (1u << kExponent) - 1;
  static constexpr uint32_t magnitudeMask = exponentMask << kMantissa | mantissaMask;
  static constexpr int bias = int(exponentMask >> 1);
  static constexpr unsigned signBit = kExponent + kMantissa;

  static INLINE uint32_t field(uint32_t bits) { return bits >> kMantissa & exponentMask; }
  static INLINE int exponent(uint32_t bits) {
    const uint32_t stored = field(bits);
    return int(stored ? stored : 1) - bias;
  }
  static INLINE uint32_t significand(uint32_t bits) {
    return (bits & mantissaMask) | (field(bits) ? 1u << kMantissa : 0);
  }
  static INLINE bool isNegative(uint32_t bits) { return bits >> signBit & 1; }
  static INLINE bool isSpecial(uint32_t bits) {
    return kHasInfinity ? field(bits) == exponentMask : (bits & magnitudeMask) == magnitudeMask;
  }
  static INLINE bool isInfinite(uint32_t bits) {
    return kHasInfinity && (bits & magnitudeMask) == exponentMask << kMantissa;
  }
  static INLINE bool isNan(uint32_t bits) { return isSpecial(bits) && !isInfinite(bits); }
  static INLINE bool isZero(uint32_t bits) { return !(bits & magnitudeMask); }
};

// Where elements lie in the words that hold them: element i of those that are summed first, then of
// those that are summed next (kPasses).
struct F32 : Format<8, 23, true> {
  static constexpr uint32_t kNan = 0x7fffffff;
};
struct F16 : Format<5, 10, true> {
  static constexpr uint32_t kNan = 0x7fff;
  static constexpr unsigned kPasses = 1, kTerms = 16, kWords = 8;
  static INLINE uint32_t element(uint32_t word, unsigned i, uint32_t) {
    return word >> 16 * i & 0xffff;
  }
};
struct BF16 : Format<8, 7, true> {
  static constexpr unsigned kPasses = 1, kTerms = 16, kWords = 8;
  static INLINE uint32_t element(uint32_t word, unsigned i, uint32_t) {
    return word >> 16 * i & 0xffff;
  }
};
// The low 13 bits do not count.
struct TF32 : Format<8, 10, true> {
  static constexpr unsigned kPasses = 1, kTerms = 8, kWords = 8;
  static INLINE uint32_t element(uint32_t word, unsigned, uint32_t) { return word >> 13; }
};
// wmma: k 0 to 3, then 4 to 7.
struct TF32InHalves : TF32 {
  static constexpr unsigned kPasses = 2, kTerms = 4;
};
// k % 4 in {0, 1}, then in {2, 3}.
template <class Base> struct Bytes : Base {
  static constexpr unsigned kPasses = 2, kTerms = 16, kWords = 8;
  static INLINE uint32_t element(uint32_t word, unsigned i, uint32_t pass) {
    return word >> (16 * pass + 8 * i) & 0xff;
  }
};
using E4M3 = Bytes<Format<4, 3, false>>;
using E5M2 = Bytes<Format<5, 2, true>>;
// wgmma: all of them.
template <class Base> struct AtOnce : Base {
  static constexpr unsigned kPasses = 1, kTerms = 32;
  static INLINE uint32_t element(uint32_t word, unsigned i, uint32_t) {
    return word >> 8 * i & 0xff;
  }
};

// ---------- The fused sum

// Terms are cut to multiples of 2^(exponent - kFraction), of the largest exponent, and then added
// exactly. Exponents are those of the product of the significands as they are stored.
constexpr int kFraction = 25;
constexpr int kNoExponent = -0x10000;

struct Term {
  uint32_t magnitude; // scaled by 2^-fraction of its significands
  int exponent;
  bool isNegative;
};

template <unsigned kMantissa> INLINE int64_t cut(const Term &term, int largest, int fraction) {
  const int shift = fraction - int(kMantissa) - (largest - term.exponent);
  const uint32_t right = shift < 0 ? uint32_t(-shift) : 0;
  const uint32_t magnitude = shift >= 0   ? term.magnitude << (shift & 31)
                             : right > 31 ? 0
                                          : term.magnitude >> right;
  return term.isNegative ? -int64_t(magnitude) : int64_t(magnitude);
}

struct Total {
  int64_t sum; // in units of 2^(exponent - kFraction)
  int exponent;
};

INLINE uint32_t highestBit(uint64_t value) { return 63u - uint32_t(__builtin_clzll(value)); }

// Towards zero.
INLINE uint32_t toF32(Total total) {
  if (total.sum == 0)
    return 0;
  const uint32_t sign = total.sum < 0 ? 0x80000000 : 0;
  const uint64_t magnitude = total.sum < 0 ? uint64_t(-total.sum) : uint64_t(total.sum);
  const int unit = total.exponent - kFraction;
  const int exponent = int(highestBit(magnitude)) + unit;
  if (exponent > 127)
    return sign | 0x7f800000;
  const int quantum = exponent < -126 ? -149 : exponent - 23;
  const int shift = quantum - unit;
  const uint32_t units = uint32_t(shift >= 64  ? 0
                                  : shift >= 0 ? magnitude >> shift
                                               : magnitude << -shift);
  // The significand's leading bit adds one to the exponent.
  return sign | (exponent < -126 ? units : (uint32_t(exponent + 126) << 23) + units);
}

// To nearest, ties to even.
INLINE uint32_t toF16(Total total) {
  if (total.sum == 0)
    return 0;
  const uint32_t sign = total.sum < 0 ? 0x8000 : 0;
  const uint64_t magnitude = total.sum < 0 ? uint64_t(-total.sum) : uint64_t(total.sum);
  const int unit = total.exponent - kFraction;
  const int exponent = int(highestBit(magnitude)) + unit;
  if (exponent > 15)
    return sign | 0x7c00;
  const int quantum = exponent < -14 ? -24 : exponent - 10;
  const int shift = quantum - unit;
  uint32_t units;
  if (shift <= 0) {
    units = uint32_t(magnitude << -shift);
  } else if (shift > 62) {
    units = 0;
  } else {
    const uint64_t kept = magnitude >> shift, rest = magnitude - (kept << shift);
    const uint64_t half = uint64_t(1) << (shift - 1);
    units = uint32_t(kept) + (rest > half || (rest == half && (kept & 1)) ? 1 : 0);
  }
  if (units == 0)
    return 0;
  return sign | (exponent < -14 ? units : (uint32_t(exponent + 14) << 10) + units);
}

INLINE uint32_t f32OfF16(uint32_t half) {
  float single;
  asm("cvt.f32.f16 %0, %1;" : "=f"(single) : "h"(uint16_t(half)));
  return __builtin_bit_cast(uint32_t, single);
}
INLINE uint32_t f16OfF32(uint32_t bits) {
  uint16_t half;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(half) : "f"(__builtin_bit_cast(float, bits)));
  return half;
}

// What a result is, and how many places terms have.
struct ToF32 {
  static constexpr int kPlaces = kFraction;
  static constexpr uint32_t kNan = F32::kNan, kInfinity = 0x7f800000, kNegative = 0x80000000;
  static INLINE uint32_t of(Total total) { return toF32(total); }
};
struct ToF16 {
  static constexpr int kPlaces = kFraction;
  static constexpr uint32_t kNan = F16::kNan, kInfinity = 0x7c00, kNegative = 0x8000;
  static INLINE uint32_t of(Total total) { return toF16(total); }
};
// By way of f32: C is f32, D is f16.
struct ToF16Twice : ToF16 {
  static INLINE uint32_t of(Total total) { return f16OfF32(toF32(total)); }
};

// wgmma of fp8: the result has as few places.
struct ToF32OfFew : ToF32 {
  static constexpr int kPlaces = 13;
  static INLINE uint32_t of(Total total) { return toF32(total) & ~0u << (F32::mantissa - kPlaces); }
};
struct ToF16OfFew : ToF16 {
  static constexpr int kPlaces = 13;
};

// The infinities and NaNs among what is added.
struct Specials {
  bool nan = false, positive = false, negative = false;

  INLINE void add(bool isNan, bool isInfinite, bool isNegative) {
    nan |= isNan;
    positive |= isInfinite && !isNegative;
    negative |= isInfinite && isNegative;
  }
  template <class Result> INLINE uint32_t result() const {
    if (nan || (positive && negative))
      return Result::kNan;
    return negative ? Result::kNegative | Result::kInfinity : Result::kInfinity;
  }
};

// c plus the products of the pass's elements.
template <class A, class B, class C, class Result>
INLINE uint32_t fusedSum(const uint32_t *aWords, const uint32_t *bWords, uint32_t c,
                         uint32_t pass) {
  constexpr unsigned kTerms = A::kTerms, kWords = A::kWords;
  constexpr unsigned kPerWord = kTerms < kWords ? 1 : kTerms / kWords;
  constexpr unsigned kFirst = kTerms < kWords ? kTerms : 0; // TF32InHalves: words by pass
  uint32_t a[kTerms], b[kTerms];
  UNROLL for (unsigned i = 0; i < kTerms; ++i) {
    const unsigned word = i / kPerWord;
    const uint32_t fromA = kFirst && pass ? aWords[kFirst + word] : aWords[word];
    const uint32_t fromB = kFirst && pass ? bWords[kFirst + word] : bWords[word];
    a[i] = A::element(fromA, i % kPerWord, pass);
    b[i] = B::element(fromB, i % kPerWord, pass);
  }
  bool special = C::isSpecial(c);
  UNROLL for (unsigned i = 0; i < kTerms; ++i) special |= A::isSpecial(a[i]) || B::isSpecial(b[i]);
  if (special) {
    Specials specials;
    specials.add(C::isNan(c), C::isInfinite(c), C::isNegative(c));
    UNROLL for (unsigned i = 0; i < kTerms; ++i) {
      const bool infiniteA = A::isInfinite(a[i]), infiniteB = B::isInfinite(b[i]);
      const bool isNan = A::isNan(a[i]) || B::isNan(b[i]) || (infiniteA && B::isZero(b[i])) ||
                         (infiniteB && A::isZero(a[i]));
      specials.add(isNan, infiniteA || infiniteB, A::isNegative(a[i]) != B::isNegative(b[i]));
    }
    return specials.result<Result>();
  }

  Term terms[kTerms];
  const Term ofC = {C::significand(c), C::exponent(c), C::isNegative(c)};
  int largest = ofC.magnitude ? ofC.exponent : kNoExponent;
  UNROLL for (unsigned i = 0; i < kTerms; ++i) {
    terms[i].magnitude = A::significand(a[i]) * B::significand(b[i]);
    terms[i].exponent = A::exponent(a[i]) + B::exponent(b[i]);
    terms[i].isNegative = A::isNegative(a[i]) != B::isNegative(b[i]);
    const int exponent = terms[i].magnitude ? terms[i].exponent : kNoExponent;
    largest = exponent > largest ? exponent : largest;
  }
  int64_t sum = cut<C::mantissa>(ofC, largest, Result::kPlaces);
  UNROLL for (unsigned i = 0; i < kTerms; ++i) sum +=
      cut<A::mantissa + B::mantissa>(terms[i], largest, Result::kPlaces);
  return Result::of({sum, largest + kFraction - Result::kPlaces});
}

// ---------- Additions of which the result is rounded to nearest

INLINE uint32_t withKnownNan(uint32_t bits, uint32_t infinity, uint32_t nan) {
  return (bits & nan) > infinity ? nan : bits;
}
INLINE uint32_t addF32(uint32_t a, uint32_t b) {
  float sum;
  asm("add.rn.f32 %0, %1, %2;"
      : "=f"(sum)
      : "f"(__builtin_bit_cast(float, a)), "f"(__builtin_bit_cast(float, b)));
  return withKnownNan(__builtin_bit_cast(uint32_t, sum), 0x7f800000, F32::kNan);
}
// Two roundings are one here: f32 has more than twice the bits of f16.
INLINE uint32_t addF16(uint32_t a, uint32_t b) {
  return withKnownNan(f16OfF32(addF32(f32OfF16(a), f32OfF16(b))), 0x7c00, F16::kNan);
}

INLINE uint32_t fmaF32(uint32_t a, uint32_t b, uint32_t c) {
  float d;
  asm("fma.rn.f32 %0, %1, %2, %3;"
      : "=f"(d)
      : "f"(__builtin_bit_cast(float, a)), "f"(__builtin_bit_cast(float, b)),
        "f"(__builtin_bit_cast(float, c)));
  return __builtin_bit_cast(uint32_t, d);
}

// ---------- Kinds of products of a row of A with a column of B, with the words of both

// f16, bf16, tf32: c belongs to the first sum.
template <class Factor, class C, class Result> struct Fused {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    if (Factor::kPasses == 1)
      return fusedSum<Factor, Factor, C, Result>(a, b, c, 0);
    _Pragma("clang loop unroll(disable)") for (uint32_t pass = 0; pass < Factor::kPasses; ++pass)
        c = fusedSum<Factor, Factor, C, Result>(a, b, c, pass);
    return c;
  }
};

// fp8: two sums from zero, then c is added.
template <class A, class B, class C, class Result> struct Narrow {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    uint32_t sum = 0;
    _Pragma("clang loop unroll(disable)") for (uint32_t pass = 0; pass < 2; ++pass) sum =
        fusedSum<A, B, C, Result>(a, b, sum, pass);
    return C::mantissa == F32::mantissa ? addF32(sum, c) : addF16(sum, c);
  }
};

// fp8 of wgmma: one sum with c.
template <class A, class B, class C, class Result> struct NarrowAtOnce {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    return fusedSum<AtOnce<A>, AtOnce<B>, C, Result>(a, b, c, 0);
  }
};

// Not what an H100 gives, but within what PTX asks for: multiply-adds in f32, which keep denormals.
struct SingleOfF16 : F16 {
  static INLINE uint32_t single(uint32_t word, unsigned i) { return f32OfF16(element(word, i, 0)); }
};
struct SingleOfBF16 : BF16 {
  static INLINE uint32_t single(uint32_t word, unsigned i) {
    return i ? word & 0xffff0000 : word << 16;
  }
};
struct SingleOfTF32 : TF32 {
  static INLINE uint32_t single(uint32_t word, unsigned) { return word & ~0x1fffu; }
};
// The upper byte of an f16.
struct SingleOfE5M2 : AtOnce<E5M2> {
  static INLINE uint32_t single(uint32_t word, unsigned i) {
    return f32OfF16(element(word, i, 0) << 8);
  }
};
// An f16 with another bias, also of denormals.
struct SingleOfE4M3 : AtOnce<E4M3> {
  static INLINE uint32_t single(uint32_t word, unsigned i) {
    const uint32_t bits = element(word, i, 0);
    const uint32_t scaled = f32OfF16((bits & 0x80) << 8 | (bits & 0x7f) << 7);
    const float value = __builtin_bit_cast(float, scaled) * 256.0f;
    return isNan(bits) ? uint32_t(F32::kNan) : __builtin_bit_cast(uint32_t, value);
  }
};
template <class A, class B, class C, class Result> struct Chain {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    constexpr unsigned kPerWord = A::kTerms / A::kWords;
    uint32_t sum = C::mantissa == F32::mantissa ? c : f32OfF16(c);
    UNROLL for (unsigned word = 0; word < 8; ++word) {
      UNROLL for (unsigned i = 0; i < kPerWord; ++i) sum =
          fmaF32(A::single(a[word], i), B::single(b[word], i), sum);
    }
    return Result::kInfinity == ToF32::kInfinity ? sum : f16OfF32(sum);
  }
};

template <bool kSigned> INLINE uint32_t nibbles(uint32_t word, unsigned upper) {
  const uint32_t bytes = word >> 4 * upper & 0x0f0f0f0f;
  return kSigned ? (((bytes ^ 0x08080808) | 0x80808080) - 0x08080808) ^ 0x80808080 : bytes;
}

template <bool kSignedA, bool kSignedB> INLINE uint32_t dot4(uint32_t a, uint32_t b, uint32_t sum) {
  uint32_t result;
  if (kSignedA && kSignedB)
    asm("dp4a.s32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if (kSignedA)
    asm("dp4a.s32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else if (kSignedB)
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  else
    asm("dp4a.u32.u32 %0, %1, %2, %3;" : "=r"(result) : "r"(a), "r"(b), "r"(sum));
  return result;
}

// The sum of the products fits in 32 bits; c is added last.
template <unsigned kBits, bool kSignedA, bool kSignedB, bool kSaturates> struct Integer {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    uint32_t sum = 0;
    UNROLL for (unsigned word = 0; word < 8; ++word) {
      if (kBits == 8) {
        sum = dot4<kSignedA, kSignedB>(a[word], b[word], sum);
      } else {
        UNROLL for (unsigned upper = 0; upper < 2; ++upper) sum = dot4<kSignedA, kSignedB>(
            nibbles<kSignedA>(a[word], upper), nibbles<kSignedB>(b[word], upper), sum);
      }
    }
    if (!kSaturates)
      return sum + c;
    uint32_t result;
    asm("add.sat.s32 %0, %1, %2;" : "=r"(result) : "r"(sum), "r"(c));
    return result;
  }
};

template <bool kAnd> struct Bits {
  static INLINE uint32_t product(const uint32_t *a, const uint32_t *b, uint32_t c) {
    UNROLL for (unsigned word = 0; word < 8; ++word) c +=
        uint32_t(__builtin_popcount(kAnd ? a[word] & b[word] : a[word] ^ b[word]));
    return c;
  }
};

} // namespace
