// SPDX-License-Identifier: Apache-2.0
// Threads that wait for one another, and go on in turns.
#include "tests/lowering/execution/Waits.h"
#include "llvm/ADT/StringRef.h"
#include <numeric>

using namespace rubia::lowering::test;

TEST(WarpTurns, LockWithAPause) {
  // The first attempt stands in front of the loop.
  std::string ptx = executable(std::string(R"(
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
    mov.u32 %r1, 8;
  AGAIN:
    nanosleep.u32 %r1;
    setp.lt.u32 %p1, %r1, 64; selp.u32 %r2, 1, 0, %p1; shl.b32 %r1, %r1, %r2;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
  TAKEN:)") + kCount + "atom.global.exch.b32 %r3, [%buf], 0;");
  std::vector<uint32_t> expected = {0, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, LockWhoseLoopIsUnrolled) {
  std::string ptx = executable(std::string(R"(
    mov.u32 %r1, 0;
  AGAIN:
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
    setp.gt.u32 %p1, %r1, 100000; @%p1 bra END;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
    add.u32 %r1, %r1, 3; bra AGAIN;
  TAKEN:)") + kCount + "st.release.gpu.global.u32 [%buf], 0;\nEND:");
  std::vector<uint32_t> expected = {0, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, LockThatIsLookedAtBeforeItIsTaken) {
  std::string ptx = executable(std::string(R"(
    mov.u32 %r1, 8;
  LOOK:
    ld.volatile.global.u32 %r0, [%buf]; setp.eq.s32 %p0, %r0, 0; @%p0 bra TRY;
  PAUSE:
    nanosleep.u32 %r1; add.u32 %r1, %r1, 4;
    ld.volatile.global.u32 %r0, [%buf]; setp.ne.s32 %p0, %r0, 0; @%p0 bra PAUSE;
  TRY:
    atom.global.exch.b32 %r2, [%buf], 1; setp.ne.s32 %p1, %r2, 0; @%p1 bra LOOK;)") +
                               kCount + "st.volatile.global.u32 [%buf], 0;");
  std::vector<uint32_t> expected = {0, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, LockByTickets) {
  std::string ptx = executable(std::string(R"(
    atom.global.add.u32 %r0, [%buf], 1;
  WAIT:
    ld.acquire.gpu.global.u32 %r1, [%buf+8]; setp.ne.u32 %p0, %r1, %r0; @%p0 bra WAIT;)") +
                               kCount + R"(
    add.u64 %rd0, %buf, 8; red.release.gpu.global.add.u32 [%rd0], 1;
    bar.sync 0;)");
  std::vector<uint32_t> expected = {64, 64, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, LockWithinALock) {
  // Thread t takes the locks t % 5 and t % 5 + 1, three times: whoever waits for the second one has
  // the first one, which others wait for.
  std::string ptx = executable(R"(
    rem.u32 %r0, %tid, 5; mul.wide.u32 %rd0, %r0, 4; add.u64 %rd0, %rd0, %buf;
    add.u64 %rd1, %rd0, 4; mov.u32 %r3, 0;
  NEXT:
    atom.global.exch.b32 %r1, [%rd0+8], 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra NEXT;
  INNER:
    atom.global.exch.b32 %r1, [%rd1+8], 1; setp.ne.u32 %p0, %r1, 0; @%p0 bra INNER;
    red.global.add.u32 [%buf+4], 1; membar.gl;
    st.volatile.global.u32 [%rd1+8], 0; st.volatile.global.u32 [%rd0+8], 0;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 3; @%p1 bra NEXT;)");
  std::vector<uint32_t> expected = {0, 192, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(8, 0), ofThreads(64)), expected);
}

TEST(WarpTurns, SemaphoreThatIsAlsoWaitedForInInnerLoops) {
  // A count of two. Who finds none left waits until there is one, in a loop within the loop.
  std::string ptx = executable(R"(
  LOOK:
    ld.acquire.gpu.global.u32 %r0, [%buf]; setp.eq.u32 %p0, %r0, 0; @%p0 bra NONE;
  TRY:
    sub.u32 %r1, %r0, 1; atom.acquire.gpu.global.cas.b32 %r2, [%buf], %r0, %r1;
    setp.eq.u32 %p1, %r2, %r0; @%p1 bra TAKEN;
    mov.u32 %r0, %r2; setp.ne.u32 %p0, %r0, 0; @%p0 bra TRY;
  NONE:
    nanosleep.u32 20;
    ld.relaxed.gpu.global.u32 %r3, [%buf]; setp.eq.u32 %p0, %r3, 0; @%p0 bra NONE;
    bra LOOK;
  TAKEN:
    red.global.add.u32 [%buf+4], 1;
    red.release.gpu.global.add.u32 [%buf], 1;
    bar.sync 0;)");
  std::vector<uint32_t> expected = {2, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {2, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, LockOfOddThreadsThatIsReleasedBehindWhatAllDo) {
  std::string ptx = executable(std::string(R"(
    and.b32 %r5, %tid, 1; setp.eq.u32 %p2, %r5, 0; @%p2 bra ALL;
  AGAIN:
    nanosleep.u32 4;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
  ALL:
    ld.volatile.global.u32 %r6, [%buf+4]; add.u32 %r6, %r6, 1;
    @%p2 bra END;
    st.volatile.global.u32 [%buf+4], %r6; membar.gl;
    atom.global.exch.b32 %r3, [%buf], 0;
  END:)"));
  std::vector<uint32_t> expected = {0, 32};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, ThreadsOfAWarpOneAfterTheOther) {
  // A chain: each thread waits for the flag of the one before it and then sets its own.
  std::string ptx = executable(R"(
    setp.eq.u32 %p0, %tid, 0; @%p0 bra GO;
  WAIT:
    ld.volatile.global.u32 %r0, [%mine+-4]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;
  GO:
    add.u32 %r1, %tid, 1; st.volatile.global.u32 [%mine], %r1;)");
  std::vector<uint32_t> expected(32);
  std::iota(expected.begin(), expected.end(), 1);
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(32, 0), ofThreads(32)), expected);
}

TEST(WarpTurns, ThreadsThatWaitByAFlagOfTheLoop) {
  const std::string ptx = executable(std::string(R"(
    mov.u32 %r1, 0;
  WAIT:
    ld.acquire.gpu.global.u32 %r0, [%buf]; setp.ne.u32 %p0, %r0, %tid; @%p0 bra NOT;
    mov.u32 %r1, 1;
  NOT:
    setp.eq.u32 %p1, %r1, 0; @%p1 bra WAIT;)") +
                                     kCount + R"(
    add.u32 %r2, %r0, 1; st.release.gpu.global.u32 [%buf], %r2;)");
  const std::vector<uint32_t> expected = {64, 64};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(WarpTurns, TwoThreadsOfAWarpInTurns) {
  std::string ptx = executable(R"(
    mov.u32 %r1, 0;
  WAIT:
    ld.volatile.global.u32 %r0, [%buf]; and.b32 %r2, %r0, 1;
    setp.ne.u32 %p0, %r2, %tid; @%p0 bra WAIT;
    add.u32 %r0, %r0, 1; st.volatile.global.u32 [%buf], %r0;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 20; @%p1 bra WAIT;)");
  Form form = ofThreads(2);
  form.spinLimit = 30; // they get on
  EXPECT_EQ(runOnAllTargets(ptx, {0}, form), std::vector<uint32_t>{40});
}

TEST(WarpTurns, AnOuterLoopOfOneRoundThatAnswersTheInnerOne) {
  // Both have the same header. The optimiser finds out that the outer one never goes round.
  std::string ptx = executable(R"(
    mov.u32 %r1, 0;
  WAIT:
    ld.volatile.global.u32 %r0, [%buf]; setp.ne.u32 %p0, %r0, %tid; @%p0 bra WAIT;
    add.u32 %r0, %r0, 1; st.volatile.global.u32 [%buf], %r0;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1; @%p1 bra WAIT;)");
  EXPECT_EQ(runOnAllTargets(ptx, {0}, ofThreads(17)), std::vector<uint32_t>{17});
}

TEST(WarpTurns, LoopsOnTwoWaysThatAnswerEachOther) {
  // Of each two threads the even one hands the other one five numbers, one at a time.
  std::string pairs = executable(R"(
    shr.u32 %r0, %tid, 1; mul.wide.u32 %rd0, %r0, 8; add.u64 %rd1, %rd0, %buf;
    and.b32 %r1, %tid, 1; setp.ne.u32 %p0, %r1, 0; mov.u32 %r2, 0; mov.u32 %r3, 0;
    @%p0 bra TAKE;
  GIVE:
    ld.volatile.global.u32 %r4, [%rd1]; setp.ne.u32 %p1, %r4, 0; @%p1 bra GIVE;
    add.u32 %r2, %r2, 1; mad.lo.u32 %r6, %r2, 100, %tid;
    st.volatile.global.u32 [%rd1+4], %r6; membar.gl; st.volatile.global.u32 [%rd1], 1;
    setp.lt.u32 %p2, %r2, 5; @%p2 bra GIVE; bra END;
  TAKE:
    ld.volatile.global.u32 %r4, [%rd1]; setp.eq.u32 %p1, %r4, 0; @%p1 bra TAKE;
    ld.volatile.global.u32 %r6, [%rd1+4]; add.u32 %r3, %r3, %r6; membar.gl;
    st.volatile.global.u32 [%rd1], 0;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra TAKE;
  END:
    st.global.u32 [%mine+256], %r3;)");
  std::vector<uint32_t> result =
      runOnAllTargets(pairs, std::vector<uint32_t>(128, 0), ofThreads(64));
  for (uint32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(result[64 + thread], thread % 2 ? 1500 + 5 * (thread - 1) : 0) << thread;

  // One thread fills a ring of four words, the next one empties it; the others do neither. Each
  // loop looks at both counts.
  std::string ring = executable(R"(
    mov.u32 %r2, 0; mov.u32 %r3, 0;
    setp.eq.u32 %p0, %tid, 0; @%p0 bra FILL;
    setp.ne.u32 %p0, %tid, 1; @%p0 bra END;
  EMPTY:
    ld.volatile.global.u32 %r4, [%buf]; ld.volatile.global.u32 %r5, [%buf+4];
    setp.eq.u32 %p1, %r4, %r5; @%p1 bra EMPTY;
    and.b32 %r6, %r2, 3; mul.wide.u32 %rd0, %r6, 4; add.u64 %rd0, %rd0, %buf;
    ld.volatile.global.u32 %r6, [%rd0+8]; add.u32 %r3, %r3, %r6; membar.gl;
    add.u32 %r2, %r2, 1; st.volatile.global.u32 [%buf+4], %r2;
    setp.lt.u32 %p2, %r2, 20; @%p2 bra EMPTY; bra END;
  FILL:
    ld.volatile.global.u32 %r5, [%buf+4]; ld.volatile.global.u32 %r4, [%buf];
    sub.u32 %r6, %r4, %r5; setp.eq.u32 %p1, %r6, 4; @%p1 bra FILL;
    and.b32 %r6, %r2, 3; mul.wide.u32 %rd0, %r6, 4; add.u64 %rd0, %rd0, %buf;
    mul.lo.u32 %r6, %r2, %r2; st.volatile.global.u32 [%rd0+8], %r6; membar.gl;
    add.u32 %r2, %r2, 1; st.volatile.global.u32 [%buf], %r2;
    setp.lt.u32 %p2, %r2, 20; @%p2 bra FILL;
  END:
    st.global.u32 [%mine+24], %r3;)");
  result = runOnAllTargets(ring, std::vector<uint32_t>(38, 0), ofThreads(32));
  EXPECT_EQ(result[7], 2470u); // the squares up to 19
}

TEST(WarpTurns, LockThatIsTakenInEachRoundOfALoop) {
  // One label for both: to LLVM that is one loop, from which it makes two.
  std::string ptx = executable(std::string(R"(
    mov.u32 %r1, 0;
  AGAIN:
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.u32 %p0, %r0, 0; @%p0 bra AGAIN;)") +
                               kCount + R"(
    st.release.gpu.global.u32 [%buf], 0;
    mad.lo.u32 %r2, %r2, 5, %r9;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 3; @%p1 bra AGAIN;)");
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), (std::vector<uint32_t>{0, 192}));
}

TEST(WarpTurns, WaitsByAtomicOperationsThatTakeNothing) {
  // Of each two threads the even one hands its number on, and gets the other one's back.
  auto handsOn = [](const std::string &even, const std::string &odd) {
    std::string ptx = executable(R"(
      and.b32 %r1, %tid, -2; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %buf;
      mov.u32 %r2, 0; sub.u32 %r1, %tid, %r1; setp.ne.u32 %p0, %r1, 0; @%p0 bra ODD;
    EVEN:
      )" + even + R"(
      st.volatile.global.u32 [%rd1+4], %tid; membar.gl; atom.global.exch.b32 %r0, [%rd1], 1;
      add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra EVEN; bra END;
    ODD:
      )" + odd + R"(
      ld.volatile.global.u32 %r3, [%rd1+4]; add.u32 %r4, %r4, %r3; membar.gl;
      st.volatile.global.u32 [%rd1], 0;
      add.u32 %r2, %r2, 1; setp.lt.u32 %p2, %r2, 5; @%p2 bra ODD;
      st.global.u32 [%mine], %r4;
    END:)");
    std::vector<uint32_t> expected(64, 0);
    for (uint32_t thread = 1; thread < 64; thread += 2)
      expected[thread] = 5 * (thread - 1);
    EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), ofThreads(64)), expected) << ptx;
  };
  const std::string wait = "setp.ne.u32 %p1, %r0, ";
  handsOn("mov.u32 %r4, 0; X: atom.global.or.b32 %r0, [%rd1], 0; " + wait + "0; @%p1 bra X;",
          "Y: atom.global.or.b32 %r0, [%rd1], 0; " + wait + "1; @%p1 bra Y;");
  handsOn("X: atom.global.add.u32 %r0, [%rd1], 0; setp.eq.u32 %p1, %r0, 0; @%p1 bra XX;"
          "atom.global.or.b32 %r0, [%rd1], 0; " +
              wait + "0; @%p1 bra X; XX:",
          "Y: atom.global.cas.b32 %r0, [%rd1], 1, 1; " + wait + "1; @%p1 bra Y;");
  handsOn("X: atom.global.cas.b32 %r0, [%rd1], 0, 5; " + wait + "0; @%p1 bra X;",
          "Y: atom.global.cas.b32 %r0, [%rd1], 1, 7; " + wait + "1; @%p1 bra Y;");
}

TEST(WarpTurns, ABarrierThatIsACountOnTwoWays) {
  // Who has come last on one of them passes by the loop.
  std::string ptx = executable(R"(
    rem.u32 %r0, %tid, 3; setp.eq.u32 %p0, %r0, 0; @%p0 bra OTHER;
    atom.global.add.u32 %r0, [%buf], 1;
    ld.acquire.gpu.global.u32 %r0, [%buf]; setp.ge.u32 %p1, %r0, 24; @%p1 bra END;
  PAUSE:
    nanosleep.u32 20;
    ld.acquire.gpu.global.u32 %r0, [%buf]; setp.lt.u32 %p1, %r0, 24; @%p1 bra PAUSE;
    bra END;
  OTHER:
    atom.global.add.u32 %r0, [%buf], 1;
  WAIT:
    ld.acquire.gpu.global.u32 %r0, [%buf]; setp.lt.u32 %p1, %r0, 24; @%p1 bra WAIT;
  END:)");
  EXPECT_EQ(runOnAllTargets(ptx, {0}, ofThreads(24)), std::vector<uint32_t>{24});
}

TEST(WarpTurns, WhatAllDoInALoopWhoseRoundsBeginInTurns) {
  // An atomic operation that may answer the loops before is the first of each round, so that
  // threads take turns up to there. The vote behind it is of all.
  std::string ptx = executable(R"(
    and.b32 %r1, %tid, -2; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %buf;
    setp.eq.u32 %p0, %r1, %tid; mov.u32 %r7, 0; @%p0 bra FIRST;
  SECOND:
    atom.global.or.b32 %r0, [%rd1], 0; setp.ne.u32 %p1, %r0, 1; @%p1 bra SECOND;
    add.u32 %r7, %r7, %r0; bra BOTH;
  FIRST:
    ld.relaxed.gpu.global.u32 %r0, [%rd1]; setp.ne.u32 %p1, %r0, 0; @%p1 bra FIRST;
    st.release.gpu.global.u32 [%rd1], 1;
  BOTH:
    mov.u32 %r2, 0;
  NEXT:
    atom.global.add.u32 %r3, [%rd1+512], 0;
    vote.sync.ballot.b32 %r4, %p0, -1; add.u32 %r7, %r7, %r4;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 2; @%p1 bra NEXT;
    st.global.u32 [%mine+256], %r7;)");
  std::vector<uint32_t> result = runOnAllTargets(ptx, std::vector<uint32_t>(256, 0), ofThreads(64));
  for (uint32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(result[64 + thread], 0xaaaaaaaa + thread % 2) << thread;
}

TEST(WarpTurns, WaysThatMeetInEachRoundOfALoop) {
  // What lies between the first answer and the wait behind it is no answer.
  std::string ptx = executable(R"(
    rem.u32 %r8, %tid, 2; mul.wide.u32 %rd2, %r8, 4; add.u64 %rd2, %rd2, %buf;
  WAIT:
    ld.volatile.global.u32 %r0, [%rd2]; setp.gt.u32 %p1, %r0, %tid; @%p1 bra WAIT;
    st.volatile.global.u32 [%rd2], 0;
    and.b32 %r1, %tid, -2; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %buf;
    setp.eq.u32 %p0, %r1, %tid; mov.u32 %r2, 0; mov.u32 %r7, 0;
  NEXT:
    add.u32 %r2, %r2, 1; @%p0 bra TAKE;
    st.volatile.global.u32 [%rd1+64], %r2; add.u32 %r4, %r2, 0;
  GIVE:
    ld.volatile.global.u32 %r0, [%rd1+68]; setp.ne.u32 %p1, %r0, %r4; @%p1 bra GIVE;
    bra MEET;
  TAKE:
    ld.volatile.global.u32 %r0, [%rd1+64]; setp.ne.u32 %p1, %r0, %r2; @%p1 bra TAKE;
    st.volatile.global.u32 [%rd1+68], %r2;
  MEET:
    vote.sync.ballot.b32 %r6, %p0, -1; add.u32 %r7, %r7, %r6;
    setp.lt.u32 %p1, %r2, 3; @%p1 bra NEXT;
    st.global.u32 [%mine+512], %r7;)");
  std::vector<uint32_t> result = runOnAllTargets(ptx, std::vector<uint32_t>(192, 0), ofThreads(64));
  for (uint32_t thread = 0; thread < 64; ++thread)
    EXPECT_EQ(result[128 + thread], 0xffffffff) << thread;
}

TEST(WarpTurns, WaysOfAJumpTable) {
  // The first way waits for the second one, that for the third one, which waits for nobody.
  for (const char *ways : {"A, B, C", "C, B, A", "B, A, C"}) {
    std::string ptx = executable(std::string(R"(
      rem.u32 %r0, %tid, 3; div.u32 %r1, %tid, 3; mul.wide.u32 %rd1, %r1, 16;
      add.u64 %rd1, %rd1, %buf; ways: .branchtargets )") +
                                 ways + R"(; brx.idx %r0, ways;
    A:
      ld.volatile.global.u32 %r2, [%rd1]; setp.eq.u32 %p0, %r2, 0; @%p0 bra A;
      st.volatile.global.u32 [%rd1+8], %r2; bra END;
    B:
      ld.volatile.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p0, %r2, 0; @%p0 bra B;
      st.volatile.global.u32 [%rd1], %r2; bra END;
    C:
      st.volatile.global.u32 [%rd1+4], 7;
    END:)");
    const std::vector<uint32_t> result =
        runOnAllTargets(ptx, std::vector<uint32_t>(40, 0), ofThreads(30));
    for (uint32_t group = 0; group < 10; ++group)
      EXPECT_EQ(result[4 * group + 2], 7u) << ways;
  }
}

TEST(WarpTurns, OneLockOnTwoWays) {
  // One way's first attempt stands in front of its loop, the other way's loop is unrolled. Each
  // computes the address by itself, in two steps in one register. Then all wait for their turn.
  const std::string paused = std::string(R"(
    and.b32 %r5, %tid, 0; mul.wide.u32 %rd1, %r5, 8; add.u64 %rd1, %rd1, %buf;
    mov.u32 %r1, 8; atom.global.cas.b32 %r0, [%rd1], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
  AGAIN:
    nanosleep.u32 %r1; shl.b32 %r1, %r1, 1; min.u32 %r1, %r1, 64;
    atom.global.cas.b32 %r0, [%rd1], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
  TAKEN:
    atom.global.exch.b32 %r0, [%buf+8], 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra TAKEN;)") +
                             kCount + R"(
    st.release.gpu.global.u32 [%buf+8], 0; atom.global.exch.b32 %r3, [%rd1], 0; bra END;
)";
  const std::string unrolled = std::string(R"(
    and.b32 %r5, %tid, 0; mul.wide.u32 %rd2, %r5, 8; add.u64 %rd2, %rd2, %buf;
  SPIN:
    atom.global.exch.b32 %r0, [%rd2], 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra MINE;
    atom.global.exch.b32 %r0, [%rd2], 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra SPIN;
  MINE:)") + kCount + R"(
    and.b32 %r4, %tid, 1; setp.eq.u32 %p3, %r4, 0;
    @%p3 st.volatile.global.u32 [%rd2], 0; @!%p3 st.release.gpu.global.u32 [%rd2], 0; bra END;
)";
  for (bool isPausedFirst : {false, true}) {
    std::string ptx = executable(
        "rem.u32 %r4, %tid, 3; setp.eq.u32 %p3, %r4, 0; @%p3 bra OTHER;\n" +
        (isPausedFirst ? paused : unrolled) + "OTHER:\n" + (isPausedFirst ? unrolled : paused) + R"(
  END:
    ld.volatile.global.u32 %r0, [%buf+12]; setp.ne.u32 %p0, %r0, %tid; @%p0 bra END;
    add.u32 %r0, %r0, 1; st.volatile.global.u32 [%buf+12], %r0;)");
    EXPECT_EQ(runOnAllTargets(ptx, {0, 0, 0, 0}, ofThreads(64)),
              (std::vector<uint32_t>{0, 64, 0, 64}));
  }
}

TEST(WarpTurns, OneLockThatIsTakenInFrontOfTurnsAndInALoop) {
  // Who has it goes on in turns, where all come; so do those who wait for it on the other way.
  const std::string paused = std::string(R"(
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
  AGAIN:
    nanosleep.u32 20;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
  TAKEN:)") + kCount + "st.release.gpu.global.u32 [%buf], 0; bra END;\n";
  const std::string kept = std::string(R"(
  SPIN:
    atom.global.exch.b32 %r0, [%buf], 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra SPIN;)") +
                           kCount + "st.volatile.global.u32 [%buf], 0; bra END;\n";
  const std::string inside = std::string(R"(
    mov.u32 %r1, 0;
  TRY:
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra NEXT;)") +
                             kCount + R"(
    atom.global.exch.b32 %r0, [%buf], 0; mov.u32 %r1, 1;
  NEXT:
    setp.eq.u32 %p0, %r1, 0; @%p0 bra TRY; bra END;
)";
  for (const std::string &other : {kept, inside})
    for (bool isPausedFirst : {false, true}) {
      std::string ptx =
          executable("rem.u32 %r4, %tid, 3; setp.eq.u32 %p3, %r4, 0; @%p3 bra OTHER;\n" +
                     (isPausedFirst ? paused : other) + "OTHER:\n" +
                     (isPausedFirst ? other : paused) + "END: st.global.u32 [%mine+8], %r4;");
      std::vector<uint32_t> result =
          runOnAllTargets(ptx, std::vector<uint32_t>(66, 0), ofThreads(64));
      EXPECT_EQ(result[0], 0u) << ptx;
      EXPECT_EQ(result[1], 64u) << ptx;
    }
}

TEST(WarpTurns, WaysWithCallsThatAnswerEachOther) {
  // Nothing in what is called is for all.
  const std::string call = "{ .param .b32 i, o; st.param.b32 [i], %r2; call (o), triple, (i);"
                           "ld.param.b32 %r2, [o]; }\n";
  std::string ptx = executable(
      R"(
    and.b32 %r1, %tid, -2; mul.wide.u32 %rd1, %r1, 4; add.u64 %rd1, %rd1, %buf;
    add.u32 %r2, %tid, 1; setp.eq.u32 %p0, %r1, %tid; @%p0 bra FIRST;
  SECOND:
    ld.volatile.global.u32 %r0, [%rd1]; setp.eq.u32 %p1, %r0, 0; @%p1 bra SECOND;
    add.u32 %r2, %r2, %r0;
    )" + call +
          R"(
    st.volatile.global.u32 [%rd1+4], %r2; bra END;
  FIRST:
    )" + call +
          R"(
    st.volatile.global.u32 [%rd1], %r2;
  WAIT:
    ld.volatile.global.u32 %r2, [%rd1+4]; setp.eq.u32 %p1, %r2, 0; @%p1 bra WAIT;
    st.volatile.global.u32 [%rd1], %r2;
  END:)",
      ".func (.param .b32 o) triple(.param .b32 i) { .reg .b32 %a; ld.param.b32 %a, [i];"
      "mul.lo.u32 %a, %a, 3; st.param.b32 [o], %a; ret; }");
  const std::vector<uint32_t> result =
      runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), ofThreads(64));
  for (uint32_t thread = 0; thread < 64; ++thread) {
    const uint32_t even = thread & ~1u;
    EXPECT_EQ(result[thread], 3 * (even + 2 + 3 * (even + 1))) << thread;
  }
}

TEST(WarpTurns, CalleesInWhichAWarpMeetsAreNotExecutedInTurns) {
  // The second warp sets the flags of the first one by one.
  std::string ptx = executable(R"(
    setp.ge.u32 %p0, %tid, 32; @%p0 bra OTHER;
  WAIT:
    ld.volatile.global.u32 %r0, [%mine]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;
    { .param .b32 i; .param .b32 o; st.param.b32 [i], %r0; call (o), f, (i);
      ld.param.b32 %r1, [o]; }
    st.volatile.global.u32 [%mine+128], %r1; bra END;
  OTHER:
    setp.ne.u32 %p0, %tid, 32; @%p0 bra END;
    mov.u32 %r6, 0; mov.u64 %rd1, %buf;
  SET:
    add.u32 %r6, %r6, 1; st.volatile.global.u32 [%rd1], %r6; nanosleep.u32 200;
    add.u64 %rd1, %rd1, 4; setp.lt.u32 %p2, %r6, 32; @%p2 bra SET;
  END:)",
                               R"(
  .func (.param .b32 o) f(.param .b32 i) {
    .reg .b32 %a<3>;
    ld.param.b32 %a1, [i]; shfl.sync.bfly.b32 %a0, %a1, 1, 31, -1; add.u32 %a2, %a0, %a1;
    st.param.b32 [o], %a2; ret;
  })");
  std::vector<uint32_t> expected(64);
  for (uint32_t lane = 0; lane < 32; ++lane) {
    expected[lane] = lane + 1;
    expected[32 + lane] = 2 * (lane & ~1u) + 3;
  }
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), ofThreads(64)), expected);
}

TEST(WarpTurns, WhoLeavesTurnsToAnswerDoesSoBeforeAllAreThrough) {
  // Some wait for another variable on a way between a wait and its answer. Who writes it then ends.
  for (const uint32_t who : {0, 31}) {
    std::string ptx = executable(R"(
      mov.u32 %r9, flag; st.volatile.shared.u32 [%r9], 0; bar.sync 0;
    WAIT:
      ld.volatile.global.u32 %r0, [%mine]; setp.ne.u32 %p1, %r0, 0; @%p1 bra WAIT;
      setp.ne.u32 %p0, %tid, )" + std::to_string(who) +
                                     R"(; @%p0 bra OTHERS;
      st.volatile.shared.u32 [%r9], 1; bra END;
    OTHERS:
      ld.volatile.shared.u32 %r1, [%r9]; setp.eq.u32 %p2, %r1, 0; @%p2 bra OTHERS;
      st.volatile.global.u32 [%mine+128], %r1;
    END:)",
                                 ".shared .align 4 .b32 flag;\n");
    std::vector<uint32_t> expected(64);
    std::fill(expected.begin() + 32, expected.end(), 1);
    expected[32 + who] = 0;
    EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), ofThreads(32)), expected);
  }
}

TEST(WarpTurns, TurnsThatBringNobodyOnAreReported) {
  // What follows the lock might release it, and does not.
  expectReport(executable(R"(
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.eq.s32 %p0, %r0, 0; @%p0 bra TAKEN;
  AGAIN:
    nanosleep.u32 8;
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
  TAKEN:
    setp.gt.u32 %p1, %tid, 1000;
    @%p1 st.volatile.global.u32 [%buf], 0;)"),
               ofThreads(32));
  // Two threads wait for each other in two loops; nobody has left.
  expectReport(executable(R"(
    setp.eq.u32 %p0, %tid, 0; @%p0 bra FIRST;
  SECOND:
    atom.global.or.b32 %r0, [%buf+4], 0; setp.eq.u32 %p1, %r0, 0; @%p1 bra SECOND;
    st.volatile.global.u32 [%mine+-4], 1; bra END;
  FIRST:
    atom.global.or.b32 %r0, [%buf], 0; setp.eq.u32 %p1, %r0, 0; @%p1 bra FIRST;
    st.volatile.global.u32 [%mine+4], 1;
  END:)"),
               ofThreads(2), 2);
  // Thread 0 goes round in a loop around a wait, in one more wait: it is in none of the two that
  // the error may name.
  expectReport(executable(R"(
    mov.u32 %r9, 0;
  OUTER:
    add.u32 %r8, %r9, 1;
  AROUND:
    setp.eq.u32 %p0, %tid, 0; @%p0 bra SKIP;
  WAIT:
    ld.volatile.global.u32 %r0, [%mine+128]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;
  SKIP:
    add.u32 %r9, %r9, 1; setp.ne.u32 %p2, %r9, 0; @%p2 bra AROUND;
    ld.volatile.global.u32 %r1, [%buf]; setp.eq.u32 %p3, %r1, 0; @%p3 bra OUTER;
    st.volatile.global.u32 [%mine+132], %r8; st.volatile.global.u32 [%buf], 1;)"),
               ofThreads(32), 2);
}

TEST(WarpTurns, TrapsEndTheKernelWhereOthersOfTheWarpWait) {
  // Before the loop, with the lock, behind a loop that others are in, and in a branch of its own.
  const char *kernels[] = {R"(
    setp.ne.u32 %p0, %tid, 3; @%p0 bra WAIT;
    ld.volatile.global.u32 %r0, [%buf+8]; setp.ne.u32 %p1, %r0, 0; @%p1 bra SET;
    trap;
  SET:
    st.volatile.global.u32 [%buf], 1;
  WAIT:
    atom.global.or.b32 %r1, [%buf], 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;)",
                           R"(
  AGAIN:
    atom.global.cas.b32 %r0, [%buf], 0, 1; setp.ne.s32 %p0, %r0, 0; @%p0 bra AGAIN;
    setp.eq.u32 %p1, %tid, 3; @%p1 trap;
    st.volatile.global.u32 [%buf], 0;)",
                           R"(
    setp.eq.u32 %p0, %tid, 0; @%p0 bra GO;
  WAIT:
    ld.volatile.global.u32 %r0, [%mine+-4]; setp.eq.u32 %p1, %r0, 0; @%p1 bra WAIT;
    setp.ne.u32 %p2, %tid, 3; @%p2 bra GO;
    trap;
  GO:
    st.volatile.global.u32 [%mine], 1;)",
                           R"(
    setp.eq.u32 %p0, %tid, 3; @%p0 bra STOP;
  WAIT:
    atom.global.or.b32 %r1, [%buf], 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;
    bra END;
  STOP:
    trap;
  END:)"};
  Form form = ofThreads(32);
  form.expectTrap = true;
  form.spinLimit = 1000;
  for (const char *body : kernels)
    for (const char *arch : kTargets) {
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      rubia::abi::TrapRecord record =
          run(executable(body), std::vector<uint32_t>(64, 0), form).trap;
      EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::TrapInstruction)) << arch << body;
      EXPECT_EQ(record.tid[0], 3u) << arch << body;
    }
}

TEST(WarpTurns, WhatTheHardwareRefusesEndsTheKernelWhereOthersWait) {
  // Thread 0 arrives at an mbarrier more often than it counts, before it answers.
  const std::string ptx = executable(R"(
    mov.u32 %r0, bar; setp.ne.u32 %p0, %tid, 0; @%p0 bra WAIT;
    mbarrier.init.shared.b64 [%r0], 1;
    mbarrier.arrive.noComplete.shared.b64 %rd0, [%r0], 3;
    st.volatile.global.u32 [%buf], 1;
  WAIT:
    atom.global.or.b32 %r1, [%buf], 0; setp.eq.u32 %p2, %r1, 0; @%p2 bra WAIT;)",
                                     ".shared .align 8 .b64 bar;\n");
  Form form = ofThreads(32);
  form.expectTrap = true;
  form.spinLimit = 1000;
  for (const char *arch : kTargets) {
    form.arch = arch;
    form.halfFilled = isWave64(arch);
    EXPECT_EQ(run(ptx, std::vector<uint32_t>(64, 0), form).trap.reason,
              uint32_t(rubia::abi::TrapReason::BarrierMisuse))
        << arch;
  }
}
