// SPDX-License-Identifier: Apache-2.0
// Which instructions for whole warps are noted because a branch may divide the warp, and which of
// the usual forms are not.
#include "lowering/lib/analysis/PartialWarps.h"
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

// How many instructions of kernel(body) are noted. %r0: %tid.x; %r1: %ctaid.x; %r2: n; %r3: loaded
// by each thread from its own address.
std::vector<PartialWarp> found(const std::string &body) {
  ptx::Module module = parsed(kernel(R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; ld.param.u32 %r2, [n]; ld.param.u64 %rd0, [p];
    mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0; ld.global.u32 %r3, [%rd1];
    )" + body));
  const Unit unit = partition(module)[0];
  RowWarps warps(unit);
  return findPartialWarps(unit, findWarpMeetings(unit, warps), warps);
}

size_t notes(const std::string &body) { return found(body).size(); }

// Behind a branch on a condition that `code` leaves in %p0; all meet afterwards.
size_t notesIf(const std::string &code, const std::string &inside) {
  return notes(code + " @%p0 bra L;" + inside + "L: vote.sync.any.pred %p2, %p1, %r3;");
}

const std::string kShuffle = "shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;";

} // namespace

TEST(PartialWarps, BranchesOfLanes) {
  for (const char *condition :
       {"setp.eq.u32 %p0, %r0, 3;", "setp.lt.u32 %p0, %r0, %r2;", "setp.lt.u32 %p0, %r0, 16;",
        "setp.gt.u32 %p0, %r0, 32;", "setp.eq.u32 %p0, %r3, 0;",
        "and.b32 %r5, %r0, 31; setp.eq.u32 %p0, %r5, 0;",
        "shr.u32 %r5, %r0, 4; setp.eq.u32 %p0, %r5, 0;",
        "mov.u32 %r5, %laneid; setp.lt.u32 %p0, %r5, 16;",
        "add.u32 %r5, %r0, 5; setp.lt.u32 %p0, %r5, 64;"})
    EXPECT_EQ(notesIf(condition, kShuffle), 1u) << condition;
}

TEST(PartialWarps, BranchesOfWarpsAndCtas) {
  for (const char *condition :
       {"setp.lt.u32 %p0, %r0, 32;", "setp.gt.u32 %p0, %r0, 31;", "setp.ge.s32 %p0, %r0, 64;",
        "shr.u32 %r5, %r0, 5; setp.eq.u32 %p0, %r5, 0;",
        "div.u32 %r5, %r0, 32; setp.ne.u32 %p0, %r5, 0;",
        "shr.s32 %r5, %r0, 31; shr.u32 %r6, %r5, 27; add.s32 %r7, %r0, %r6; shr.s32 %r8, %r7, 5;"
        "setp.eq.s32 %p0, %r8, 0;", // int / 32
        "and.b32 %r5, %r0, 992; setp.eq.u32 %p0, %r5, 0;",
        "mov.u32 %r5, %ntid.x; mad.lo.u32 %r6, %r1, %r5, %r0; shr.u32 %r7, %r6, 5;"
        "setp.lt.u32 %p0, %r7, %r2;",
        "mov.u32 %r5, %tid.y; setp.eq.u32 %p0, %r5, 0;",
        "mov.u32 %r5, %warpid; setp.eq.u32 %p0, %r5, 0;", "setp.lt.u32 %p0, %r1, %r2;",
        "ld.global.u32 %r5, [%rd0]; setp.eq.u32 %p0, %r5, 0;",
        "ld.volatile.global.u32 %r5, [%rd0]; setp.eq.u32 %p0, %r5, 0;",
        "setp.lt.u32 %p1, %r3, 9; vote.sync.any.pred %p0, %p1, -1;",
        "shfl.sync.idx.b32 %r5, %r3, 0, 31, -1; setp.eq.u32 %p0, %r5, 0;"})
    EXPECT_EQ(notesIf(condition, kShuffle), 0u) << condition;
}

TEST(PartialWarps, ThreadsThatHaveLeftDoNotCount) {
  EXPECT_EQ(notes("setp.ge.u32 %p0, %r0, %r2; @%p0 ret;" + kShuffle), 0u);
  EXPECT_EQ(
      notes("setp.lt.u32 %p0, %r0, %r2; @%p0 bra L; st.global.u32 [%rd1], 0; ret; L:" + kShuffle),
      0u)
      << "whatever they do before";
}

TEST(PartialWarps, MasksOfTheBranch) {
  const std::string lanes = "setp.lt.u32 %p0, %r0, 5;";
  EXPECT_EQ(notesIf(lanes, "activemask.b32 %r6; shfl.sync.bfly.b32 %r4, %r3, 1, 31, %r6;"), 0u);
  EXPECT_EQ(
      notesIf(lanes + "vote.sync.ballot.b32 %r6, !%p0, -1;", "redux.sync.add.u32 %r4, %r3, %r6;"),
      0u);
  EXPECT_EQ(notesIf(lanes, "shfl.sync.bfly.b32 %r4, %r3, 1, 31, 0xffffffe0;"), 0u);
  EXPECT_EQ(notesIf(lanes, "mov.u32 %r6, -1; shfl.sync.bfly.b32 %r4, %r3, 1, 31, %r6;"), 1u)
      << "a constant, as nvcc passes it to inline assembly";
}

TEST(PartialWarps, EveryInstructionOfAWarp) {
  const std::string lanes = "setp.lt.u32 %p0, %r0, 5;";
  for (const char *instruction :
       {"vote.sync.all.pred %p1, %p2, -1;", "vote.sync.ballot.b32 %r4, %p2, 0xffffffff;",
        "match.any.sync.b32 %r4, %r3, -1;", "redux.sync.add.u32 %r4, %r3, -1;",
        "elect.sync %r4|%p1, -1;", "bar.warp.sync -1;", "bar.sync 0;",
        "barrier.red.popc.aligned.u32 %r4, 0, %p1;"})
    EXPECT_EQ(notesIf(lanes, instruction), 1u) << instruction;
  EXPECT_EQ(notesIf(lanes, "barrier.sync 0; bar.arrive 1, 64; activemask.b32 %r4;"), 0u);
  EXPECT_EQ(notes(lanes + "@%p0 " + kShuffle), 1u) << "a guard";
}

TEST(PartialWarps, LoopsOfLanes) {
  EXPECT_EQ(notes("mov.u32 %r5, 0; L:" + kShuffle +
                  "add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, %r3; @%p0 bra L; bar.sync 0;"),
            1u);
  EXPECT_EQ(notes("mov.u32 %r5, 0; L:" + kShuffle +
                  "add.u32 %r5, %r5, 1; setp.lt.u32 %p0, %r5, %r2; @%p0 bra L;"),
            0u);
}

// What nvcc makes of a loop in which the first lane does more.
std::string twoLoops(const std::string &inside) {
  const std::string loop = inside + "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r2; ";
  return "and.b32 %r4, %r0, 31; setp.eq.u32 %p0, %r4, 0; mov.u32 %r5, 0; @%p0 bra FIRST;"
         "OTHERS: " +
         loop + "@%p1 bra OTHERS; bra DONE; FIRST: " + loop +
         "st.global.u32 [%rd1], %r6; @%p1 bra FIRST; DONE: st.global.u32 [%rd1], %r6;";
}

// The instructions of kernel(body) that threads of several ways execute at one place, by place.
std::vector<size_t> places(const std::string &body) {
  ptx::Module module = parsed(kernel("mov.u32 %r0, %tid.x; ld.param.u32 %r2, [n];" + body));
  const Unit unit = partition(module)[0];
  RowWarps warps(unit);
  std::vector<size_t> found;
  for (const auto &[function, meetings] : findWarpMeetings(unit, warps))
    for (const auto &place : meetings.places)
      found.push_back(place.size());
  return found;
}

// Of each branch whose ways are too long for that, how many instructions of them it has.
std::vector<size_t> onLongWays(const std::string &body) {
  ptx::Module module = parsed(kernel("mov.u32 %r0, %tid.x; ld.param.u32 %r2, [n];" + body));
  const Unit unit = partition(module)[0];
  RowWarps warps(unit);
  std::vector<size_t> found;
  for (const auto &[function, meetings] : findWarpMeetings(unit, warps))
    for (const Meetings::LongWays &ways : meetings.longWays)
      found.push_back(ways.instructions.size());
  return found;
}

const std::string kLane = "and.b32 %r4, %r0, 31; setp.eq.u32 %p0, %r4, 0; @%p0 bra A;";

// They end the kernel then, which is no matter for a note.
TEST(PartialWarps, LongWaysAreNotJoined) {
  auto ways = [](size_t instructions) {
    std::string code = kLane + kShuffle;
    for (size_t i = 0; i < instructions; ++i)
      code += "add.u32 %r6, %r6, %r2;";
    return code + "bra B; A: " + kShuffle + "B:";
  };
  // Beside these there are two shuffles and a branch.
  EXPECT_THAT(places(ways(kMostOnWays - 3)), ElementsAre(2));
  EXPECT_THAT(onLongWays(ways(kMostOnWays - 3)), IsEmpty());
  EXPECT_THAT(places(ways(kMostOnWays - 2)), IsEmpty());
  EXPECT_THAT(onLongWays(ways(kMostOnWays - 2)), ElementsAre(2));
  EXPECT_EQ(notes(ways(kMostOnWays - 2)), 0u);
}

TEST(PartialWarps, ThreadsOfSeveralWaysMeet) {
  EXPECT_THAT(places(twoLoops("shfl.sync.bfly.b32 %r6, %r3, 1, 31, -1;"
                              "shfl.sync.bfly.b32 %r6, %r6, 2, 31, -1;")),
              ElementsAre(2, 2));
  EXPECT_THAT(places(kLane + kShuffle + "bra B; A: " + kShuffle + "B:"), ElementsAre(2));
  EXPECT_THAT(places(twoLoops("bar.warp.sync -1;")), ElementsAre(2));
  EXPECT_THAT(places(twoLoops("bar.sync 0;")), IsEmpty());
  EXPECT_EQ(notes(twoLoops(kShuffle)), 0u);

  // Behind a loop all meet that leave it, also where others end within.
  for (const char *end :
       {"", "setp.eq.u32 %p2, %r2, 5; @%p2 exit;", "setp.eq.u32 %p2, %r0, 5; @%p2 bra END;"})
    for (const char *behind :
         {"", "M: add.u32 %r5, %r5, 1; setp.lt.u32 %p3, %r5, %r2; @%p3 bra M;"})
      EXPECT_THAT(places("L: " + kShuffle + end + "setp.lt.u32 %p1, %r0, %r2; @%p1 bra L;" +
                         kShuffle + behind + "END: ret;"),
                  IsEmpty())
          << end << behind;

  const std::string mask = "vote.sync.ballot.b32 %r7, %p0, -1;",
                    masked = "shfl.sync.bfly.b32 %r6, %r3, 1, 31, %r7;";
  EXPECT_THAT(places(mask + kLane + masked + "bra B; A: " + masked + "B:"), ElementsAre(2));
  EXPECT_THAT(places(kLane + "activemask.b32 %r7;" + masked + "bra B; A: activemask.b32 %r7;" +
                     masked + "B:"),
              IsEmpty())
      << "each way has a mask of its own";
  EXPECT_THAT(
      places("setp.lt.u32 %p0, %r2, 3; @%p0 bra A;" + kShuffle + "bra B; A: " + kShuffle + "B:"),
      IsEmpty())
      << "the branch divides no warp";
}

// A vote of the whole warp gives all threads the same, also in a loop that some may leave.
TEST(PartialWarps, BranchesOnVotesDivideNoWarp) {
  const std::string loop = "L: ", back = "setp.lt.u32 %p3, %r0, %r2; @%p3 bra L;",
                    vote = "vote.sync.ballot.b32 %r7, %p2, -1; setp.ne.u32 %p0, %r7, 0;",
                    ways = "@%p0 bra A;" + kShuffle + "bra B; A: " + kShuffle + "B: ";
  EXPECT_THAT(places(loop + vote + ways + back), IsEmpty());
  EXPECT_THAT(places(loop + "setp.ne.u32 %p0, %r0, 0;" + ways + back), ElementsAre(2));
}

TEST(PartialWarps, WhichMeetsWhich) {
  const std::string other = "shfl.sync.bfly.b32 %r6, %r3, 2, 31, -1;",
                    lanes = "setp.lt.u32 %p1, %r0, 9; @%p1 bra C;";
  EXPECT_THAT(places(kLane + kShuffle + other + "bra B; A: " + other + kShuffle + "B:"),
              ElementsAre(2, 2))
      << "in order, with other constants";
  EXPECT_THAT(places(kLane + kShuffle + kShuffle + "bra B; A: " + kShuffle + other + "@%p1 " +
                     other + "B:"),
              ElementsAre(5))
      << "the program decides";
  const std::string barrier = "bar.warp.sync -1;";
  EXPECT_THAT(
      places(kLane + barrier + kShuffle + barrier + "bra B; A: " + kShuffle + barrier + "B:"),
      ElementsAre(2))
      << "the barriers are no copies";
  EXPECT_THAT(places(kLane + lanes + kShuffle + other + "bra B; C: " + kShuffle + other +
                     "bra B; A: " + kShuffle + other + "B:"),
              ElementsAre(3, 3))
      << "three ways";
}

TEST(PartialWarps, WhatDoesNotMeetOnSeveralWays) {
  const std::string vote = "vote.sync.any.pred %p1, %p2, -1;";
  EXPECT_THAT(places(kLane + kShuffle + "bra B; A: " + vote + "B:"), IsEmpty());
  EXPECT_THAT(places(kLane + kShuffle + "bra B; A: shfl.sync.up.b32 %r4, %r3, 1, 0, -1; B:"),
              IsEmpty());
  EXPECT_THAT(
      places(kLane + kShuffle + "bra B; A: shfl.sync.bfly.b32 %r4, %r3, 1, 31, 0xfffffffe; B:"),
      IsEmpty());
  EXPECT_EQ(notes(kLane + kShuffle + "bra B; A: " + vote + "B:"), 2u);
  EXPECT_THAT(places(kLane + kShuffle + "bra B; A: B: " + kShuffle), IsEmpty());
  EXPECT_THAT(places("LOOP: " + kLane + kShuffle + "bra B; A: B: " + kShuffle +
                     "setp.lt.u32 %p1, %r0, %r2; @%p1 bra LOOP;"),
              IsEmpty())
      << "the next round is another visit";
}

TEST(PartialWarps, TheMetadataNamesBoth) {
  Lowered result = lowered(kernel(R"(
  mov.u32 %r0, %tid.x; setp.eq.u32 %p0, %r0, 3;
  .loc 1 7 0
  @%p0 bra L;
  .loc 1 8 0
  bar.warp.sync -1;
  bar.warp.sync -1;
  L: bar.sync 0;
  ret;)",
                                  ".file 1 \"a.cu\"\n"));
  EXPECT_THAT(
      result.metadata(),
      HasSubstr(R"("partialWarps":["k:18 (a.cu:8): 'bar.warp.sync' (and 1 more) is for all )"
                R"(threads of the warp, which k:16 (a.cu:7) ('bra') may divide"])"));
}
