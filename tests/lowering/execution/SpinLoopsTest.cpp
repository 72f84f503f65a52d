// SPDX-License-Identifier: Apache-2.0
// Threads that wait for one another: what works without independent thread scheduling, and the
// report of what does not.
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/StringRef.h"
#include <numeric>

using namespace rubia::lowering::test;

namespace {

Form ofThreads(uint32_t threads) {
  Form form;
  form.block = {threads, 1, 1};
  return form;
}

void expectReport(const std::string &ptx, Form form, uint32_t loops = 1) {
  form.expectTrap = true;
  form.spinLimit = 1000;
  for (const char *arch : kTargets) {
    form.arch = arch;
    form.halfFilled = isWave64(arch);
    rubia::abi::TrapRecord record = run(ptx, std::vector<uint32_t>(256, 0), form).trap;
    EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling)) << arch;
    EXPECT_LT(record.place, loops);
  }
}

} // namespace

TEST(SpinLoopExecution, LockOfEveryThread) {
  // All threads of four warps take the lock; the critical section has a branch and a loop.
  std::string ptx = executable(R"(
  SPIN:
    atom.acquire.gpu.global.cas.b32 %r0, [%buf], 0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra SPIN;
    ld.volatile.global.u32 %r1, [%buf+4];
    and.b32 %r2, %tid, 1; setp.eq.u32 %p1, %r2, 0;
    @%p1 bra EVEN;
    mov.u32 %r3, 0;
  LOOP:
    add.u32 %r1, %r1, 2; add.u32 %r3, %r3, 1; setp.lt.u32 %p2, %r3, 5; @%p2 bra LOOP;
  EVEN:
    add.u32 %r1, %r1, %tid;
    st.volatile.global.u32 [%buf+4], %r1;
    membar.gl;
    atom.global.exch.b32 %r4, [%buf], 0;
    add.u64 %mine, %mine, 8; st.global.u32 [%mine], %r1;)");
  for (const char *arch : kTargets) {
    Form form = ofThreads(128);
    form.arch = arch;
    form.halfFilled = isWave64(arch);
    std::vector<uint32_t> words = run(ptx, std::vector<uint32_t>(130, 0), form).words;
    EXPECT_EQ(words[0], 0u) << arch;
    EXPECT_EQ(words[1], 127u * 64 + 64 * 10) << arch;
  }
  Form unoptimised = ofThreads(64);
  unoptimised.optLevel = 0;
  EXPECT_EQ(run(ptx, std::vector<uint32_t>(130, 0), unoptimised).words[1], 63u * 32 + 32 * 10);
}

TEST(SpinLoopExecution, LockInAFunctionUsedTwice) {
  std::string ptx = executable(R"(
    { .param .b64 a; st.param.b64 [a], %buf; call f, (a); }
    { .param .b64 a; st.param.b64 [a], %buf; call f, (a); })",
                               R"(
.func f(.param .b64 a) {
  .reg .b64 %rd; .reg .b32 %r<5>; .reg .pred %p;
  ld.param.b64 %rd, [a];
SPIN:
  atom.global.exch.b32 %r0, [%rd], 1;
  setp.ne.u32 %p, %r0, 0;
  @%p bra SPIN;
  ld.volatile.global.u32 %r1, [%rd+4]; add.u32 %r1, %r1, 3; st.volatile.global.u32 [%rd+4], %r1;
  membar.gl;
  st.volatile.global.u32 [%rd], 0;
  ret;
}
)");
  std::vector<uint32_t> expected = {0, 2 * 64 * 3};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(64)), expected);
}

TEST(SpinLoopExecution, CriticalSectionInsideTheLoop) {
  // The form that programs for older GPUs have; nothing waits.
  std::string ptx = executable(R"(
    mov.u32 %r9, 0;
  AGAIN:
    atom.global.cas.b32 %r0, [%buf], 0, 1;
    setp.ne.u32 %p0, %r0, 0;
    @%p0 bra MISSED;
    ld.volatile.global.u32 %r1, [%buf+4]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%buf+4], %r1;
    membar.gl;
    st.volatile.global.u32 [%buf], 0;
    mov.u32 %r9, 1;
  MISSED:
    setp.eq.u32 %p1, %r9, 0;
    @%p1 bra AGAIN;)");
  std::vector<uint32_t> expected = {0, 96};
  EXPECT_EQ(runOnAllTargets(ptx, {0, 0}, ofThreads(96)), expected);
}

TEST(SpinLoopExecution, FlagsOfAnotherWarp) {
  // Each lane waits for a flag of its own, which the other warp sets in the order of the lanes and
  // late; some have left long before, which must not be taken for a thread of the own warp missing.
  std::string ptx = executable(R"(
    mov.u32 %r0, s; and.b32 %r1, %tid, 31; shl.b32 %r2, %r1, 2; add.u32 %r2, %r2, %r0;
    st.shared.u32 [%r2], 0;
    bar.sync 0;
    setp.ge.u32 %p0, %tid, 32; @%p0 bra SET;
  WAIT:
    ld.volatile.shared.u32 %r3, [%r2]; setp.eq.u32 %p1, %r3, 0; @%p1 bra WAIT;
    st.global.u32 [%mine], %r3; bra END;
  SET:
    setp.ne.u32 %p2, %r1, 0; @%p2 bra END;
    mov.u32 %r4, 0;
  NEXT:
    add.u32 %r5, %r4, 100; shl.b32 %r6, %r4, 2; add.u32 %r6, %r6, %r0;
    st.volatile.shared.u32 [%r6], %r5;
    nanosleep.u32 100;
    add.u32 %r4, %r4, 1; setp.lt.u32 %p3, %r4, 32; @%p3 bra NEXT;
  END:)",
                               ".shared .align 4 .b8 s[128];");
  std::vector<uint32_t> expected(64);
  std::iota(expected.begin(), expected.begin() + 32, 100);
  std::fill(expected.begin() + 32, expected.end(), 7);
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 7), ofThreads(64)), expected);
}

// ---------- In turns

// The critical section of the kernels below, which takes the values of others.
const char *const kCount = "ld.volatile.global.u32 %r9, [%buf+4]; add.u32 %r9, %r9, 1;"
                           "st.volatile.global.u32 [%buf+4], %r9; membar.gl;\n";

TEST(SpinLoopExecution, LockWithAPause) {
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

TEST(SpinLoopExecution, LockWhoseLoopIsUnrolled) {
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

TEST(SpinLoopExecution, LockThatIsLookedAtBeforeItIsTaken) {
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

TEST(SpinLoopExecution, LockByTickets) {
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

TEST(SpinLoopExecution, LockWithinALock) {
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

TEST(SpinLoopExecution, SemaphoreThatIsAlsoWaitedForInInnerLoops) {
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

TEST(SpinLoopExecution, LockOfOddThreadsThatIsReleasedBehindWhatAllDo) {
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

TEST(SpinLoopExecution, ThreadsOfAWarpOneAfterTheOther) {
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

TEST(SpinLoopExecution, TwoThreadsOfAWarpInTurns) {
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

TEST(SpinLoopExecution, AnOuterLoopOfOneRoundThatAnswersTheInnerOne) {
  // Both have the same header. The optimiser finds out that the outer one never goes round.
  std::string ptx = executable(R"(
    mov.u32 %r1, 0;
  WAIT:
    ld.volatile.global.u32 %r0, [%buf]; setp.ne.u32 %p0, %r0, %tid; @%p0 bra WAIT;
    add.u32 %r0, %r0, 1; st.volatile.global.u32 [%buf], %r0;
    add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 1; @%p1 bra WAIT;)");
  EXPECT_EQ(runOnAllTargets(ptx, {0}, ofThreads(17)), std::vector<uint32_t>{17});
}

TEST(SpinLoopExecution, LoopsOnTwoWaysThatAnswerEachOther) {
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

TEST(SpinLoopExecution, LockThatIsTakenInEachRoundOfALoop) {
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

TEST(SpinLoopExecution, WaitsByAtomicOperationsThatTakeNothing) {
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

TEST(SpinLoopExecution, ABarrierThatIsACountOnTwoWays) {
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

TEST(SpinLoopExecution, WhatAllDoInALoopWhoseRoundsBeginInTurns) {
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

TEST(SpinLoopExecution, WaysThatMeetInEachRoundOfALoop) {
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

TEST(SpinLoopExecution, WaysOfAJumpTable) {
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

TEST(SpinLoopExecution, OneLockOnTwoWays) {
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

TEST(SpinLoopExecution, OneLockThatIsTakenInFrontOfTurnsAndInALoop) {
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

TEST(SpinLoopExecution, WaysWithCallsThatAnswerEachOther) {
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

TEST(SpinLoopExecution, CalleesInWhichAWarpMeetsAreNotExecutedInTurns) {
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

TEST(SpinLoopExecution, WhoLeavesTurnsToAnswerDoesSoBeforeAllAreThrough) {
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

TEST(SpinLoopExecution, TurnsThatBringNobodyOnAreReported) {
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

TEST(SpinLoopExecution, TrapsEndTheKernelWhereOthersOfTheWarpWait) {
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

TEST(SpinLoopExecution, WhatTheHardwareRefusesEndsTheKernelWhereOthersWait) {
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

// ---------- Reports, and who is none

TEST(SpinLoopExecution, FlagOfTheOtherBranchIsReportedUnlessThatRunsFirst) {
  // Which branch a wave takes first is not defined: thread 0 sets the flag in either.
  for (const char *condition : {"setp.eq.u32 %p0, %tid, 0;", "setp.ne.u32 %p0, %tid, 0;"}) {
    bool waits = condition[6] == 'n';
    std::string set = "st.volatile.global.u32 [%buf], 1; bra END;\n";
    std::string wait = "W: ld.volatile.global.u32 %r0, [%buf]; setp.eq.u32 %p1, %r0, 0;"
                       "@%p1 bra W; bra END;\n";
    std::string ptx = executable(condition + std::string(" @%p0 bra THEN;\n") +
                                 (waits ? set + "THEN:\n" + wait : wait + "THEN:\n" + set) +
                                 "END: st.global.u32 [%mine+4], 2;");
    Form form = ofThreads(32);
    form.spinLimit = 1000;
    form.mayTrap = true;
    for (const char *arch : kTargets) {
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      Outcome outcome = run(ptx, std::vector<uint32_t>(33, 0), form);
      if (outcome.trap.claimed)
        EXPECT_EQ(outcome.trap.reason,
                  uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling));
      else
        EXPECT_EQ(outcome.words[32], 2u);
    }
  }
}

TEST(SpinLoopExecution, OneThreadMayWaitForAnotherCtaAsLongAsItLikes) {
  // Thread 0 of CTA 1 waits for CTA 0, which takes its time, while its warp waits at a barrier. The
  // second loop is watched, since its condition might differ between threads.
  for (const char *own : {"", "xor.b32 %r1, %r1, %tid;"}) {
    std::string ptx = executable(R"(
    mov.u32 %r0, %ctaid.x; setp.eq.u32 %p0, %r0, 0; @%p0 bra FIRST;
    setp.ne.u32 %p1, %tid, 0; @%p1 bra MEET;
  WAIT:
    ld.volatile.global.u32 %r1, [%buf]; )" +
                                 std::string(own) + R"( setp.eq.u32 %p2, %r1, 0;
    @%p2 bra WAIT;
  MEET:
    bar.sync 0;
    st.global.u32 [%mine], 5;
    bra END;
  FIRST:
    mov.u32 %r2, 0;
  LOOP:
    nanosleep.u32 1000;
    add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 20; @%p3 bra LOOP;
    st.volatile.global.u32 [%buf], 1;
  END:)");
    Form form = ofThreads(32);
    form.grid = {2, 1, 1};
    form.spinLimit = 10;
    std::vector<uint32_t> expected(64, 0);
    expected[0] = 1;
    std::fill(expected.begin() + 32, expected.end(), 5);
    EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), form), expected);
  }
}

TEST(SpinLoopExecution, LocksThatAreHeldBeyondTheFunctionAreReported) {
  // The release is not where the loop can see it.
  std::string ptx = executable(R"(
    call lock, ();
    ld.volatile.global.u32 %r1, [word]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [word], %r1;
    st.volatile.global.u32 [taken], 0;)",
                               R"(
.global .u32 taken; .global .u32 word;
.func lock() {
  .reg .b32 %r; .reg .pred %p;
SPIN:
  atom.global.cas.b32 %r, [taken], 0, 1;
  setp.ne.u32 %p, %r, 0;
  @%p bra SPIN;
  ret;
}
)");
  expectReport(ptx, ofThreads(64));
}

TEST(SpinLoopExecution, AWarpThatWaitsTogetherForAnotherCta) {
  // The look-back of a scan: a part of CTA 0 waits, by a vote, for what CTA 1 publishes. LLVM wrote
  // what the threads had loaded over EXEC on wave64 (docs/errata.md).
  std::string ptx = executable(R"(
    mov.u32 %r0, %ctaid.x; mad.lo.u32 %r1, %r0, 32, %tid;
    mul.wide.u32 %rd1, %r1, 8; add.u64 %rd0, %buf, %rd1;
    setp.ge.u32 %p1, %r1, 24; @%p1 bra OTHERS;
    ld.relaxed.gpu.global.u64 %rd2, [%rd0+256];
    bra WAIT;
  AGAIN:
    nanosleep.u32 716;
    ld.relaxed.gpu.global.u64 %rd2, [%rd0+256];
  WAIT:
    setp.eq.u64 %p2, %rd2, 0;
    vote.sync.any.pred %p3, %p2, 0x00ffffff;
    @%p3 bra AGAIN;
    st.global.u64 [%rd0], %rd2;
    bra END;
  OTHERS:
    setp.lt.u32 %p2, %r1, 32; @%p2 bra END;
    mov.u32 %r2, 0;
  LATER:
    nanosleep.u32 300;
    add.u32 %r2, %r2, 1; setp.le.u32 %p3, %r2, %tid; @%p3 bra LATER;
    add.u32 %r3, %tid, 100; cvt.u64.u32 %rd3, %r3;
    st.relaxed.gpu.global.u64 [%rd0], %rd3;
  END:)");
  Form form = ofThreads(32);
  form.grid = {2, 1, 1};
  std::vector<uint32_t> expected(128, 0);
  for (uint32_t i = 0; i < 32; ++i) {
    expected[2 * i] = i < 24 ? 100 + i : 0;
    expected[64 + 2 * i] = 100 + i;
  }
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(128, 0), form), expected);
}

TEST(SpinLoopExecution, AVoteThatWaitsForItsOwnWarpIsReported) {
  // Threads 1 to 31 wait until all flags before theirs are set; but they would set them themselves.
  std::string ptx = executable(R"(
    setp.eq.u32 %p0, %tid, 0; @%p0 bra GO;
    ld.relaxed.gpu.global.u32 %r0, [%mine+-4];
    bra WAIT;
  AGAIN:
    nanosleep.u32 716;
    ld.relaxed.gpu.global.u32 %r0, [%mine+-4];
  WAIT:
    setp.eq.u32 %p1, %r0, 0;
    vote.sync.any.pred %p2, %p1, 0xfffffffe;
    @%p2 bra AGAIN;
  GO:
    st.relaxed.gpu.global.u32 [%mine], 1;)");
  expectReport(ptx, ofThreads(32));
}

TEST(SpinLoopExecution, ThreadsThatLeaveOneByOneMayTakeTheirTime) {
  // CTA 1 counts to 32 * 20; each thread of CTA 0 waits for a number of its own. The limit holds
  // for rounds in which nobody leaves, not for all rounds since the first has left.
  std::string ptx = executable(R"(
    mov.u32 %r0, %ctaid.x; setp.ne.u32 %p0, %r0, 0; @%p0 bra COUNT;
    mul.lo.u32 %r2, %tid, 20;
    ld.volatile.global.u32 %r1, [%buf+128];
    bra WAIT;
  AGAIN:
    nanosleep.u32 20;
    ld.volatile.global.u32 %r1, [%buf+128];
  WAIT:
    setp.le.u32 %p1, %r1, %r2; @%p1 bra AGAIN;
    st.global.u32 [%mine], 5; bra END;
  COUNT:
    setp.ne.u32 %p1, %tid, 0; @%p1 bra END;
    mov.u32 %r3, 0;
  NEXT:
    nanosleep.u32 1000;
    add.u32 %r3, %r3, 1; st.volatile.global.u32 [%buf+128], %r3;
    setp.lt.u32 %p2, %r3, 640; @%p2 bra NEXT;
  END:)");
  Form form = ofThreads(32);
  form.grid = {2, 1, 1};
  form.spinLimit = 150;
  std::vector<uint32_t> expected(33, 5);
  expected[32] = 640;
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(33, 0), form), expected);
}
