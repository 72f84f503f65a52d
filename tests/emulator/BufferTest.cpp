// SPDX-License-Identifier: Apache-2.0
// What buffer resources let through, and where they lead.
#include "tests/emulator/MemoryWave.h"

namespace rubia::emulator::test {
namespace {

class Buffers : public MemoryTest {
protected:
  std::string zero() const { return major() == 12 ? "null" : "0"; }
  static constexpr uint32_t kIndexStride16 = 1u << 21;
};

TEST_P(Buffers, RawRangeIsCheckedDwordByDword) {
  MemoryWave w(GetParam()), before(GetParam());
  w.resource(8, uint64_t(w.global), 0, 40, w.rawWord3()).addresses(0, 8);
  w.run("buffer_load_dwordx4 v[20:23], v4, s[8:11], " + zero() + " offen\n" +
        "buffer_store_dwordx2 v[30:31], v4, s[8:11], " + zero() + " offen offset:4");
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    for (unsigned i = 0; i < 4; ++i) {
      const uint32_t at = 8 * lane + 4 * i;
      EXPECT_EQ(w.v(20 + i, lane), at + 4 <= 40 ? before.at<uint32_t>(at) : 0) << lane << " " << i;
    }
  EXPECT_EQ(w.at<uint32_t>(36), w.start(30, 4));
  EXPECT_EQ(w.at<uint32_t>(40), before.at<uint32_t>(40));
  EXPECT_FALSE(w.fault().set);
}

TEST_P(Buffers, ScalarOffsetCountsForTheRangeOnlySinceGfx10) {
  MemoryWave w(GetParam());
  w.resource(8, uint64_t(w.global), 0, 40, w.rawWord3()).addresses(0, 4);
  w.s(7) = 8;
  w.run("buffer_load_dword v20, v4, s[8:11], s7 offen");
  EXPECT_EQ(w.v(20, 7), w.at<uint32_t>(36));
  EXPECT_EQ(w.v(20, 8), major() == 9 ? w.at<uint32_t>(40) : 0u);
  EXPECT_EQ(w.v(20, 10), 0u);
}

TEST_P(Buffers, StructuredRangeCountsRecords) {
  MemoryWave w(GetParam());
  // OOB_SELECT 1, which gfx9 does not have: index alone.
  w.resource(8, uint64_t(w.global), 12, 5, major() == 9 ? 0 : 1u << 28);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.setPair(6, lane, uint64_t(16) << 32 | lane); // beyond the record
  w.run("buffer_load_dword v20, v6, s[8:11], " + zero() + " idxen offset:4\n" +
        "buffer_load_dword v21, v[6:7], s[8:11], " + zero() + " idxen offen\n");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.v(20, lane), lane < 5 ? w.at<uint32_t>(12 * lane + 4) : 0);
    EXPECT_EQ(w.v(21, lane), lane < 5 ? w.at<uint32_t>(12 * lane + 16) : 0);
  }
}

TEST_P(Buffers, OutOfBoundsSelect) {
  if (major() == 9)
    return; // has none
  auto load = [&](uint32_t select, uint32_t stride, uint32_t records, uint32_t index,
                  uint32_t offset) {
    MemoryWave w(GetParam());
    w.resource(8, uint64_t(w.global), stride, records, select << 28).exec(1);
    w.setPair(6, 0, uint64_t(offset) << 32 | index);
    w.run("buffer_load_dword v20, v[6:7], s[8:11], " + zero() + " idxen offen");
    EXPECT_FALSE(w.fault().set);
    const uint32_t there = w.at<uint32_t>(index * stride + offset);
    EXPECT_TRUE(w.v(20, 0) == 0 || w.v(20, 0) == there);
    EXPECT_NE(there, 0u);
    return w.v(20, 0) != 0;
  };
  EXPECT_TRUE(load(0, 16, 4, 3, 12));
  EXPECT_FALSE(load(0, 16, 4, 3, 13)); // the record
  EXPECT_FALSE(load(0, 16, 4, 4, 0));
  EXPECT_TRUE(load(1, 16, 4, 3, 100));
  EXPECT_FALSE(load(1, 16, 4, 4, 0));
  EXPECT_TRUE(load(2, 16, 1, 100, 100));
  EXPECT_FALSE(load(2, 16, 0, 0, 0));
  EXPECT_TRUE(load(3, 0, 64, 0, 60));
  EXPECT_FALSE(load(3, 0, 64, 0, 61));
}

TEST_P(Buffers, SwizzledAddresses) {
  MemoryWave w(GetParam());
  // 16 indices side by side, elements of four bytes, records of 8.
  w.resource(8, uint64_t(w.global), 8, 64, kIndexStride16 | (major() == 9 ? 0 : 1u << 28), true);
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.setPair(6, lane, uint64_t(lane % 8) << 32 | lane);
  w.run("buffer_load_dwordx2 v[20:21], v6, s[8:11], " + zero() + " idxen\n" +
        "buffer_load_ubyte v22, v[6:7], s[8:11], " + zero() + " idxen offen\n" +
        "buffer_store_byte v30, v6, s[8:11], " + zero() + " idxen offset:6");
  auto place = [](unsigned index, unsigned offset) {
    return (index / 16 * 8 + offset / 4 * 4) * 16 + index % 16 * 4 + offset % 4;
  };
  MemoryWave before(GetParam());
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.v(20, lane), before.at<uint32_t>(place(lane, 0))) << lane;
    EXPECT_EQ(w.v(21, lane), before.at<uint32_t>(place(lane, 4))) << lane;
    EXPECT_EQ(w.v(22, lane), before.at<uint8_t>(place(lane, lane % 8))) << lane;
    EXPECT_EQ(w.at<uint8_t>(place(lane, 6)), uint8_t(w.start(30, lane))) << lane;
  }
}

TEST_P(Buffers, ThreadIdIsAddedToTheIndex) {
  MemoryWave w(GetParam());
  w.resource(8, uint64_t(w.global), 12, 1000, 1u << 23 | (major() == 9 ? 0 : 2u << 28));
  w.run("buffer_load_dword v20, off, s[8:11], " + zero() + " offset:8");
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    EXPECT_EQ(w.v(20, lane), w.at<uint32_t>(12 * lane + 8));
}

TEST_P(Buffers, ARangeThatIsTooLargeIsAFault) {
  MemoryWave w(GetParam());
  w.resource(8, uint64_t(w.global), 0, 2 * MemoryWave::kBytes, w.rawWord3());
  w.addresses(MemoryWave::kBytes - 12, 4)
      .run("buffer_load_dword v20, v4, s[8:11], " + zero() + " offen");
  ASSERT_TRUE(w.fault().set);
  EXPECT_EQ(w.fault().kind, FaultKind::OutOfBounds);
  EXPECT_EQ(w.fault().lane, 3u);
  EXPECT_EQ(w.fault().address, uint64_t(w.global) + MemoryWave::kBytes);
}

TEST_P(Buffers, PrivateMemoryEndsAtTheWavesPart) {
  MemoryWave w(GetParam());
  const uint32_t indexStride = w.lanes() == 64 ? 3u << 21 : 2u << 21;
  w.resource(8, uint64_t(w.wave.scratch), 0, ~0u, 1u << 23 | indexStride | 2u << 28, true);
  w.addresses(0, 0);
  w.v(4, 2) = MemoryWave::kScratchPerLane;
  w.run("buffer_store_dword v20, v4, s[8:11], " + zero() + " offen");
  ASSERT_TRUE(w.fault().set);
  EXPECT_EQ(w.fault().kind, FaultKind::ScratchOverflow);
  EXPECT_EQ(w.fault().lane, 2u);
}

INSTANTIATE_TEST_SUITE_P(Targets, Buffers, testing::ValuesIn(kTargetCases), nameOf);

} // namespace
} // namespace rubia::emulator::test
