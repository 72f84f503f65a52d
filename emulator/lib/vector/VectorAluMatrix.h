// SPDX-License-Identifier: Apache-2.0
// The matrix product behind MFMA, SMFMAC, WMMA and SWMMAC: gather the operands from the lanes,
// multiply plain arrays, scatter the result.
//
// An instruction is a MatrixShape, its family says where elements are (MatrixLayout.h). A row of A
// is a list of terms, each with its depth: a sparse matrix differs from a dense one in nothing
// else. How terms are added up is the affair of MatrixSums.h.
//
// In all layouts neighbouring lanes hold neighbouring rows of A, columns of B and columns of C, at
// least four and mostly 16 of them. So a register is copied, decoded and multiplied in runs of
// lanes.
//
// What no manual says and is assumed: integer sums are exact and narrowed once. They are computed
// in f32, which holds them: 128 products of 255 by 255 are below 2^24.
#pragma once

#include "emulator/lib/machine/Half.h"
#include "emulator/lib/machine/LaneLoops.h"
#include "emulator/lib/machine/MatrixLayout.h"
#include "emulator/lib/machine/MatrixUnit.h"
#include "emulator/lib/vector/MatrixRows.h"
#include "emulator/lib/vector/MatrixSums.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

struct MatrixShape {
  unsigned rows, columns, depth, blocks;
  MatrixFormat a, b, sum; // sum: F64, F32, F16, Bf16, or I8 for 32-bit integers
  constexpr bool operator==(const MatrixShape &) const = default;
};

constexpr unsigned kMaxElements = 2048; // of A, B or C over all blocks
constexpr unsigned kAtOnce = 4;         // rows: their chains overlap, and share what is read of B

/// The depth of each element of a lane, relative to the first: the same in all groups.
struct DepthTable {
  unsigned at[32];
  explicit DepthTable(const InputLayout &layout) {
    const unsigned stride =
        layout.chunk * (layout.upperRegisters ? layout.groups / 2 : layout.groups);
    for (unsigned e = 0, first = 0; e < layout.perLane; first += stride)
      for (unsigned i = 0; i < layout.chunk && e < layout.perLane; ++i, ++e)
        at[e] = first + i;
  }
};

template <MatrixFormat kFormat> constexpr bool isPairwise(ProductSum unit, unsigned inLane) {
  using enum MatrixFormat;
  return (kFormat == F16 || kFormat == Bf16) && unit == ProductSum::Pairwise && inLane <= 4;
}
template <MatrixFormat kFormat> constexpr bool isAligned(ProductSum unit) {
  using enum MatrixFormat;
  constexpr bool kIsHalf = kFormat == F16 || kFormat == Bf16;
  constexpr bool kIsSmall = kFormat == Fp8 || kFormat == Bf8;
  return (kIsHalf || kIsSmall || kFormat == Xf32) && unit == ProductSum::Aligned;
}
/// Whether products of a format are added in order by a unit that holds `inLane` of them in a lane.
template <MatrixFormat kFormat> constexpr bool isInOrder(ProductSum unit, unsigned inLane) {
  return !isPairwise<kFormat>(unit, inLane) && !isAligned<kFormat>(unit);
}

/// A, B and the sums of one instruction. T is what is summed.
template <class T> struct MatrixProduct {
  MatrixShape shape;
  unsigned terms;      // per row of A
  bool copies = false; // blocks are copies of one product, which take turns by rows
  bool isSparse;
  alignas(64) T a[kMaxElements];    // [block][term][row]
  alignas(64) T b[kMaxElements];    // [block][depth][column]
  alignas(64) T sums[kMaxElements]; // [block][row][column], of copies [row][column]
  uint8_t depthOf[kMaxElements];    // [row][term]; used if sparse

  MatrixProduct(const MatrixShape &shape, bool sparse)
      : shape(shape), terms(sparse ? shape.depth / 2 : shape.depth), isSparse(sparse) {}

  /// `laneOf(block, row, group)` is the lane to read; neighbouring rows lie in neighbouring lanes,
  /// if the first is a multiple of 16.
  template <MatrixFormat kFormat, unsigned N, class LaneOf>
  void loadA(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
             LaneOf laneOf) {
    loadDense<kFormat, N>(w, 0, a, terms, layout, reading, laneOf);
  }
  template <MatrixFormat kFormat, unsigned N, class LaneOf>
  void loadB(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
             LaneOf laneOf) {
    loadDense<kFormat, N>(w, 1, b, shape.depth, layout, reading, laneOf);
  }

  /// Of four neighbours along the depth two are stored. Their positions are pairs of bits in
  /// source 2, from bit `firstIndex` on, in the order of the stored elements. There is one block.
  template <MatrixFormat kFormat, unsigned N>
  void loadSparseA(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
                   unsigned firstIndex) {
    const DepthTable depths(layout);
    const unsigned stored = layout.perLane / 2;
    auto laneOf = [&](unsigned block, unsigned row, unsigned group) {
      return layout.lane(block, row, group);
    };
    forRuns<kFormat, N>(
        w, 0, layout, stored, reading, laneOf,
        [&](unsigned, unsigned row, unsigned group, unsigned first, unsigned e, auto value) {
          const unsigned depth = first + depths.at[e / 2 * 4];
          const unsigned term = depth / 2 + e % 2;
          store<N>(a + term * shape.rows + row, value);
          for (unsigned i = 0; i < N; ++i) {
            const uint32_t indices = w.source(2, laneOf(0, row + i, group)) >> firstIndex;
            depthOf[(row + i) * terms + term] = uint8_t(depth + (indices >> 2 * e & 3));
          }
        });
  }

  /// Calls `visit(lane, item, sums)` for all runs of N elements of C or D. `placeOf(lane, item)` is
  /// where the element of a lane belongs.
  template <unsigned N, class PlaceOf, class Visit>
  void forOutput(unsigned lanes, unsigned items, PlaceOf placeOf, Visit visit) {
    for (unsigned item = 0; item < items; ++item)
      for (unsigned lane = 0; lane < lanes; lane += N) {
        const OutputPlace place = placeOf(lane, item);
        const unsigned row = (copies ? 0 : place.block * shape.rows) + place.row;
        visit(lane, item, sums + row * shape.columns + place.column);
      }
  }

  /// C becomes D by a dense product, added in order: what addInOrder() between two forOutput()
  /// does, but sums stay in registers of the host. `load(lane, item)` gives N elements of C, and
  /// `store(lane, item, values)` takes those of D.
  template <unsigned N, unsigned kTerms, unsigned kSize, class PlaceOf, class Load, class Store>
  void addInOrderTo(unsigned lanes, unsigned items, PlaceOf placeOf, Load load, Store store) {
    using V = Sums<N>;
    for (unsigned i = 0; i < shape.blocks * kTerms * kSize; i += N)
      storeRun(a + i, V{} + loadRun<V>(a + i)); // +0 in place of -0
    for (unsigned lane = 0; lane < lanes; lane += N)
      for (unsigned item = 0; item < items; item += kAtOnce) {
        const OutputPlace place = placeOf(lane, item);
        const unsigned block = shape.blocks == 1 ? 0 : place.block;
        const T *rows[kAtOnce];
        V sum[kAtOnce];
#pragma unroll
        for (unsigned i = 0; i < kAtOnce; ++i) {
          rows[i] = a + block * kTerms * kSize + placeOf(lane, item + i).row;
          sum[i] = load(lane, item + i);
        }
        const T *columns = b + block * kTerms * kSize + place.column;
#pragma unroll
        for (unsigned t = 0; t < kTerms; ++t)
          addTerm(rows, t * kSize, loadRun<V>(columns + t * kSize), sum);
#pragma unroll
        for (unsigned i = 0; i < kAtOnce; ++i)
          store(lane, item + i, canonicalNans<V, T>(sum[i]));
      }
  }

  /// `add(product row, row of all blocks, column, sums)` gives the N sums with the products.
  template <unsigned N, class Add> [[gnu::always_inline]] void forRows(Add add) {
    for (unsigned block = 0; block < shape.blocks; ++block)
      for (unsigned row = copies ? block : 0; row < shape.rows; row += rowStep())
        for (unsigned column = 0; column < shape.columns; column += N) {
          const ProductRow<T> product = {a + block * terms * shape.rows + row,
                                         shape.rows,
                                         b + block * shape.depth * shape.columns + column,
                                         shape.columns,
                                         isSparse ? depthOf + row * terms : nullptr,
                                         terms};
          using V = Sums<N>;
          T *to = sumsOf(block, row, column);
          storeRun(to, canonicalNans<V, T>(add(product, loadRun<V>(to))));
        }
  }

  template <unsigned N> void addInOrder() {
    if (isSparse || shape.rows < kAtOnce * rowStep())
      return forRows<N>(
          [](const ProductRow<T> &row, auto sum) { return RUBIA_ISA::addInOrder(row, sum); });
    for (unsigned block = 0; block < shape.blocks; ++block)
      for (unsigned row = copies ? block : 0; row < shape.rows; row += kAtOnce * rowStep())
        for (unsigned column = 0; column < shape.columns; column += N)
          addRowsInOrder<N>(block, row, column);
  }
  template <unsigned N> void addReversed() {
    forRows<N>([](const ProductRow<T> &row, auto sum) { return RUBIA_ISA::addReversed(row, sum); });
  }
  /// `kUnit`: the last place of D's type, in units of f32's.
  template <unsigned N, unsigned kUnit = 1> void addPerturbed() {
    forRows<N>([](const ProductRow<T> &row, auto sum) {
      return RUBIA_ISA::addPerturbed<N, kUnit>(row, sum);
    });
  }
  /// `group`: 2 or 4.
  template <unsigned N> void addPairwise(unsigned group, bool flush) {
    auto add = [&]<bool kFlush, unsigned kGroup> {
      forRows<N>([](const ProductRow<T> &row, auto sum) {
        return RUBIA_ISA::addPairwise<N, kFlush, kGroup>(row, sum);
      });
    };
    if (flush)
      group == 2 ? add.template operator()<true, 2>() : add.template operator()<true, 4>();
    else
      group == 2 ? add.template operator()<false, 2>() : add.template operator()<false, 4>();
  }
  template <unsigned N> void addPerturbedBlocks() {
    forRows<N>([](const ProductRow<T> &row, auto sum) {
      return RUBIA_ISA::addPerturbedBlocks<N>(row, sum);
    });
  }
  template <unsigned N, bool kFp8> void addAligned(unsigned group, int leastOfA, int leastOfB);
  /// As the units of CDNA add products of formats below F32. `inLane`: elements that a lane holds.
  /// Sparse products are taken for products of what is stored (assumed).
  template <MatrixFormat kFormat, unsigned N>
  void addAsUnit(ProductSum unit, bool flush16, unsigned inLane, const InputReading &ofA,
                 const InputReading &ofB) {
    using enum MatrixFormat;
    constexpr bool kIsFp8 = kFormat == Fp8 || kFormat == Bf8;
    if constexpr (kFormat == F16 || kFormat == Bf16)
      if (isPairwise<kFormat>(unit, inLane))
        return addPairwise<N>(inLane, flush16);
    if constexpr (kFormat == F16 || kFormat == Bf16 || kIsFp8 || kFormat == Xf32)
      if (isAligned<kFormat>(unit))
        return addAligned<N, kIsFp8>(kIsFp8            ? 16
                                     : kFormat == Xf32 ? 4
                                                       : atMost(terms, 8),
                                     ofA.leastExponent(), ofB.leastExponent());
    addInOrder<N>();
  }
  void clearSums() {
    std::memset(sums, 0, (copies ? 1 : shape.blocks) * shape.rows * shape.columns * sizeof(T));
  }

private:
  template <unsigned N>
  using Sums = std::conditional_t<sizeof(T) == 4, typename Run<N>::Float, typename Run<N>::Double>;

  unsigned rowStep() const { return copies ? shape.blocks : 1; }
  T *sumsOf(unsigned block, unsigned row, unsigned column) {
    return sums + ((copies ? 0 : block * shape.rows) + row) * shape.columns + column;
  }
  template <class V>
  [[gnu::always_inline]] static void addTerm(const T *const (&rows)[kAtOnce], unsigned at,
                                             V columns, V (&sum)[kAtOnce]) {
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i)
      sum[i] = __builtin_elementwise_fma(splat<V>(rows[i][at]), columns, sum[i]);
  }
  /// Rows `row`, row + rowStep(), ... of a dense product.
  template <unsigned N>
  [[gnu::always_inline]] void addRowsInOrder(unsigned block, unsigned row, unsigned column) {
    using V = Sums<N>;
    const T *x = a + block * terms * shape.rows + row;
    const T *y = b + block * shape.depth * shape.columns + column;
    const unsigned step = rowStep();
    V sum[kAtOnce];
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i)
      sum[i] = loadRun<V>(sumsOf(block, row + i * step, column));
    for (unsigned t = 0; t < terms; ++t, x += shape.rows, y += shape.columns) {
      const V columns = loadRun<V>(y);
#pragma unroll
      for (unsigned i = 0; i < kAtOnce; ++i)
        sum[i] = __builtin_elementwise_fma(V{} + x[i * step], columns, sum[i]);
    }
#pragma unroll
    for (unsigned i = 0; i < kAtOnce; ++i)
      storeRun(sumsOf(block, row + i * step, column), canonicalNans<V, T>(sum[i]));
  }

  template <unsigned N, class V> [[gnu::always_inline]] static void store(T *to, V value) {
    if constexpr (sizeof(T) == 8 && sizeof(value[0]) == 4)
      storeRun(to, __builtin_convertvector(value, typename Run<N>::Double));
    else
      storeRun(to, value);
  }

  template <MatrixFormat kFormat, unsigned N, class LaneOf>
  void loadDense(const WaveOperands &w, unsigned source, T *to, unsigned depth,
                 const InputLayout &layout, const InputReading &reading, LaneOf laneOf) {
    const DepthTable depths(layout);
    forRuns<kFormat, N>(
        w, source, layout, layout.perLane, reading, laneOf,
        [&](unsigned block, unsigned line, unsigned, unsigned first, unsigned e, auto value) {
          store<N>(to + (block * depth + first + depths.at[e]) * layout.lines + line, value);
        });
  }

  /// Calls `visit(block, line, group, the group's first depth, element, values)` for each run of
  /// lines.
  template <MatrixFormat kFormat, unsigned N, class LaneOf, class Visit>
  [[gnu::always_inline]] static void
  forRuns(const WaveOperands &w, unsigned source, const InputLayout &layout, unsigned elements,
          const InputReading &reading, LaneOf laneOf, Visit visit) {
    using Word = Run<N>::Word;
    constexpr unsigned kBits = bitsOf(kFormat);
    constexpr uint32_t kMask = kBits < 32 ? (1u << kBits % 32) - 1 : ~0u;
    const VectorRegisters registers = sourceRegisters(w, source);
    for (unsigned block = 0; block < layout.blocks; ++block)
      for (unsigned group = 0; group < layout.groups; ++group) {
        const unsigned depth = layout.depth(group, 0);
        for (unsigned line = 0; line < layout.lines; line += N) {
          const unsigned lane = laneOf(block, line, group);
          const auto take = [&](unsigned e, auto codes) { // of F64 there are none
            const auto value = decodeRun<N, kFormat>(reading, codes & kMask);
            visit(block, line, group, depth, e,
                  (e & 1 ? reading.negateOdd : reading.negateEven) ? -value : value);
          };
          if constexpr (kFormat == MatrixFormat::F64) {
            for (unsigned e = 0; e < elements; ++e) {
              const bool negate = e & 1 ? reading.negateOdd : reading.negateEven;
              const auto value = doubles<N>(registers, lane, e);
              visit(block, line, group, depth, e, negate ? -value : value);
            }
          } else if constexpr (32 % kBits == 0) {
            constexpr unsigned kPerWord = 32 / kBits;
            for (unsigned e = 0; e < elements; e += kPerWord) {
              const auto words = loadRun<Word>(registers.lanes(lane, e / kPerWord));
#pragma unroll
              for (unsigned i = 0; i < kPerWord; ++i)
                if (e + i < elements)
                  take(e + i, words >> kBits * i);
            }
          } else {
            for (unsigned e = 0; e < elements; ++e) {
              const unsigned first = kBits * e;
              Word codes = loadRun<Word>(registers.lanes(lane, first / 32)) >> first % 32;
              if (first % 32 + kBits > 32)
                codes |= loadRun<Word>(registers.lanes(lane, first / 32 + 1)) << (32 - first % 32);
              take(e, codes);
            }
          }
        }
      }
  }
  template <unsigned N>
  static Run<N>::Double doubles(const VectorRegisters &registers, unsigned lane, unsigned e) {
    using Long = uint64_t __attribute__((vector_size(8 * N)));
    using Word = Run<N>::Word;
    auto dword = [&](unsigned which) {
      return __builtin_convertvector(loadRun<Word>(registers.lanes(lane, e * 2 + which)), Long);
    };
    return std::bit_cast<typename Run<N>::Double>(dword(1) << 32 | dword(0));
  }
};

template <class T>
template <unsigned N, bool kFp8>
void MatrixProduct<T>::addAligned(unsigned group, int leastOfA, int leastOfB) {
  struct Parts {
    alignas(64) float significands[kMaxElements];
    alignas(64) int32_t exponents[kMaxElements];
    int32_t largest = -1000;
    Parts(const float *values, unsigned count, int least) {
      typename Run<N>::Int most = typename Run<N>::Int{} - 1000;
      for (unsigned i = 0; i < count; i += N) {
        const Split<N> parts = split<N>(loadRun<typename Run<N>::Float>(values + i), least);
        storeRun(significands + i, parts.significand);
        storeRun(exponents + i, parts.exponent);
        most = larger(most, parts.exponent);
      }
      largest = __builtin_reduce_max(most);
    }
  };
  const Parts partsOfA(a, shape.blocks * terms * shape.rows, leastOfA);
  const Parts partsOfB(b, shape.blocks * shape.depth * shape.columns, leastOfB);
  const bool mayBeSpecial = partsOfA.largest == 128 || partsOfB.largest == 128 ||
                            partsOfA.largest + partsOfB.largest >= 127;
  forRows<N>([&](const ProductRow<T> &row, auto sum) {
    const SplitRow parts = {partsOfA.significands + (row.a - a),
                            partsOfB.significands + (row.b - b), partsOfA.exponents + (row.a - a),
                            partsOfB.exponents + (row.b - b), row};
    return addAlignedGroups<N, kFp8>(parts, group, mayBeSpecial, sum);
  });
}

/// With MODE.FP16_OVFL an infinite f32 result is the largest number (assumed: also one that is
/// infinite because a source is).
inline float clampedOverflow(const FloatMode &mode, float value) {
  return mode.fp16Overflow && isInfinite(value) ? __builtin_copysignf(0x1.fffffep127f, value)
                                                : value;
}

/// C's registers, which have `dwords` words in a lane; a copy of them where D overlaps them without
/// being the same, so that D can be written before all of C is read.
class Addends {
public:
  Addends(VectorRegisters c, const VectorRegisters &d, unsigned lanes, unsigned dwords)
      : registers(c) {
    const ptrdiff_t distance = d.first - c.first, size = ptrdiff_t(dwords) * kBlockLanes;
    if (!c.first || distance == 0 || distance >= size || distance <= -size) [[likely]]
      return;
    registers = {words, size_t(size)};
    for (unsigned lane = 0; lane < lanes; lane += kBlockLanes)
      std::memcpy(registers.lanes(lane, 0), c.lanes(lane, 0), size_t(size) * sizeof words[0]);
  }
  Addends(const Addends &) = delete;
  VectorRegisters registers;

private:
  alignas(64) uint32_t words[kMaxElements];
};

/// N words of C, from its registers or a constant.
template <unsigned N>
[[gnu::always_inline]] inline Run<N>::Word
addendRun(const WaveOperands &w, const VectorRegisters &c, unsigned lane, unsigned dword) {
  using Word = Run<N>::Word;
  return c.first ? loadRun<Word>(c.lanes(lane, dword)) : Word{} + w.source(2, lane, 0);
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
