// SPDX-License-Identifier: Apache-2.0
// CDNA's matrix instructions: every one against the plain product, with layouts as CDNA4 ISA 7.1.4,
// 7.1.5.1 and 7.5.1 give them, and what the manual says or we assume about numbers.
#include "tests/emulator/MatrixReference.h"

namespace rubia::emulator::test {

namespace {

using enum Number;
constexpr Mfma kDense[] = {
    {"V_MFMA_F32_32X32X1F32", 32, 1, 2, F32, F32},
    {"V_MFMA_F32_16X16X1F32", 16, 1, 4, F32, F32},
    {"V_MFMA_F32_4X4X1F32", 4, 1, 16, F32, F32},
    {"V_MFMA_F32_32X32X2F32", 32, 2, 1, F32, F32},
    {"V_MFMA_F32_16X16X4F32", 16, 4, 1, F32, F32},
    {"V_MFMA_F32_32X32X4XF32", 32, 4, 1, Xf32, Xf32},
    {"V_MFMA_F32_16X16X8XF32", 16, 8, 1, Xf32, Xf32},
    {"V_MFMA_F32_32X32X4F16", 32, 4, 2, F16, F16},
    {"V_MFMA_F32_16X16X4F16", 16, 4, 4, F16, F16},
    {"V_MFMA_F32_4X4X4F16", 4, 4, 16, F16, F16},
    {"V_MFMA_F32_32X32X8F16", 32, 8, 1, F16, F16},
    {"V_MFMA_F32_16X16X16F16", 16, 16, 1, F16, F16},
    {"V_MFMA_F32_32X32X16_F16", 32, 16, 1, F16, F16},
    {"V_MFMA_F32_16X16X32_F16", 16, 32, 1, F16, F16},
    {"V_MFMA_F32_32X32X2BF16", 32, 2, 2, Bf16, Bf16},
    {"V_MFMA_F32_16X16X2BF16", 16, 2, 4, Bf16, Bf16},
    {"V_MFMA_F32_4X4X2BF16", 4, 2, 16, Bf16, Bf16},
    {"V_MFMA_F32_32X32X4BF16", 32, 4, 1, Bf16, Bf16},
    {"V_MFMA_F32_16X16X8BF16", 16, 8, 1, Bf16, Bf16},
    {"V_MFMA_F32_32X32X4BF16_1K", 32, 4, 2, Bf16, Bf16},
    {"V_MFMA_F32_16X16X4BF16_1K", 16, 4, 4, Bf16, Bf16},
    {"V_MFMA_F32_4X4X4BF16_1K", 4, 4, 16, Bf16, Bf16},
    {"V_MFMA_F32_32X32X8BF16_1K", 32, 8, 1, Bf16, Bf16},
    {"V_MFMA_F32_16X16X16BF16_1K", 16, 16, 1, Bf16, Bf16},
    {"V_MFMA_F32_32X32X16_BF16", 32, 16, 1, Bf16, Bf16},
    {"V_MFMA_F32_16X16X32_BF16", 16, 32, 1, Bf16, Bf16},
    {"V_MFMA_F32_32X32X16_FP8_FP8", 32, 16, 1, Fp8, Fp8},
    {"V_MFMA_F32_32X32X16_FP8_BF8", 32, 16, 1, Fp8, Bf8},
    {"V_MFMA_F32_32X32X16_BF8_FP8", 32, 16, 1, Bf8, Fp8},
    {"V_MFMA_F32_32X32X16_BF8_BF8", 32, 16, 1, Bf8, Bf8},
    {"V_MFMA_F32_16X16X32_FP8_FP8", 16, 32, 1, Fp8, Fp8},
    {"V_MFMA_F32_16X16X32_FP8_BF8", 16, 32, 1, Fp8, Bf8},
    {"V_MFMA_F32_16X16X32_BF8_FP8", 16, 32, 1, Bf8, Fp8},
    {"V_MFMA_F32_16X16X32_BF8_BF8", 16, 32, 1, Bf8, Bf8},
    {"V_MFMA_I32_32X32X4I8", 32, 4, 2, I8, I8},
    {"V_MFMA_I32_16X16X4I8", 16, 4, 4, I8, I8},
    {"V_MFMA_I32_4X4X4I8", 4, 4, 16, I8, I8},
    {"V_MFMA_I32_32X32X8I8", 32, 8, 1, I8, I8},
    {"V_MFMA_I32_16X16X16I8", 16, 16, 1, I8, I8},
    {"V_MFMA_I32_32X32X16I8", 32, 16, 1, I8, I8},
    {"V_MFMA_I32_16X16X32I8", 16, 32, 1, I8, I8},
    {"V_MFMA_I32_32X32X32_I8", 32, 32, 1, I8, I8},
    {"V_MFMA_I32_16X16X64_I8", 16, 64, 1, I8, I8},
    {"V_MFMA_F64_16X16X4F64", 16, 4, 1, F64, F64},
    {"V_MFMA_F64_4X4X4F64", 4, 4, 4, F64, F64},
};

constexpr Mfma kSparse[] = {
    {"V_SMFMAC_F32_16X16X32_F16", 16, 32, 1, F16, F16},
    {"V_SMFMAC_F32_32X32X16_F16", 32, 16, 1, F16, F16},
    {"V_SMFMAC_F32_16X16X64_F16", 16, 64, 1, F16, F16},
    {"V_SMFMAC_F32_32X32X32_F16", 32, 32, 1, F16, F16},
    {"V_SMFMAC_F32_16X16X32_BF16", 16, 32, 1, Bf16, Bf16},
    {"V_SMFMAC_F32_32X32X16_BF16", 32, 16, 1, Bf16, Bf16},
    {"V_SMFMAC_F32_16X16X64_BF16", 16, 64, 1, Bf16, Bf16},
    {"V_SMFMAC_F32_32X32X32_BF16", 32, 32, 1, Bf16, Bf16},
    {"V_SMFMAC_I32_16X16X64_I8", 16, 64, 1, I8, I8},
    {"V_SMFMAC_I32_32X32X32_I8", 32, 32, 1, I8, I8},
    {"V_SMFMAC_I32_16X16X128_I8", 16, 128, 1, I8, I8},
    {"V_SMFMAC_I32_32X32X64_I8", 32, 64, 1, I8, I8},
    {"V_SMFMAC_F32_16X16X64_FP8_FP8", 16, 64, 1, Fp8, Fp8},
    {"V_SMFMAC_F32_16X16X64_FP8_BF8", 16, 64, 1, Fp8, Bf8},
    {"V_SMFMAC_F32_16X16X64_BF8_FP8", 16, 64, 1, Bf8, Fp8},
    {"V_SMFMAC_F32_16X16X64_BF8_BF8", 16, 64, 1, Bf8, Bf8},
    {"V_SMFMAC_F32_32X32X32_FP8_FP8", 32, 32, 1, Fp8, Fp8},
    {"V_SMFMAC_F32_32X32X32_FP8_BF8", 32, 32, 1, Fp8, Bf8},
    {"V_SMFMAC_F32_32X32X32_BF8_FP8", 32, 32, 1, Bf8, Fp8},
    {"V_SMFMAC_F32_32X32X32_BF8_BF8", 32, 32, 1, Bf8, Bf8},
    {"V_SMFMAC_F32_16X16X128_FP8_FP8", 16, 128, 1, Fp8, Fp8},
    {"V_SMFMAC_F32_16X16X128_FP8_BF8", 16, 128, 1, Fp8, Bf8},
    {"V_SMFMAC_F32_16X16X128_BF8_FP8", 16, 128, 1, Bf8, Fp8},
    {"V_SMFMAC_F32_16X16X128_BF8_BF8", 16, 128, 1, Bf8, Bf8},
    {"V_SMFMAC_F32_32X32X64_FP8_FP8", 32, 64, 1, Fp8, Fp8},
    {"V_SMFMAC_F32_32X32X64_FP8_BF8", 32, 64, 1, Fp8, Bf8},
    {"V_SMFMAC_F32_32X32X64_BF8_FP8", 32, 64, 1, Bf8, Fp8},
    {"V_SMFMAC_F32_32X32X64_BF8_BF8", 32, 64, 1, Bf8, Bf8},
};

/// Where a lane holds eight registers, the tables in 7.1.5.1 and 7.5.1 have runs of `run` values in
/// each lane, the first half of the depth before the second.
Spot halvedSpot(const Mfma &m, unsigned i, unsigned k, unsigned run) {
  const unsigned half = m.depth / 2;
  return {i + m.size * (k % half / run), k % run + run * (k / half)};
}

struct MfmaRun {
  const Mfma &m;
  Blocks a, b, c;
  TestWave w{64, kMatrixRegisters};
  MatrixControl control;

  MfmaRun(const Mfma &m, std::mt19937 &random)
      : m(m), a(m.blocks, m.size, m.depth), b(m.blocks, m.depth, m.size),
        c(m.blocks, m.size, m.size) {
    a.fill(m.a, random);
    b.fill(m.b, random);
    c.fill(sumOf(m), random);
  }
  void placeInputs() {
    forAll(a, [&](unsigned n, unsigned i, unsigned k) {
      place(w, kRegisterA, inputSpot(m, n, i, k), bitsOf(m.a),
            encode(m.a, a(n, i, k), control.fnuz));
    });
    forAll(b, [&](unsigned n, unsigned k, unsigned j) {
      place(w, kRegisterB, inputSpot(m, n, j, k), bitsOf(m.b),
            encode(m.b, b(n, k, j), control.fnuz));
    });
    placeSum(kRegisterC);
  }
  void placeSum(unsigned first) {
    forAll(c, [&](unsigned n, unsigned i, unsigned j) {
      place(w, first, outputSpot(m, n, i, j), bitsOf(sumOf(m)), encode(sumOf(m), c(n, i, j)));
    });
  }
  void run(unsigned registerC = kRegisterC) {
    w.vector(0, kRegisterA).vector(1, kRegisterB);
    if (registerC != ~0u)
      w.vector(2, registerC);
    w.matrix(control).run(m.name);
  }
  void expect(Blocks result) {
    forAll(Blocks(result), [&](unsigned n, unsigned i, unsigned j) {
      const Number sum = sumOf(m);
      ASSERT_EQ(read(w, kRegisterD, outputSpot(m, n, i, j), bitsOf(sum)),
                encode(sum, result(n, i, j)))
          << m.name << " block " << n << " row " << i << " column " << j;
    });
  }
};

const Mfma &dense(llvm::StringRef name) {
  for (const Mfma &m : kDense)
    if (name == m.name)
      return m;
  std::abort();
}

} // namespace

TEST(Mfma, ProductsOfAllShapesAndTypes) {
  std::mt19937 random(1);
  for (const Mfma &m : kDense)
    for (bool fnuz : {false, true}) {
      if (fnuz && m.a != Fp8 && m.a != Bf8)
        continue;
      MfmaRun run(m, random);
      run.control.fnuz = fnuz;
      run.placeInputs();
      run.w.exec(0); // plays no part
      run.run();
      run.expect(product(run.a, run.b, run.c));
    }
}

// Elements as the manual's printed tables have them: CDNA4 ISA 7.1.3 and 7.1.5.1.
TEST(Mfma, PrintedLayouts) {
  struct {
    const char *name;
    Spot a, b, d; // A[b,i,k], B[b,k,j], D[b,i,j]
  } static constexpr kCases[] = {
      // A[1,31,0], B[1,0,31], D[1,31,31]
      {"V_MFMA_F32_32X32X1F32", {63, 0}, {63, 0}, {63, 31}},
      // A[0,27,1], B[0,1,0], D[0,27,0]
      {"V_MFMA_F32_32X32X2F32", {32 + 27, 0}, {32, 0}, {0, 15}},
      // A[0,4,0], B[0,0,1], D[0,4,1]
      {"V_MFMA_F32_32X32X2F32", {4, 0}, {1, 0}, {33, 0}},
      // A[15,3,3], B[15,3,3], D[15,3,3]
      {"V_MFMA_F32_4X4X4F16", {63, 3}, {63, 3}, {63, 3}},
      // A[1,0,2], B[1,2,0], D[1,0,0]
      {"V_MFMA_F32_4X4X4F16", {4, 2}, {4, 2}, {4, 0}},
      // A[0,15,3], B[0,3,15], D[0,15,15]
      {"V_MFMA_F64_16X16X4F64", {63, 0}, {63, 0}, {63, 3}},
      // A[0,4,1], B[0,1,0], D[0,4,0]
      {"V_MFMA_F64_16X16X4F64", {20, 0}, {16, 0}, {0, 1}},
      // A[2,1,3], B[2,3,0], D[2,1,0]
      {"V_MFMA_F64_4X4X4F64", {57, 0}, {56, 0}, {24, 0}},
      // k = 26 of row 3 and column 5: v1 of lanes 48 to 63
      {"V_MFMA_F32_16X16X32_BF16", {48 + 3, 2}, {48 + 5, 2}, {5, 3}},
      // k = 63 of row 8 and column 0: the last byte of v3 of lanes 48 to 63
      {"V_MFMA_I32_16X16X64_I8", {48 + 8, 15}, {48, 15}, {32, 0}},
  };
  for (const auto &c : kCases) {
    const Mfma &m = dense(c.name);
    const Number sum = sumOf(m);
    TestWave w(64, kMatrixRegisters);
    for (unsigned r = 0; r < kMatrixRegisters; ++r)
      for (unsigned lane = 0; lane < 64; ++lane)
        w.at(r, lane) = 0;
    place(w, kRegisterA, c.a, bitsOf(m.a), encode(m.a, 2));
    place(w, kRegisterB, c.b, bitsOf(m.b), encode(m.b, 3));
    w.vector(0, kRegisterA).vector(1, kRegisterB).vector(2, kRegisterC).run(m.name);
    const unsigned items = m.blocks * m.size * m.size / 64;
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned item = 0; item < items; ++item)
        EXPECT_EQ(read(w, kRegisterD, {lane, item}, bitsOf(sum)),
                  encode(sum, lane == c.d.lane && item == c.d.item ? 6 : 0))
            << m.name << " lane " << lane << " item " << item;
  }
}

TEST(Mfma, ResultMayReplaceTheAddend) {
  std::mt19937 random(2);
  MfmaRun run(dense("V_MFMA_F32_32X32X8F16"), random);
  run.placeInputs();
  run.placeSum(kRegisterD);
  run.run(kRegisterD);
  run.expect(product(run.a, run.b, run.c));
}

TEST(Mfma, ConstantAddend) {
  std::mt19937 random(3);
  MfmaRun run(dense("V_MFMA_F32_32X32X8F16"), random);
  run.placeInputs();
  for (double &value : run.c.values)
    value = 4;
  run.w.scalar(2, uint32_t(f(4)));
  run.run(~0u);
  run.expect(product(run.a, run.b, run.c));
}

// Block b of A is block b / 2^cbsz * 2^cbsz + abid.
TEST(Mfma, BlocksOfABroadcast) {
  std::mt19937 random(4);
  for (const char *name : {"V_MFMA_F32_32X32X1F32", "V_MFMA_F32_16X16X4F16", "V_MFMA_I32_4X4X4I8"})
    for (unsigned cbsz = 1; 1u << cbsz <= dense(name).blocks; ++cbsz)
      for (unsigned abid = 0; abid < 1u << cbsz; ++abid) {
        MfmaRun run(dense(name), random);
        run.control.cbsz = uint8_t(cbsz);
        run.control.abid = uint8_t(abid);
        run.placeInputs();
        run.run();
        Blocks a = run.a;
        forAll(run.a, [&](unsigned b, unsigned i, unsigned k) {
          a(b, i, k) = run.a((b >> cbsz << cbsz) + abid, i, k);
        });
        run.expect(product(a, run.b, run.c));
      }
}

// CDNA4 ISA table 29, in lanes of B.
TEST(Mfma, LanesOfBPermute) {
  std::mt19937 random(5);
  for (unsigned blgp = 1; blgp < 8; ++blgp) {
    const Mfma &m = dense("V_MFMA_F32_16X16X4F16");
    MfmaRun run(m, random);
    run.control.blgp = uint8_t(blgp);
    run.placeInputs();
    run.run();
    auto from = [&](unsigned lane) {
      const unsigned lanes[] = {lane,      lane % 32,      lane % 32 + 32, (lane + 16) % 64,
                                lane % 16, lane % 16 + 16, lane % 16 + 32, lane % 16 + 48};
      return lanes[blgp];
    };
    Blocks b = run.b;
    forAll(run.b, [&](unsigned n, unsigned k, unsigned j) {
      const unsigned lane = from(n * 16 + j);
      b(n, k, j) = run.b(lane / 16, k, lane % 16);
    });
    run.expect(product(run.a, b, run.c));
  }
}

TEST(Mfma, DoublesNegateByBlgpAndIgnoreBroadcasts) {
  std::mt19937 random(6);
  for (const char *name : {"V_MFMA_F64_16X16X4F64", "V_MFMA_F64_4X4X4F64"})
    for (unsigned blgp = 0; blgp < 8; ++blgp) {
      MfmaRun run(dense(name), random);
      run.control.blgp = uint8_t(blgp);
      run.control.cbsz = 1;
      run.placeInputs();
      run.run();
      auto negate = [](Blocks m, bool on) {
        for (double &value : m.values)
          value = on ? -value : value;
        return m;
      };
      run.expect(
          product(negate(run.a, blgp & 1), negate(run.b, blgp & 2), negate(run.c, blgp & 4)));
    }
}

/// All of A, B and C have one value each, and so have all sums.
static uint32_t uniform(const char *name, double a, double b, uint32_t c, bool flushMode = false,
                        bool flush16 = false, bool overflow = false) {
  const Mfma &m = dense(name);
  TestWave w(64, kMatrixRegisters);
  const unsigned items = m.depth * m.size * m.blocks / 64;
  for (unsigned lane = 0; lane < 64; ++lane) {
    for (unsigned item = 0; item < items; ++item) {
      place(w, kRegisterA, {lane, item}, bitsOf(m.a), encode(m.a, a));
      place(w, kRegisterB, {lane, item}, bitsOf(m.b), encode(m.b, b));
    }
  }
  w.wave.lane.mode.flushSource32 = flushMode;
  w.wave.lane.mode.fp16Overflow = overflow;
  MatrixControl control;
  control.flush16 = flush16;
  w.vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, c).matrix(control);
  w.unit(flush16 ? ProductSum::Pairwise : ProductSum::InOrder).run(name);
  return w.at(kRegisterD, 0);
}

// Assumed: every product is added on its own, and the sum rounded to f32 each time.
TEST(Mfma, EachStepRoundsToSingle) {
  // 2^24 + 1 + 1 + ... stays, 2^24 + 8 does not.
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", 1, 1, uint32_t(f(0x1p24f))), f(0x1p24f));
  EXPECT_EQ(uniform("V_MFMA_F32_16X16X16BF16_1K", 1, 1, uint32_t(f(0x1p24f))), f(0x1p24f));
  EXPECT_EQ(uniform("V_MFMA_F32_16X16X32_FP8_FP8", 1, 1, uint32_t(f(0x1p24f))), f(0x1p24f));
  EXPECT_EQ(uniform("V_MFMA_F32_16X16X4F32", 1, 1, uint32_t(f(0x1p24f))), f(0x1p24f));
  // Products are not rounded before: (1 + 2^-23)^2 - 1 - 2^-22 is 2^-46.
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", 0x1.000002p0, 0x1.000002p0, uint32_t(f(-0x1.000004p0f))),
            f(0x1p-46f));
}

namespace {

/// Random numbers between 1 and 2 with 10 fraction bits, and their sums in a given way.
std::vector<uint32_t> sumsOfHalves(const Mfma &m, bool perturb, ProductSum unit, unsigned seed,
                                   bool integers = false) {
  std::mt19937 random(seed);
  TestWave w(64, kMatrixRegisters);
  const unsigned perLane = m.depth * m.size * m.blocks / 64;
  for (unsigned lane = 0; lane < 64; ++lane)
    for (unsigned item = 0; item < perLane; ++item)
      for (unsigned first : {kRegisterA, kRegisterB}) {
        const double value =
            integers ? double(random() % 17) - 8 : 1 + double(random() % 1024) / 1024;
        place(w, first, {lane, item}, bitsOf(m.a), encode(m.a, value));
      }
  if (perturb)
    w.reverseSums();
  w.vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, uint32_t(f(1.5f))).unit(unit).run(m.name);
  std::vector<uint32_t> results;
  for (unsigned item = 0; item < m.blocks * m.size * m.size / 64; ++item)
    for (unsigned lane = 0; lane < 64; ++lane)
      results.push_back(w.at(kRegisterD + item, lane));
  return results;
}

} // namespace

// RUBIA_EMULATOR_TRANS=worst: programs that rest on order, grouping or the last bit show, where
// nobody has published how a unit adds. What is exact stays.
TEST(Mfma, PerturbedSumsDifferWhereTheyAreNotExact) {
  for (const char *name :
       {"V_MFMA_F32_16X16X16F16", "V_MFMA_F32_32X32X8F16", "V_MFMA_F32_16X16X32_F16"}) {
    const Mfma &m = dense(name);
    const auto plain = sumsOfHalves(m, false, ProductSum::InOrder, 1);
    const auto worst = sumsOfHalves(m, true, ProductSum::InOrder, 1);
    EXPECT_EQ(worst, sumsOfHalves(m, true, ProductSum::InOrder, 1));
    unsigned differ = 0;
    for (size_t i = 0; i < plain.size(); ++i) {
      differ += plain[i] != worst[i];
      EXPECT_LE(std::abs(int64_t(plain[i]) - int64_t(worst[i])), m.depth) << name << " " << i;
    }
    EXPECT_GT(differ, plain.size() / 4) << name;
    EXPECT_LT(differ, plain.size()) << name;
    EXPECT_EQ(sumsOfHalves(m, true, ProductSum::InOrder, 2, true),
              sumsOfHalves(m, false, ProductSum::InOrder, 2, true));
    for (ProductSum unit : {ProductSum::Pairwise, ProductSum::Aligned}) // are known
      EXPECT_EQ(sumsOfHalves(m, true, unit, 3), sumsOfHalves(m, false, unit, 3));
  }
}

// The same row of A, column of B and C give the same sum, wherever they are in the tile.
TEST(Mfma, PerturbedSumsDependOnTheirOwnNumbers) {
  const Mfma &m = dense("V_MFMA_F32_16X16X16F16");
  TestWave w(64, kMatrixRegisters);
  std::mt19937 random(4);
  for (unsigned group = 0; group < 4; ++group)
    for (unsigned item = 0; item < 4; ++item)
      for (unsigned first : {kRegisterA, kRegisterB}) {
        const double value = 1 + double(random() % 1024) / 1024;
        for (unsigned line = 0; line < 16; ++line)
          place(w, first, {group * 16 + line, item}, 16, encode(F16, value));
      }
  w.reverseSums().vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, 0).run(m.name);
  for (unsigned item = 0; item < 4; ++item)
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(w.at(kRegisterD + item, lane), w.at(kRegisterD, 0));
}

// CDNA 3 rounds what is far below down, not to nearest or zero: a C of -2^-60 costs a unit of
// 2^-24. Of products a term far below is cut.
TEST(Mfma, AlignedSumsAreFloored) {
  auto sum = [](double b, float c) {
    TestWave w(64, kMatrixRegisters);
    for (unsigned r : {kRegisterA, kRegisterB})
      for (unsigned lane = 0; lane < 64; ++lane)
        w.at(r, lane) = w.at(r + 1, lane) = 0;
    for (unsigned lane = 0; lane < 16; ++lane) {
      w.at(kRegisterA, lane) = uint32_t(h(1)) | uint32_t(h(float(b))) << 16;
      w.at(kRegisterB, lane) = uint32_t(h(1)) | uint32_t(h(0x1p-14f)) << 16;
    }
    w.vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, uint32_t(f(c)));
    return w.unit(ProductSum::Aligned).run("V_MFMA_F32_16X16X16F16").at(kRegisterD, 0);
  };
  EXPECT_EQ(sum(0, -0x1p-60f), f(1 - 0x1p-24f));
  EXPECT_EQ(sum(0, 0x1p-60f), f(1));
  EXPECT_EQ(sum(-0x1p-14f, 0), f(1));
}

// CDNA4 ISA 7.4: only the F32 sources of V_MFMA_F32_*_F32 obey MODE.
TEST(Mfma, DenormalsOfSinglesObeyTheMode) {
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", 0x1p-130, 0x1p20, 0), f(0x1p-110f));
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", 0x1p-130, 0x1p20, 0, true), 0u);
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", 1, 0x1p20, uint32_t(f(0x1p-130f)), true), f(0x1p20f));
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", 0x1p-70, 0x1p-70, uint32_t(f(0x1p-140f)), true),
            f(0x1p-139f));
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", 0x1p-20, 1, 0, true), f(0x1p-17f));
}

// MIOpen, "MI200 matrix fused multiply-add behavior specifics".
TEST(Mfma, Mi200FlushesHalves) {
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", 0x1p-15, 1, 0, false, true), 0u);
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", 0x1p-14, 1, 0, false, true), f(0x1p-11f));
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8BF16_1K", 0x1p-127, 1, 0, false, true), 0u);
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8BF16_1K", 0x1p-120, 0x1p-10, 0, false, true), 0u);
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8BF16_1K", 0x1p-120, 0x1p-10, 0), f(0x1p-127f));
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X2F32", 0x1p-130, 0x1p10, 0, false, true), f(0x1p-119f));
}

// Assumed: the low 13 bits of an XF32 source do not count.
TEST(Mfma, ReducedSinglesLoseTheirLowBits) {
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X4XF32", 1 + 0x1p-10, 1, 0), f(4 + 0x1p-8f));
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X4XF32", 1 + 0x1p-11, 1, 0), f(4));
}

// Assumed: no sign and no payload.
TEST(Mfma, NansAreCanonical) {
  const double infinity = INFINITY;
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", infinity, 0, 0), kNanF);
  EXPECT_EQ(uniform("V_MFMA_F32_32X32X8F16", 1, 1, 0xffc12345), kNanF);
  EXPECT_EQ(uniform("V_MFMA_F32_4X4X1F32", -infinity, 1, uint32_t(f(kInf))), kNanF);
}

// CDNA4 ISA 7.4: integer sums keep their low 32 bits.
TEST(Mfma, IntegersWrap) {
  EXPECT_EQ(uniform("V_MFMA_I32_32X32X8I8", 100, 100, 0x7fffffff), 0x7fffffffu + 80000);
}

// Formats by CBSZ and BLGP. Layouts: CDNA4 ISA 7.1.5.1; scales: 7.2.1.
TEST(Mfma, SelectedFormatsWithAndWithoutScales) {
  constexpr Number kFormats[] = {Fp8, Bf8, Fp6, Bf6, Fp4};
  std::mt19937 random(7);
  for (unsigned size : {16u, 32u})
    for (unsigned cbsz = 0; cbsz < 5; ++cbsz)
      for (unsigned blgp = 0; blgp < 5; ++blgp)
        for (bool scaled : {false, true}) {
          const std::string name = std::string(scaled ? "V_MFMA_SCALE" : "V_MFMA") +
                                   (size == 16 ? "_F32_16X16X128_F8F6F4" : "_F32_32X32X64_F8F6F4");
          const Mfma m = {name.c_str(), size, 2048 / size, 1, kFormats[cbsz], kFormats[blgp]};
          MfmaRun run(m, random);
          auto spot = [&](Number type, unsigned i, unsigned k) {
            return bitsOf(type) == 8 ? halvedSpot(m, i, k, 16) : inputSpot(m, 0, i, k);
          };
          forAll(run.a, [&](unsigned, unsigned i, unsigned k) {
            place(run.w, kRegisterA, spot(m.a, i, k), bitsOf(m.a), encode(m.a, run.a(0, i, k)));
          });
          forAll(run.b, [&](unsigned, unsigned k, unsigned j) {
            place(run.w, kRegisterB, spot(m.b, j, k), bitsOf(m.b), encode(m.b, run.b(0, k, j)));
          });
          run.placeSum(kRegisterC);
          // Exponents -3 to 3, different for each line and each 32 of the depth.
          int exponents[2][32][4];
          for (unsigned source = 0; scaled && source < 2; ++source)
            for (unsigned line = 0; line < size; ++line)
              for (unsigned block = 0; block < m.depth / 32; ++block) {
                int exponent = exponents[source][line][block] = int(random() % 7) - 3;
                uint32_t &word = run.w.at(kRegisterIndex, line + size * block);
                word = (word & ~(0xffu << 8 * source)) | uint32_t(127 + exponent) << 8 * source;
              }
          if (scaled)
            run.w.vector(3, kRegisterIndex).sourceCount(4);
          else
            run.w.sourceCount(3);
          run.control.cbsz = uint8_t(cbsz);
          run.control.blgp = uint8_t(blgp);
          run.run();
          Blocks a = run.a, b = run.b;
          if (scaled) {
            forAll(a, [&](unsigned, unsigned i, unsigned k) {
              a(0, i, k) = std::ldexp(a(0, i, k), exponents[0][i][k / 32]);
            });
            forAll(b, [&](unsigned, unsigned k, unsigned j) {
              b(0, k, j) = std::ldexp(b(0, k, j), exponents[1][j][k / 32]);
            });
          }
          run.expect(product(a, b, run.c));
        }
}

TEST(Mfma, ScalesAreBytesByOpSelOrExponentsOfConstants) {
  for (unsigned byte = 0; byte < 4; ++byte) {
    TestWave w(64, kMatrixRegisters);
    for (unsigned lane = 0; lane < 64; ++lane)
      w.at(1, lane) = 0x40302010 + lane * 0x01010101;
    w.vector(0, 1).modifiers(0, (byte & 1 ? 4 : 0) | (byte & 2 ? 8 : 0));
    w.scalar(1, uint32_t(f(4))).run("V_MFMA_LD_SCALE_B32");
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(w.at(0, lane), 0x10 * (byte + 1) + lane + (129u << 8));
  }
}

TEST(Mfma, OverflowClampsWhereTheManualSaysSo) {
  for (bool clamps : {false, true}) {
    TestWave w(64, kMatrixRegisters);
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (unsigned r = 0; r < 8; ++r)
        w.at(kRegisterA + r, lane) = w.at(kRegisterB + r, lane) = 0x7b7b7b7b;
      w.at(kRegisterIndex, lane) = 0xfefe;
    }
    MatrixControl control;
    control.cbsz = control.blgp = 1;
    w.wave.lane.mode.fp16Overflow = clamps;
    w.vector(0, kRegisterA).vector(1, kRegisterB).scalar(2, 0).vector(3, kRegisterIndex);
    w.sourceCount(4).matrix(control).run("V_MFMA_SCALE_F32_16X16X128_F8F6F4");
    EXPECT_EQ(w.at(0, 0), clamps ? 0x7f7fffffu : 0x7f800000u);
  }
}

TEST(Smfmac, ProductsOfAllShapesAndTypes) {
  std::mt19937 random(8);
  for (const Mfma &m : kSparse)
    for (unsigned cbsz : {0u, 1u})
      for (bool fnuz : {false, true}) {
        if (fnuz && m.a != Fp8 && m.a != Bf8)
          continue;
        MfmaRun run(m, random);
        SparseRows a(m.size, m.depth, m.a, random);
        run.control.fnuz = fnuz;
        run.control.cbsz = uint8_t(cbsz);
        // 7.5.1: runs of 8 values of 16 bits, of 16 values of 8 bits, in one or two halves.
        const unsigned length = 128 / bitsOf(m.a), groups = 64 / m.size;
        auto spot = [&](unsigned i, unsigned k) {
          return m.depth == length * groups ? Spot{i + m.size * (k / length), k % length}
                                            : halvedSpot(m, i, k, length);
        };
        const unsigned bits = m.depth / groups, sets = 32 / bits;
        run.control.abid = uint8_t(random() % sets);
        const unsigned set = cbsz ? 0 : run.control.abid;
        for (unsigned i = 0; i < m.size; ++i)
          for (unsigned group = 0; group < m.depth / 4; ++group)
            for (unsigned which = 0; which < 2; ++which) {
              const unsigned position = a.position(i, group, which);
              const Spot first = spot(i, group * 4);
              const Spot stored = {first.lane, first.item / 2 + which};
              place(run.w, kRegisterA, stored, bitsOf(m.a),
                    encode(m.a, a.full(0, i, group * 4 + position), fnuz));
              place(run.w, kRegisterIndex, {stored.lane, stored.item + set * bits / 2}, 2,
                    position);
            }
        forAll(run.b, [&](unsigned, unsigned k, unsigned j) {
          place(run.w, kRegisterB, spot(j, k), bitsOf(m.b), encode(m.b, run.b(0, k, j), fnuz));
        });
        run.placeSum(kRegisterD);
        run.run(kRegisterIndex);
        run.expect(product(a.full, run.b, run.c));
      }
}

// CDNA4 ISA 7.5, "Clamp".
TEST(Smfmac, OverflowClampsWithFp16Overflow) {
  for (bool clamps : {false, true}) {
    TestWave w(64, kMatrixRegisters);
    for (unsigned lane = 0; lane < 64; ++lane) {
      for (unsigned r = 0; r < 4; ++r)
        w.at(kRegisterA + r, lane) = w.at(kRegisterB + r, lane) = 0x7f7f7f7f;
      w.at(0, lane) = 0x7fffffff;
      w.at(kRegisterIndex, lane) = 0x44444444;
    }
    w.wave.lane.mode.fp16Overflow = clamps;
    w.vector(0, kRegisterA).vector(1, kRegisterB).vector(2, kRegisterIndex);
    w.run("V_SMFMAC_I32_16X16X64_I8");
    EXPECT_EQ(w.at(0, 0), clamps ? 0x7fffffffu : 0x7fffffffu + 32 * 127 * 127);
  }
}

std::vector<const char *> matrixOperationsOfCdna() {
  std::vector<const char *> names = {"V_MFMA_F32_16X16X128_F8F6F4", "V_MFMA_F32_32X32X64_F8F6F4",
                                     "V_MFMA_SCALE_F32_16X16X128_F8F6F4",
                                     "V_MFMA_SCALE_F32_32X32X64_F8F6F4", "V_MFMA_LD_SCALE_B32"};
  for (const Mfma &m : kDense)
    names.push_back(m.name);
  for (const Mfma &m : kSparse)
    names.push_back(m.name);
  return names;
}

} // namespace rubia::emulator::test
