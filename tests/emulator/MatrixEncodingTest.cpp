// SPDX-License-Identifier: Apache-2.0
// Matrix instructions from assembly text: that operands and control fields of every encoding reach
// the row that MfmaTest.cpp and WmmaTest.cpp test. Each instruction runs twice on the same random
// registers, through the decoder and directly.
#include "targets/Generation.h"
#include "tests/emulator/Targets.h"
#include "tests/emulator/VectorAluAssembly.h"
#include "tests/emulator/VectorAluWave.h"

#include <gtest/gtest.h>
#include <random>

namespace rubia::targets::Fact {
extern const GenerationFact productsFlush16;
} // namespace rubia::targets::Fact

namespace rubia::emulator::test {

namespace {

constexpr unsigned kAgpr = kFirstAccumulator, kCount = kAgpr + 64;
constexpr unsigned kUnused = ~0u;

struct Encoding {
  const char *cpu;
  unsigned waveSize;
  const char *text;
  const char *row;
  unsigned d, a, b, c; // vector registers
  MatrixControl control = {};
  uint32_t modifiers[3] = {};
  uint32_t constantC = 0; // if c is unused
  bool clamp = false;
};

constexpr uint32_t kOne = 0x3f800000;
constexpr MatrixControl kMi200 = {.flush16 = true}, kMi300 = {.fnuz = true},
                        kRdna4 = {.packedHalves = true};

const Encoding kEncodings[] = {
    {"gfx90a",
     64,
     "v_mfma_f32_32x32x1f32 v[0:31], v33, v34, v[36:67] cbsz:1 abid:1 blgp:3",
     "V_MFMA_F32_32X32X1F32",
     0,
     33,
     34,
     36,
     {.cbsz = 1, .abid = 1, .blgp = 3, .flush16 = true}},
    {"gfx90a", 64, "v_mfma_f32_16x16x4f32 a[0:3], v1, a5, a[8:11]", "V_MFMA_F32_16X16X4F32", kAgpr,
     1, kAgpr + 5, kAgpr + 8, kMi200},
    {"gfx90a",
     64,
     "v_mfma_f32_4x4x4f16 a[2:5], a[6:7], v[2:3], 1.0",
     "V_MFMA_F32_4X4X4F16",
     kAgpr + 2,
     kAgpr + 6,
     2,
     kUnused,
     kMi200,
     {},
     kOne},
    {"gfx90a", 64, "v_mfma_f32_32x32x8bf16_1k v[0:15], v[16:17], v[18:19], v[0:15]",
     "V_MFMA_F32_32X32X8BF16_1K", 0, 16, 18, 0, kMi200},
    {"gfx90a",
     64,
     "v_mfma_i32_16x16x16i8 v[0:3], v4, v5, -1",
     "V_MFMA_I32_16X16X16I8",
     0,
     4,
     5,
     kUnused,
     kMi200,
     {},
     ~0u},
    {"gfx90a",
     64,
     "v_mfma_f64_16x16x4f64 v[0:7], v[8:9], v[10:11], v[12:19] blgp:5",
     "V_MFMA_F64_16X16X4F64",
     0,
     8,
     10,
     12,
     {.blgp = 5, .flush16 = true}},
    {"gfx942",
     64,
     "v_mfma_f64_4x4x4_4b_f64 a[0:1], v[8:9], v[10:11], a[2:3] neg:[0,1,1]",
     "V_MFMA_F64_4X4X4F64",
     kAgpr,
     8,
     10,
     kAgpr + 2,
     {.blgp = 6, .fnuz = true}},
    {"gfx942", 64, "v_mfma_f32_16x16x32_bf8_fp8 a[0:3], v[4:5], a[6:7], a[8:11]",
     "V_MFMA_F32_16X16X32_BF8_FP8", kAgpr, 4, kAgpr + 6, kAgpr + 8, kMi300},
    {"gfx942", 64, "v_mfma_f32_32x32x4_xf32 v[0:15], v[16:17], v[18:19], v[20:35]",
     "V_MFMA_F32_32X32X4XF32", 0, 16, 18, 20, kMi300},
    {"gfx942",
     64,
     "v_smfmac_f32_16x16x32_f16 v[0:3], v[4:5], v[8:11], v12 abid:3",
     "V_SMFMAC_F32_16X16X32_F16",
     0,
     4,
     8,
     12,
     {.abid = 3, .fnuz = true}},
    {"gfx942",
     64,
     "v_smfmac_i32_32x32x32_i8 a[0:15], v[4:5], a[18:21], v12 cbsz:1 abid:1",
     "V_SMFMAC_I32_32X32X32_I8",
     kAgpr,
     4,
     kAgpr + 18,
     12,
     {.cbsz = 1, .abid = 1, .fnuz = true}},
    {"gfx950", 64, "v_mfma_f32_16x16x32_fp8_fp8 v[0:3], v[4:5], v[6:7], v[8:11]",
     "V_MFMA_F32_16X16X32_FP8_FP8", 0, 4, 6, 8},
    {"gfx950", 64, "v_mfma_f32_32x32x16_bf16 v[0:15], v[16:19], v[20:23], v[24:39]",
     "V_MFMA_F32_32X32X16_BF16", 0, 16, 20, 24},
    {"gfx950",
     64,
     "v_mfma_f32_16x16x128_f8f6f4 v[0:3], v[4:9], a[12:15], v[20:23] cbsz:2 blgp:4",
     "V_MFMA_F32_16X16X128_F8F6F4",
     0,
     4,
     kAgpr + 12,
     20,
     {.cbsz = 2, .blgp = 4}},
    {"gfx950",
     64,
     "v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16 abid:1",
     "V_SMFMAC_F32_16X16X64_F16",
     0,
     4,
     8,
     16,
     {.abid = 1}},
    {"gfx1100",
     32,
     "v_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[24:31] neg_lo:[1,0,1] "
     "neg_hi:[0,1,0]",
     "V_WMMA_F32_16X16X16_F16",
     0,
     8,
     16,
     24,
     {},
     {1, 2, 1}},
    {"gfx1100", 64, "v_wmma_f32_16x16x16_bf16 v[0:3], v[8:15], v[16:23], v[24:27]",
     "V_WMMA_F32_16X16X16_BF16", 0, 8, 16, 24},
    {"gfx1100",
     64,
     "v_wmma_f16_16x16x16_f16 v[0:3], v[8:15], v[16:23], v[24:27] op_sel:[0,0,1]",
     "V_WMMA_F16_16X16X16_F16",
     0,
     8,
     16,
     24,
     {},
     {0, 0, 4}},
    {"gfx1100",
     32,
     "v_wmma_i32_16x16x16_iu8 v[0:7], v[8:11], v[16:19], 7 neg_lo:[1,0,0] clamp",
     "V_WMMA_I32_16X16X16_IU8",
     0,
     8,
     16,
     kUnused,
     {},
     {1, 0, 0},
     7,
     true},
    {"gfx1201",
     32,
     "v_wmma_f32_16x16x16_fp8_bf8 v[4:11], v[0:1], v[2:3], v[12:19] neg_lo:[0,0,1]",
     "V_WMMA_F32_16X16X16_FP8_BF8",
     4,
     0,
     2,
     12,
     kRdna4,
     {0, 0, 1}},
    {"gfx1201", 64, "v_wmma_f16_16x16x16_f16 v[8:9], v[0:1], v[2:3], v[4:5]",
     "V_WMMA_F16_16X16X16_F16", 8, 0, 2, 4, kRdna4},
    {"gfx1201",
     32,
     "v_wmma_i32_16x16x32_iu4 v[4:11], v[0:1], v[2:3], v[12:19] neg_lo:[0,1,0]",
     "V_WMMA_I32_16X16X32_IU4",
     4,
     0,
     2,
     12,
     kRdna4,
     {0, 1, 0}},
    {"gfx1201",
     32,
     "v_swmmac_f32_16x16x32_f16 v[16:23], v[0:3], v[4:11], v12 index_key:1",
     "V_SWMMAC_F32_16X16X32_F16",
     16,
     0,
     4,
     12,
     {.indexKey = 1, .packedHalves = true}},
    {"gfx1201",
     64,
     "v_swmmac_bf16_16x16x32_bf16 v[16:17], v[0:1], v[4:7], v12 index_key:3",
     "V_SWMMAC_BF16_16X16X32_BF16",
     16,
     0,
     4,
     12,
     {.indexKey = 3, .packedHalves = true}},
    {"gfx1201",
     64,
     "v_swmmac_i32_16x16x64_iu4 v[16:19], v0, v[4:5], v12 index_key:1 "
     "neg_lo:[1,0,0] clamp",
     "V_SWMMAC_I32_16X16X64_IU4",
     16,
     0,
     4,
     12,
     {.indexKey = 1, .packedHalves = true},
     {1, 0, 0},
     0,
     true},
};

/// A wave with room for accumulation registers, all filled with codes that are no NaN in any type.
struct WideWave : AssemblyWave {
  std::vector<uint32_t> file;
  WideWave(const char *cpu, unsigned waveSize) : AssemblyWave(cpu, waveSize) {
    file.resize(2 * (kCount + 1) * kBlockLanes);
    wave.vgprs = file.data();
    wave.blockStride = (kCount + 1) * kBlockLanes;
    wave.vgprCount = kCount + 1;
    std::mt19937 random(11);
    for (uint32_t &word : file)
      word = (random() & 0x8f8f8f8f) | 0x30303030;
  }
};

/// The registers of both waves agree.
void expectSame(WideWave &w, TestWave &reference, const char *text) {
  for (unsigned r = 0; r < kCount; ++r)
    for (unsigned lane = 0; lane < w.lanes(); ++lane)
      ASSERT_EQ(w.v(r, lane), reference.at(r, lane)) << text << ": v" << r << " lane " << lane;
}

/// How the processors of these tests add products.
ProductSum unitOf(const char *cpu) {
  const targets::Generation generation = rubia::test::rowOf(cpu).generation;
  return generation == targets::Generation::Cdna2   ? ProductSum::Pairwise
         : generation == targets::Generation::Cdna3 ? ProductSum::Aligned
                                                    : ProductSum::InOrder;
}

TestWave copyOf(WideWave &w) {
  TestWave copy(w.lanes(), kCount);
  for (unsigned r = 0; r < kCount; ++r)
    for (unsigned lane = 0; lane < w.lanes(); ++lane)
      copy.at(r, lane) = w.v(r, lane);
  return copy;
}

} // namespace

TEST(MatrixEncoding, OperandsAndControlFields) {
  for (const Encoding &e : kEncodings) {
    WideWave w(e.cpu, e.waveSize);
    TestWave reference = copyOf(w);
    reference.vector(0, e.a).vector(1, e.b).matrix(e.control).sourceCount(3);
    reference.op.result = e.d * kBlockLanes;
    if (e.c == kUnused)
      reference.scalar(2, e.constantC);
    else
      reference.vector(2, e.c);
    for (unsigned i = 0; i < 3; ++i)
      reference.modifiers(i, e.modifiers[i]);
    if (e.clamp)
      reference.clamp();
    reference.unit(unitOf(e.cpu)).run(e.row);
    EXPECT_NE(reference.at(e.d, 0), w.v(e.d, 0)) << e.text;
    w.run(e.text);
    expectSame(w, reference, e.text);
  }
}

// EXEC plays no part in any of them: registers of inactive lanes are read and written. CDNA4 ISA
// 7.1.5, RDNA3 ISA 7.9, RDNA4 ISA "WMMA".
TEST(MatrixEncoding, InactiveLanes) {
  for (const Encoding &e : kEncodings)
    for (uint64_t exec : {0ull, 1ull, 0x5555555500000000ull, 0x00000000ffff0000ull}) {
      WideWave all(e.cpu, e.waveSize), some(e.cpu, e.waveSize);
      some.wave.setMask(kExec, e.waveSize == 64 ? exec : uint32_t(exec));
      all.run(e.text);
      some.run(e.text);
      for (unsigned r = 0; r < kCount; ++r)
        for (unsigned lane = 0; lane < all.lanes(); ++lane)
          ASSERT_EQ(some.v(r, lane), all.v(r, lane)) << e.text << ": v" << r << " lane " << lane;
    }
}

TEST(MatrixEncoding, ScaledProduct) {
  const char *text = "v_mfma_scale_f32_16x16x128_f8f6f4 v[0:3], v[4:11], a[12:15], v[20:23], v24, "
                     "v25 op_sel:[1,0] op_sel_hi:[0,1] cbsz:1 blgp:4";
  WideWave w("gfx950", 64);
  TestWave reference = copyOf(w);
  constexpr unsigned kScale = kCount - 1;
  for (unsigned lane = 0; lane < 64; ++lane)
    reference.at(kScale, lane) = (w.v(24, lane) >> 8 & 0xff) | (w.v(25, lane) >> 16 & 0xff) << 8;
  MatrixControl control;
  control.cbsz = 1;
  control.blgp = 4;
  reference.vector(0, 4).vector(1, kAgpr + 12).vector(2, 20).vector(3, kScale);
  reference.matrix(control).sourceCount(4).run("V_MFMA_SCALE_F32_16X16X128_F8F6F4");
  for (unsigned lane = 0; lane < 64; ++lane)
    reference.at(kScale, lane) = w.v(kScale, lane);
  w.run(text);
  expectSame(w, reference, text);
}

// Fields that an instruction does not use may hold anything.
TEST(MatrixEncoding, UnusedFields) {
  WideWave w("gfx942", 64), plain("gfx942", 64);
  w.run("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[8:11] abid:3");
  plain.run("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[8:11]");
  for (unsigned r = 0; r < 4; ++r)
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(w.v(r, lane), plain.v(r, lane));
}

TEST(MatrixEncoding, RefusesWhatIsUndefined) {
  WideWave w("gfx942", 64);
  EXPECT_EQ(w.refusal("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[8:11] cbsz:1 abid:2"),
            "abid 2 needs a larger cbsz");
  EXPECT_EQ(w.refusal("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[8:11] cbsz:4 abid:15"), "");
  EXPECT_EQ(w.refusal("v_mfma_f32_4x4x1_16b_f32 v[0:3], v4, v5, v[8:11] cbsz:5"),
            "cbsz 5 of an instruction that broadcasts to 16 blocks");
  EXPECT_EQ(w.refusal("v_mfma_f32_16x16x16_f16 v[0:3], v[4:5], v[6:7], v[8:11] cbsz:1"),
            "cbsz 1 of an instruction that broadcasts to 1 blocks");
  EXPECT_EQ(w.refusal("v_mfma_f32_32x32x1_2b_f32 v[0:31], v33, v34, v[36:67] cbsz:2"),
            "cbsz 2 of an instruction that broadcasts to 2 blocks");
  WideWave rdna("gfx1100", 32);
  EXPECT_EQ(rdna.refusal("v_wmma_f16_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[24:31] "
                         "op_sel:[1,0,0]"),
            "op_sel of a matrix that is multiplied");
}

TEST(MatrixEncoding, MovesOfAccumulators) {
  for (const char *cpu : withUnifiedAccumulators()) {
    WideWave w(cpu, 64);
    const uint32_t a3 = w.v(kAgpr + 3, 40), v5 = w.v(5, 40);
    w.run("v_accvgpr_read_b32 v1, a3\nv_accvgpr_write_b32 a4, v5\nv_accvgpr_write_b32 a6, 1.0\n"
          "v_accvgpr_mov_b32 a7, a4");
    EXPECT_EQ(w.v(1, 40), a3);
    EXPECT_EQ(w.v(kAgpr + 4, 40), v5);
    EXPECT_EQ(w.v(kAgpr + 6, 40), kOne);
    EXPECT_EQ(w.v(kAgpr + 7, 40), v5);
  }
}

TEST(MatrixEncoding, DotProductsByGeneration) {
  const uint32_t smallest = 0x00010001; // f16 denormals
  for (const char *cpu : {"gfx90a", "gfx942"}) {
    WideWave w(cpu, 64);
    w.set(2, smallest).set(3, 0x3c003c00).set(4, 0).run("v_dot2_f32_f16 v1, v2, v3, v4");
    EXPECT_EQ(w.v(1, 0),
              targets::Fact::productsFlush16(rubia::test::rowOf(cpu)) ? 0u : uint32_t(f(0x1p-23f)));
  }
  for (const char *cpu : withUnifiedAccumulators()) {
    WideWave w(cpu, 64);
    w.set(1, 10).set(3, 0x01010101);
    for (unsigned lane = 0; lane < 64; ++lane)
      w.v(2, lane) = lane % 4;
    w.run("v_dot4c_i32_i8_dpp v1, v2, v3 quad_perm:[1,2,3,0] row_mask:0xf bank_mask:0xf");
    for (unsigned lane = 0; lane < 64; ++lane)
      EXPECT_EQ(w.v(1, lane), 10 + (lane + 1) % 4) << cpu;
  }
  WideWave w("gfx1201", 32);
  w.set(2, 0x38383838).set(3, 0x3c3c3c3c).set(4, uint32_t(f(3)));
  w.run("v_dot4_f32_fp8_bf8 v1, v2, v3, v4 neg_lo:[0,0,1]");
  EXPECT_EQ(w.v(1, 0), f(1));
}

TEST(MatrixEncoding, PackedAccumulation) {
  for (const char *cpu : kProcessors) {
    WideWave w(cpu, 0);
    w.set(1, 0x3c004000).set(2, 0x40003c00).set(3, 0x42004200);
    w.run("v_pk_fmac_f16 v1, v2, v3");
    EXPECT_EQ(w.v(1, 0), 0x47004500u) << cpu; // 1 + 2 * 3, 2 + 1 * 3
  }
}

TEST(MatrixEncoding, PackedSinglesChooseTheirHalves) {
  for (const char *cpu : withUnifiedAccumulators()) {
    WideWave w(cpu, 64);
    w.set(4, uint32_t(f(2))).set(5, uint32_t(f(3))).set(6, uint32_t(f(5))).set(7, uint32_t(f(7)));
    w.run("v_pk_mul_f32 v[0:1], v[4:5], v[6:7] op_sel:[1,0] op_sel_hi:[0,1] neg_hi:[0,1]\n"
          "v_pk_mul_f32 v[2:3], v[4:5], 2.0 op_sel_hi:[1,0]\n"
          "v_pk_mov_b32 v[8:9], v[4:5], v[6:7] op_sel:[1,0]\n"
          "v_pk_fma_f32 v[10:11], v[4:5], v[6:7], v[4:5] neg_lo:[0,0,1]\n"
          "v_pk_add_f32 v[12:13], v[4:5], v[6:7]");
    const float expected[] = {15, -14, 4, 6};
    for (unsigned r = 0; r < 4; ++r)
      EXPECT_EQ(w.v(r, 33), f(expected[r])) << cpu << " v" << r;
    const float further[] = {3, 5, 8, 24, 7, 10};
    for (unsigned r = 0; r < 6; ++r)
      EXPECT_EQ(w.v(8 + r, 33), f(further[r])) << cpu << " v" << 8 + r;
  }
}

} // namespace rubia::emulator::test
