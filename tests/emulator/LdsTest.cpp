// SPDX-License-Identifier: Apache-2.0
// DS instructions that are not plain loads, stores or atomics: two addresses, addresses by lane,
// counters, cross-lane moves, transposed loads; on every processor.
#include "tests/emulator/MemoryWave.h"
#include <bit>

namespace rubia::emulator::test {
namespace {

class Lds : public MemoryTest {
protected:
  /// Lanes that a permutation covers: halves of a wave64 on RDNA2 and RDNA3.
  unsigned span(const MemoryWave &w) const {
    return major() == 10 || major() == 11 ? 32 : w.lanes();
  }
};

TEST_P(Lds, TwoAddresses) {
  MemoryWave w(GetParam()), before(GetParam());
  w.addresses(1, 9).exec(~uint64_t(16));
  w.run("ds_read2_b32 v[20:21], v4 offset0:3 offset1:200\n"
        "ds_read2st64_b32 v[22:23], v4 offset0:1 offset1:7\n"
        "ds_read2_b64 v[24:27], v4 offset0:5 offset1:255\n"
        "ds_read2st64_b64 v[28:31], v4 offset0:2 offset1:3\n");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const uint32_t at = 1 + 9 * lane;
    auto check32 = [&](unsigned r, uint32_t offset) {
      EXPECT_EQ(w.v(r, lane),
                w.active(lane) ? w.ldsAt<uint32_t>(at + offset) : AssemblyWave::start(r, lane))
          << r << " " << lane;
    };
    check32(20, 12), check32(21, 800), check32(22, 256), check32(23, 7 * 256);
    check32(24, 40), check32(25, 44), check32(26, 255 * 8), check32(27, 255 * 8 + 4);
    check32(28, 1024), check32(30, 1536), check32(31, 1540);
  }
  w.addresses(4096, 32).run("ds_write2_b32 v4, v20, v21 offset0:1 offset1:2\n"
                            "ds_write2st64_b64 v4, v[22:23], v[24:25] offset0:8 offset1:16");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    const uint32_t at = 4096 + 32 * lane;
    if (!w.active(lane)) {
      EXPECT_EQ(w.ldsAt<uint32_t>(at + 4), before.ldsAt<uint32_t>(at + 4));
      continue;
    }
    EXPECT_EQ(w.ldsAt<uint32_t>(at + 4), w.v(20, lane));
    EXPECT_EQ(w.ldsAt<uint32_t>(at + 8), w.v(21, lane));
    EXPECT_EQ(w.ldsAt<uint64_t>(at + 8 * 512), w.pair(22, lane));
    EXPECT_EQ(w.ldsAt<uint64_t>(at + 16 * 512), w.pair(24, lane));
  }
}

TEST_P(Lds, OffsetsOfTwoAddressesReachBeyond64K) {
  MemoryWave w(GetParam());
  w.addresses(0, 0).run("ds_read2st64_b64 v[20:23], v4 offset0:0 offset1:255");
  ASSERT_TRUE(w.fault().set);
  EXPECT_EQ(w.fault().kind, FaultKind::LdsOutOfBounds);
  EXPECT_EQ(w.fault().address, 255u * 512);
}

TEST_P(Lds, DataMayOverlapTheAddress) {
  MemoryWave w(GetParam());
  w.addresses(64, 8).run("ds_read2_b32 v[4:5], v4 offset1:1");
  EXPECT_EQ(w.v(4, 3), w.ldsAt<uint32_t>(64 + 24));
  EXPECT_EQ(w.v(5, 3), w.ldsAt<uint32_t>(64 + 28));
}

TEST_P(Lds, ExchangesOfTwo) {
  MemoryWave w(GetParam()), before(GetParam());
  w.addresses(0, 8).run(
      "ds_wrxchg2_rtn_b32 v[24:25], v4, v20, v21 offset1:1\n"
      "ds_wrxchg2st64_rtn_b64 v[26:29], v4, v[20:21], v[22:23] offset0:4 offset1:8");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.ldsAt<uint32_t>(8 * lane), w.v(20, lane));
    EXPECT_EQ(w.ldsAt<uint32_t>(8 * lane + 4), w.v(21, lane));
    EXPECT_EQ(w.pair(24, lane), before.ldsAt<uint64_t>(8 * lane));
    EXPECT_EQ(w.ldsAt<uint64_t>(8 * lane + 2048), w.pair(20, lane));
    EXPECT_EQ(w.ldsAt<uint64_t>(8 * lane + 4096), w.pair(22, lane));
    EXPECT_EQ(w.pair(26, lane), before.ldsAt<uint64_t>(8 * lane + 2048));
    EXPECT_EQ(w.pair(28, lane), before.ldsAt<uint64_t>(8 * lane + 4096));
  }
}

TEST_P(Lds, ConditionalExchange) {
  MemoryWave w(GetParam()), before(GetParam());
  w.addresses(0, 8);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    w.v(20, lane) = 0x1234 + lane + (lane & 1 ? 0x80000000 : 0);
    w.v(21, lane) = 0x4321 + lane + (lane & 2 ? 0x80000000 : 0);
  }
  w.run("ds_condxchg32_rtn_b64 v[24:25], v4, v[20:21]");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.pair(24, lane), before.ldsAt<uint64_t>(8 * lane));
    EXPECT_EQ(w.ldsAt<uint32_t>(8 * lane),
              lane & 1 ? 0x1234 + lane : before.ldsAt<uint32_t>(8 * lane));
    EXPECT_EQ(w.ldsAt<uint32_t>(8 * lane + 4),
              lane & 2 ? 0x4321 + lane : before.ldsAt<uint32_t>(8 * lane + 4));
  }
}

TEST_P(Lds, AddressesByLane) {
  MemoryWave w(GetParam());
  w.s(kM0) = 256;
  w.exec(~uint64_t(32))
      .run("ds_read_addtid_b32 v20 offset:64\nds_write_addtid_b32 v21 offset:2048");
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.v(20, lane),
              w.active(lane) ? w.ldsAt<uint32_t>(320 + 4 * lane) : AssemblyWave::start(20, lane));
    if (w.active(lane))
      EXPECT_EQ(w.ldsAt<uint32_t>(2304 + 4 * lane), AssemblyWave::start(21, lane));
  }
}

TEST_P(Lds, CountersCountActiveLanes) {
  MemoryWave w(GetParam());
  w.exec(0xf0f);
  w.ldsAt<uint32_t>(16) = 100;
  w.run("ds_append v20 offset:16\nds_append v21 offset:16\nds_consume v22 offset:16");
  EXPECT_EQ(w.ldsAt<uint32_t>(16), 108u);
  for (unsigned lane = 0; lane < w.lanes(); ++lane) {
    EXPECT_EQ(w.v(20, lane), w.active(lane) ? 100 : AssemblyWave::start(20, lane));
    EXPECT_EQ(w.v(21, lane), w.active(lane) ? 108 : AssemblyWave::start(21, lane));
    EXPECT_EQ(w.v(22, lane), w.active(lane) ? 116 : AssemblyWave::start(22, lane));
  }
}

TEST_P(Lds, PermutationsWrapAtTheirSpan) {
  MemoryWave w(GetParam());
  const unsigned lanes = w.lanes(), width = span(w);
  for (unsigned lane = 0; lane < lanes; ++lane)
    w.v(4, lane) = 4 * (lane * 7 + 40) + 1024;
  w.exec(~uint64_t(0x20)).run("ds_bpermute_b32 v20, v4, v30 offset:8\nds_permute_b32 v21, v4, v30");
  for (unsigned lane = 0; lane < lanes; ++lane) {
    if (!w.active(lane)) {
      EXPECT_EQ(w.v(20, lane), AssemblyWave::start(20, lane));
      continue;
    }
    const unsigned from = lane / width * width + (lane * 7 + 42) % width;
    EXPECT_EQ(w.v(20, lane), w.active(from) ? AssemblyWave::start(30, from) : 0) << lane;
    uint32_t pushed = 0;
    for (unsigned source = 0; source < lanes; ++source)
      if (w.active(source) && source / width * width + (source * 7 + 40) % width == lane)
        pushed = AssemblyWave::start(30, source);
    EXPECT_EQ(w.v(21, lane), pushed) << lane;
  }
}

TEST_P(Lds, SwizzleModes) {
  struct Case {
    unsigned offset;
    unsigned (*from)(unsigned lane);
  };
  static constexpr Case kCases[] = {
      {0x041f, [](unsigned i) { return i ^ 1; }},
      {0x401f, [](unsigned i) { return i ^ 16; }},
      {0x7c1f, [](unsigned i) { return 31 - i; }},
      {0x00a0, [](unsigned) { return 5u; }},             // broadcast of lane 5
      {0x00b8, [](unsigned i) { return (i & 24) | 5; }}, // of the fifth of eight
      {0x801b, [](unsigned i) { return (i & ~3u) | (3 - (i & 3)); }},
      {0x8055, [](unsigned i) { return (i & ~3u) | 1; }},
      {0xc020, [](unsigned i) { return (i + 1) % 32; }}, // the manual's rotations
      {0xc420, [](unsigned i) { return (i + 31) % 32; }},
      {0xc021, [](unsigned i) { return i & 1 ? (i + 2) % 32 : i; }},
      {0xc421, [](unsigned i) { return i & 1 ? i : (i + 30) % 32; }},
      {0xe01f, [](unsigned i) { return i; }}, // FFT: none
      // the manual's table for 0x00 and 0x10, which counts from 1
      {0xe000,
       [](unsigned i) {
         constexpr unsigned k[] = {0x1,  0x11, 0x9,  0x19, 0x5,  0x15, 0xd,  0x1d, 0x3,  0x13, 0xb,
                                   0x1b, 0x7,  0x17, 0xf,  0x1f, 0x2,  0x12, 0xa,  0x1a, 0x6,  0x16,
                                   0xe,  0x1e, 0x4,  0x14, 0xc,  0x1c, 0x8,  0x18, 0x10, 0x20};
         return k[i] - 1;
       }},
      {0xe010,
       [](unsigned i) {
         constexpr unsigned k[] = {0x1,  0x9,  0x5,  0xd,  0x3,  0xb,  0x7,  0xf,  0x2,  0xa,  0x6,
                                   0xe,  0x4,  0xc,  0x8,  0x10, 0x11, 0x19, 0x15, 0x1d, 0x13, 0x1b,
                                   0x17, 0x1f, 0x12, 0x1a, 0x16, 0x1e, 0x14, 0x1c, 0x18, 0x20};
         return k[i] - 1;
       }},
  };
  for (const Case &c : kCases) {
    MemoryWave w(GetParam());
    w.exec(~uint64_t(0x400000002))
        .run("ds_swizzle_b32 v20, v30 offset:" + std::to_string(c.offset));
    for (unsigned lane = 0; lane < w.lanes(); ++lane) {
      const unsigned from = (lane & 32) + c.from(lane & 31);
      EXPECT_EQ(w.v(20, lane), !w.active(lane)  ? AssemblyWave::start(20, lane)
                               : w.active(from) ? AssemblyWave::start(30, from)
                                                : 0)
          << std::hex << c.offset << " lane " << std::dec << lane;
    }
  }
}

TEST_P(Lds, RefusesGlobalDataShare) {
  MemoryWave w(GetParam());
  if (major() == 10 || major() == 11) // the others cannot even encode it
    EXPECT_EQ(w.refusal("ds_add_u32 v4, v20 gds"), "GDS is not supported");
  if (major() != 12)
    EXPECT_NE(w.refusal("ds_gws_sema_v gds"), "");
}

INSTANTIATE_TEST_SUITE_P(Targets, Lds, testing::ValuesIn(kTargetCases), nameOf);

class LdsOfGfx12 : public MemoryTest {};

TEST_P(LdsOfGfx12, BackwardPermuteThatFetchesInactiveLanes) {
  MemoryWave w(GetParam());
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    w.v(4, lane) = 4 * (lane + 1);
  w.exec(~uint64_t(2)).run("ds_bpermute_fi_b32 v20, v4, v30");
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    EXPECT_EQ(w.v(20, lane), w.active(lane) ? AssemblyWave::start(30, (lane + 1) % w.lanes())
                                            : AssemblyWave::start(20, lane));
}

INSTANTIATE_TEST_SUITE_P(Targets, LdsOfGfx12, targetsFrom(12, 12), nameOf);

/// A group of 16 lanes loads a matrix of `rows` rows with 16 elements each.
TEST(LdsOfGfx950, TransposedLoads) {
  struct Case {
    const char *text;
    unsigned bits, registers;
  };
  for (const Case &c :
       {Case{"ds_read_b64_tr_b16 v[20:21], v4", 16, 2},
        Case{"ds_read_b64_tr_b8 v[20:21], v4", 8, 2}, Case{"ds_read_b64_tr_b4 v[20:21], v4", 4, 2},
        Case{"ds_read_b96_tr_b6 v[20:22], v4", 6, 3}}) {
    MemoryWave w({"gfx950", 64});
    const unsigned rows = 32 * c.registers / c.bits, bytes = 4 * c.registers;
    w.addresses(0, bytes).run(c.text);
    ASSERT_FALSE(w.fault().set);
    auto bit = [&](uint32_t at) { return w.lds[at / 8] >> (at % 8) & 1; };
    for (unsigned lane = 0; lane < 64; ++lane)
      for (unsigned row = 0; row < rows; ++row)
        for (unsigned i = 0; i < c.bits; ++i) {
          // Element (row, column) of the group's matrix, which lies in LDS row by row.
          const uint32_t element = row * 16 + lane % 16;
          const uint32_t from = lane / 16 * 16 * bytes * 8 + element * c.bits + i;
          const unsigned to = row * c.bits + i;
          ASSERT_EQ(w.v(20 + to / 32, lane) >> (to % 32) & 1, unsigned(bit(from)))
              << c.text << " lane " << lane << " row " << row;
        }
    w.exec(1).run(c.text);
    EXPECT_TRUE(w.fault().set) << "EXEC must be full";
  }
}

} // namespace
} // namespace rubia::emulator::test
