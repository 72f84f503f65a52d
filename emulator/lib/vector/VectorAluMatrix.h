// SPDX-License-Identifier: Apache-2.0
// The matrix product behind MFMA, SMFMAC, WMMA and SWMMAC: gather the operands from the lanes,
// multiply plain arrays, scatter the result.
//
// An instruction is a MatrixShape, its family says where elements are (MatrixLayout.h). A row of A
// is a list of terms, each with its depth: a sparse matrix differs from a dense one in nothing
// else.
//
// What no manual says and is assumed: terms are added in order of their depth, each step rounded to
// the type of the sum, products not rounded; integer sums are exact and narrowed once; a NaN is the
// positive quiet one without payload, whatever it came from.
#pragma once

#include "emulator/lib/machine/MatrixLayout.h"
#include "emulator/lib/machine/SmallFloat.h"
#include "emulator/lib/vector/VectorAluInteger.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

enum class MatrixFormat : uint8_t {
  F64,
  F32,
  Xf32, // F32 whose low 13 bits are ignored (assumed; CDNA3 ISA gives it 10 fraction bits)
  F16,
  Bf16,
  Fp8,
  Bf8,
  Fp6,
  Bf6,
  Fp4,
  I8,
  Iu8, // the neg bit of a source says that it is signed
  Iu4,
  Selected, // CBSZ for A and BLGP for B choose one of Fp8, Bf8, Fp6, Bf6, Fp4
};

constexpr unsigned bitsOf(MatrixFormat format) {
  switch (format) {
  case MatrixFormat::F64:
    return 64;
  case MatrixFormat::F32:
  case MatrixFormat::Xf32:
    return 32;
  case MatrixFormat::F16:
  case MatrixFormat::Bf16:
    return 16;
  case MatrixFormat::Fp8:
  case MatrixFormat::Bf8:
  case MatrixFormat::I8:
  case MatrixFormat::Iu8:
  case MatrixFormat::Selected:
    return 8;
  case MatrixFormat::Fp6:
  case MatrixFormat::Bf6:
    return 6;
  case MatrixFormat::Fp4:
  case MatrixFormat::Iu4:
    return 4;
  }
  return 0;
}

struct MatrixShape {
  unsigned rows, columns, depth, blocks;
  MatrixFormat a, b, sum; // sum: F64, F32, F16, Bf16, or I8 for 32-bit integers
};

constexpr unsigned kMaxElements = 2048; // of A, B or C over all blocks

/// One bit of an input's modifiers changes what all its elements are.
struct InputReading {
  MatrixFormat format;
  bool isSigned = false;   // Iu8, Iu4
  bool negateEven = false; // elements of even number in a lane
  bool negateOdd = false;
  bool fnuz = false;
  bool flush = false; // denormals of F32, F16, Bf16
};

/// All codes of a format up to 8 bits.
template <SmallFormat kFormat> struct SmallValues {
  float at[1u << kFormat.width()];
  constexpr SmallValues() : at() {
    for (unsigned code = 0; code < 1u << kFormat.width(); ++code)
      at[code] = decodeSmall(kFormat, code);
  }
};
template <SmallFormat kFormat> constexpr SmallValues<kFormat> kSmallValues;

/// Zero of the same sign in place of a denormal of a format with `smallest` as normal number.
inline float flushedBelow(float value, float smallest) {
  return __builtin_fabsf(value) < smallest ? __builtin_copysignf(0.0f, value) : value;
}

/// A value of any format but F64; `code` has no bits above the format's.
inline float decodeFloat(const InputReading &reading, uint32_t code) {
  switch (reading.format) {
  case MatrixFormat::F32: {
    float value = std::bit_cast<float>(code);
    return reading.flush ? flushedBelow(value, 0x1p-126f) : value;
  }
  case MatrixFormat::Xf32:
    return std::bit_cast<float>(code & 0xffffe000);
  case MatrixFormat::F16: {
    float value = Half::fromBits(uint16_t(code));
    return reading.flush ? flushedBelow(value, 0x1p-14f) : value;
  }
  case MatrixFormat::Bf16: {
    float value = Bfloat::fromBits(uint16_t(code));
    return reading.flush ? flushedBelow(value, 0x1p-126f) : value;
  }
  case MatrixFormat::Fp8:
    return (reading.fnuz ? kSmallValues<kE4m3Fnuz>.at : kSmallValues<kE4m3>.at)[code];
  case MatrixFormat::Bf8:
    return (reading.fnuz ? kSmallValues<kE5m2Fnuz>.at : kSmallValues<kE5m2>.at)[code];
  case MatrixFormat::Fp6:
    return kSmallValues<kE2m3>.at[code];
  case MatrixFormat::Bf6:
    return kSmallValues<kE3m2>.at[code];
  case MatrixFormat::Fp4:
    return kSmallValues<kE2m1>.at[code];
  case MatrixFormat::F64:
  case MatrixFormat::I8:
  case MatrixFormat::Iu8:
  case MatrixFormat::Iu4:
  case MatrixFormat::Selected:
    break;
  }
  return 0;
}

/// The registers of one lane as a string of bits.
struct LaneRegisters {
  uint32_t words[10] = {};

  void load(const WaveOperands &w, unsigned source, unsigned lane, unsigned bits) {
    for (unsigned i = 0; i * 32 < bits; ++i)
      words[i] = w.source(source, lane, i);
  }
  uint32_t field(unsigned bits, unsigned index) const {
    const unsigned first = bits * index;
    uint64_t window = uint64_t(words[first / 32 + 1]) << 32 | words[first / 32];
    return uint32_t(window >> first % 32) & uint32_t((uint64_t(1) << bits) - 1);
  }
  template <class T> T element(const InputReading &reading, unsigned index) const {
    const unsigned bits = bitsOf(reading.format);
    if constexpr (std::is_integral_v<T>) {
      const uint32_t code = field(bits, index);
      const bool isSigned = reading.format == MatrixFormat::I8 || reading.isSigned;
      return isSigned ? int32_t(code << (32 - bits)) >> (32 - bits) : int32_t(code);
    } else {
      T value;
      if (reading.format == MatrixFormat::F64)
        value = T(std::bit_cast<double>(uint64_t(words[index * 2 + 1]) << 32 | words[index * 2]));
      else
        value = T(decodeFloat(reading, field(bits, index)));
      return (index & 1 ? reading.negateOdd : reading.negateEven) ? -value : value;
    }
  }
};

/// The depth of each element of a lane, relative to the first: the same in all groups.
struct DepthTable {
  unsigned at[32];
  explicit DepthTable(const InputLayout &layout) {
    for (unsigned e = 0; e < layout.perLane; ++e)
      at[e] = layout.depth(0, e);
  }
};

/// A, B and the sums of one instruction. T is what elements are multiplied as, S what is summed.
template <class T, class S> struct MatrixProduct {
  MatrixShape shape;
  unsigned terms;                        // per row of A
  alignas(64) T a[kMaxElements];         // [block][row][term]
  uint8_t depthOf[kMaxElements];         // of the same; unused if terms == shape.depth
  alignas(64) T b[kMaxElements];         // [block][depth][column]
  alignas(64) S sums[kMaxElements] = {}; // [block][row][column]

  MatrixProduct(const MatrixShape &shape, bool sparse)
      : shape(shape), terms(sparse ? shape.depth / 2 : shape.depth) {}

  /// `laneOf(block, row, group)` is the lane to read.
  template <class LaneOf>
  void loadA(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
             LaneOf laneOf) {
    const DepthTable depths(layout);
    forLanes(w, 0, layout, layout.perLane, reading, laneOf,
             [&](const LaneRegisters &lane, unsigned block, unsigned row, unsigned group) {
               T *values = a + (block * shape.rows + row) * terms + layout.depth(group, 0);
               for (unsigned e = 0; e < layout.perLane; ++e)
                 values[depths.at[e]] = lane.element<T>(reading, e);
             });
  }

  /// Of four neighbours along the depth two are stored. Their positions are pairs of bits in
  /// source 2, from bit `firstIndex` on, in the order of the stored elements.
  void loadSparseA(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
                   unsigned firstIndex) {
    const DepthTable depths(layout);
    const unsigned stored = layout.perLane / 2;
    forLanes(
        w, 0, layout, stored, reading,
        [&](unsigned block, unsigned row, unsigned group) {
          return layout.lane(block, row, group);
        },
        [&](const LaneRegisters &lane, unsigned block, unsigned row, unsigned group) {
          const uint32_t indices = w.source(2, layout.lane(block, row, group)) >> firstIndex;
          for (unsigned e = 0; e < stored; ++e) {
            const unsigned depth = layout.depth(group, 0) + depths.at[e / 2 * 4];
            const unsigned at = (block * shape.rows + row) * terms + depth / 2 + e % 2;
            a[at] = lane.element<T>(reading, e);
            depthOf[at] = uint8_t(depth + (indices >> 2 * e & 3));
          }
        });
  }

  template <class LaneOf>
  void loadB(const WaveOperands &w, const InputLayout &layout, const InputReading &reading,
             LaneOf laneOf) {
    const DepthTable depths(layout);
    forLanes(w, 1, layout, layout.perLane, reading, laneOf,
             [&](const LaneRegisters &lane, unsigned block, unsigned column, unsigned group) {
               const unsigned first = block * shape.depth + layout.depth(group, 0);
               T *values = b + first * shape.columns + column;
               for (unsigned e = 0; e < layout.perLane; ++e)
                 values[depths.at[e] * shape.columns] = lane.element<T>(reading, e);
             });
  }

  /// Calls `visit(lane, item, sum)` for all elements of C or D. `placeOf(lane, item)` is where they
  /// belong: the lane's part of that and the item's add up in all layouts.
  template <class PlaceOf, class Visit>
  void forOutput(unsigned lanes, unsigned items, PlaceOf placeOf, Visit visit) {
    auto offset = [&](unsigned lane, unsigned item) {
      const OutputPlace place = placeOf(lane, item);
      return (place.block * shape.rows + place.row) * shape.columns + place.column;
    };
    unsigned itemOffset[32];
    for (unsigned item = 0; item < items; ++item)
      itemOffset[item] = offset(0, item);
    for (unsigned lane = 0; lane < lanes; ++lane) {
      S *first = sums + offset(lane, 0);
      for (unsigned item = 0; item < items; ++item)
        visit(lane, item, first[itemOffset[item]]);
    }
  }

  /// Adds A * B to the sums; `reversed`: from the last term to the first.
  void multiply(bool reversed) {
    const bool sparse = terms != shape.depth;
    for (unsigned row = 0; row < shape.blocks * shape.rows; ++row) {
      const T *columns = b + row / shape.rows * shape.depth * shape.columns;
      S *result = sums + row * shape.columns;
      for (unsigned n = 0; n < terms; ++n) {
        const unsigned t = reversed ? terms - 1 - n : n, at = row * terms + t;
        addProduct(result, a[at], columns + (sparse ? depthOf[at] : t) * shape.columns);
      }
      if constexpr (std::is_floating_point_v<S>)
        for (unsigned j = 0; j < shape.columns; ++j)
          result[j] = result[j] == result[j] ? result[j] : std::numeric_limits<S>::quiet_NaN();
    }
  }

private:
  template <class LaneOf, class Visit>
  static void forLanes(const WaveOperands &w, unsigned source, const InputLayout &layout,
                       unsigned elements, const InputReading &reading, LaneOf laneOf, Visit visit) {
    LaneRegisters registers;
    for (unsigned block = 0; block < layout.blocks; ++block)
      for (unsigned line = 0; line < layout.lines; ++line)
        for (unsigned group = 0; group < layout.groups; ++group) {
          registers.load(w, source, laneOf(block, line, group), elements * bitsOf(reading.format));
          visit(registers, block, line, group);
        }
  }
  void addProduct(S *result, T x, const T *row) const {
    for (unsigned j = 0; j < shape.columns; ++j) {
      if constexpr (std::is_integral_v<T>)
        result[j] += S(x) * row[j];
      else
        result[j] = std::fma(x, row[j], result[j]);
    }
  }
};

/// With MODE.FP16_OVFL an infinite f32 result is the largest number (assumed: also one that is
/// infinite because a source is).
inline float clampedOverflow(const FloatMode &mode, float value) {
  return mode.fp16Overflow && isInfinite(value) ? __builtin_copysignf(0x1.fffffep127f, value)
                                                : value;
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
