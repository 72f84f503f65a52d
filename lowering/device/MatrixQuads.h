// SPDX-License-Identifier: Apache-2.0
// mma.m8n8k4 of f16: four products, each of two groups of four lanes.
#pragma once

#include "lowering/device/MatrixArithmetic.h"

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

// D of f16: k 0 and 1 are added in f32, k 2 and 3 too, then both sums and c. In that the recording
// of an H100 tells nothing of where c is added.
INLINE uint32_t pairedSum(const uint32_t *a, const uint32_t *b, uint32_t c) {
  uint32_t pairs[2];
  UNROLL for (uint32_t i = 0; i < 2; ++i) {
    const uint32_t first = fmaF32(f32OfF16(a[2 * i]), f32OfF16(b[2 * i]), 0); // exact
    pairs[i] = fmaF32(f32OfF16(a[2 * i + 1]), f32OfF16(b[2 * i + 1]), first);
  }
  const uint32_t sum = f16OfF32(addF32(addF32(pairs[0], pairs[1]), f32OfF16(c)));
  return sum & 0x7fff ? withKnownNan(sum, 0x7c00, F16::kNan) : 0;
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
      QuadC<kD>::set(d, i, pairedSum(ofRow, ofColumn, QuadC<kC>::element(c, i)));
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
