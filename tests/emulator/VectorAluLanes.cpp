// SPDX-License-Identifier: Apache-2.0
// Moves, and the instructions that look across lanes, on waves of 32 and 64 lanes.
#include "tests/emulator/VectorAluWave.h"

#include <gtest/gtest.h>

namespace rubia::emulator::test {

std::vector<Case> moveCases() {
  return {
      {"V_MOV_B32", {0x12345678}, 0x12345678},
      {"V_MOV_B16", {0x12345678}, 0x5678},
      {"V_ACCVGPR_READ_B32", {0x12345678}, 0x12345678},
      {"V_ACCVGPR_WRITE_B32", {0x12345678}, 0x12345678},
      {"V_ACCVGPR_MOV_B32", {0x12345678}, 0x12345678},
      {"V_CNDMASK_B32", {1, 2}, 1},
      {"V_CNDMASK_B32", {1, 2}, 2, {.carryIn = true}},
      {"V_CNDMASK_B16", {1, 2}, 1},
      {"V_CNDMASK_B16", {1, 2}, 2, {.carryIn = true}},
  };
}

llvm::ArrayRef<const char *> laneOperations() {
  static constexpr const char *kNames[] = {
      "V_NOP",
      "V_PIPEFLUSH",
      "V_CLREXCP",
      "V_MBCNT_LO_U32_B32",
      "V_MBCNT_HI_U32_B32",
      "V_READLANE_B32",
      "V_WRITELANE_B32",
      "V_READFIRSTLANE_B32",
      "V_SWAP_B32",
      "V_SWAP_B16",
      "V_SWAPREL_B32",
      "V_PERMLANE16_SWAP_B32",
      "V_PERMLANE32_SWAP_B32",
      "V_CVT_PKACCUM_U8_F32",
      "V_CVT_SCALEF32_PK32_F32_FP6",
      "V_CVT_SCALEF32_PK32_F32_BF6",
      "V_CVT_SCALEF32_PK32_F16_FP6",
      "V_CVT_SCALEF32_PK32_F16_BF6",
      "V_CVT_SCALEF32_PK32_BF16_FP6",
      "V_CVT_SCALEF32_PK32_BF16_BF6",
      "V_CVT_SCALEF32_PK32_FP6_F16",
      "V_CVT_SCALEF32_PK32_BF6_F16",
      "V_CVT_SCALEF32_PK32_FP6_BF16",
      "V_CVT_SCALEF32_PK32_BF6_BF16",
      "V_CVT_SCALEF32_SR_PK32_FP6_F32",
      "V_CVT_SCALEF32_SR_PK32_BF6_F32",
      "V_CVT_SCALEF32_SR_PK32_FP6_F16",
      "V_CVT_SCALEF32_SR_PK32_BF6_F16",
      "V_CVT_SCALEF32_SR_PK32_FP6_BF16",
      "V_CVT_SCALEF32_SR_PK32_BF6_BF16",
      "V_CVT_SCALEF32_2XPK16_FP6_F32",
      "V_CVT_SCALEF32_2XPK16_BF6_F32",
      "V_PERMLANE16_B32",
      "V_PERMLANEX16_B32",
      "V_PERMLANE16_VAR_B32",
      "V_PERMLANEX16_VAR_B32",
      "V_PERMLANE64_B32",
      "V_MOVRELS_B32",
      "V_MOVRELD_B32",
      "V_MOVRELSD_B32",
      "V_MOVRELSD_2_B32",
      "V_MQSAD_U32_U8",
  };
  return kNames;
}

TEST(VectorAluLanes, Moves) { check(moveCases()); }

TEST(VectorAluLanes, NoOperations) {
  for (const char *op : {"V_NOP", "V_PIPEFLUSH", "V_CLREXCP"}) {
    TestWave w(32);
    w.run(op);
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(w.at(0, lane), lane);
  }
}

TEST(VectorAluLanes, CountBelow) {
  for (uint32_t first : {0u, 32u}) {
    uint32_t mask[kBlockLanes], count[kBlockLanes], low[kBlockLanes], high[kBlockLanes];
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      mask[lane] = 0xf000000f, count[lane] = 100;
    LaneState state;
    state.firstLane = first;
    kernelOf("V_MBCNT_LO_U32_B32")(low, mask, count, nullptr, state);
    kernelOf("V_MBCNT_HI_U32_B32")(high, mask, count, nullptr, state);
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      uint32_t below = (lane < 4 ? lane : 4) + (lane > 28 ? lane - 28 : 0);
      EXPECT_EQ(low[lane], 100 + (first ? 8 : below));
      EXPECT_EQ(high[lane], 100 + (first ? below : 0));
    }
  }
}

TEST(VectorAluLanes, ReadFirstActive) {
  TestWave w(64);
  w.op.result = 5;
  w.vector(0, 3).exec(uint64_t(1) << 40).run("V_READFIRSTLANE_B32");
  EXPECT_EQ(w.wave.scalars[5], 340u);
  w.exec(0).run("V_READFIRSTLANE_B32");
  EXPECT_EQ(w.wave.scalars[5], 300u);
}

TEST(VectorAluLanes, ReadLaneWrapsAndIgnoresExec) {
  TestWave w(32);
  w.op.result = 5;
  w.vector(0, 3).scalar(1, 39).exec(0).run("V_READLANE_B32");
  EXPECT_EQ(w.wave.scalars[5], 307u);
}

TEST(VectorAluLanes, WriteLaneKeepsOtherLanes) {
  TestWave w(64);
  w.scalar(0, 7777).scalar(1, 64 + 33).exec(0).run("V_WRITELANE_B32");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(w.at(0, lane), lane == 33 ? 7777u : lane);
}

TEST(VectorAluLanes, SwapObeysExec) {
  TestWave w(32);
  w.vector(0, 2).exec(0xff).run("V_SWAP_B32");
  for (unsigned lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(w.at(0, lane), lane < 8 ? 200 + lane : lane);
    EXPECT_EQ(w.at(2, lane), lane < 8 ? lane : 200 + lane);
  }
}

// Lane i of each row reads lane 15 - i.
constexpr uint32_t kReverseLow = 0x89abcdef, kReverseHigh = 0x01234567;

TEST(VectorAluLanes, PermuteWithinAndAcrossRows) {
  for (unsigned lanes : {32u, 64u})
    for (unsigned flip : {0u, 16u}) {
      TestWave w(lanes);
      w.vector(0, 1).scalar(1, kReverseLow).scalar(2, kReverseHigh);
      w.run(flip ? "V_PERMLANEX16_B32" : "V_PERMLANE16_B32");
      for (unsigned lane = 0; lane < lanes; ++lane)
        EXPECT_EQ(w.at(0, lane), 100 + (((lane & ~15u) ^ flip) | (15 - (lane & 15))));
    }
}

TEST(VectorAluLanes, PermuteReadsItsOldRegister) {
  TestWave w(32);
  w.vector(0, 0).scalar(1, kReverseLow).scalar(2, kReverseHigh).run("V_PERMLANE16_B32");
  for (unsigned lane = 0; lane < 32; ++lane)
    EXPECT_EQ(w.at(0, lane), (lane & 16) | (15 - (lane & 15)));
}

TEST(VectorAluLanes, PermuteFromInactiveLanes) {
  struct {
    uint32_t fetchInactive, boundControl;
    uint32_t expected; // in lane 1, which reads the inactive lane 14
  } const kCases[] = {{0, 0, 1}, {4, 0, 114}, {0, 4, 0}, {4, 4, 114}};
  for (const auto &c : kCases) {
    TestWave w(32);
    w.vector(0, 1).scalar(1, kReverseLow).scalar(2, kReverseHigh);
    w.modifiers(0, c.fetchInactive).modifiers(1, c.boundControl).exec(0x00ff);
    w.run("V_PERMLANE16_B32");
    EXPECT_EQ(w.at(0, 1), c.expected);
    EXPECT_EQ(w.at(0, 14), 14u); // itself inactive
  }
}

TEST(VectorAluLanes, PermuteBySelectorsPerLane) {
  for (unsigned flip : {0u, 16u}) {
    TestWave w(32);
    w.vector(0, 1).vector(1, 2);
    w.run(flip ? "V_PERMLANEX16_VAR_B32" : "V_PERMLANE16_VAR_B32");
    for (unsigned lane = 0; lane < 32; ++lane)
      EXPECT_EQ(w.at(0, lane), 100 + (((lane & 16) ^ flip) | ((200 + lane) & 15)));
  }
}

TEST(VectorAluLanes, PermuteHalves) {
  TestWave w(64);
  w.vector(0, 1).exec(0xffff).run("V_PERMLANE64_B32");
  for (unsigned lane = 0; lane < 64; ++lane)
    EXPECT_EQ(w.at(0, lane), lane < 16 ? 100 + (lane ^ 32) : lane);
  TestWave narrow(32);
  narrow.vector(0, 1).run("V_PERMLANE64_B32");
  EXPECT_EQ(narrow.at(0, 3), 3u);
}

TEST(VectorAluLanes, SwapsOfRowsAndHalves) {
  for (unsigned distance : {16u, 32u}) {
    TestWave w(64);
    w.vector(0, 1).run(distance == 16 ? "V_PERMLANE16_SWAP_B32" : "V_PERMLANE32_SWAP_B32");
    for (unsigned lane = 0; lane < 64; ++lane) {
      EXPECT_EQ(w.at(0, lane), lane & distance ? 100 + (lane ^ distance) : lane);
      EXPECT_EQ(w.at(1, lane), lane & distance ? 100 + lane : lane ^ distance);
    }
  }
  TestWave partly(64); // lane 33 is active, its partner is not
  partly.vector(0, 1).exec(uint64_t(1) << 33).run("V_PERMLANE32_SWAP_B32");
  EXPECT_EQ(partly.at(0, 33), 33u);
  EXPECT_EQ(partly.at(1, 1), 101u);
}

TEST(VectorAluLanes, ByteIntoTheResult) {
  TestWave w(32);
  w.at(0, 3) = 0x11223344;
  w.vector(0, 1).scalar(1, 6).modifiers(0, 1);
  w.at(1, 3) = uint32_t(f(-200.5f));
  w.run("V_CVT_PKACCUM_U8_F32");
  EXPECT_EQ(w.at(0, 3), 0x11c83344u);
}

TEST(VectorAluLanes, RelativeMoves) {
  TestWave from(32);
  from.vector(0, 1).m0(3).exec(0xff).run("V_MOVRELS_B32");
  EXPECT_EQ(from.at(0, 7), 407u);
  EXPECT_EQ(from.at(0, 8), 8u);

  TestWave to(32);
  to.vector(0, 1).m0(3).run("V_MOVRELD_B32");
  EXPECT_EQ(to.at(3, 7), 107u);
  EXPECT_EQ(to.at(0, 7), 7u);

  TestWave both(32);
  both.vector(0, 1).m0(3).run("V_MOVRELSD_B32");
  EXPECT_EQ(both.at(3, 7), 407u);

  TestWave two(32);
  two.vector(0, 1).m0(5 << 16 | 2).run("V_MOVRELSD_2_B32");
  EXPECT_EQ(two.at(5, 7), 307u);
}

} // namespace rubia::emulator::test
