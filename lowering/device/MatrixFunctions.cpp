// SPDX-License-Identifier: Apache-2.0
// The products of mma, mma.sp, wmma and wgmma as an H100 computes them, bit for bit, without a
// matrix unit: the software route of lowering/lib/matrices/Mma.cpp.
//
// Written in C++, compiled to PTX while Rubia is built, and lowered together with the kernels that
// need it, like DeviceFunctions.cpp. Rows and columns travel between lanes by shfl, so that every
// warp form has it. A function computes one after the other the elements of D that a lane holds.
//
// Operands are fragments as PTX has them (MmaForm.h). Shapes with less depth come with registers
#include "lowering/device/MatrixArithmetic.h"
#include "lowering/device/MatrixQuads.h"

namespace {

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

// rowsOfA: A is row-major; columnsOfB: B is column-major.
#define QUADS(Name, kC, kD)                                                                        \
  DEVICE_FUNCTION Words<kD> Name(Words<2> a, Words<2> b, Words<kC> c, uint32_t rowsOfA,            \
                                 uint32_t columnsOfB) {                                            \
    return multiplyQuads<kC, kD>(a, b, c, rowsOfA, columnsOfB);                                    \
  }
QUADS(mma_quads_f16_f16_f16_f16, 4, 4)
QUADS(mma_quads_f16_f16_f16_f32, 4, 8)
QUADS(mma_quads_f16_f16_f32_f32, 8, 8)
