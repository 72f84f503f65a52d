// SPDX-License-Identifier: Apache-2.0
// Loops that threads leave in different rounds, within loops in which all of a warp or CTA meet.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

namespace {

std::vector<uint32_t> someRounds() {
  std::vector<uint32_t> rounds;
  for (uint32_t i = 0; i < 64; ++i)
    rounds.push_back(1 + i * 7 % 5);
  return rounds;
}

Form twoWarps() {
  Form form;
  form.block = {64, 1, 1};
  return form;
}

// %r3 counts the rounds of an inner loop, of which each thread does as many as its word says; then
// `meet` brings the neighbour's count to %r6, and %r7 is the sum of those; `outer` times.
std::string nested(const std::string &meet, bool ownHeader, const std::string &times = "3") {
  return executable(R"(
    ld.global.u32 %r5, [%mine];
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; xor.b32 %r8, %r2, 4;
    add.u32 %r8, %r8, %r1; add.u32 %r1, %r1, %r2;
    mov.u32 %r3, 0; mov.u32 %r7, 0; mov.u32 %r10, 0; mov.u32 %r4, 0;
  )" + std::string(ownHeader ? "O: mov.u32 %r4, 0;" : "") +
                        R"(
  L:
    add.u32 %r4, %r4, 1; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p0, %r4, %r5; @%p0 bra L;
    )" + meet + R"( add.u32 %r7, %r7, %r6;
    mov.u32 %r4, 0;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, )" +
                        times + "; @%p1 bra " + (ownHeader ? "O" : "L") +
                        "; st.global.u32 [%mine], %r7;",
                    R"(.shared .align 4 .b8 s[256];
.func (.param .b32 r) exchange(.param .b32 a) {
  .reg .b32 %r<2>;
  ld.param.b32 %r0, [a]; shfl.sync.bfly.b32 %r1, %r0, 1, 31, -1;
  st.param.b32 [r], %r1; ret;
}
)");
}

const char *const kMeetings[] = {
    "shfl.sync.bfly.b32 %r6, %r3, 1, 31, -1;",
    "bar.warp.sync -1; st.shared.u32 [%r1], %r3; bar.sync 0; ld.shared.u32 %r6, [%r8]; bar.sync 0;",
    "st.shared.u32 [%r1], %r3; bar.sync 0; ld.shared.u32 %r6, [%r8]; bar.sync 0;",
    "st.shared.u32 [%r1], %r3; barrier.sync 1; ld.shared.u32 %r6, [%r8]; barrier.sync 1;",
    "st.shared.u32 [%r1], %r3; bar.sync 1, 64; ld.shared.u32 %r6, [%r8]; bar.sync 1, 64;",
    R"({ .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), exchange, (a);
         ld.param.b32 %r6, [r]; })",
};

} // namespace

TEST(NestedLoopExecution, AllMeetBehindTheInnerLoop) {
  const std::vector<uint32_t> rounds = someRounds();
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 64; ++i)
    expected.push_back(rounds[i ^ 1] * (1 + 2 + 3));
  for (const char *meet : kMeetings)
    for (bool ownHeader : {false, true}) {
      SCOPED_TRACE(std::string(meet) + (ownHeader ? " own header" : " one header"));
      EXPECT_EQ(runOnAllTargets(nested(meet, ownHeader), rounds, twoWarps()), expected);
    }
  EXPECT_EQ(runAll(nested(kMeetings[0], false), rounds, twoWarps()), expected);
}

TEST(NestedLoopExecution, ThreeLoopsWithOneHeader) {
  std::string ptx = executable(R"(
    ld.global.u32 %r5, [%mine];
    mov.u32 %r3, 0; mov.u32 %r7, 0; mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r4, 0;
  L:
    add.u32 %r4, %r4, 1; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p0, %r4, %r5; @%p0 bra L;
    shfl.sync.bfly.b32 %r6, %r3, 1, 31, -1; add.u32 %r7, %r7, %r6; mov.u32 %r4, 0;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 2; @%p1 bra L;
    shfl.sync.bfly.b32 %r6, %r7, 3, 31, -1; mad.lo.u32 %r7, %r7, 3, %r6; mov.u32 %r10, 0;
    add.u32 %r11, %r11, 1; setp.lt.u32 %p2, %r11, 2; @%p2 bra L;
    st.global.u32 [%mine], %r7;)");
  const std::vector<uint32_t> rounds = someRounds();
  std::vector<uint32_t> count(64, 0), sum(64, 0);
  for (unsigned j = 0; j < 2; ++j) {
    for (unsigned k = 0; k < 2; ++k) {
      for (uint32_t i = 0; i < 64; ++i)
        count[i] += rounds[i];
      for (uint32_t i = 0; i < 64; ++i)
        sum[i] += count[i ^ 1];
    }
    std::vector<uint32_t> old = sum;
    for (uint32_t i = 0; i < 64; ++i)
      sum[i] = old[i] * 3 + old[i ^ 3];
  }
  EXPECT_EQ(runOnAllTargets(ptx, rounds, twoWarps()), sum);
}

// The warps leave the middle loop in different rounds, each as a whole: where two share a wave, the
// barrier is for both.
TEST(NestedLoopExecution, WarpsThatMeetInAnInnerLoop) {
  std::string ptx = executable(R"(
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r1, %r1, %r2; xor.b32 %r2, %r2, 128;
    mov.u32 %r8, s; add.u32 %r8, %r8, %r2;
    shr.u32 %r5, %tid, 5; add.u32 %r5, %r5, 1;
    mov.u32 %r4, 0; mov.u32 %r7, 0; mov.u32 %r10, 0;
  L:
    add.u32 %r4, %r4, 1; shfl.sync.bfly.b32 %r6, %tid, 1, 31, -1; add.u32 %r7, %r7, %r6;
    setp.lt.u32 %p0, %r4, %r5; @%p0 bra L;
    mov.u32 %r4, 0;
    st.shared.u32 [%r1], %r7; bar.sync 0; ld.shared.u32 %r6, [%r8]; bar.sync 0;
    add.u32 %r7, %r7, %r6;
    add.u32 %r10, %r10, 1; setp.lt.u32 %p1, %r10, 3; @%p1 bra L;
    st.global.u32 [%mine], %r7;)",
                               ".shared .align 4 .b8 s[256];");
  std::vector<uint32_t> sum(64, 0);
  for (unsigned j = 0; j < 3; ++j) {
    for (uint32_t i = 0; i < 64; ++i)
      sum[i] += (i / 32 + 1) * (i ^ 1);
    std::vector<uint32_t> old = sum;
    for (uint32_t i = 0; i < 64; ++i)
      sum[i] += old[i ^ 32];
  }
  EXPECT_EQ(runOnAllTargets(ptx, counting(64), twoWarps()), sum);
}

// `continue` behind a vote of all: those who go on must not wait for each other elsewhere.
TEST(NestedLoopExecution, AWayRoundIsNoLoop) {
  std::string ptx = executable(R"(
    ld.global.u32 %r5, [%mine]; mov.u32 %r7, 0; mov.u32 %r10, 0;
  L:
    add.u32 %r10, %r10, 1;
    and.b32 %r1, %r10, 1; and.b32 %r2, %tid, 1; setp.eq.u32 %p0, %r1, %r2;
    vote.sync.ballot.b32 %r6, %p0, -1;
    @!%p0 bra L;
    vote.sync.ballot.b32 %r8, %p0, %r6; popc.b32 %r8, %r8; add.u32 %r7, %r7, %r8;
    setp.lt.u32 %p1, %r10, 7; @%p1 bra L;
    st.global.u32 [%mine], %r7;)");
  // Odd threads count in rounds 1, 3, 5, 7 and leave; even ones in 2, 4, 6, 8.
  EXPECT_EQ(runOnAllTargets(ptx, someRounds(), twoWarps()), std::vector<uint32_t>(64, 64));
}

// A warp's first thread takes a number, which all get; with the last number all leave. What only
// that thread does at a round's end is followed by what only it does at the next one's start. Those
// who do neither must not go round without it: nothing that a round computes tells them apart.
TEST(NestedLoopExecution, WhoDoesNothingAtARoundsEndStillWaitsForTheOthers) {
  struct Way {
    const char *take, *get;
  };
  const Way ways[] = {
      {"st.shared.u32 [s], %r2;", "bar.sync 0; ld.shared.u32 %r3, [s]; bar.sync 0;"},
      {"", "shfl.sync.idx.b32 %r3, %r2, 0, 31, -1;"},
      {"st.shared.u32 [s], %r2;",
       "barrier.sync 1, 32; ld.shared.u32 %r3, [s]; barrier.sync 1, 32;"}};
  Form form;
  form.block = {32, 1, 1};
  for (const Way &way : ways) {
    const std::string ptx = executable(R"(
    setp.ne.u32 %p0, %tid, 0; @%p0 bra R; mov.u32 %r1, 0; st.shared.u32 [s+4], %r1;
  R: bar.sync 0; mov.u32 %r2, 0;
  L: @%p0 bra M;
    atom.shared.add.u32 %r2, [s+4], 1; )" + std::string(way.take) +
                                           R"(
  M: )" + way.get + R"(
    setp.ge.u32 %p1, %r3, 3; @%p1 bra E;
    ld.global.u32 %r4, [%mine]; add.u32 %r4, %r4, 1; st.global.u32 [%mine], %r4;
    setp.gt.u32 %p2, %r4, 100; @%p2 bra E;
    @%p0 bra L;
    red.global.add.u32 [%buf], %r3;
    bra L;
  E:
    )",
                                       ".shared .align 4 .b8 s[8];");
    std::vector<uint32_t> expected(32, 3);
    expected[0] += 0 + 1 + 2;
    SCOPED_TRACE(way.get);
    EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(32), form), expected);
  }
}

// The counter of a loop that threads leave one by one, in what is computed behind it: LLVM took it
// from a scalar register, which has the last thread's round (docs/errata.md).
TEST(NestedLoops, ACounterBehindTheLoopIsThatOfTheThreadsLastRound) {
  const std::string ptx = executable(R"(
    and.b32 %r0, %tid, 3;
    setp.eq.u32 %p0, %r0, 3;
    mov.u32 %r2, %tid;
    @%p0 bra E;
    mov.u32 %r1, 0;
  L:
    sub.u32 %r2, %r1, %r2;
    not.b32 %r3, %r2;
    and.b32 %r3, %r3, 3;
    add.u32 %r1, %r1, 1;
    setp.lt.u32 %p1, %r1, %r3;
    @%p1 bra L;
  E:
    st.global.u32 [%mine], %r2;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 64; ++i) {
    uint32_t value = i, round = 0;
    if (i % 4 != 3)
      do
        value = round - value;
      while (++round < (~value & 3));
    expected.push_back(value);
  }
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64), twoWarps()), expected);
}
