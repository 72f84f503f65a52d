// SPDX-License-Identifier: Apache-2.0
// What two runs of a thread wrote down, compared (diff/Trace.h).
#include "diff/Trace.h"
#include "llvm/Support/Endian.h"
#include "gtest/gtest.h"

namespace {

using namespace llvm;
using namespace rubia::capsule;
using rubia::ptx::StateSpace;
using rubia::ptx::Type;

constexpr uint32_t kStoreLine = 5;
constexpr uint64_t kPlace = 0x100;

TraceSite siteOf(TraceSite::Kind kind, uint32_t line) {
  TraceSite site;
  site.kind = kind;
  site.place.line = line;
  site.result = "%r1";
  site.type = kind == TraceSite::Kind::Place ? Type::B64 : Type::B32;
  site.space = StateSpace::Shared;
  return site;
}

/// A store of 7, another one of 8 to the same place, and a result behind each.
std::vector<TraceSite> sites() {
  return {siteOf(TraceSite::Kind::Place, kStoreLine), siteOf(TraceSite::Kind::Memory, kStoreLine),
          siteOf(TraceSite::Kind::Result, 9)};
}

std::vector<uint8_t> traceOf(uint64_t afterFirst, uint64_t afterSecond) {
  std::vector<uint8_t> trace = traceRequest(0, 0);
  const std::pair<uint32_t, uint64_t> entries[] = {{0, kPlace}, {1, 7}, {2, afterFirst},
                                                   {0, kPlace}, {1, 8}, {2, afterSecond}};
  support::endian::write32le(trace.data() + 8, std::size(entries));
  for (size_t i = 0; i < std::size(entries); ++i) {
    uint8_t *at = trace.data() + kTraceEntries + i * kTraceEntryBytes;
    support::endian::write32le(at, entries[i].first);
    support::endian::write32le(at + 4, 1);
    support::endian::write64le(at + 8, entries[i].second);
  }
  return trace;
}

TraceDifference compareUntil(std::optional<uint64_t> stored) {
  TraceRules rules;
  if (stored)
    rules.until = {kStoreLine, kPlace, *stored, 4, true};
  return compareTraces(traceOf(1, 3), traceOf(2, 4), sites(), rules);
}

TEST(TraceComparison, LeavesOutWhatFollowsTheStore) {
  EXPECT_EQ(compareUntil(std::nullopt).kind, TraceDifference::Kind::Value);
  const TraceDifference untilFirst = compareUntil(7);
  EXPECT_EQ(untilFirst.kind, TraceDifference::Kind::None);
  EXPECT_FALSE(untilFirst.isOfOtherStore);
  EXPECT_EQ(untilFirst.compared, 1u); // what lies in memory
  const TraceDifference untilSecond = compareUntil(8);
  EXPECT_EQ(untilSecond.kind, TraceDifference::Kind::Value);
  EXPECT_EQ(untilSecond.first, 1u);
}

TEST(TraceComparison, KnowsWhichStoreLeftTheBits) {
  EXPECT_TRUE(compareUntil(9).isOfOtherStore);
  EXPECT_EQ(compareUntil(9).kind, TraceDifference::Kind::None);
}

// The first open result that is another is told, and the loads that differ, the furthest first.
TEST(TraceComparison, TellsOpenResultsAndLoads) {
  std::vector<TraceSite> open = sites();
  open[2].isOpen = true;
  const TraceDifference result = compareTraces(traceOf(1, 3), traceOf(2, 4), open, {});
  EXPECT_EQ(result.kind, TraceDifference::Kind::None);
  ASSERT_TRUE(result.other);
  EXPECT_EQ(std::pair(result.other->first, result.other->second), std::pair(1ul, 2ul));

  std::vector<TraceSite> loads = sites();
  loads[2].isLoad = true;
  loads[2].type = Type::F32;
  TraceRules rules;
  rules.given = Given::Loads;
  const TraceDifference loaded =
      compareTraces(traceOf(0x3f800000, 0x3f800000), traceOf(0x3f800001, 0x40000000), loads, rules);
  EXPECT_EQ(loaded.kind, TraceDifference::Kind::None);
  ASSERT_EQ(loaded.loads.size(), 2u);
  EXPECT_EQ(loaded.loads[0].second, 0x40000000u);
  EXPECT_EQ(loaded.loads[0].place.first, kPlace);
}

} // namespace
