// SPDX-License-Identifier: Apache-2.0
// RDNA4's matrix instructions in both wave sizes against the plain product, with layouts as AMD's
// matrix instruction calculator prints them.
#include "tests/emulator/MatrixReference.h"

namespace rubia::emulator::test {

namespace {

using enum Number;

struct Wmma {
  const char *name;
  unsigned depth;
  Number a, b, sum;
};

// I8 and I4 stand for signed and unsigned ones.
constexpr Wmma kDense[] = {
    {"V_WMMA_F32_16X16X16_F16", 16, F16, F16, F32},
    {"V_WMMA_F32_16X16X16_BF16", 16, Bf16, Bf16, F32},
    {"V_WMMA_F16_16X16X16_F16", 16, F16, F16, F16},
    {"V_WMMA_BF16_16X16X16_BF16", 16, Bf16, Bf16, Bf16},
    {"V_WMMA_F32_16X16X16_FP8_FP8", 16, Fp8, Fp8, F32},
    {"V_WMMA_F32_16X16X16_FP8_BF8", 16, Fp8, Bf8, F32},
    {"V_WMMA_F32_16X16X16_BF8_FP8", 16, Bf8, Fp8, F32},
    {"V_WMMA_F32_16X16X16_BF8_BF8", 16, Bf8, Bf8, F32},
    {"V_WMMA_I32_16X16X16_IU8", 16, I8, I8, I32},
    {"V_WMMA_I32_16X16X16_IU4", 16, I4, I4, I32},
    {"V_WMMA_I32_16X16X32_IU4", 32, I4, I4, I32},
};
constexpr Wmma kSparse[] = {
    {"V_SWMMAC_F32_16X16X32_F16", 32, F16, F16, F32},
    {"V_SWMMAC_F32_16X16X32_BF16", 32, Bf16, Bf16, F32},
    {"V_SWMMAC_F16_16X16X32_F16", 32, F16, F16, F16},
    {"V_SWMMAC_BF16_16X16X32_BF16", 32, Bf16, Bf16, Bf16},
    {"V_SWMMAC_F32_16X16X32_FP8_FP8", 32, Fp8, Fp8, F32},
    {"V_SWMMAC_F32_16X16X32_FP8_BF8", 32, Fp8, Bf8, F32},
    {"V_SWMMAC_F32_16X16X32_BF8_FP8", 32, Bf8, Fp8, F32},
    {"V_SWMMAC_F32_16X16X32_BF8_BF8", 32, Bf8, Bf8, F32},
    {"V_SWMMAC_I32_16X16X32_IU8", 32, I8, I8, I32},
    {"V_SWMMAC_I32_16X16X32_IU4", 32, I4, I4, I32},
    {"V_SWMMAC_I32_16X16X64_IU4", 64, I4, I4, I32},
};

/// Element k of row or column i of a dense matrix whose partner is dense.
Spot denseSpot(unsigned lanes, unsigned bits, unsigned depth, unsigned i, unsigned k) {
  if (lanes == 32) {
    if (bits == 16)
      return {16 * (k / 4 % 2) + i, k % 4 + 4 * (k / 8)};
    if (bits == 8 || depth == 16)
      return {16 * (k / 8) + i, k % 8};
    return {16 * (k / 16) + i, k % 16};
  }
  if (bits == 16)
    return {32 * (k / 8) + 16 * (k / 4 % 2) + i, k % 4};
  if (bits == 8)
    return {32 * (k / 4 % 2) + 16 * (k / 8) + i, k % 4};
  if (depth == 16)
    return {16 * (k / 8) + i, k % 8};
  return {32 * (k / 8 % 2) + 16 * (k / 16) + i, k % 8};
}

/// The same where A is sparse. Of A itself it is the place that k would have in full rows.
Spot sparseSpot(unsigned lanes, unsigned bits, unsigned depth, bool isA, unsigned i, unsigned k) {
  if (lanes == 32) {
    if (bits == 16)
      return {16 * (k / 8 % 2) + i, k % 8 + 8 * (k / 16)};
    if (depth == 32)
      return {16 * (k / 16) + i, k % 16};
    return {16 * (k / 32) + i, k % 32};
  }
  if (bits == 16)
    return {16 * (k / 8) + i, k % 8};
  if (bits == 4 && depth == 32 && isA)
    return {16 * (k / 16) + i, k % 16};
  if (depth == 32)
    return {32 * (k / 8 % 2) + 16 * (k / 16) + i, k % 8};
  return {32 * (k / 16 % 2) + 16 * (k / 32) + i, k % 16};
}

Spot outputSpot(unsigned lanes, unsigned i, unsigned j) {
  if (lanes == 32)
    return {16 * (i / 8) + j, i % 8};
  return {32 * (i / 4 % 2) + 16 * (i / 8) + j, i % 4};
}

Number unsignedOf(Number type) { return type == I8 ? U8 : type == I4 ? U4 : type; }

struct WmmaRun {
  Wmma m;
  unsigned lanes;
  TestWave w;
  Blocks b, c;
  MatrixControl control;

  WmmaRun(const Wmma &shape, unsigned lanes, unsigned signs, std::mt19937 &random)
      : m(shape), lanes(lanes), w(lanes, kMatrixRegisters), b(1, m.depth, 16), c(1, 16, 16) {
    if (!(signs & 1))
      m.a = unsignedOf(m.a);
    if (!(signs & 2))
      m.b = unsignedOf(m.b);
    control.packedHalves = true;
    b.fill(m.b, random);
    c.fill(m.sum == I32 ? I32 : F16, random);
    if (m.sum == I32)
      w.modifiers(0, signs & 1).modifiers(1, signs >> 1);
  }
  void placeSum(unsigned first) {
    forAll(c, [&](unsigned, unsigned i, unsigned j) {
      place(w, first, outputSpot(lanes, i, j), bitsOf(m.sum), encode(m.sum, c(0, i, j)));
    });
  }
  void run() { w.vector(0, kRegisterA).vector(1, kRegisterB).matrix(control).run(m.name); }
  void expect(Blocks result) {
    forAll(Blocks(result), [&](unsigned, unsigned i, unsigned j) {
      ASSERT_EQ(read(w, kRegisterD, outputSpot(lanes, i, j), bitsOf(m.sum)),
                encode(m.sum, result(0, i, j)))
          << m.name << " wave" << lanes << " row " << i << " column " << j;
    });
  }
};

/// All combinations of signs for integers, one run for floats.
template <class Body> void forRuns(llvm::ArrayRef<Wmma> shapes, Body body) {
  for (const Wmma &m : shapes)
    for (unsigned lanes : {32u, 64u})
      for (unsigned signs = 0; signs < 4; ++signs)
        if (signs == 0 || m.sum == I32)
          body(m, lanes, signs);
}

} // namespace

TEST(Wmma, ProductsOfRdna4) {
  std::mt19937 random(1);
  forRuns(kDense, [&](const Wmma &m, unsigned lanes, unsigned signs) {
    WmmaRun run(m, lanes, signs, random);
    Blocks a = Blocks(1, 16, m.depth).fill(run.m.a, random);
    const unsigned bits = bitsOf(m.a);
    forAll(a, [&](unsigned, unsigned i, unsigned k) {
      place(run.w, kRegisterA, denseSpot(lanes, bits, m.depth, i, k), bits,
            encode(run.m.a, a(0, i, k)));
    });
    forAll(run.b, [&](unsigned, unsigned k, unsigned j) {
      place(run.w, kRegisterB, denseSpot(lanes, bits, m.depth, j, k), bits,
            encode(run.m.b, run.b(0, k, j)));
    });
    run.placeSum(kRegisterC);
    run.w.vector(2, kRegisterC).exec(0); // EXEC plays no part
    run.run();
    run.expect(product(a, run.b, run.c));
  });
}

TEST(Wmma, SparseProductsOfRdna4) {
  std::mt19937 random(2);
  forRuns(kSparse, [&](const Wmma &m, unsigned lanes, unsigned signs) {
    WmmaRun run(m, lanes, signs, random);
    SparseRows a(16, m.depth, run.m.a, random);
    const unsigned bits = bitsOf(m.a);
    auto spotA = [&](unsigned i, unsigned k) {
      return sparseSpot(lanes, bits, m.depth, true, i, k);
    };
    // As many sets of indices as fit: one per lane group's share of the depth.
    unsigned bitsPerSet = 0;
    for (unsigned k = 0; k < m.depth; ++k)
      bitsPerSet = std::max(bitsPerSet, spotA(0, k).item + 1);
    run.control.indexKey = uint8_t(random() % (32 / bitsPerSet));
    for (unsigned i = 0; i < 16; ++i)
      for (unsigned group = 0; group < m.depth / 4; ++group)
        for (unsigned which = 0; which < 2; ++which) {
          const unsigned position = a.position(i, group, which);
          const Spot first = spotA(i, group * 4);
          const Spot stored = {first.lane, first.item / 2 + which};
          place(run.w, kRegisterA, stored, bits,
                encode(run.m.a, a.full(0, i, group * 4 + position)));
          place(run.w, kRegisterIndex,
                {stored.lane, stored.item + run.control.indexKey * bitsPerSet / 2}, 2, position);
        }
    forAll(run.b, [&](unsigned, unsigned k, unsigned j) {
      place(run.w, kRegisterB, sparseSpot(lanes, bits, m.depth, false, j, k), bits,
            encode(run.m.b, run.b(0, k, j)));
    });
    run.placeSum(kRegisterD);
    run.w.vector(2, kRegisterIndex);
    run.run();
    run.expect(product(a.full, run.b, run.c));
  });
}

/// All elements of A are `a`, of B `b`, C is a constant; a result's register.
static uint32_t uniform(const char *name, uint32_t a, uint32_t b, uint32_t c, uint32_t modifiersC) {
  TestWave w(32, kMatrixRegisters);
  for (unsigned lane = 0; lane < 32; ++lane)
    for (unsigned r = 0; r < 8; ++r) {
      w.at(kRegisterA + r, lane) = a;
      w.at(kRegisterB + r, lane) = b;
    }
  MatrixControl control;
  control.packedHalves = true;
  w.vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, c).modifiers(2, modifiersC);
  return w.matrix(control).run(name).at(0, 0);
}

TEST(Wmma, AddendOfSmallFloatsHasNegAndAbs) {
  constexpr uint32_t kNeg = 1, kAbs = 2;
  const uint32_t one = 0x38383838; // E4M3
  EXPECT_EQ(uniform("V_WMMA_F32_16X16X16_FP8_FP8", one, one, uint32_t(f(-2)), 0), f(14));
  EXPECT_EQ(uniform("V_WMMA_F32_16X16X16_FP8_FP8", one, one, uint32_t(f(-2)), kAbs), f(18));
  EXPECT_EQ(uniform("V_WMMA_F32_16X16X16_FP8_FP8", one, one, uint32_t(f(-2)), kAbs | kNeg), f(14));
}

// Assumed: f32 sums are rounded at each step; a 16-bit result is rounded from f32 once; denormals
// are kept.
TEST(Wmma, Rounding) {
  EXPECT_EQ(uniform("V_WMMA_F32_16X16X16_F16", 0x3c003c00, 0x3c003c00, uint32_t(f(0x1p24f)), 0),
            f(0x1p24f));
  // 16 steps of 2^-11 at 1: each would be lost in f16, their sum 2^-7 is not.
  EXPECT_EQ(uniform("V_WMMA_F16_16X16X16_F16", 0x10001000, 0x3c003c00, 0x3c00, 0), 0x3c083c08u);
  EXPECT_EQ(uniform("V_WMMA_F32_16X16X16_F16", 0x00010001, 0x3c003c00, 0, 0), f(0x1p-20f));
}

// RUBIA_EMULATOR_TRANS=worst: nobody has published how these units add, so results that are not
// exact differ, those of 16 bits in theirs.
TEST(Wmma, PerturbedSumsDifferWhereTheyAreNotExact) {
  struct {
    const char *name;
    unsigned registers; // of D, in a wave32 of RDNA4
  } constexpr kCases[] = {{"V_WMMA_F32_16X16X16_F16", 8},
                          {"V_WMMA_F16_16X16X16_F16", 4},
                          {"V_WMMA_F32_16X16X16_FP8_FP8", 8},
                          {"V_SWMMAC_F32_16X16X32_F16", 8}};
  for (const auto &one : kCases)
    for (bool exact : {false, true}) {
      auto results = [&](bool perturb) {
        TestWave w(32, kMatrixRegisters);
        std::mt19937 random(5);
        for (unsigned lane = 0; lane < 32; ++lane)
          for (unsigned r = 0; r < kMatrixRegisters; ++r) // halves from 1/8 to 2, or 1 and 2
            w.at(r, lane) = (exact ? (uint32_t(random()) & 0x04000400) | 0x3c003c00
                                   : (uint32_t(random()) & 0x0fff0fff) | 0x30003000);
        for (unsigned lane = 0; lane < 32; ++lane) {
          w.at(kRegisterIndex, lane) = 0x44444444;
          for (unsigned r = 0; r < 8; ++r)
            w.at(kRegisterD + r, lane) = 0; // C of V_SWMMAC_*
        }
        const bool sparse = llvm::StringRef(one.name).starts_with("V_SWMMAC");
        w.vector(0, kRegisterA).vector(1, kRegisterB);
        if (sparse)
          w.vector(2, kRegisterIndex);
        else
          w.scalar(2, 0);
        if (perturb)
          w.reverseSums();
        MatrixControl control;
        control.packedHalves = true;
        w.matrix(control).run(one.name);
        std::vector<uint32_t> words;
        for (unsigned r = 0; r < one.registers; ++r)
          for (unsigned lane = 0; lane < 32; ++lane)
            words.push_back(w.at(kRegisterD + r, lane));
        return words;
      };
      const auto plain = results(false), worst = results(true);
      EXPECT_EQ(worst, results(true)) << one.name;
      unsigned differ = 0;
      for (size_t i = 0; i < plain.size(); ++i)
        differ += plain[i] != worst[i];
      if (exact)
        EXPECT_EQ(differ, 0u) << one.name;
      else
        EXPECT_GT(differ, plain.size() / 8) << one.name;
    }
}

std::vector<const char *> matrixOperationsOfRdna() {
  std::vector<const char *> names;
  for (const Wmma &m : kDense)
    names.push_back(m.name);
  for (const Wmma &m : kSparse)
    names.push_back(m.name);
  return names;
}

} // namespace rubia::emulator::test
