// SPDX-License-Identifier: Apache-2.0
// Matrices of small integers, their encodings and their plain product: what the tests of the matrix
// instructions compare with. Layouts are in the tests, each written from the manual's forward
// formulas or printed tables; the emulator's are their inverses.
#pragma once

#include "tests/emulator/VectorAluWave.h"

#include <cmath>
#include <gtest/gtest.h>
#include <random>

namespace rubia::emulator::test {

/// The registers of the tests' operands.
constexpr unsigned kRegisterD = 0, kRegisterA = 32, kRegisterB = 40, kRegisterC = 48,
                   kRegisterIndex = 80, kMatrixRegisters = 84;

enum class Number { F64, F32, Xf32, F16, Bf16, Fp8, Bf8, Fp6, Bf6, Fp4, I8, U8, I4, U4, I32 };

inline unsigned bitsOf(Number type) {
  switch (type) {
  case Number::F64:
    return 64;
  case Number::F32:
  case Number::Xf32:
  case Number::I32:
    return 32;
  case Number::F16:
  case Number::Bf16:
    return 16;
  case Number::Fp8:
  case Number::Bf8:
  case Number::I8:
  case Number::U8:
    return 8;
  case Number::Fp6:
  case Number::Bf6:
    return 6;
  case Number::Fp4:
  case Number::I4:
  case Number::U4:
    return 4;
  }
  return 0;
}

/// The code of a number in a format that holds it exactly: sign, biased exponent, fraction.
inline uint64_t smallCode(int exponentBits, int fractionBits, int bias, double value) {
  int exponent = 0;
  const double fraction = std::frexp(std::fabs(value), &exponent) * 2 - 1; // of 2^(exponent - 1)
  const int field = exponent - 1 + bias;
  const double code = value == 0  ? 0
                      : field < 1 ? std::ldexp(std::fabs(value), bias - 1 + fractionBits)
                                  : std::ldexp(field + fraction, fractionBits);
  return uint64_t(code) | (value < 0 ? uint64_t(1) << (exponentBits + fractionBits) : 0);
}

/// The code of a number, which the type must hold exactly.
inline uint64_t encode(Number type, double value, bool fnuz = false) {
  switch (type) {
  case Number::F64:
    return d(value);
  case Number::F32:
  case Number::Xf32:
    return f(float(value));
  case Number::F16:
    return h(float(value));
  case Number::Bf16:
    return f(float(value)) >> 16;
  case Number::Fp8:
    return smallCode(4, 3, fnuz ? 8 : 7, value);
  case Number::Bf8:
    return smallCode(5, 2, fnuz ? 16 : 15, value);
  case Number::Fp6:
    return smallCode(2, 3, 1, value);
  case Number::Bf6:
    return smallCode(3, 2, 3, value);
  case Number::Fp4:
    return smallCode(2, 1, 1, value);
  case Number::I8:
  case Number::U8:
  case Number::I4:
  case Number::U4:
  case Number::I32:
    return uint64_t(int64_t(value)) & ((uint64_t(1) << bitsOf(type)) - 1);
  }
  return 0;
}

/// Random integers that `type` holds and whose sums of products any accumulator holds.
inline double smallInteger(Number type, std::mt19937 &random) {
  auto between = [&](int low, int high) { return low + int(random() % unsigned(high - low + 1)); };
  switch (type) {
  case Number::I8:
    return between(-128, 127);
  case Number::U8:
    return between(0, 255);
  case Number::I4:
    return between(-8, 7);
  case Number::U4:
    return between(0, 15);
  case Number::I32:
    return between(-1000000, 1000000);
  case Number::F64:
  case Number::F32:
  case Number::Xf32:
    return between(-20, 20);
  case Number::F16:
  case Number::Bf16:
  case Number::Fp8:
  case Number::Bf8:
  case Number::Fp6:
  case Number::Bf6:
  case Number::Fp4:
    return between(-4, 4);
  }
  return 0;
}

/// Blocks of matrices.
struct Blocks {
  unsigned blocks, rows, columns;
  std::vector<double> values;
  Blocks(unsigned blocks, unsigned rows, unsigned columns)
      : blocks(blocks), rows(rows), columns(columns), values(blocks * rows * columns) {}
  double &operator()(unsigned block, unsigned row, unsigned column) {
    return values[(block * rows + row) * columns + column];
  }
  Blocks &fill(Number type, std::mt19937 &random) {
    for (double &value : values)
      value = smallInteger(type, random);
    return *this;
  }
};

/// Calls `visit(block, row, column)` for all elements.
template <class Visit> void forAll(const Blocks &m, Visit visit) {
  for (unsigned b = 0; b < m.blocks; ++b)
    for (unsigned i = 0; i < m.rows; ++i)
      for (unsigned j = 0; j < m.columns; ++j)
        visit(b, i, j);
}

/// C + A * B, block by block.
inline Blocks product(Blocks a, Blocks b, Blocks c) {
  forAll(Blocks(c), [&](unsigned block, unsigned i, unsigned j) {
    for (unsigned k = 0; k < a.columns; ++k)
      c(block, i, j) += a(block, i, k) * b(block, k, j);
  });
  return c;
}

/// A lane and which of the elements in its registers.
struct Spot {
  unsigned lane, item;
};

/// Writes element `item` of `bits` bits of a lane's registers from `first` on.
inline void place(TestWave &w, unsigned first, Spot spot, unsigned bits, uint64_t code) {
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned at = spot.item * bits + bit;
    uint32_t &word = w.at(first + at / 32, spot.lane);
    word = (word & ~(1u << at % 32)) | uint32_t(code >> bit & 1) << at % 32;
  }
}
inline uint64_t read(TestWave &w, unsigned first, Spot spot, unsigned bits) {
  uint64_t code = 0;
  for (unsigned bit = 0; bit < bits; ++bit) {
    const unsigned at = spot.item * bits + bit;
    code |= uint64_t(w.at(first + at / 32, spot.lane) >> at % 32 & 1) << bit;
  }
  return code;
}

/// 2-of-4 sparse rows: the full matrix and, for each row and pair of the stored elements, their
/// positions.
struct SparseRows {
  Blocks full;
  std::vector<unsigned> positions; // [row][group of four][2]
  SparseRows(unsigned rows, unsigned depth, Number type, std::mt19937 &random)
      : full(1, rows, depth) {
    for (unsigned i = 0; i < rows; ++i)
      for (unsigned k = 0; k < depth; k += 4) {
        unsigned first = random() % 3, second = first + 1 + random() % (3 - first);
        for (unsigned position : {first, second}) {
          full(0, i, k + position) = smallInteger(type, random);
          positions.push_back(position);
        }
      }
  }
  unsigned position(unsigned row, unsigned group, unsigned which) const {
    return positions[(row * (full.columns / 4) + group) * 2 + which];
  }
};

struct Mfma {
  const char *name;
  unsigned size, depth, blocks;
  Number a, b;
};

inline Number sumOf(const Mfma &m) {
  return m.a == Number::F64 ? Number::F64 : m.a == Number::I8 ? Number::I32 : Number::F32;
}

/// CDNA4 ISA 7.1.4.1: A[b,i,k], and B[b,k,i].
inline Spot inputSpot(const Mfma &m, unsigned b, unsigned i, unsigned k) {
  const unsigned consecutive = m.depth / (64 / (m.size * m.blocks));
  return {i + m.size * (b + m.blocks * (k / consecutive)), k % consecutive};
}

/// CDNA4 ISA 7.1.4.2, with rows and blocks of V_MFMA_F64_4X4X4_4B_F64 in the calculator's order.
inline Spot outputSpot(const Mfma &m, unsigned b, unsigned i, unsigned j) {
  const unsigned n = m.size, h = m.a == Number::F64 ? 1 : 4;
  const unsigned bi = (64 + n * n / h - 1) / (n * n / h), mi = 64 / bi / n, g = n / (h * mi);
  return {j + n * (b % bi + bi * (i / h % mi)), i % h + h * (i / (h * mi) + g * (b / bi))};
}

} // namespace rubia::emulator::test
