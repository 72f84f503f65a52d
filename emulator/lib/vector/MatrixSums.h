// SPDX-License-Identifier: Apache-2.0
// How a matrix unit adds products up: the part of a matrix instruction that no manual describes.
//
//   InOrder   c + a0 b0 + a1 b1 ..., each step rounded once to the type of the sum. F32 and F64 on
//             CDNA; assumed of RDNA and CDNA 4.
//   Pairwise  CDNA 1 and 2: the products of a group, rounded, are added as a balanced tree, and the
//             group's sum to the accumulator, each step rounded. CDNA 2 turns denormals into zeros
//             at each step.
//   Aligned   CDNA 3: the products of a group are cut to multiples of 2^-24 of the largest, their
//             exact sum and the accumulator are brought to the larger of their exponents and
//             rounded down (towards minus infinity), and added with one rounding to nearest.
//
// Source of Pairwise and Aligned: P. Xie et al., "MMA-Sim: Bit-Accurate Reference Model of Tensor
// Cores and Matrix Cores", arXiv 2511.10909, which its authors compared with hardware.
//
// All work on a row of a result at once, in runs of N columns.
#pragma once

#include "emulator/lib/vector/MatrixFormats.h"
#include <limits>

namespace rubia::emulator {
namespace RUBIA_ISA {

/// Row `row` of A and the columns of B from one on, of one block.
template <class T> struct ProductRow {
  const T *a;             // of term t: a[t * aStride]
  unsigned aStride;       // rows of A
  const T *b;             // of depth k: b[k * bStride], N columns
  unsigned bStride;       // columns of B
  const uint8_t *depthOf; // of term t, or null where term t has depth t
  unsigned terms;
  unsigned depth(unsigned t) const { return depthOf ? depthOf[t] : t; }
  T x(unsigned t) const { return a[t * aStride]; }
  template <class V> V y(unsigned t) const { return loadRun<V>(b + depth(t) * bStride); }
};

/// NaNs are positive, quiet and without payload, wherever they come from (assumed).
template <class V, class T> [[gnu::always_inline]] inline V canonicalNans(V value) {
  return value == value ? value : V{} + std::numeric_limits<T>::quiet_NaN();
}

/// Terms first, first + step, ... of `terms`, added to `sum` one by one.
template <class V, class T>
[[gnu::always_inline]] inline V addInOrder(const ProductRow<T> &row, V sum, unsigned first = 0,
                                           unsigned step = 1) {
  for (unsigned t = first; t < row.terms; t += step)
    sum = __builtin_elementwise_fma(V{} + row.x(t), row.template y<V>(t), sum);
  return sum;
}
template <class V, class T>
[[gnu::always_inline]] inline V addReversed(const ProductRow<T> &row, V sum) {
  for (unsigned t = row.terms; t-- > 0;)
    sum = __builtin_elementwise_fma(V{} + row.x(t), row.template y<V>(t), sum);
  return sum;
}

// Pairwise.

/// A denormal becomes zero with its sign.
template <unsigned N, bool kFlush>
[[gnu::always_inline]] inline Run<N>::Float normal(typename Run<N>::Float value) {
  using R = Run<N>;
  if constexpr (kFlush)
    return std::bit_cast<typename R::Float>(normalWord<N>(std::bit_cast<typename R::Word>(value)));
  else
    return value;
}

template <unsigned N, bool kFlush, unsigned kCount>
[[gnu::always_inline]] inline Run<N>::Float treeOf(const ProductRow<float> &row, unsigned first) {
  using Float = Run<N>::Float;
  if constexpr (kCount == 1) // a product of zero is +0
    return normal<N, kFlush>(
        __builtin_elementwise_fma(Float{} + row.x(first), row.y<Float>(first), Float{}));
  else
    return normal<N, kFlush>(treeOf<N, kFlush, kCount / 2>(row, first) +
                             treeOf<N, kFlush, kCount / 2>(row, first + kCount / 2));
}

template <unsigned N, bool kFlush, unsigned kGroup>
[[gnu::always_inline]] inline Run<N>::Float addPairwise(const ProductRow<float> &row,
                                                        typename Run<N>::Float sum) {
  for (unsigned t = 0; t < row.terms; t += kGroup)
    sum = normal<N, kFlush>(sum + treeOf<N, kFlush, kGroup>(row, t));
  return sum;
}

// Aligned.

/// Numbers as the unit sees them: |significand| is below 2, and below 1 for what is denormal in its
/// format. A zero has exponent -126.
template <unsigned N> struct Split {
  Run<N>::Float significand;
  Run<N>::Int exponent; // 128: an infinity or NaN
};

template <unsigned N>
[[gnu::always_inline]] inline Split<N> split(typename Run<N>::Float value, int least) {
  using R = Run<N>;
  const auto word = std::bit_cast<typename R::Word>(value);
  const auto field = std::bit_cast<typename R::Int>(word >> 23 & 0xffu);
  const auto ones = std::bit_cast<typename R::Float>((word & 0x807fffffu) | 0x3f800000u);
  const typename R::Int exponent = field - 127, below = least - exponent;
  const auto missing = below > 0 ? below : typename R::Int{};
  const auto scale = std::bit_cast<typename R::Float>((127 - missing) << 23);
  return {field == 0 ? value * 0x1p126f : ones * scale,
          field == 0 ? field - 126 : exponent + missing};
}

/// A row of A and columns of B, split: laid out as `values` are.
struct SplitRow {
  const float *a, *b;     // significands
  const int32_t *ea, *eb; // exponents
  ProductRow<float> values;
};

/// 2^exponent for exponents of normal numbers.
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Float power(typename Run<N>::Int exponent) {
  return std::bit_cast<typename Run<N>::Float>((exponent + 127) << 23);
}
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Double powerOfDouble(typename Run<N>::Int exponent) {
  using Long = int64_t __attribute__((vector_size(8 * N)));
  return std::bit_cast<typename Run<N>::Double>((__builtin_convertvector(exponent, Long) + 1023)
                                                << 52);
}

template <class V> [[gnu::always_inline]] inline V larger(V x, V y) { return x > y ? x : y; }
template <class V> [[gnu::always_inline]] inline V smaller(V x, V y) { return x < y ? x : y; }

constexpr int kProductBits = 24, kSumBits = 31;

/// The sum of terms first, first + step, ... before `end`, in units of 2^(exponent - 24).
template <unsigned N> struct CutSum {
  Run<N>::Int units, exponent;
};
template <unsigned N>
[[gnu::always_inline]] inline CutSum<N> cutSum(const SplitRow &row, unsigned first, unsigned end,
                                               unsigned step) {
  using R = Run<N>;
  using Int = R::Int;
  auto exponentOf = [&](unsigned t) {
    return loadRun<Int>(row.eb + row.values.depth(t) * row.values.bStride) +
           row.ea[t * row.values.aStride];
  };
  Int largest = exponentOf(first);
  for (unsigned t = first + step; t < end; t += step)
    largest = larger(largest, exponentOf(t));
  Int units = {};
  for (unsigned t = first; t < end; t += step) {
    const Int below = smaller(largest - exponentOf(t), Int{} + 64); // 26 are as good
    const auto y = loadRun<typename R::Float>(row.b + row.values.depth(t) * row.values.bStride);
    const auto product = row.a[t * row.values.aStride] * y; // exact, below 4
    units += __builtin_convertvector(product * power<N>(kProductBits - below), Int);
  }
  return {units, largest};
}

/// `sum` with terms first to end. FP8 is added as even and odd terms apart, and loses an
/// accumulator that is far below.
template <unsigned N, bool kFp8>
[[gnu::always_inline]] inline Run<N>::Float addAligned(const SplitRow &row, unsigned first,
                                                       unsigned end, typename Run<N>::Float sum) {
  using R = Run<N>;
  using Int = R::Int;
  CutSum<N> cut = cutSum<N>(row, first, end, kFp8 ? 2 : 1);
  if constexpr (kFp8) {
    const CutSum<N> odd = cutSum<N>(row, first + 1, end, 2);
    const Int larger = RUBIA_ISA::larger(cut.exponent, odd.exponent), limit = Int{} + 31;
    cut.units = (cut.units >> smaller(larger - cut.exponent, limit)) +
                (odd.units >> smaller(larger - odd.exponent, limit));
    cut.exponent = larger;
  }
  const Split<N> c = split<N>(sum, -126);
  const Int exponent = larger(cut.exponent, c.exponent), limit = Int{} + 400;
  const Int below = smaller(exponent - cut.exponent, limit);
  const Int belowC = smaller(exponent - c.exponent, limit);
  auto floored = [](R::Double units) { return __builtin_elementwise_floor(units); };
  const auto units = floored(__builtin_convertvector(cut.units, typename R::Double) *
                             powerOfDouble<N>(kSumBits - kProductBits - below));
  auto ofC = floored(__builtin_convertvector(c.significand, typename R::Double) *
                     powerOfDouble<N>(kProductBits - belowC));
  if constexpr (kFp8) {
    constexpr int kLost = 26;
    const auto kept = __builtin_convertvector(Int(belowC < kLost), // 0 or -1
                                              typename R::Double);
    ofC *= -kept;
  }
  const auto total = units + ofC * (1 << (kSumBits - kProductBits)); // exact
  return __builtin_convertvector(total * powerOfDouble<N>(exponent - kSumBits), typename R::Float);
}

/// What infinities, NaNs and products from 2^128 on make of terms first to end and `sum`; false if
/// there is none of these.
inline bool addSpecial(const ProductRow<float> &row, unsigned column, unsigned first, unsigned end,
                       float sum, float &result) {
  double total = sum;
  bool above = false, below = false;
  for (unsigned t = first; t < end; ++t) {
    const double product = double(row.x(t)) * row.b[row.depth(t) * row.bStride + column];
    total += product;
    above |= product >= 0x1p128;
    below |= product <= -0x1p128;
  }
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (!(total - total == 0))
    result = float(total);
  else if (above || below)
    result = above && below ? std::numeric_limits<float>::quiet_NaN()
             : above        ? kInfinity
                            : -kInfinity;
  else
    return false;
  return true;
}

/// `mayBeSpecial`: of A or B.
template <unsigned N, bool kFp8>
[[gnu::always_inline]] inline Run<N>::Float addAlignedGroups(const SplitRow &row, unsigned group,
                                                             bool mayBeSpecial,
                                                             typename Run<N>::Float sum) {
  using R = Run<N>;
  for (unsigned t = 0; t < row.values.terms; t += group) {
    const unsigned end = t + group < row.values.terms ? t + group : row.values.terms;
    typename R::Float next = addAligned<N, kFp8>(row, t, end, sum);
    const auto field = std::bit_cast<typename R::Int>(sum) & 0x7f800000;
    if (mayBeSpecial || __builtin_reduce_max(field) == 0x7f800000) [[unlikely]]
      for (unsigned j = 0; j < N; ++j)
        if (float special; addSpecial(row.values, j, t, end, sum[j], special))
          next[j] = special;
    sum = next;
  }
  return sum;
}

// Perturbed, for RUBIA_EMULATOR_TRANS=worst.

/// Mixes bits; any fixed function would do.
template <class W> [[gnu::always_inline]] inline W mixed(W x) {
  x ^= x >> 16;
  x *= 0x7feb352du;
  x ^= x >> 15;
  x *= 0x846ca68bu;
  return x ^ x >> 16;
}

/// A number for each element that depends on its row of A, its column of B and its C alone: so does
/// what a unit computes, whatever it is.
template <unsigned N, class T>
[[gnu::always_inline]] inline Run<N>::Word choiceOf(const ProductRow<T> &row,
                                                    typename Run<N>::Float c) {
  using R = Run<N>;
  auto hash = std::bit_cast<typename R::Word>(c);
  for (unsigned t = 0; t < row.terms; ++t) {
    using V = std::conditional_t<sizeof(T) == 4, typename R::Float, typename R::Double>;
    const auto y = __builtin_convertvector(row.template y<V>(t), typename R::Float);
    const uint32_t x = std::bit_cast<uint32_t>(float(row.x(t)));
    hash = mixed(hash + x * 0x9e3779b9u) ^ std::bit_cast<typename R::Word>(y);
  }
  return mixed(hash);
}

/// A result that is not exact moves by one unit in its last place, for half of the elements. What
/// is exact in any order stays: `exact` is the sum to 53 bits. `kUnit`: of the type that it is
/// rounded to, in units of f32's last place.
template <unsigned N, unsigned kUnit = 1>
[[gnu::always_inline]] inline Run<N>::Float
nudged(typename Run<N>::Float value, typename Run<N>::Double exact, typename Run<N>::Word choice) {
  using R = Run<N>;
  const auto word = std::bit_cast<typename R::Word>(value);
  const auto differs =
      __builtin_convertvector(__builtin_convertvector(value, typename R::Double) != exact,
                              typename R::Int) |
      ((word & (kUnit - 1)) != 0u);
  const auto magnitude = word & 0x7fffffffu;
  const auto free = std::bit_cast<typename R::Word>(
      differs & (magnitude > 0u) & (magnitude < 0x7f800000u - kUnit) & ((choice & 8u) != 0u));
  const auto step = (((choice & 4u) >> 1) - 1u) * kUnit; // up or down
  return std::bit_cast<typename R::Float>(word + (step & free));
}

/// The sum to 53 bits.
template <unsigned N, class T>
[[gnu::always_inline]] inline Run<N>::Double preciseSum(const ProductRow<T> &row,
                                                        typename Run<N>::Float c) {
  using R = Run<N>;
  using V = std::conditional_t<sizeof(T) == 4, typename R::Float, typename R::Double>;
  auto sum = __builtin_convertvector(c, typename R::Double);
  for (unsigned t = 0; t < row.terms; ++t)
    sum += double(row.x(t)) * __builtin_convertvector(row.template y<V>(t), typename R::Double);
  return sum;
}

/// Each element by one of four ways: from the last term to the first, as pairs of pairs, even terms
/// before odd ones, rounded once.
template <unsigned N, unsigned kUnit = 1>
[[gnu::always_inline]] inline Run<N>::Float addPerturbed(const ProductRow<float> &row,
                                                         typename Run<N>::Float c) {
  using R = Run<N>;
  using Float = R::Float;
  const auto choice = choiceOf<N>(row, c), way = choice & 3u;
  const auto precise = preciseSum<N>(row, c);
  const Float reversed = addReversed(row, c);
  const Float apart = addInOrder(row, addInOrder(row, c, 0, 2), 1, 2);
  const Float once = __builtin_convertvector(precise, Float);
  const Float pairs = row.terms % 4 == 0 ? addPairwise<N, false, 4>(row, c) : reversed;
  const Float sum = way == 0u ? reversed : way == 1u ? pairs : way == 2u ? apart : once;
  return nudged<N, kUnit>(sum, precise, choice);
}

/// Products with scales: as assumed, rounded once, or each 32 terms rounded to f32 and then added.
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Double addPerturbedBlocks(const ProductRow<double> &row,
                                                                typename Run<N>::Double c) {
  using R = Run<N>;
  using Double = R::Double;
  constexpr unsigned kBlock = 32;
  auto sum = __builtin_convertvector(c, typename R::Float);
  const auto choice = choiceOf<N>(row, sum);
  const Double precise = preciseSum<N>(row, sum);
  for (unsigned first = 0; first < row.terms; first += kBlock) {
    Double block = {};
    for (unsigned t = first; t < first + kBlock; ++t)
      block = __builtin_elementwise_fma(Double{} + row.x(t), row.y<Double>(t), block);
    sum += __builtin_convertvector(block, typename R::Float);
  }
  const auto once = __builtin_convertvector(precise, typename R::Float);
  return __builtin_convertvector(nudged<N>((choice & 1u) != 0u ? sum : once, precise, choice),
                                 Double);
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
