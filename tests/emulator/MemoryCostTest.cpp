// SPDX-License-Identifier: Apache-2.0
// The rules by which LDS cycles and cache lines are counted.
#include "emulator/lib/observe/MemoryCost.h"
#include "llvm/Support/Error.h"
#include <gtest/gtest.h>

using namespace rubia::emulator;

namespace {

const rubia::targets::Target &row(const char *cpu) { return *rubia::targets::find(cpu); }

LaneAccess read(unsigned lane, uint64_t address, unsigned bytes) {
  return {address, uint16_t(bytes), uint8_t(lane), Space::Local, true, false};
}

/// Two lanes that want different dwords of one bank.
unsigned conflictsOf(const char *cpu, unsigned bytes, bool isRead, unsigned lane, unsigned other,
                     unsigned banks) {
  std::vector<LaneAccess> lanes = {read(lane, 0, bytes), read(other, banks * 4, bytes)};
  for (LaneAccess &access : lanes) {
    access.reads = isRead;
    access.writes = !isRead;
  }
  return ldsCycles(row(cpu), lanes, false).conflicts;
}

TEST(LdsCycles, LanesOfAGroupMeetInABank) {
  // lane, other, whether they are served at the same time
  struct Case {
    const char *cpu;
    unsigned bytes;
    bool isRead;
    unsigned lane, other, banks, conflicts;
  };
  const Case cases[] = {
      {"gfx1100", 4, true, 0, 31, 32, 1},
      {"gfx1100", 8, true, 0, 15, 32, 1},
      {"gfx1100", 8, true, 0, 16, 32, 0},
      {"gfx1100", 16, true, 0, 7, 32, 1},
      {"gfx1100", 16, true, 0, 8, 32, 0},
      {"gfx942", 4, true, 0, 32, 32, 0},
      {"gfx942", 8, true, 15, 16, 32, 0},
      {"gfx942", 16, false, 0, 7, 32, 1},
      {"gfx942", 16, false, 0, 20, 32, 0},
      // Reads of 96 and 128 bits on CDNA.
      {"gfx942", 16, true, 0, 20, 32, 1},
      {"gfx942", 16, true, 3, 4, 32, 0},
      {"gfx942", 16, true, 4, 19, 32, 1},
      {"gfx942", 16, true, 8, 31, 32, 1},
      {"gfx942", 16, true, 12, 24, 32, 1},
      {"gfx942", 16, true, 44, 59, 32, 1},
      {"gfx90a", 12, true, 36, 48, 32, 1},
      {"gfx90a", 12, false, 36, 48, 32, 0},
      // gfx950: 64 banks for reads of 64 and 128 bits.
      {"gfx950", 8, true, 0, 31, 64, 1},
      {"gfx950", 8, true, 0, 31, 32, 0},
      {"gfx950", 8, true, 31, 32, 64, 0},
      {"gfx950", 8, false, 0, 15, 32, 1},
      {"gfx950", 8, false, 0, 16, 32, 0},
      {"gfx950", 16, true, 0, 27, 64, 1},
      {"gfx950", 16, true, 0, 4, 64, 0},
      {"gfx950", 16, true, 4, 31, 64, 1},
      {"gfx950", 12, true, 0, 12, 32, 0},
      {"gfx950", 12, true, 0, 20, 32, 1},
      {"gfx950", 4, true, 0, 31, 32, 1},
  };
  for (const Case &c : cases)
    EXPECT_EQ(conflictsOf(c.cpu, c.bytes, c.isRead, c.lane, c.other, c.banks), c.conflicts)
        << c.cpu << " " << c.bytes << " bytes, lanes " << c.lane << " and " << c.other;
}

TEST(LdsCycles, EqualDwordsAreReadAtOnce) {
  std::vector<LaneAccess> lanes;
  for (unsigned lane = 0; lane < 32; ++lane)
    lanes.push_back(read(lane, lane % 4, 1)); // the bytes of a dword
  EXPECT_EQ(ldsCycles(row("gfx1100"), lanes, false).cycles, 1u);
  EXPECT_EQ(ldsCycles(row("gfx1100"), lanes, true).cycles, 32u); // as atomics
}

TEST(LdsCycles, TwoAddressesAreTwoAccesses) {
  const std::vector<LaneAccess> lanes = {read(0, 0, 4), read(1, 4, 4), read(0, 128, 4),
                                         read(1, 132, 4)};
  const LdsCycles found = ldsCycles(row("gfx1100"), lanes, false);
  EXPECT_EQ(found.cycles, 2u);
  EXPECT_EQ(found.conflicts, 0u);
}

TEST(LdsCycles, MisalignedAccessesReachOneDwordMore) {
  // Lanes 0 and 8 of 16: dwords 0 to 2 and 31 to 33.
  const std::vector<LaneAccess> lanes = {read(0, 2, 8), read(8, 126, 8)};
  EXPECT_EQ(ldsCycles(row("gfx1100"), lanes, false).cycles, 2u);
}

MemoryCost costOf(const std::vector<std::pair<uint64_t, unsigned>> &ranges, unsigned lineBytes) {
  std::vector<LaneAccess> lanes;
  for (auto [address, bytes] : ranges)
    lanes.push_back({address, uint16_t(bytes), uint8_t(lanes.size()), Space::Global, true, false});
  return memoryCost(lineBytes, lanes);
}

TEST(MemoryCost, CountsLinesAndBytesOnce) {
  struct Case {
    std::vector<std::pair<uint64_t, unsigned>> ranges;
    unsigned lineBytes;
    uint64_t lines, bytes, distinct;
  };
  const Case cases[] = {
      {{{0, 4}, {4, 4}}, 128, 1, 8, 8},
      {{{4, 4}, {0, 4}, {4, 4}}, 128, 1, 12, 8},
      {{{126, 4}}, 128, 2, 4, 4},
      {{{126, 4}, {128, 2}, {300, 1}}, 128, 3, 7, 5},
      {{{0, 16}, {8, 16}, {16, 64}}, 64, 2, 96, 80},
      {{{128, 4}, {0, 4}}, 64, 2, 8, 8},
      {{{0, 200}}, 64, 4, 200, 200},
  };
  for (const Case &c : cases) {
    const MemoryCost cost = costOf(c.ranges, c.lineBytes);
    EXPECT_EQ(cost.accesses, 1u);
    EXPECT_EQ(cost.lines, c.lines);
    EXPECT_EQ(cost.bytes, c.bytes);
    EXPECT_EQ(cost.distinctBytes, c.distinct);
  }
  EXPECT_EQ(costOf({}, 128).accesses, 0u);
}

} // namespace
