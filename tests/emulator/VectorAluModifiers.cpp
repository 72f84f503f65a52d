// SPDX-License-Identifier: Apache-2.0
// What surrounds the rows, on every processor that has it: SDWA, DPP, byte and half selection, the
// other half of 16-bit results, omod, gfx9's register indexing.
#include "tests/emulator/Targets.h"
#include "tests/emulator/VectorAluAssembly.h"
#include "tests/emulator/VectorAluCase.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <gtest/gtest.h>

namespace rubia::emulator::test {

class VectorAluModifiers : public testing::TestWithParam<const char *> {
protected:
  std::string cpu = GetParam();
  unsigned major = cpu[3] == '9' ? 9 : unsigned(std::stoul(cpu.substr(3, 2)));
  /// Every lane of v0 after `text`, which starts from fresh registers.
  void expect(const std::string &text, llvm::function_ref<uint32_t(unsigned lane)> want,
              unsigned waveSize = 0) {
    SCOPED_TRACE(cpu + ": " + text);
    AssemblyWave w(cpu, waveSize);
    w.run(text);
    for (unsigned lane = 0; lane < w.lanes(); ++lane)
      ASSERT_EQ(w.v(0, lane), want(lane)) << "lane " << lane;
  }
};

static uint32_t at(unsigned r, unsigned lane) { return AssemblyWave::start(r, lane); }

struct Selection {
  const char *name;
  unsigned shift, width;
};
static constexpr Selection kSelections[] = {
    {"BYTE_0", 0, 8},  {"BYTE_1", 8, 8},   {"BYTE_2", 16, 8}, {"BYTE_3", 24, 8},
    {"WORD_0", 0, 16}, {"WORD_1", 16, 16}, {"DWORD", 0, 32}};

static uint32_t selected(uint32_t value, const Selection &s, bool extend) {
  uint64_t field = (value >> s.shift) & ((uint64_t(1) << s.width) - 1);
  if (extend && field >> (s.width - 1) & 1)
    field |= ~uint64_t(0) << s.width;
  return uint32_t(field);
}

TEST_P(VectorAluModifiers, SdwaSelectsSources) {
  if (major > 10)
    GTEST_SKIP() << "no SDWA";
  for (const Selection &first : kSelections)
    for (const Selection &second : kSelections)
      for (bool extend : {false, true}) {
        const std::string operands =
            std::string(extend ? " v0, sext(v1)" : " v0, v1") +
            ", v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:" + first.name +
            " src1_sel:" + second.name;
        auto sum = [&](unsigned lane) {
          return selected(at(1, lane), first, extend) + selected(at(3, lane), second, false);
        };
        expect((major == 9 ? "v_add_u32_sdwa" : "v_add_nc_u32_sdwa") + operands, sum);
        if (major == 9) // gfx10's is in VOP3
          expect("v_add_u16_sdwa" + operands, [&](unsigned lane) { return sum(lane) & 0xffff; });
      }
}

TEST_P(VectorAluModifiers, SdwaPlacesResults) {
  if (major > 10)
    GTEST_SKIP() << "no SDWA";
  for (const Selection &to : kSelections)
    for (const char *unused : {"UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE"})
      expect(std::string("v_xor_b32_sdwa v0, v1, v2 dst_sel:") + to.name + " dst_unused:" + unused +
                 " src0_sel:DWORD src1_sel:DWORD",
             [&](unsigned lane) {
               const uint32_t value = at(1, lane) ^ at(2, lane);
               const uint32_t mask = uint32_t(((uint64_t(1) << to.width) - 1) << to.shift);
               const bool extend = unused == std::string("UNUSED_SEXT");
               const uint32_t placed = selected(value, {"", 0, to.width}, extend) << to.shift;
               return unused == std::string("UNUSED_PRESERVE")
                          ? (at(0, lane) & ~mask) | (placed & mask)
                          : placed;
             });
}

TEST_P(VectorAluModifiers, SdwaOfFloats) {
  if (major > 10)
    GTEST_SKIP() << "no SDWA";
  AssemblyWave w(cpu);
  w.set(1, uint32_t(pair16(h(1), h(-3)))).set(2, uint32_t(pair16(h(-8), h(7))));
  w.run("v_add_f16_sdwa v0, -v1, |v2| dst_sel:WORD_1 dst_unused:UNUSED_PRESERVE src0_sel:WORD_1 "
        "src1_sel:WORD_0");
  EXPECT_EQ(w.v(0, 5), uint32_t(pair16(at(0, 5), h(11))));
  w.run("v_add_f16_sdwa v0, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:WORD_0 "
        "src1_sel:WORD_1");
  EXPECT_EQ(w.v(0, 5), h(8));
  w.run("v_cvt_f32_u32_sdwa v0, v3 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:BYTE_3");
  EXPECT_EQ(w.v(0, 9), f(3));
}

TEST_P(VectorAluModifiers, SdwaOfCompares) {
  if (major > 10)
    GTEST_SKIP() << "no SDWA";
  AssemblyWave w(cpu);
  w.set(1, 0x00800000);
  const std::string pair = w.lanes() == 64 ? "s[4:5]" : "s4";
  // The low word of v2 is 128 + lane.
  w.run("v_cmp_lt_u32_sdwa " + pair + ", v1, v2 src0_sel:BYTE_2 src1_sel:WORD_0");
  EXPECT_EQ(w.s(4), ~1u);
  w.run("v_cmp_eq_i32_sdwa vcc" + std::string(w.lanes() == 64 ? "" : "_lo") +
        ", sext(v1), v2 src0_sel:BYTE_2 src1_sel:WORD_0");
  EXPECT_EQ(w.s(kVcc), 0u);
}

namespace {
struct Move {
  const char *control;
  int (*source)(int lane); // -1: none
};
} // namespace
static constexpr Move kRowMoves[] = {
    {"quad_perm:[3,1,0,2]", [](int i) { return i / 4 * 4 + "\3\1\0\2"[i % 4]; }},
    {"row_shl:3", [](int i) { return i % 16 + 3 < 16 ? i + 3 : -1; }},
    {"row_shr:15", [](int i) { return i % 16 == 15 ? i - 15 : -1; }},
    {"row_ror:1", [](int i) { return i / 16 * 16 + (i + 15) % 16; }},
    {"row_mirror", [](int i) { return i / 16 * 16 + 15 - i % 16; }},
    {"row_half_mirror", [](int i) { return i / 8 * 8 + 7 - i % 8; }},
};
static constexpr Move kWaveMoves[] = {
    {"wave_shl:1", [](int i) { return i == 63 ? -1 : i + 1; }},
    {"wave_rol:1", [](int i) { return i == 63 ? 0 : i + 1; }},
    {"wave_shr:1", [](int i) { return i - 1; }},
    {"wave_ror:1", [](int i) { return i == 0 ? 63 : i - 1; }},
    {"row_bcast:15", [](int i) { return i / 16 * 16 - 1; }},
    {"row_bcast:31", [](int i) { return i < 32 ? -1 : 31; }},
};
static constexpr Move kSharedMoves[] = {
    {"row_share:5", [](int i) { return i / 16 * 16 + 5; }},
    {"row_xmask:6", [](int i) { return i ^ 6; }},
};

TEST_P(VectorAluModifiers, DppMovesLanes) {
  std::vector<Move> moves(std::begin(kRowMoves), std::end(kRowMoves));
  if (major == 9)
    moves.insert(moves.end(), std::begin(kWaveMoves), std::end(kWaveMoves));
  else
    moves.insert(moves.end(), std::begin(kSharedMoves), std::end(kSharedMoves));
  if (major == 9)
    moves.push_back({"row_newbcast:9", [](int i) { return i / 16 * 16 + 9; }});
  for (unsigned waveSize : {32u, 64u})
    for (const Move &move : moves) {
      if (major == 9 && waveSize == 32)
        continue;
      auto from = [&](unsigned lane) { return move.source(int(lane)); };
      const std::string text = std::string("v_mov_b32_dpp v0, v1 ") + move.control;
      expect(
          text + " row_mask:0xf bank_mask:0xf",
          [&](unsigned lane) { return from(lane) < 0 ? at(0, lane) : at(1, unsigned(from(lane))); },
          waveSize);
      expect(
          text + " row_mask:0xf bank_mask:0xf bound_ctrl:1",
          [&](unsigned lane) { return from(lane) < 0 ? 0 : at(1, unsigned(from(lane))); },
          waveSize);
      expect(
          text + " row_mask:0xa bank_mask:0x3 bound_ctrl:1",
          [&](unsigned lane) {
            const bool written = lane / 16 % 2 == 1 && lane % 16 < 8;
            return !written ? at(0, lane) : from(lane) < 0 ? 0 : at(1, unsigned(from(lane)));
          },
          waveSize);
      // The source is the destination: lanes of the other half must be the old ones.
      expect(
          std::string("v_mov_b32_dpp v0, v0 ") + move.control + " row_mask:0xf bank_mask:0xf",
          [&](unsigned lane) { return from(lane) < 0 ? at(0, lane) : at(0, unsigned(from(lane))); },
          waveSize);
    }
}

TEST_P(VectorAluModifiers, DppFromInactiveLanes) {
  for (bool fetch : {false, true}) {
    if (fetch && major == 9)
      continue;
    AssemblyWave w(cpu);
    w.wave.setMask(kExec, 0xffff00ff);
    w.run(std::string("v_add_co_u32 v2, vcc") + (w.lanes() == 32 ? "_lo" : "") + ", v2, v3\n" +
          "v_mov_b32_dpp v0, v1 row_mirror row_mask:0xf bank_mask:0xf" + (fetch ? " fi:1" : ""));
    EXPECT_EQ(w.v(0, 0), fetch ? at(1, 15) : at(0, 0));
    EXPECT_EQ(w.v(0, 12), at(0, 12)); // itself inactive
    EXPECT_EQ(w.v(0, 17), at(1, 30));
  }
}

TEST_P(VectorAluModifiers, Dpp8) {
  if (major < 10)
    GTEST_SKIP() << "no DPP8";
  auto from = [](unsigned lane) { return (lane & ~7u) | (7 - lane % 8); };
  for (unsigned waveSize : {32u, 64u})
    expect(
        "v_mov_b32_dpp v0, v1 dpp8:[7,6,5,4,3,2,1,0]",
        [&](unsigned lane) { return at(1, from(lane)); }, waveSize);
  for (bool fetch : {false, true}) {
    AssemblyWave w(cpu);
    w.wave.setMask(kExec, 0x0f);
    w.run(std::string("v_mov_b32_dpp v0, v1 dpp8:[7,0,5,1,3,2,1,0]") + (fetch ? " fi:1" : ""));
    EXPECT_EQ(w.v(0, 0), fetch ? at(1, 7) : at(0, 0));
    EXPECT_EQ(w.v(0, 1), at(1, 0));
  }
}

TEST_P(VectorAluModifiers, DppOfArithmeticAndCompares) {
  expect("v_add_f32_dpp v0, -v1, |v2| row_shl:1 row_mask:0xf bank_mask:0xf bound_ctrl:1",
         [](unsigned lane) {
           const float moved = lane % 16 == 15 ? 0.0f : asFloat(at(1, lane + 1));
           return uint32_t(f(-moved + std::fabs(asFloat(at(2, lane)))));
         });
  if (major >= 11) {
    AssemblyWave w(cpu);
    w.run("v_cmp_eq_u32_e64_dpp s4, v1, v1 quad_perm:[0,0,2,2] row_mask:0xf bank_mask:0xf\n"
          "v_cmp_eq_u32_dpp vcc_lo, v1, v1 dpp8:[0,1,2,3,7,7,7,7]\n"
          "v_add3_u32_e64_dpp v0, v1, v2, v3 row_share:3 row_mask:0xf bank_mask:0xf");
    EXPECT_EQ(w.s(4), 0x55555555u);
    EXPECT_EQ(w.s(kVcc), 0x8f8f8f8fu);
    EXPECT_EQ(w.v(0, 20), at(1, 19) + at(2, 20) + at(3, 20));
  }
  if (major == 9) {
    AssemblyWave w(cpu);
    // v[2:3] are integers below 2^53.
    w.set(3, 0x43300000).run("v_ceil_f64_dpp v[0:1], v[2:3] row_newbcast:3");
    EXPECT_EQ(w.v(0, 20), at(2, 19));
  }
}

TEST_P(VectorAluModifiers, TheOtherHalfOfHalfResults) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(pair16(h(1), h(5)))).set(2, uint32_t(pair16(h(2), h(7))));
  auto low = [&](const std::string &text) {
    w.set(0, 0xabcd1234).run(text);
    return w.v(0, 3);
  };
  const bool trueHalves = major >= 11;
  const std::string l = trueHalves ? ".l" : "";
  EXPECT_EQ(low("v_add_f16 v0" + l + ", v1" + l + ", v2" + l),
            (major == 9 ? 0 : 0xabcd0000) | h(3));
  EXPECT_EQ(low("v_fma_f16 v0" + l + ", v1" + l + ", v2" + l + ", v2" + l), 0xabcd0000 | h(4));
  w.s(20) = uint32_t(h(4)); // the handler for parts of registers does not take scalars
  EXPECT_EQ(low("v_add_f16 v0" + l + ", s20, v2" + l), (major == 9 ? 0 : 0xabcd0000) | h(6));
  const std::string upper =
      trueHalves ? "v_fma_f16 v0.h, v1.h, v2.l, v1.l" : "v_fma_f16 v0, v1, v2, v1 op_sel:[1,0,0,1]";
  EXPECT_EQ(low(upper), uint32_t(pair16(0x1234, h(11))));
  EXPECT_EQ(low("v_max3_i16 v0" + l + ", v1" + l + ", v2" + l + ", v2" + l), 0xabcd0000 | h(2));
  if (major == 9) {
    EXPECT_EQ(low("v_mad_legacy_f16 v0, v1, v2, v2"), h(4));
    EXPECT_EQ(low("v_mad_f16 v0, v1, v2, v2"), 0xabcd0000 | h(4));
    EXPECT_EQ(low("v_add_u16 v0, v1, v2"), uint32_t(uint16_t(h(1) + h(2))));
    EXPECT_EQ(low("v_add_i16 v0, v1, v2"), 0xabcd0000 | uint16_t(h(1) + h(2)));
  }
}

TEST_P(VectorAluModifiers, OutputModifiersNeedFlushedDenormals) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(f(0.75f))).set(2, uint32_t(f(-0.5f))).set(3, uint32_t(f(-0.0f)));
  w.run("v_add_f32_e64 v0, v1, v2 mul:4"); // denormals are kept
  EXPECT_EQ(w.v(0, 0), f(0.25f));
  w.wave.setMode(0);
  w.run("v_add_f32_e64 v0, v1, v2 mul:4");
  EXPECT_EQ(w.v(0, 0), f(1));
  w.run("v_add_f32_e64 v0, v1, v2 div:2");
  EXPECT_EQ(w.v(0, 0), f(0.125f));
  w.run("v_add_f32_e64 v0, v3, v3 mul:2");
  EXPECT_EQ(w.v(0, 0), f(0));
  w.run("v_add_f32_e64 v0, v2, v2 clamp");
  EXPECT_EQ(w.v(0, 0), f(0));
}

// In the default mode, in which most instructions have a handler that knows nothing of it.
TEST_P(VectorAluModifiers, ClampLimitsResults) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(f(0.75f))).set(2, uint32_t(f(0.5f)));
  w.run("v_add_f32_e64 v0, v1, v2 clamp");
  EXPECT_EQ(w.v(0, 5), f(1));
  w.run("v_sub_f32_e64 v0, v2, v1 clamp");
  EXPECT_EQ(w.v(0, 5), f(0));
  w.run("v_fma_f32 v0, v1, v2, v2 clamp");
  EXPECT_EQ(w.v(0, 5), f(0.875f));
  w.set(1, 3).set(2, ~0u);
  const std::string add = major == 9 ? "v_add_u32_e64" : "v_add_nc_u32_e64";
  w.run(add + " v0, v1, v2 clamp");
  EXPECT_EQ(w.v(0, 5), ~0u);
  w.run(add + " v0, v1, v2");
  EXPECT_EQ(w.v(0, 5), 2u);
}

TEST_P(VectorAluModifiers, MixedSourcesAreHalvesWhereOpSelSaysSo) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(pair16(h(3), h(-5)))).set(2, uint32_t(f(2))).set(3, uint32_t(f(0.25f)));
  w.run("v_fma_mix_f32 v0, v1, v2, v3 op_sel_hi:[1,0,0]");
  EXPECT_EQ(w.v(0, 5), f(6.25f));
  w.run("v_fma_mix_f32 v0, v1, v2, v3 op_sel:[1,0,0] op_sel_hi:[1,0,0]");
  EXPECT_EQ(w.v(0, 5), f(-9.75f));
  w.run("v_fma_mix_f32 v0, v2, v2, -v3");
  EXPECT_EQ(w.v(0, 5), f(3.75f));
}

TEST_P(VectorAluModifiers, OverflowOfHalves) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(pair16(h(60000), h(-60000)))).set(2, uint32_t(pair16(h(kInf), h(kInf))));
  w.wave.setMode(0xf0 | 1 << 23);
  const std::string l = major >= 11 ? ".l" : "";
  auto low = [&](const std::string &text) { return w.run(text).v(0, 3) & 0xffff; };
  EXPECT_EQ(low("v_add_f16 v0" + l + ", v1" + l + ", v1" + l), h(65504));
  EXPECT_EQ(low("v_add_f16 v0" + l + ", v1" + l + ", v2" + l), h(kInf));
  EXPECT_EQ(low("v_rcp_f16 v0" + l + ", 0"), h(kInf));
  EXPECT_EQ(low("v_cvt_f16_f32 v0" + l + ", 0x49742400"), h(65504));
  w.run("v_pk_add_f16 v0, v1, v1");
  EXPECT_EQ(w.v(0, 3), pair16(h(65504), h(-65504)));
}

// MODE's two rounding fields: bits 1:0 for f32, 3:2 for f16 and f64; 1 is upward, 2 downward.
TEST_P(VectorAluModifiers, RoundingFollowsMode) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(f(1))).set(2, uint32_t(f(0x1p-30f)));
  w.set(5, uint32_t(h(1))).set(6, uint32_t(h(0x1p-14f)));
  w.set(10, 0).set(11, 0x3ff00000).set(12, 1).set(13, 0);
  const std::string l = major >= 11 ? ".l" : "";
  auto all = [&](uint32_t mode) {
    w.wave.setMode(0xf0 | mode);
    w.run("v_add_f32 v0, v1, v2\nv_add_f16 v3" + l + ", v5" + l + ", v6" + l +
          "\nv_add_f64 v[8:9], v[10:11], v[12:13]\nv_exp_f32 v4, v2\nv_cvt_f16_f32 v7" + l +
          ", 0x3f800001");
  };
  const uint64_t aboveOne = d(0x1.0000000000001p0);
  all(0);
  EXPECT_EQ(w.v(0, 3), f(1));
  EXPECT_EQ(w.v(3, 3) & 0xffff, h(1));
  EXPECT_EQ(w.v(7, 3) & 0xffff, h(1));
  all(1); // f32 upward
  EXPECT_EQ(w.v(0, 3), f(0x1.000002p0f));
  EXPECT_EQ(w.v(3, 3) & 0xffff, h(1));
  EXPECT_EQ(w.v(8, 3), uint32_t(d(1)));
  EXPECT_EQ(w.v(4, 3), f(1)); // to nearest whatever MODE says
  all(4);                     // f16 and f64 upward
  EXPECT_EQ(w.v(0, 3), f(1));
  EXPECT_EQ(w.v(3, 3) & 0xffff, h(0x1.004p0f));
  EXPECT_EQ(w.v(8, 3), uint32_t(aboveOne));
  EXPECT_EQ(w.v(7, 3) & 0xffff, h(0x1.004p0f));
}

// Bits 5:4 of MODE keep f32 denormals (sources, results), bits 7:6 those of f16 and f64.
TEST_P(VectorAluModifiers, DenormalsFollowMode) {
  AssemblyWave w(cpu);
  w.set(1, uint32_t(f(0x1p-130f))).set(2, uint32_t(f(1))).set(5, uint32_t(h(0x1p-20f)));
  const std::string l = major >= 11 ? ".l" : "";
  auto sums = [&](uint32_t mode) {
    w.wave.setMode(mode);
    w.run("v_add_f32 v0, v1, v1\nv_add_f16 v4" + l + ", v5" + l + ", v5" + l);
  };
  sums(0xf0);
  EXPECT_EQ(w.v(0, 3), f(0x1p-129f));
  EXPECT_EQ(w.v(4, 3) & 0xffff, h(0x1p-19f));
  sums(0x30);
  EXPECT_EQ(w.v(0, 3), f(0x1p-129f));
  EXPECT_EQ(w.v(4, 3) & 0xffff, 0u);
  sums(0xc0);
  EXPECT_EQ(w.v(0, 3), 0u);
  EXPECT_EQ(w.v(4, 3) & 0xffff, h(0x1p-19f));
}

TEST_P(VectorAluModifiers, SdwaWithCarries) {
  if (major != 9)
    GTEST_SKIP() << "the names differ";
  AssemblyWave w(cpu);
  w.set(1, 0xffff0000).set(2, 0x0000ffff).s(kVcc) = 0;
  w.run("v_add_co_u32_sdwa v0, vcc, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
        "src1_sel:DWORD");
  EXPECT_EQ(w.v(0, 3), 0xffffffffu);
  EXPECT_EQ(w.s(kVcc), 0u);
  w.set(2, 0x00010000)
      .run("v_add_co_u32_sdwa v0, vcc, v1, v2 dst_sel:DWORD dst_unused:UNUSED_PAD src0_sel:DWORD "
           "src1_sel:DWORD\nv_addc_co_u32_sdwa v3, vcc, v1, v2, vcc dst_sel:WORD_1 "
           "dst_unused:UNUSED_PAD src0_sel:WORD_1 src1_sel:WORD_0");
  EXPECT_EQ(w.v(0, 3), 0u);
  EXPECT_EQ(w.v(3, 3), 0u); // 0xffff + 0 + 1 is 0x10000, whose low word goes to the high one
  EXPECT_EQ(w.s(kVcc), 0u); // the sum is of 32 bits
}

TEST_P(VectorAluModifiers, BytesOfFloat8) {
  const targets::Float8 format = rubia::test::rowOf(cpu).float8;
  if (format == targets::Float8::None8)
    GTEST_SKIP() << "no FP8";
  AssemblyWave w(cpu);
  w.set(1, 0x80b83840); // E4M3: 2, 1, -1 and -0; with the other bias half of that and NaN
  const bool fnuz = format == targets::Float8::Fnuz;
  const float scale = fnuz ? 0.5f : 1;
  const float want[] = {2 * scale, 1 * scale, -1 * scale};
  for (unsigned byte = 0; byte < 4; ++byte) {
    const std::string n = std::to_string(byte);
    w.run(major == 12 ? "v_cvt_f32_fp8_e64 v0, v1 byte_sel:" + n
                      : "v_cvt_f32_fp8_sdwa v0, v1 src0_sel:BYTE_" + n);
    if (byte < 3)
      EXPECT_EQ(asFloat(w.v(0, 7)), want[byte]) << byte;
    else
      EXPECT_EQ(std::isnan(asFloat(w.v(0, 7))), fnuz);
  }
  w.run(major == 12 ? "v_cvt_pk_f32_fp8_e64 v[4:5], v1.h"
                    : "v_cvt_pk_f32_fp8_sdwa v[4:5], v1 src0_sel:WORD_1");
  EXPECT_EQ(asFloat(w.v(4, 7)), want[2]);
  w.set(2, uint32_t(f(2 * scale))).set(3, uint32_t(f(-1 * scale))).set(0, 0x11223344);
  w.run(major == 12 ? "v_cvt_pk_fp8_f32 v0.h, v2, v3"
                    : "v_cvt_pk_fp8_f32 v0, v2, v3 op_sel:[0,0,1]");
  EXPECT_EQ(w.v(0, 7), 0xb8403344);
  for (unsigned byte = 0; byte < 4; ++byte) {
    w.set(0, 0x11223344);
    w.run(major == 12 ? "v_cvt_sr_fp8_f32 v0, v2, v4 byte_sel:" + std::to_string(byte)
                      : "v_cvt_sr_fp8_f32 v0, v2, v4 op_sel:[0,0," + std::to_string(byte & 1) +
                            "," + std::to_string(byte >> 1) + "]");
    EXPECT_EQ(w.v(0, 7), (0x11223344 & ~(0xffu << byte * 8)) | 0x40u << byte * 8) << byte;
  }
}

TEST_P(VectorAluModifiers, CompareToExec) {
  AssemblyWave w(cpu);
  const std::string vcc = major == 9 ? "vcc, " : "";
  w.s(kVcc) = 0x1234;
  w.set(1, 128 + 8); // v2's low word is 128 + lane
  w.run("v_and_b32 v3, 0xffff, v2\nv_cmpx_gt_u32_e32 " + vcc + "v1, v3");
  EXPECT_EQ(w.s(kExec), 0xffu);
  EXPECT_EQ(w.s(kVcc), major == 9 ? 0xffu : 0x1234u);
}

TEST_P(VectorAluModifiers, RegisterIndexing) {
  if (major != 9)
    GTEST_SKIP() << "V_MOVREL* instead";
  AssemblyWave w(cpu);
  w.s(2) = 5;
  w.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32 v0, v1\ns_set_gpr_idx_off\n"
        "v_mov_b32 v7, v1\n"
        "s_set_gpr_idx_on s2, gpr_idx(DST)\nv_mov_b32 v3, v1\ns_set_gpr_idx_off");
  EXPECT_EQ(w.v(0, 40), at(6, 40));
  EXPECT_EQ(w.v(7, 40), at(1, 40));
  EXPECT_EQ(w.v(8, 40), at(1, 40));
  EXPECT_EQ(w.v(3, 40), at(3, 40));
  w.s(2) = 200;
  w.run("s_set_gpr_idx_on s2, gpr_idx(SRC0)\nv_mov_b32 v0, v1");
  EXPECT_EQ(w.wave.status, WaveStatus::Faulted);
}

// CDNA3 ISA "VGPR Indexing Details": instructions that use registers in unusual ways.
TEST_P(VectorAluModifiers, RegisterIndexingOfUnusualOperands) {
  if (major != 9)
    GTEST_SKIP() << "V_MOVREL* instead";
  auto run = [&](const std::string &operands, const std::string &text) {
    auto w = std::make_unique<AssemblyWave>(cpu);
    w->s(2) = 5, w->s(4) = 3, w->s(5) = 77;
    w->run("s_set_gpr_idx_on s2, gpr_idx(" + operands + ")\n" + text + "\ns_set_gpr_idx_off");
    EXPECT_NE(w->wave.status, WaveStatus::Faulted) << text;
    return w;
  };
  const std::string all = "SRC0,SRC1,SRC2,DST";
  EXPECT_EQ(run("SRC0", "v_readlane_b32 s6, v1, s4")->s(6), at(6, 3));
  EXPECT_EQ(run(all, "v_readlane_b32 s6, v1, s4")->s(6), at(6, 3));
  EXPECT_EQ(run("SRC1,SRC2,DST", "v_readlane_b32 s6, v1, s4")->s(6), at(1, 3));
  EXPECT_EQ(run(all, "v_readfirstlane_b32 s6, v1")->s(6), at(6, 0));
  EXPECT_EQ(run("DST", "v_readfirstlane_b32 s6, v1")->s(6), at(1, 0));
  auto w = run("DST", "v_writelane_b32 v1, s5, 3");
  EXPECT_EQ(w->v(6, 3), 77u);
  EXPECT_EQ(w->v(1, 3), at(1, 3));
  w = run("SRC0,SRC1,SRC2", "v_writelane_b32 v1, s5, 3");
  EXPECT_EQ(w->v(1, 3), 77u);
  w = run("SRC0", "v_swap_b32 v20, v1"); // assumed, as for a move and back
  EXPECT_EQ(w->v(20, 3), at(6, 3));
  EXPECT_EQ(w->v(6, 3), at(20, 3));
  w = run("DST", "v_swap_b32 v20, v1");
  EXPECT_EQ(w->v(25, 3), at(1, 3));
  EXPECT_EQ(w->v(1, 3), at(25, 3));
  // The old value of the result is the result's register, whatever SRC2 says.
  auto multiplyAdd = [&](const std::string &operands, unsigned result) {
    auto wave = std::make_unique<AssemblyWave>(cpu);
    wave->s(2) = 5;
    wave->set(1, uint32_t(f(2))).set(2, uint32_t(f(3)));
    for (unsigned r : {10u, 15u})
      wave->set(r, uint32_t(f(float(r))));
    wave->run("s_set_gpr_idx_on s2, gpr_idx(" + operands + ")\nv_fmac_f32 v10, v1, v2");
    return wave->v(result, 3);
  };
  EXPECT_EQ(multiplyAdd("DST", 15), uint32_t(f(21)));
  EXPECT_EQ(multiplyAdd("SRC2", 10), uint32_t(f(16)));
  if (rubia::test::rowOf(cpu).atomicsReachHost) { // as its assembler spells it
    // Assumed: products of matrices too.
    w = run("DST", "v_mfma_f32_4x4x4_16b_f16 v[20:23], v[2:3], v[4:5], 1.0");
    EXPECT_EQ(w->v(20, 3), at(20, 3));
    EXPECT_NE(w->v(25, 3), at(25, 3));
  }
  AssemblyWave outside(cpu);
  outside.s(2) = 200;
  outside.run("s_set_gpr_idx_on s2, gpr_idx(DST)\nv_writelane_b32 v1, s5, 3");
  EXPECT_EQ(outside.wave.status, WaveStatus::Faulted);
}

// What it skips is in tests/emulator/ScalarKernelTest.cpp.
TEST_P(VectorAluModifiers, SkippingIsABitOfMode) {
  if (major != 9)
    GTEST_SKIP() << "gfx9";
  AssemblyWave w(cpu);
  w.run("s_setvskip 2, 1\ns_getreg_b32 s4, hwreg(HW_REG_MODE, 28, 1)\ns_setvskip 2, 0\n"
        "s_getreg_b32 s5, hwreg(HW_REG_MODE, 28, 1)");
  EXPECT_EQ(w.s(4), 1u);
  EXPECT_EQ(w.s(5), 0u);
}

TEST_P(VectorAluModifiers, ScalarTranscendentals) {
  if (major < 12)
    GTEST_SKIP() << "gfx12";
  AssemblyWave w(cpu);
  w.s(2) = uint32_t(f(-4));
  w.wave.setMask(kExec, 0);
  w.run("v_s_rcp_f32 s4, s2\nv_s_sqrt_f32 s5, -s2\nv_s_rcp_f32 s6, |s2| clamp\n"
        "v_s_exp_f16 s7, 2.0");
  EXPECT_EQ(w.s(4), f(-0.25f));
  EXPECT_EQ(w.s(5), f(2));
  EXPECT_EQ(w.s(6), f(0.25f));
  EXPECT_EQ(w.s(7), h(4));
  EXPECT_EQ(w.wave.exec(), 0u);
}

TEST_P(VectorAluModifiers, HalvesThatChangePlaces) {
  if (major < 11)
    GTEST_SKIP() << "gfx11";
  AssemblyWave w(cpu);
  w.set(0, 0x11112222).set(1, 0x33334444).run("v_swap_b16 v0.l, v1.h");
  EXPECT_EQ(w.v(0, 3), 0x11113333u);
  EXPECT_EQ(w.v(1, 3), 0x22224444u);
  w.wave.scalars[kM0] = 2 << 16 | 1;
  w.run("v_swaprel_b32 v2, v6");
  EXPECT_EQ(w.v(4, 3), at(7, 3));
  EXPECT_EQ(w.v(7, 3), at(4, 3));
}

// The tied source of a half is the destination's half (LLVM's disassembler gives the low one).
TEST_P(VectorAluModifiers, AccumulatorsOfHalves) {
  if (major < 11)
    GTEST_SKIP() << "gfx11";
  AssemblyWave w(cpu);
  w.set(0, uint32_t(pair16(h(100), h(3)))).set(1, uint32_t(pair16(h(2), h(5))));
  w.run("v_fmac_f16_e64 v0.h, v1.l, v1.h");
  EXPECT_EQ(w.v(0, 3), uint32_t(pair16(h(100), h(13))));
  w.run("v_fmac_f16_e32 v0.l, v1.l, v1.l");
  EXPECT_EQ(w.v(0, 3), uint32_t(pair16(h(104), h(13))));
}

INSTANTIATE_TEST_SUITE_P(Processors, VectorAluModifiers, testing::ValuesIn(kProcessors),
                         [](auto &info) { return rubia::test::identifier(info.param); });

} // namespace rubia::emulator::test
