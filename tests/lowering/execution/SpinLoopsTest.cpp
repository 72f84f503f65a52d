// SPDX-License-Identifier: Apache-2.0
// Threads that wait for one another: what works without independent thread scheduling, and the
// report of what does not. WarpTurnsTest.cpp has what is gone through in turns.
#include "tests/lowering/execution/Waits.h"
#include "llvm/ADT/StringRef.h"
#include <numeric>

using namespace rubia::lowering::test;

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

TEST(SpinLoopExecution, LocksThatAreHeldBeyondTheFunction) {
  std::string ptx = executable(R"(
    call lock, ();
    ld.volatile.global.u32 %r1, [word]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [word], %r1;
    st.volatile.global.u32 [taken], 0;
    bar.sync 0; ld.volatile.global.u32 %r1, [word]; st.global.u32 [%mine], %r1;)",
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
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(64, 0), ofThreads(64)),
            std::vector<uint32_t>(64, 64));
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

// So many masks of lanes are alive that scalar registers are spilled (E49).
TEST(SpinLoopExecution, ManyLoopsWithoutTheOptimiser) {
  const std::string ptx = executable(R"(
    .reg .b32 %acc; .reg .b32 %n; .reg .b32 %q<28>; .reg .pred %t<16>; .reg .b64 %u<7>; ld.param.u32 %n, [n];
    add.u32 %acc, %tid, 1;
    mov.u32 %q3, 0; mov.u32 %q6, 0; mov.u32 %q16, 0; mov.u32 %q23, 0;
    rem.u32 %q2, %tid, 3; div.u32 %q1, %tid, 3;
    setp.ge.u32 %t1, %q1, 10; @%t1 bra L1;
    setp.ge.u32 %t2, %q1, 4; @%t2 bra L1;
    setp.eq.u32 %t3, %q2, 0; @%t3 bra L4;
    setp.eq.u32 %t4, %q2, 2; @%t4 bra L2;
    bra L3;
  L2:
    bra L1;
  L3:
    mad.wide.u32 %u1, %q1, 32, %buf;
    L5: atom.global.exch.b32 %q4, [%u1+2048], 0; setp.eq.u32 %t5, %q4, 0; @%t5 bra L5; mad.lo.u32 %acc, %acc, 3, %q4;
    bra L1;
  L4:
    mul.wide.u32 %u2, %q1, 32; add.u64 %u2, %u2, %buf; add.u64 %u2, %u2, 2048;
    or.b32 %q8, %acc, 1;
    L6: atom.global.cas.b32 %q7, [%u2], 0, %q8; setp.ne.u32 %t6, %q7, 0; @%t6 bra L6;
    bra L1;
  L1:
    mov.u32 %q9, 0;
  L7:
    and.b32 %q10, %tid, 1; setp.eq.u32 %t8, %q10, 1; vote.sync.ballot.b32 %q10, %t8, -1; xor.b32 %acc, %acc, %q10;
    barrier.sync 0;
    add.u32 %q9, %q9, 1; setp.lt.u32 %t7, %q9, 2; @%t7 bra L7;
    rem.u32 %q13, %tid, 2; div.u32 %q12, %tid, 2;
    L11: .branchtargets L9, L10; brx.idx %q13, L11;
  L9:
    mov.u32 %q14, 0; mov.u32 %q15, 2;
  L12:
    mad.lo.u32 %acc, %acc, 5, 50;
    add.u32 %q14, %q14, 1; setp.lt.u32 %t10, %q14, %q15; @%t10 bra L12;
    mul.wide.u32 %u4, %q12, 32; add.u64 %u3, %buf, %u4;
    mov.u32 %q17, 0;
  L13:
    ld.acquire.gpu.global.u32 %q19, [%u3+2624]; setp.eq.u32 %t12, %q19, 0; @%t12 bra L15; ld.volatile.global.u32 %q19, [%u3+2624]; setp.ne.u32 %t12, %q19, 0; @%t12 bra L13;
  L15:
    mad.lo.u32 %q18, %q17, 100, %acc; st.volatile.global.u32 [%u3+2628], %q18;
    membar.gl;
    st.release.gpu.global.u32 [%u3+2624], 1;
    add.u32 %q17, %q17, 1; setp.lt.u32 %t11, %q17, 2; @%t11 bra L13;
    bra L8;
  L10:
    mov.u32 %q21, 0; mov.u32 %q22, 2;
  L16:
    mad.lo.u32 %acc, %acc, 5, 66;
    add.u32 %q21, %q21, 1; setp.lt.u32 %t13, %q21, %q22; @%t13 bra L16;
    mul.wide.u32 %u6, %q12, 32; add.u64 %u5, %buf, %u6;
    mov.u32 %q24, 0;
  L17:
    L18: ld.relaxed.gpu.global.u32 %q26, [%u5+2624]; setp.ne.u32 %t15, %q26, 0; @%t15 bra L19; nanosleep.u32 20; bra L18;
  L19:
    ld.volatile.global.u32 %q25, [%u5+2628]; mad.lo.u32 %acc, %acc, 3, %q25;
    membar.gl;
    st.release.gpu.global.u32 [%u5+2624], 0;
    add.u32 %q24, %q24, 1; setp.lt.u32 %t14, %q24, 2; @%t14 bra L17;
    bra L8;
  L8:
    st.global.u32 [%mine], %acc;)");
  const std::vector<uint32_t> expected = {325, 6539,  375,  6064,  800,  8214,  475,  12539,
                                          525, 8014,  1400, 11964, 625,  9314,  675,  9964,
                                          725, 10614, 775,  11264, 825,  11914, 875,  12564,
                                          925, 13214, 975,  13864, 1025, 14514, 1075, 15164};
  Form form = ofThreads(32);
  form.optLevel = 0;
  form.spinLimit = 1000;
  for (const char *arch : kTargets) {
    form.arch = arch;
    form.halfFilled = isWave64(arch);
    std::vector<uint32_t> words = run(ptx, std::vector<uint32_t>(1024, 0), form).words;
    words.resize(expected.size());
    EXPECT_EQ(words, expected) << arch;
  }
}
