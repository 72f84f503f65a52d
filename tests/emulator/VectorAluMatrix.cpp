// SPDX-License-Identifier: Apache-2.0
// WMMA on matrices of small integers, whose products are exact in any order.
#include "tests/emulator/VectorAluWave.h"

#include <gtest/gtest.h>

namespace rubia::emulator::test {

namespace {
using Matrix = std::array<std::array<int, 16>, 16>;

Matrix matrix(int seed, int low, int high) {
  Matrix result;
  uint32_t state = uint32_t(seed);
  for (auto &row : result)
    for (int &value : row) {
      state = state * 1664525 + 1013904223;
      value = low + int(state >> 16) % (high - low + 1);
    }
  return result;
}

Matrix transposed(const Matrix &m) {
  Matrix result;
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j)
      result[i][j] = m[j][i];
  return result;
}

Matrix product(const Matrix &a, const Matrix &b, const Matrix &c) {
  Matrix result = c;
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j)
      for (unsigned k = 0; k < 16; ++k)
        result[i][j] += a[i][k] * b[k][j];
  return result;
}

// Registers: D from 0, A from 8, B from 16, C from 24.
constexpr unsigned kA = 8, kB = 16, kC = 24, kRegisters = 32;

/// Row `lane % 16` of the matrix, `bits` wide elements as `encode` makes them.
template <class Encode>
void placeRows(TestWave &w, unsigned first, const Matrix &m, unsigned bits, Encode encode) {
  const unsigned perRegister = 32 / bits;
  for (unsigned lane = 0; lane < w.wave.lanes(); ++lane)
    for (unsigned r = 0; r < 16 / perRegister; ++r) {
      uint32_t word = 0;
      for (unsigned n = 0; n < perRegister; ++n)
        word |= uint32_t(encode(m[lane % 16][r * perRegister + n]) & ((1u << bits) - 1))
                << n * bits;
      w.at(first + r, lane) = word;
    }
}

template <class Visit> void forAccumulator(unsigned lanes, Visit visit) {
  for (unsigned lane = 0; lane < lanes; ++lane)
    for (unsigned r = 0; r < 256 / lanes; ++r)
      visit(r, lane, r * (lanes / 16) + lane / 16, lane % 16);
}

uint32_t encodeHalf(int value) { return uint32_t(h(float(value))); }
uint32_t encodeBfloat(int value) { return uint32_t(f(float(value)) >> 16); }
uint32_t encodeInteger(int value) { return uint32_t(value); }
} // namespace

TEST(VectorAluMatrix, FloatAccumulator) {
  for (unsigned lanes : {32u, 64u})
    for (bool bfloat : {false, true}) {
      Matrix a = matrix(1, -8, 8), b = matrix(2, -8, 8), c = matrix(3, -1000, 1000);
      TestWave w(lanes, kRegisters);
      auto encode = bfloat ? encodeBfloat : encodeHalf;
      placeRows(w, kA, a, 16, encode);
      placeRows(w, kB, transposed(b), 16, encode);
      forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
        w.at(kC + r, lane) = uint32_t(f(float(c[row][column])));
      });
      w.vector(0, kA).vector(1, kB).vector(2, kC);
      w.run(bfloat ? "V_WMMA_F32_16X16X16_BF16" : "V_WMMA_F32_16X16X16_F16");
      Matrix d = product(a, b, c);
      forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
        EXPECT_EQ(asFloat(w.at(r, lane)), float(d[row][column])) << row << " " << column;
      });
    }
}

TEST(VectorAluMatrix, ResultMayReplaceTheAddend) {
  Matrix a = matrix(4, -8, 8), b = matrix(5, -8, 8), c = matrix(6, -1000, 1000);
  TestWave w(32, kRegisters);
  placeRows(w, kA, a, 16, encodeHalf);
  placeRows(w, kB, transposed(b), 16, encodeHalf);
  forAccumulator(32, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
    w.at(r, lane) = uint32_t(f(float(c[row][column])));
  });
  w.vector(0, kA).vector(1, kB).vector(2, 0).run("V_WMMA_F32_16X16X16_F16");
  Matrix d = product(a, b, c);
  forAccumulator(32, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
    EXPECT_EQ(asFloat(w.at(r, lane)), float(d[row][column]));
  });
}

// The result's first registers are the addend's last ones.
TEST(VectorAluMatrix, ResultMayOverlapTheAddend) {
  for (unsigned lanes : {32u, 64u})
    for (bool integer : {false, true})
      for (unsigned distance : {1u, 3u}) {
        Matrix a = matrix(4, -8, 7), b = matrix(5, -8, 7), c = matrix(6, -1000, 1000);
        TestWave w(lanes, kRegisters);
        auto bits = [&](int value) { return uint32_t(integer ? value : f(float(value))); };
        placeRows(w, kB, a, integer ? 8 : 16, integer ? encodeInteger : encodeHalf);
        placeRows(w, kC, transposed(b), integer ? 8 : 16, integer ? encodeInteger : encodeHalf);
        forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
          w.at(r, lane) = bits(c[row][column]);
        });
        w.vector(0, kB).vector(1, kC).vector(2, 0).result(distance);
        w.modifiers(0, integer).modifiers(1, integer);
        w.run(integer ? "V_WMMA_I32_16X16X16_IU8" : "V_WMMA_F32_16X16X16_F16");
        Matrix d = product(a, b, c);
        forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
          EXPECT_EQ(w.at(distance + r, lane), bits(d[row][column])) << row << " " << column;
        });
      }
}

TEST(VectorAluMatrix, ModifiersAndScalarAddend) {
  Matrix a = matrix(7, -8, 8), b = matrix(8, -8, 8), c = {};
  TestWave w(32, kRegisters);
  placeRows(w, kA, a, 16, encodeHalf);
  placeRows(w, kB, transposed(b), 16, encodeHalf);
  // neg_lo of A negates the even elements of its rows; C is -1, negated.
  w.vector(0, kA).vector(1, kB).scalar(2, uint32_t(f(-1))).modifiers(0, 1).modifiers(2, 1);
  w.run("V_WMMA_F32_16X16X16_F16");
  for (unsigned i = 0; i < 16; ++i)
    for (unsigned j = 0; j < 16; ++j) {
      c[i][j] = 1;
      if (j % 2 == 0)
        a[i][j] = -a[i][j];
    }
  Matrix d = product(a, b, c);
  forAccumulator(32, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
    EXPECT_EQ(asFloat(w.at(r, lane)), float(d[row][column]));
  });
}

TEST(VectorAluMatrix, HalfAccumulatorKeepsTheOtherHalf) {
  for (unsigned lanes : {32u, 64u})
    for (bool bfloat : {false, true})
      for (unsigned high : {0u, 4u}) {
        Matrix a = matrix(9, -2, 2), b = matrix(10, -2, 2), c = matrix(11, -60, 60);
        TestWave w(lanes, kRegisters);
        auto encode = bfloat ? encodeBfloat : encodeHalf;
        const unsigned shift = high ? 16 : 0;
        placeRows(w, kA, a, 16, encode);
        placeRows(w, kB, transposed(b), 16, encode);
        forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
          w.at(kC + r, lane) = encode(c[row][column]) << shift;
          w.at(r, lane) = 0xabcdabcd;
        });
        w.vector(0, kA).vector(1, kB).vector(2, kC).modifiers(2, high);
        w.run(bfloat ? "V_WMMA_BF16_16X16X16_BF16" : "V_WMMA_F16_16X16X16_F16");
        Matrix d = product(a, b, c);
        forAccumulator(lanes, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
          EXPECT_EQ(w.at(r, lane) >> shift & 0xffff, encode(d[row][column]));
          EXPECT_EQ(w.at(r, lane) >> (16 - shift) & 0xffff, 0xabcdu);
        });
      }
}

TEST(VectorAluMatrix, Integers) {
  for (unsigned bits : {8u, 4u})
    for (uint32_t signs = 0; signs < 4; ++signs) {
      const int size = 1 << bits;
      auto range = [&](int seed, bool isSigned) {
        return isSigned ? matrix(seed, -size / 2, size / 2 - 1) : matrix(seed, 0, size - 1);
      };
      Matrix a = range(12, signs & 1), b = range(13, signs & 2), c = matrix(14, -9999, 9999);
      TestWave w(32, kRegisters);
      placeRows(w, kA, a, bits, encodeInteger);
      placeRows(w, kB, transposed(b), bits, encodeInteger);
      forAccumulator(32, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
        w.at(kC + r, lane) = uint32_t(c[row][column]);
      });
      w.vector(0, kA).vector(1, kB).vector(2, kC);
      w.modifiers(0, signs & 1).modifiers(1, signs >> 1);
      w.run(bits == 8 ? "V_WMMA_I32_16X16X16_IU8" : "V_WMMA_I32_16X16X16_IU4");
      Matrix d = product(a, b, c);
      forAccumulator(32, [&](unsigned r, unsigned lane, unsigned row, unsigned column) {
        EXPECT_EQ(int(w.at(r, lane)), d[row][column]);
      });
    }
}

TEST(VectorAluMatrix, IntegersSaturate) {
  Matrix ones;
  for (auto &row : ones)
    row.fill(1);
  for (bool saturate : {false, true}) {
    TestWave w(32, kRegisters);
    placeRows(w, kA, ones, 8, encodeInteger);
    placeRows(w, kB, ones, 8, encodeInteger);
    w.vector(0, kA).vector(1, kB).scalar(2, 0x7ffffff8);
    if (saturate)
      w.clamp();
    w.run("V_WMMA_I32_16X16X16_IU8");
    EXPECT_EQ(w.at(0, 0), saturate ? 0x7fffffffu : 0x80000008u);
  }
}

} // namespace rubia::emulator::test
