// SPDX-License-Identifier: Apache-2.0
// The products of mma, mma.sp, wmma and wgmma as an H100 computes them, bit for bit, without a
// matrix unit: the software route of lowering/lib/matrices/Mma.cpp.
//
// Written in C++, compiled to PTX while Rubia is built, and lowered together with the kernels that
// need it, like DeviceFunctions.cpp. Rows and columns travel between lanes by shfl, so that every
// warp form has it. A function computes one after the other the elements of D that a lane holds.
//
// Operands are fragments as PTX has them (MmaForm.h). Shapes with less depth come with registers
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

// ---------- Fragments

// The D elements of a lane, one after the other: element r is in the lower row for r < 2, and in
// the second of the two columns for odd r. 8 rows have two elements.
struct Place {
  uint32_t group, thread; // lane = 4 group + thread
  uint32_t lower, second;
};

// A row of A and a column of B have four words of each register: those of four lanes.
INLINE void takeRow(const Words<4> &a, const Place &at, uint32_t *words) {
  UNROLL for (unsigned word = 0; word < 8; ++word) {
    const unsigned chunk = word / 4;
    words[word] = pull(at.lower ? a.w[2 * chunk + 1] : a.w[2 * chunk], 4 * at.group + word % 4);
  }
}
template <unsigned N> INLINE void takeColumn(const Words<N> &b, const Place &at, uint32_t *words) {
  const uint32_t column = 2 * at.thread + at.second;
  UNROLL for (unsigned word = 0; word < 4 * N; ++word) words[word] =
      pull(b.w[word / 4], 4 * column + word % 4);
}

// Where the metadata of a row lies: MmaForm::metadataOf(). A word of the stored row takes its
// partners from two words of the column.
struct Metadata {
  uint32_t word;  // operand e of this lane
  uint32_t first; // the lane of each four that has the first nibbles
};

// Elements of 16 bits (kNibbles 1), tf32 (kSingle): a nibble for each word. A word of metadata has
// four nibbles of rows g and g + 8.
template <bool kSingle>
INLINE void partnersByWord(const Metadata &metadata, const Place &at, const uint32_t *column,
                           uint32_t *partners) {
  UNROLL for (unsigned word = 0; word < 8; ++word) {
    const uint32_t from = pull(metadata.word, 4 * at.group + metadata.first + word / 4);
    const uint32_t nibble = from >> (16 * at.lower + 4 * (word % 4)) & 15;
    const uint32_t low = column[2 * word], high = column[2 * word + 1];
    if (kSingle) {
      partners[word] = nibble & 2 ? high : low;
      continue;
    }
    const uint64_t four = uint64_t(high) << 32 | low;
    partners[word] = uint32_t(four >> 16 * (nibble & 3) & 0xffff) |
                     uint32_t(four >> 16 * (nibble >> 2) & 0xffff) << 16;
  }
}

// Elements of 8 bits, and pairs of 4: two nibbles for each word. A word of metadata has eight
// nibbles of one row.
INLINE void partnersByByte(const Metadata &metadata, const Place &at, const uint32_t *column,
                           uint32_t *partners) {
  UNROLL for (unsigned word = 0; word < 8; ++word) {
    const uint32_t from =
        pull(metadata.word, 4 * at.group + metadata.first + 2 * (word / 4) + at.lower);
    uint32_t bytes = 0;
    UNROLL for (unsigned i = 0; i < 4; ++i) {
      const uint32_t position = from >> (8 * (word % 4) + 2 * i) & 3;
      bytes |= (column[2 * word + i / 2] >> 8 * position & 0xff) << 8 * i;
    }
    partners[word] = bytes;
  }
}

enum class Sparsity { None, Words, Singles, Bytes };

template <unsigned kCount> struct FragmentOfC;
// f32, s32: an element is a register.
template <> struct FragmentOfC<4> {
  static INLINE uint32_t element(const Words<4> &c, uint32_t r) {
    return r < 2 ? (r == 0 ? c.w[0] : c.w[1]) : r == 2 ? c.w[2] : c.w[3];
  }
  static INLINE void set(Words<4> &d, uint32_t r, uint32_t value) {
    UNROLL for (unsigned i = 0; i < 4; ++i) d.w[i] = r == i ? value : d.w[i];
  }
};
// f16: a register has two.
template <> struct FragmentOfC<2> {
  static INLINE uint32_t element(const Words<2> &c, uint32_t r) {
    return (r < 2 ? c.w[0] : c.w[1]) >> 16 * (r & 1) & 0xffff;
  }
  static INLINE void set(Words<2> &d, uint32_t r, uint32_t value) {
    UNROLL for (unsigned i = 0; i < 2; ++i) d.w[i] |= r / 2 == i ? value << 16 * (r & 1) : 0;
  }
};

// `count`: how many elements of D a lane has: 4, or 2 where there are 8 rows.
template <class Kind, unsigned kD, Sparsity kSparsity, unsigned kC, unsigned kB>
INLINE Words<kD> multiply(const Words<4> &ofA, const Words<kB> &ofB, const Words<kC> &ofC,
                          const Metadata &metadata, uint32_t count) {
  const uint32_t lane = laneIndex();
  const Words<4> a = inRegisters(ofA);
  const Words<kB> b = inRegisters(ofB);
  const Words<kC> c = inRegisters(ofC);
  Words<kD> d = {};
  _Pragma("clang loop unroll(disable)") for (uint32_t r = 0; r < count; ++r) {
    const Place at = {lane / 4, lane % 4, r / 2, r % 2};
    uint32_t row[8], column[4 * kB], partners[8];
    takeRow(a, at, row);
    takeColumn(b, at, column);
    if (kSparsity == Sparsity::Words)
      partnersByWord<false>(metadata, at, column, partners);
    else if (kSparsity == Sparsity::Singles)
      partnersByWord<true>(metadata, at, column, partners);
    else if (kSparsity == Sparsity::Bytes)
      partnersByByte(metadata, at, column, partners);
    const uint32_t *factors = kSparsity == Sparsity::None ? column : partners;
    FragmentOfC<kD>::set(d, r, Kind::product(row, factors, FragmentOfC<kC>::element(c, r)));
  }
  return d;
}

} // namespace

// ---------- The functions. Mma.cpp makes their names: mma, mma_sp or wmma, the types of A, B, C,
// D.

#define DENSE(Name, Kind, kC, kD)                                                                  \
  DEVICE_FUNCTION Words<kD> Name(Words<4> a, Words<2> b, Words<kC> c, uint32_t count) {            \
    return multiply<Kind, kD, Sparsity::None>(a, b, c, {}, count);                                 \
  }
#define SPARSE(Name, Kind, kC, kD, kSparsity)                                                      \
  DEVICE_FUNCTION Words<kD> Name(Words<4> a, Words<4> b, Words<kC> c, uint32_t metadata,           \
                                 uint32_t first) {                                                 \
    return multiply<Kind, kD, Sparsity::kSparsity>(a, b, c, {metadata, first}, 4);                 \
  }
#define COMMA ,

DENSE(mma_f16_f16_f16_f16, Fused<F16 COMMA F16 COMMA ToF16>, 2, 2)
DENSE(mma_f16_f16_f32_f32, Fused<F16 COMMA F32 COMMA ToF32>, 4, 4)
DENSE(mma_f16_f16_f16_f32, Fused<F16 COMMA F16 COMMA ToF32>, 2, 4)
DENSE(mma_f16_f16_f32_f16, Fused<F16 COMMA F32 COMMA ToF16Twice>, 4, 2)
DENSE(mma_bf16_bf16_f32_f32, Fused<BF16 COMMA F32 COMMA ToF32>, 4, 4)
DENSE(mma_tf32_tf32_f32_f32, Fused<TF32 COMMA F32 COMMA ToF32>, 4, 4)
DENSE(wmma_tf32_tf32_f32_f32, Fused<TF32InHalves COMMA F32 COMMA ToF32>, 4, 4)

SPARSE(mma_sp_f16_f16_f16_f16, Fused<F16 COMMA F16 COMMA ToF16>, 2, 2, Words)
SPARSE(mma_sp_f16_f16_f32_f32, Fused<F16 COMMA F32 COMMA ToF32>, 4, 4, Words)
SPARSE(mma_sp_bf16_bf16_f32_f32, Fused<BF16 COMMA F32 COMMA ToF32>, 4, 4, Words)
SPARSE(mma_sp_tf32_tf32_f32_f32, Fused<TF32 COMMA F32 COMMA ToF32>, 4, 4, Singles)

#define NARROW(a, b, A, B)                                                                         \
  DENSE(mma_##a##_##b##_f32_f32, Narrow<A COMMA B COMMA F32 COMMA ToF32>, 4, 4)                    \
  DENSE(mma_##a##_##b##_f16_f16, Narrow<A COMMA B COMMA F16 COMMA ToF16>, 2, 2)                    \
  SPARSE(mma_sp_##a##_##b##_f32_f32, Narrow<A COMMA B COMMA F32 COMMA ToF32>, 4, 4, Bytes)         \
  SPARSE(mma_sp_##a##_##b##_f16_f16, Narrow<A COMMA B COMMA F16 COMMA ToF16>, 2, 2, Bytes)
#define WARPGROUP(a, b, A, B)                                                                      \
  DENSE(wgmma_##a##_##b##_f32_f32, NarrowAtOnce<A COMMA B COMMA F32 COMMA ToF32OfFew>, 4, 4)       \
  DENSE(wgmma_##a##_##b##_f16_f16, NarrowAtOnce<A COMMA B COMMA F16 COMMA ToF16OfFew>, 2, 2)       \
  SPARSE(wgmma_sp_##a##_##b##_f32_f32, NarrowAtOnce<A COMMA B COMMA F32 COMMA ToF32OfFew>, 4, 4,   \
         Bytes)                                                                                    \
  SPARSE(wgmma_sp_##a##_##b##_f16_f16, NarrowAtOnce<A COMMA B COMMA F16 COMMA ToF16OfFew>, 2, 2,   \
         Bytes)
NARROW(e4m3, e4m3, E4M3, E4M3)
NARROW(e4m3, e5m2, E4M3, E5M2)
NARROW(e5m2, e4m3, E5M2, E4M3)
NARROW(e5m2, e5m2, E5M2, E5M2)
WARPGROUP(e4m3, e4m3, E4M3, E4M3)
WARPGROUP(e4m3, e5m2, E4M3, E5M2)
WARPGROUP(e5m2, e4m3, E5M2, E4M3)
WARPGROUP(e5m2, e5m2, E5M2, E5M2)

// Names begin with `chain`.
#define CHAIN_OF(a, b, c, d, A, B, C, D, kC, kD, kSparsity)                                        \
  DENSE(chain_##a##_##b##_##c##_##d, Chain<A COMMA B COMMA C COMMA D>, kC, kD)                     \
  SPARSE(chain_sp_##a##_##b##_##c##_##d, Chain<A COMMA B COMMA C COMMA D>, kC, kD, kSparsity)
#define CHAIN(a, b, A, B, kSparsity)                                                               \
  CHAIN_OF(a, b, f32, f32, SingleOf##A, SingleOf##B, F32, ToF32, 4, 4, kSparsity)
#define CHAIN_TO_F16(a, b, A, B, kSparsity)                                                        \
  CHAIN_OF(a, b, f16, f16, SingleOf##A, SingleOf##B, F16, ToF16, 2, 2, kSparsity)
CHAIN(f16, f16, F16, F16, Words)
CHAIN_TO_F16(f16, f16, F16, F16, Words)
CHAIN(bf16, bf16, BF16, BF16, Words)
CHAIN(tf32, tf32, TF32, TF32, Singles)
DENSE(chain_f16_f16_f16_f32, Chain<SingleOfF16 COMMA SingleOfF16 COMMA F16 COMMA ToF32>, 2, 4)
DENSE(chain_f16_f16_f32_f16, Chain<SingleOfF16 COMMA SingleOfF16 COMMA F32 COMMA ToF16>, 4, 2)
#define CHAIN_OF_BYTES(a, b, A, B)                                                                 \
  CHAIN(a, b, A, B, Bytes)                                                                         \
  CHAIN_TO_F16(a, b, A, B, Bytes)
CHAIN_OF_BYTES(e4m3, e4m3, E4M3, E4M3)
CHAIN_OF_BYTES(e4m3, e5m2, E4M3, E5M2)
CHAIN_OF_BYTES(e5m2, e4m3, E5M2, E4M3)
CHAIN_OF_BYTES(e5m2, e5m2, E5M2, E5M2)

#define INTEGER(a, b, kBits, kSignedA, kSignedB)                                                   \
  DENSE(mma_##a##_##b##_s32_s32, Integer<kBits COMMA kSignedA COMMA kSignedB COMMA false>, 4, 4)   \
  DENSE(mma_satfinite_##a##_##b##_s32_s32,                                                         \
        Integer<kBits COMMA kSignedA COMMA kSignedB COMMA true>, 4, 4)                             \
  SPARSE(mma_sp_##a##_##b##_s32_s32, Integer<kBits COMMA kSignedA COMMA kSignedB COMMA false>, 4,  \
         4, Bytes)                                                                                 \
  SPARSE(mma_sp_satfinite_##a##_##b##_s32_s32,                                                     \
         Integer<kBits COMMA kSignedA COMMA kSignedB COMMA true>, 4, 4, Bytes)
INTEGER(s8, s8, 8, true, true)
INTEGER(s8, u8, 8, true, false)
INTEGER(u8, s8, 8, false, true)
INTEGER(u8, u8, 8, false, false)
INTEGER(s4, s4, 4, true, true)
INTEGER(s4, u4, 4, true, false)
INTEGER(u4, s4, 4, false, true)
INTEGER(u4, u4, 4, false, false)

DENSE(mma_xor_b1_b1_s32_s32, Bits<false>, 4, 4)
DENSE(mma_and_b1_b1_s32_s32, Bits<true>, 4, 4)

// ---------- f64: a chain of fused multiply-adds that starts with c

namespace {

#define ROUNDING(Name, Suffix)                                                                     \
  struct Name {                                                                                    \
    static INLINE double fma(double a, double b, double c) {                                       \
      double d;                                                                                    \
      asm("fma." Suffix ".f64 %0, %1, %2, %3;" : "=d"(d) : "d"(a), "d"(b), "d"(c));                \
      return d;                                                                                    \
    }                                                                                              \
  };
ROUNDING(RoundNearest, "rn")
ROUNDING(RoundZero, "rz")
ROUNDING(RoundDown, "rm")
ROUNDING(RoundUp, "rp")
#undef ROUNDING

template <unsigned N> struct Doubles {
  uint64_t d[N];
};
template <unsigned N> INLINE Doubles<N> inRegisters(const Doubles<N> &from) {
  Doubles<N> doubles;
  UNROLL for (unsigned i = 0; i < N; ++i) {
    doubles.d[i] = from.d[i];
    asm("" : "+l"(doubles.d[i]));
  }
  return doubles;
}

INLINE double pull(uint64_t value, uint32_t lane) {
  const uint64_t low = pull(uint32_t(value), lane), high = pull(uint32_t(value >> 32), lane);
  return __builtin_bit_cast(double, high << 32 | low);
}

// kChunks: how many times four columns of A.
template <class Rounding, unsigned kChunks>
INLINE Doubles<4> multiplyF64(const Doubles<2 * kChunks> &ofA, const Doubles<kChunks> &ofB,
                              const Doubles<4> &ofC, uint32_t count) {
  const uint32_t lane = laneIndex();
  const Doubles<2 * kChunks> a = inRegisters(ofA);
  const Doubles<kChunks> b = inRegisters(ofB);
  const Doubles<4> c = inRegisters(ofC);
  Doubles<4> d = {};
  _Pragma("clang loop unroll(disable)") for (uint32_t r = 0; r < count; ++r) {
    uint64_t bits = 0;
    UNROLL for (unsigned i = 0; i < 4; ++i) bits = r == i ? c.d[i] : bits;
    double sum = __builtin_bit_cast(double, bits);
    const uint32_t row = lane & ~3u, column = 4 * (2 * (lane % 4) + r % 2);
    UNROLL for (unsigned k = 0; k < 4 * kChunks; ++k) {
      const uint64_t fromA = r / 2 ? a.d[2 * (k / 4) + 1] : a.d[2 * (k / 4)];
      sum = Rounding::fma(pull(fromA, row + k % 4), pull(b.d[k / 4], column + k % 4), sum);
    }
    UNROLL for (unsigned i = 0; i < 4; ++i) d.d[i] =
        r == i ? __builtin_bit_cast(uint64_t, sum) : d.d[i];
  }
  return d;
}

} // namespace

#define F64(Name, Rounding, kChunks)                                                               \
  DEVICE_FUNCTION Doubles<4> Name(Doubles<2 * kChunks> a, Doubles<kChunks> b, Doubles<4> c,        \
                                  uint32_t count) {                                                \
    return multiplyF64<Rounding, kChunks>(a, b, c, count);                                         \
  }
#define F64_ALL(kDepth, kChunks)                                                                   \
  F64(mma_rn_k##kDepth##_f64_f64_f64_f64, RoundNearest, kChunks)                                   \
  F64(mma_rz_k##kDepth##_f64_f64_f64_f64, RoundZero, kChunks)                                      \
  F64(mma_rm_k##kDepth##_f64_f64_f64_f64, RoundDown, kChunks)                                      \
  F64(mma_rp_k##kDepth##_f64_f64_f64_f64, RoundUp, kChunks)
F64_ALL(4, 1)
F64_ALL(8, 2)
F64_ALL(16, 4)

// ---------- m8n8k4 of f16: four products, each of two groups of four lanes

namespace {

// Element i of a fragment of four, of another lane.
INLINE uint32_t elementOf(const Words<2> &fragment, uint32_t lane, uint32_t i) {
  const uint32_t low = pull(fragment.w[0], lane), high = pull(fragment.w[1], lane);
  return (i & 2 ? high : low) >> 16 * (i & 1) & 0xffff;
}

// alongK: the elements of a lane are those of one row or column; else of one k.
INLINE uint32_t quadElement(const Words<2> &fragment, uint32_t first, uint32_t outer, uint32_t k,
                            uint32_t alongK) {
  const uint32_t lane = first + 16 * (outer / 4) + (alongK ? outer % 4 : k);
  return elementOf(fragment, lane, alongK ? k : outer % 4);
}

// f16: a register has two elements of a row. f32: MmaForm.cpp has the order.
template <unsigned kC> struct QuadC {
  static constexpr bool kHalves = kC == 4;
  static INLINE uint32_t row(uint32_t x, uint32_t i) { return kHalves ? x : (x & 1) + (i & 2); }
  static INLINE uint32_t column(uint32_t x, uint32_t i) {
    return kHalves ? i : (i & 4) + (x & 2) + (i & 1);
  }
  static INLINE uint32_t element(const Words<kC> &c, uint32_t i) {
    uint32_t word = 0;
    UNROLL for (unsigned reg = 0; reg < kC; ++reg) word =
        (kHalves ? i / 2 : i) == reg ? c.w[reg] : word;
    return kHalves ? word >> 16 * (i & 1) & 0xffff : word;
  }
  static INLINE void set(Words<kC> &d, uint32_t i, uint32_t value) {
    UNROLL for (unsigned reg = 0; reg < kC; ++reg) d.w[reg] |=
        (kHalves ? i / 2 : i) == reg ? value << (kHalves ? 16 * (i & 1) : 0) : 0;
  }
};

// Where C and D are of different types they lie in different lanes.
template <unsigned kC>
INLINE uint32_t quadC(const Words<kC> &c, uint32_t first, uint32_t row, uint32_t column) {
  if (kC == 8) {
    const uint32_t lane = first + 16 * (row / 4) + (row & 1) + (column & 2);
    const uint32_t i = (row & 2) + (column & 4) + (column & 1);
    uint32_t value = 0;
    UNROLL for (unsigned reg = 0; reg < kC; ++reg) {
      const uint32_t here = pull(c.w[reg], lane);
      value = i == reg ? here : value;
    }
    return value;
  }
  uint32_t word = 0;
  UNROLL for (unsigned reg = 0; reg < 4; ++reg) {
    const uint32_t here = pull(c.w[reg], first + 16 * (row / 4) + row % 4);
    word = column / 2 == reg ? here : word;
  }
  return f32OfF16(word >> 16 * (column & 1) & 0xffff);
}

// All terms are f16: their exact sum, in units of 2^-48, is rounded once.
INLINE uint32_t exactSum(const uint32_t *a, const uint32_t *b, uint32_t c) {
  Specials specials;
  specials.add(F16::isNan(c), F16::isInfinite(c), F16::isNegative(c));
  bool special = F16::isSpecial(c);
  __int128 sum = __int128(F16::significand(c)) << (F16::exponent(c) + 38);
  sum = F16::isNegative(c) ? -sum : sum;
  UNROLL for (uint32_t k = 0; k < 4; ++k) {
    const bool isNegative = F16::isNegative(a[k]) != F16::isNegative(b[k]);
    const bool infiniteA = F16::isInfinite(a[k]), infiniteB = F16::isInfinite(b[k]);
    special |= F16::isSpecial(a[k]) || F16::isSpecial(b[k]);
    specials.add(F16::isNan(a[k]) || F16::isNan(b[k]) || (infiniteA && F16::isZero(b[k])) ||
                     (infiniteB && F16::isZero(a[k])),
                 infiniteA || infiniteB, isNegative);
    const int shift = (F16::exponent(a[k]) + F16::exponent(b[k]) + 28) & 63;
    const __int128 term = __int128(F16::significand(a[k]) * F16::significand(b[k])) << shift;
    sum += isNegative ? -term : term;
  }
  if (special)
    return specials.result<ToF16>();
  // What is lost of 33 bits counts as one, which is enough to round.
  const bool isNegative = sum < 0;
  const unsigned __int128 magnitude = isNegative ? -(unsigned __int128)sum : sum;
  const uint64_t low = uint64_t(magnitude) & 0x1ffffffff;
  const bool isLarge = magnitude >> 62 != 0;
  const int64_t kept = isLarge ? int64_t(magnitude >> 33) | (low != 0) : int64_t(magnitude);
  return toF16({isNegative ? -kept : kept, kFraction - 48 + (isLarge ? 33 : 0)});
}

// D of f32: a chain of fused multiply-adds from zero, then c is added.
template <unsigned kC, unsigned kD>
INLINE Words<kD> multiplyQuads(const Words<2> &a, const Words<2> &b, const Words<kC> &c,
                               uint32_t rowsOfA, uint32_t columnsOfB) {
  const uint32_t lane = laneIndex(), first = lane & 12, x = lane & 3, high = lane / 16;
  Words<kD> d = {};
  _Pragma("clang loop unroll(disable)") for (uint32_t i = 0; i < 8; ++i) {
    const uint32_t row = QuadC<kD>::row(x, i) + 4 * high, column = QuadC<kD>::column(x, i);
    uint32_t ofRow[4], ofColumn[4];
    UNROLL for (uint32_t k = 0; k < 4; ++k) {
      ofRow[k] = quadElement(a, first, row, k, rowsOfA);
      ofColumn[k] = quadElement(b, first, column, k, columnsOfB);
    }
    if (kD == 4) {
      QuadC<kD>::set(d, i, exactSum(ofRow, ofColumn, QuadC<kC>::element(c, i)));
      continue;
    }
    uint32_t sum = 0;
    UNROLL for (uint32_t k = 0; k < 4; ++k) {
      sum = fmaF32(f32OfF16(ofRow[k]), f32OfF16(ofColumn[k]), sum);
    }
    QuadC<kD>::set(d, i, addF32(sum, quadC<kC>(c, first, row, column)));
  }
  return d;
}

} // namespace

// rowsOfA: A is row-major; columnsOfB: B is column-major.
#define QUADS(Name, kC, kD)                                                                        \
  DEVICE_FUNCTION Words<kD> Name(Words<2> a, Words<2> b, Words<kC> c, uint32_t rowsOfA,            \
                                 uint32_t columnsOfB) {                                            \
    return multiplyQuads<kC, kD>(a, b, c, rowsOfA, columnsOfB);                                    \
  }
QUADS(mma_quads_f16_f16_f16_f16, 4, 4)
QUADS(mma_quads_f16_f16_f16_f32, 4, 8)
QUADS(mma_quads_f16_f16_f32_f32, 8, 8)
