// SPDX-License-Identifier: Apache-2.0
// Barriers of all and of some threads of the CTA, on every target.
#include "tests/lowering/execution/Execution.h"
#include <algorithm>

using namespace rubia::lowering::test;

namespace {

Form ofThreads(uint32_t threads) {
  Form form;
  form.block = {threads, 1, 1};
  return form;
}

// On all targets, also where memory is coherent only by what the code does for it (`order`).
void expectInAnyOrder(const std::string &ptx, const std::vector<uint32_t> &words, Form form,
                      const std::vector<uint32_t> &expected) {
  EXPECT_EQ(runOnAllTargets(ptx, words, form), expected);
  form.orderSeed = 1;
  EXPECT_EQ(runOnAllTargets(ptx, words, form), expected);
}

} // namespace

TEST(BarrierExecution, ProducerAndConsumer) {
  // Warp 0 fills a buffer that warp 1 empties, 20 times; 1: full, 2: empty.
  std::string ptx = executable(R"(
    shl.b32 %r1, %tid, 2; and.b32 %r1, %r1, 127;
    mov.u32 %r2, s; add.u32 %r2, %r2, %r1;
    mov.u32 %r3, 0; mov.u32 %r4, 0;
    setp.ge.u32 %p0, %tid, 32;
    @%p0 bra CONSUME;
  PRODUCE:
    bar.sync 2, 64;
    mad.lo.u32 %r5, %r3, 100, %tid;
    st.shared.u32 [%r2], %r5;
    bar.arrive 1, 64;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20;
    @%p1 bra PRODUCE;
    bra END;
  CONSUME:
    bar.arrive 2, 64;
  NEXT:
    bar.sync 1, 64;
    mov.u32 %r6, s; xor.b32 %r7, %r1, 124; add.u32 %r6, %r6, %r7;
    ld.shared.u32 %r5, [%r6]; mad.lo.u32 %r4, %r4, 3, %r5;
    add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 20;
    @!%p1 bra END;
    bar.arrive 2, 64;
    bra NEXT;
  END:
    st.global.u32 [%mine], %r4;)",
                               ".shared .align 4 .b8 s[128];");
  std::vector<uint32_t> expected(64, 0);
  for (uint32_t lane = 0; lane < 32; ++lane)
    for (uint32_t i = 0; i < 20; ++i)
      expected[32 + lane] = expected[32 + lane] * 3 + i * 100 + (31 - lane);
  expectInAnyOrder(ptx, counting(64), ofThreads(64), expected);
}

TEST(BarrierExecution, GroupsOfWarpsByTheirOwnNumbers) {
  // Barrier 3 + warp / 2, in a register, of 64 threads each, in a loop: neighbours exchange words.
  std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 6; add.u32 %r0, %r0, 3;
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r3, %r1, %r2;
    xor.b32 %r4, %r2, 252; add.u32 %r4, %r1, %r4;
    ld.global.u32 %r5, [%mine];
    mov.u32 %r6, 0;
  LOOP:
    st.shared.u32 [%r3], %r5;
    barrier.sync %r0, 64;
    ld.shared.u32 %r7, [%r4]; mad.lo.u32 %r5, %r5, 5, %r7;
    barrier.sync %r0, 64;
    add.u32 %r6, %r6, 1; setp.lt.u32 %p0, %r6, %r0;
    @%p0 bra LOOP;
    st.global.u32 [%mine], %r5;)",
                               ".shared .align 4 .b8 s[1024];");
  std::vector<uint32_t> expected = counting(256);
  for (uint32_t group = 0; group < 4; ++group)
    for (uint32_t turn = 0; turn < 3 + group; ++turn) {
      std::vector<uint32_t> old = expected;
      for (uint32_t i = group * 64; i < group * 64 + 64; ++i)
        expected[i] = old[i] * 5 + old[i ^ 63];
    }
  expectInAnyOrder(ptx, counting(256), ofThreads(256), expected);
}

TEST(BarrierExecution, OneNumberForChangingGroups) {
  // Warps 0 and 1, then 1 and 2, then 2 and 3 meet at barrier 5, handing on a sum; 8 + n keeps warp
  // n from it until warp n - 1 has passed it.
  std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 5;
    mov.u32 %r1, 1000;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bra FIRST;
    add.u32 %r2, %r0, 8;
    setp.gt.u32 %p1, %r0, 1;
    @%p1 bar.sync %r2, 64;
    bar.sync 5, 64;
    ld.shared.u32 %r1, [s];
  FIRST:
    add.u32 %r1, %r1, 7;
    st.shared.u32 [s], %r1;
    st.global.u32 [%mine], %r1;
    add.u32 %r2, %r0, 9;
    setp.lt.u32 %p2, %r0, 3;
    and.pred %p1, %p2, %p1;
    setp.eq.u32 %p3, %r0, 1;
    or.pred %p1, %p1, %p3;
    @%p1 bar.arrive %r2, 64;
    @%p2 bar.sync 5, 64;)",
                               ".shared .align 4 .b8 s[4];");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 128; ++i)
    expected.push_back(1007 + i / 32 * 7);
  EXPECT_EQ(runOnAllTargets(ptx, counting(128), ofThreads(128)), expected);
}

TEST(BarrierExecution, AllSixteen) {
  // Every barrier n is for the first n + 1 warps.
  std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 5;
    mov.u32 %r1, 0; mov.u32 %r5, 0;
  LOOP:
    setp.lt.u32 %p0, %r1, %r0;
    @%p0 bra SKIP;
    add.u32 %r2, %r1, 1; shl.b32 %r2, %r2, 5;
    setp.eq.u32 %p1, %r0, %r1;
    bar.red.popc.u32 %r3, %r1, %r2, %p1;
    bar.sync %r1, %r2;
    mad.lo.u32 %r5, %r5, 3, %r3;
  SKIP:
    add.u32 %r1, %r1, 1; setp.lt.u32 %p0, %r1, 16;
    @%p0 bra LOOP;
    st.global.u32 [%mine], %r5;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 512; ++i) {
    uint32_t sum = 0;
    for (uint32_t n = i / 32; n < 16; ++n)
      sum = sum * 3 + 32;
    expected.push_back(sum);
  }
  EXPECT_EQ(runOnAllTargets(ptx, counting(512), ofThreads(512)), expected);
}

TEST(BarrierExecution, CountedReductions) {
  // Two groups of two warps reduce again and again, at the same barrier one after the other and at
  // two at once.
  std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 6;
    and.b32 %r1, %tid, 63;
    mov.u32 %r2, 0; mov.u32 %r9, 0;
  LOOP:
    setp.lt.u32 %p0, %r1, %r2;
    bar.red.popc.u32 %r3, %r0, 64, %p0;
    bar.red.popc.u32 %r4, %r0, 64, !%p0;
    mad.lo.u32 %r3, %r4, 64, %r3;
    setp.lt.u32 %p1, %r1, 40;
    bar.red.and.pred %p2, %r0, 64, %p1;
    setp.eq.u32 %p1, %r1, %r2;
    bar.red.or.pred %p3, %r0, 64, %p1;
    selp.u32 %r5, 1, 0, %p2; selp.u32 %r6, 2, 0, %p3;
    add.u32 %r3, %r3, %r5; add.u32 %r3, %r3, %r6;
    mad.lo.u32 %r9, %r9, 7, %r3;
    add.u32 %r2, %r2, 13; setp.lt.u32 %p0, %r2, 100;
    @%p0 bra LOOP;
    st.global.u32 [%mine], %r9;)");
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 100; i += 13) {
    uint32_t count = std::min(i, 64u);
    sum = sum * 7 + count + (64 - count) * 64 + (i < 64 ? 2 : 0);
  }
  expectInAnyOrder(ptx, counting(128), ofThreads(128), std::vector<uint32_t>(128, sum));
}

TEST(BarrierExecution, ReductionsOfAllThreadsInLoopsAndFunctions) {
  std::string ptx = executable(R"(
    mov.u32 %r2, 0; mov.u32 %r9, 0;
  LOOP:
    setp.lt.u32 %p0, %tid, %r2;
    bar.red.popc.u32 %r3, 0, %p0;
    { .param .b32 a; .param .b32 r;
      st.param.b32 [a], %r3;
      call (r), f, (a);
      ld.param.b32 %r4, [r]; }
    mad.lo.u32 %r9, %r9, 5, %r4;
    add.u32 %r2, %r2, 9; setp.lt.u32 %p1, %r2, 90;
    @%p1 bra LOOP;
    st.global.u32 [%mine], %r9;)",
                               R"(
.func (.param .b32 r) f(.param .b32 a) {
  .reg .b32 %r<5>; .reg .pred %p<3>;
  ld.param.b32 %r0, [a]; mov.u32 %r1, %tid.x;
  setp.gt.u32 %p0, %r1, %r0;
  barrier.red.popc.aligned.u32 %r2, 1, %p0;
  barrier.red.and.pred %p1, 2, %p0;
  selp.u32 %r3, 1000, 0, %p1;
  mad.lo.u32 %r0, %r0, 100, %r2; add.u32 %r0, %r0, %r3;
  st.param.b32 [r], %r0; ret;
}
)");
  uint32_t sum = 0;
  for (uint32_t i = 0; i < 90; i += 9)
    sum = sum * 5 + i * 100 + (99 - i);
  EXPECT_EQ(runOnAllTargets(ptx, counting(100), ofThreads(100)), std::vector<uint32_t>(100, sum));
}

TEST(BarrierExecution, TheSizeOfTheCtaDecides) {
  // 128 threads: s_barrier; 256: two groups, each counted.
  std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 7;
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r3, %r1, %r2;
    xor.b32 %r4, %r2, 508; add.u32 %r4, %r1, %r4;
    st.shared.u32 [%r3], %tid;
    setp.eq.u32 %p0, %r0, 0;
    @%p0 bar.sync 1, 128;
    @!%p0 bar.sync 2, 128;
    ld.shared.u32 %r5, [%r4];
    setp.lt.u32 %p1, %tid, 150;
    add.u32 %r6, %r0, 1;
    bar.red.popc.u32 %r7, %r6, 128, %p1;
    mad.lo.u32 %r5, %r7, 1000, %r5;
    st.global.u32 [%mine], %r5;)",
                               ".shared .align 4 .b8 s[1024];");
  for (uint32_t threads : {128u, 256u}) {
    std::vector<uint32_t> expected;
    for (uint32_t i = 0; i < threads; ++i)
      expected.push_back((i ^ 127) + (i < 128 ? 128000 : 22000));
    EXPECT_EQ(runOnAllTargets(ptx, counting(threads), ofThreads(threads)), expected);
  }
}

TEST(BarrierExecution, ArrivalsOfTheWholeCta) {
  // Warp 0 waits for three that only arrive and exit; nobody else is left.
  std::string ptx = executable(R"(
    setp.lt.u32 %p0, %tid, 32;
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %tid;
    @%p0 bra WAIT;
    bar.arrive 4, 128;
    exit;
  WAIT:
    barrier.sync 4, 128;
    ld.shared.u32 %r4, [%r3+128]; ld.shared.u32 %r5, [%r3+256]; ld.shared.u32 %r6, [%r3+384];
    add.u32 %r4, %r4, %r5; add.u32 %r4, %r4, %r6;
    st.global.u32 [%mine], %r4;)",
                               ".shared .align 4 .b8 s[512];");
  std::vector<uint32_t> expected = counting(128);
  for (uint32_t i = 0; i < 32; ++i)
    expected[i] = 3 * i + 192;
  EXPECT_EQ(runOnAllTargets(ptx, counting(128), ofThreads(128)), expected);
}

TEST(BarrierExecution, InFunctionsCalledThroughPointers) {
  std::string ptx = executable(R"(
    setp.lt.u32 %p0, %tid, 64;
    mov.u64 %rd0, f; mov.u64 %rd1, g; selp.b64 %rd0, %rd0, %rd1, %p0;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    { .param .b32 a; .param .b32 r;
      st.param.b32 [a], %tid;
      call (r), %rd0, (a), proto;
      ld.param.b32 %r4, [r]; }
    bar.sync 0;
    st.global.u32 [%mine], %r4;)",
                               R"(
.shared .align 4 .b8 s[512];
.func (.param .b32 r) f(.param .b32 a) {
  .reg .b32 %r<5>;
  ld.param.b32 %r0, [a]; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r3, %r2, %r1;
  st.shared.u32 [%r3], %r0;
  bar.sync 1, 64;
  xor.b32 %r1, %r1, 128; add.u32 %r3, %r2, %r1; ld.shared.u32 %r0, [%r3];
  st.param.b32 [r], %r0; ret;
}
.func (.param .b32 r) g(.param .b32 a) {
  .reg .b32 %r<5>; .reg .pred %p;
  ld.param.b32 %r0, [a]; and.b32 %r1, %r0, 1; setp.eq.u32 %p, %r1, 1;
  bar.red.popc.u32 %r0, 2, 64, %p;
  st.param.b32 [r], %r0; ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 128; ++i)
    expected.push_back(i < 64 ? i ^ 32 : 32);
  EXPECT_EQ(runOnAllTargets(ptx, counting(128), ofThreads(128)), expected);
}

TEST(BarrierExecution, AfterSomeHaveExited) {
  // Half a warp, a whole warp, and the first thread of all are gone.
  std::string ptx = executable(R"(
    setp.ge.u32 %p0, %tid, 80; @%p0 exit;
    setp.eq.u32 %p0, %tid, 0; @%p0 exit;
    setp.lt.u32 %p1, %tid, 50;
    bar.red.popc.u32 %r0, 0, %p1;
    bar.sync 0;
    bar.red.popc.u32 %r1, 0, !%p1;
    bar.red.popc.u32 %r2, 1, 96, %p1;
    mad.lo.u32 %r0, %r0, 100, %r1; mad.lo.u32 %r0, %r0, 100, %r2;
    st.global.u32 [%mine], %r0;)");
  std::vector<uint32_t> expected = counting(128);
  std::fill(expected.begin() + 1, expected.begin() + 80, 493049);
  EXPECT_EQ(runOnAllTargets(ptx, counting(128), ofThreads(128)), expected);
}

TEST(BarrierExecution, SpinLockBetweenWarps) {
  // The first lane of every warp takes the lock.
  std::string ptx = executable(R"(
    mov.u32 %r0, %laneid; setp.ne.u32 %p0, %r0, 0;
    mov.u32 %r9, 0;
  AGAIN:
    @%p0 bra INSIDE;
  SPIN:
    atom.acquire.cta.global.cas.b32 %r1, [%buf], 0, 1;
    setp.ne.u32 %p1, %r1, 0;
    @%p1 bra SPIN;
  INSIDE:
    bar.warp.sync 0xffffffff;
    ld.volatile.global.u32 %r2, [%buf+4];
    add.u32 %r2, %r2, 1;
    bar.warp.sync 0xffffffff;
    @%p0 bra OUTSIDE;
    st.volatile.global.u32 [%buf+4], %r2;
    membar.cta;
    atom.global.exch.b32 %r3, [%buf], 0;
  OUTSIDE:
    bar.warp.sync 0xffffffff;
    add.u32 %r9, %r9, 1; setp.lt.u32 %p2, %r9, 10;
    @%p2 bra AGAIN;)");
  std::vector<uint32_t> expected = {0, 80};
  expectInAnyOrder(ptx, {0, 0}, ofThreads(256), expected);
}

// Threads of one warp in two branches, which meet on NVIDIA: `barrier` in both.
static std::string inTwoBranches(const std::string &barrier) {
  return executable("and.b32 %r1, %tid, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN;\n" + barrier +
                    "mov.u32 %r3, 1; bra JOIN; EVEN:" + barrier +
                    "mov.u32 %r3, 2; JOIN: st.global.u32 [%mine], %r3;");
}

TEST(BarrierExecution, ThreadsThatComeLateAreReported) {
  for (const char *barrier : {"barrier.sync 2;", "barrier.sync 2, 64;", "barrier.sync 2, 32;",
                              "barrier.red.popc.u32 %r5, 2, %p1;", "barrier.arrive 2, 96;"})
    for (const char *arch : kTargets) {
      Form form = ofThreads(64);
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      form.expectTrap = true;
      rubia::abi::TrapRecord record = run(inTwoBranches(barrier), counting(64), form).trap;
      EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling))
          << arch << barrier;
    }
}

// The others come late to a barrier that all share.
TEST(BarrierExecution, ThreadsThatComeLateToACommonBarrierAreReported) {
  const std::string cases[] = {
      executable("and.b32 %r1, %tid, 31; setp.lt.u32 %p0, %r1, 16; @!%p0 bra NEXT;"
                 "barrier.sync 1, 64; NEXT: barrier.sync 1, 64;"),
      executable("and.b32 %r1, %tid, 31; setp.lt.u32 %p0, %r1, 16; @%p0 barrier.sync 1;"
                 "mov.u32 %r2, %nctaid.x; barrier.sync %r2;"),
      // One round or two.
      executable("shr.u32 %r1, %tid, 4; and.b32 %r1, %r1, 1; mov.u32 %r2, 0;"
                 "L: barrier.sync 1, 64; add.u32 %r2, %r2, 1; setp.le.u32 %p0, %r2, %r1;"
                 "@%p0 bra L; barrier.sync 1, 64;"),
  };
  for (const std::string &ptx : cases)
    for (const char *arch : kTargets) {
      Form form = ofThreads(64);
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      form.expectTrap = true;
      rubia::abi::TrapRecord record = run(ptx, counting(64), form).trap;
      EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling))
          << arch << ptx;
    }
}

TEST(BarrierExecution, ThreadsThatComeLateToAClusterBarrierAreReported) {
  std::string barrier = "barrier.cluster.arrive; barrier.cluster.wait;";
  std::string ptx = inTwoBranches(barrier);
  ptx.replace(ptx.find("sm_80"), 5, "sm_90");
  Form form = ofThreads(64);
  form.expectTrap = true;
  rubia::abi::TrapRecord record = run(ptx, counting(64), form).trap;
  EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling));
}

TEST(BarrierExecution, ThreadsThatNeverComeAreNot) {
  // Odd threads exit without the barrier; a warp goes another way as a whole.
  std::string ptx = executable(R"(
    setp.ge.u32 %p1, %tid, 96; @%p1 bra OTHER;
    and.b32 %r1, %tid, 1; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN;
    st.global.u32 [%mine], 1; ret;
    EVEN: barrier.sync 1; st.global.u32 [%mine], 2; ret;
    OTHER: barrier.sync 1; st.global.u32 [%mine], 2;)");
  std::vector<uint32_t> expected(128, 2);
  for (uint32_t i = 1; i < 96; i += 2)
    expected[i] = 1;
  EXPECT_EQ(runOnAllTargets(ptx, counting(128), ofThreads(128)), expected);
}

// ---------- The checked form: two warps a wave that may come to a barrier apart

namespace {

// A loop over %tid.x with barriers, in which neighbouring warps give each other what they have:
// `start` and `limit` in %r1 and %r2, a step of 32. What each thread has found is in %r3.
std::string loopWithBarriers(const std::string &bounds, const std::string &behind) {
  return executable(bounds + R"(
    mov.u32 %r3, 0; shl.b32 %r4, %tid, 2; mov.u32 %r5, s; add.u32 %r4, %r5, %r4;
    xor.b32 %r6, %tid, 32; shl.b32 %r6, %r6, 2; add.u32 %r6, %r5, %r6;
    setp.ge.u32 %p0, %r1, %r2; @%p0 bra DONE;
  LOOP:
    mad.lo.u32 %r7, %tid, 3, %r1; st.shared.u32 [%r4], %r7;
    bar.sync 0;
    ld.shared.u32 %r8, [%r6]; mad.lo.u32 %r3, %r3, 5, %r8;
    bar.sync 0;
    add.u32 %r1, %r1, 32; setp.lt.u32 %p0, %r1, %r2; @%p0 bra LOOP;
  DONE:
  )" + behind,
                    ".shared .align 4 .b8 s[4096];");
}

Form checkedForm(const std::string &arch) {
  Form form;
  form.arch = arch;
  form.packed = form.checked = isWave64(arch);
  form.block = {32, 32, 1};
  return form;
}

const char kLimitOf96[] = "mov.u32 %r1, %tid.x; mov.u32 %r2, 96;";
// Every second warp, which shares a wave with another, has one round less.
const char kLimitOfWarps[] = "mov.u32 %r1, %tid.x; mov.u32 %r2, %tid.y; and.b32 %r2, %r2, 1;"
                             "shl.b32 %r2, %r2, 5; add.u32 %r2, %r2, 64;";

} // namespace

TEST(BarrierExecution, LargeBlocksMayHaveBarriersInLoopsOverThreads) {
  const std::string ptx = loopWithBarriers(kLimitOf96, "st.global.u32 [%mine], %r3;");
  EXPECT_EQ(warpFormOf(ptx).form, "half-filled");
  std::vector<uint32_t> expected(1024, 0);
  for (uint32_t thread = 0; thread < 1024; ++thread)
    for (uint32_t round = 0; round < 3; ++round)
      expected[thread] = expected[thread] * 5 + (thread ^ 32) * 3 + thread % 32 + round * 32;
  for (const char *arch : kTargets)
    EXPECT_EQ(run(ptx, counting(1024), checkedForm(arch)).words, expected) << arch;
}

TEST(BarrierExecution, WarpsOfAWaveThatComeApartAreReported) {
  const std::string common = " bar.sync 0; st.global.u32 [%mine], %r3;";
  const std::string cases[] = {
      loopWithBarriers(kLimitOfWarps, common),
      // Others may read this behind the barrier, whatever comes next.
      loopWithBarriers(kLimitOfWarps, "st.global.u32 [%mine], %r3;"),
      executable("and.b32 %r1, %tid, 32; setp.eq.u32 %p0, %r1, 0; @%p0 bra EVEN;"
                 "bar.sync 1; bra JOIN; EVEN: bar.sync 2; JOIN: st.global.u32 [%mine], %tid;"),
      executable("and.b32 %r1, %tid, 32; setp.eq.u32 %p0, %r1, 0; @%p0 bar.sync 1;"
                 "atom.global.add.u32 %r2, [%buf], 1;"),
  };
  for (const std::string &ptx : cases)
    for (const char *arch : kTargets)
      if (isWave64(arch)) {
        Form form = checkedForm(arch);
        form.expectTrap = true;
        EXPECT_EQ(run(ptx, counting(1024), form).trap.reason,
                  uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling))
            << arch << ptx;
      }
}

// Each warp waits, round by round, for a word of its own. The warp before it, which may share its
// wave, writes there when it has left the loop. With a wave for each warp that comes to an end.
TEST(BarrierExecution, AWarpThatWaitsAtBarriersForItsNeighbourIsReported) {
  const std::string ptx = executable(R"(
    shr.u32 %r0, %tid, 5; shl.b32 %r1, %r0, 2; mov.u32 %r2, s; add.u32 %r1, %r2, %r1;
    setp.eq.u32 %p0, %r0, 0; selp.u32 %r3, 1, 0, %p0; st.shared.u32 [%r1], %r3;
    mov.u32 %r4, 0;
  LOOP:
    bar.sync 0;
    add.u32 %r4, %r4, 1;
    ld.shared.u32 %r3, [%r1]; setp.eq.u32 %p0, %r3, 0; @%p0 bra LOOP;
    st.shared.u32 [%r1+4], 1;
    st.global.u32 [%mine], %r4;
  )",
                                     ".shared .align 4 .b8 s[132];");
  for (const char *arch : kTargets) {
    Form form = checkedForm(arch);
    form.spinLimit = 1000;
    if (!isWave64(arch)) {
      EXPECT_EQ(run(ptx, counting(1024), form).words[0], 1u) << arch;
      continue;
    }
    form.expectTrap = true;
    EXPECT_EQ(run(ptx, counting(1024), form).trap.reason,
              uint32_t(rubia::abi::TrapReason::NeedsIndependentScheduling))
        << arch;
    Form smaller;
    smaller.arch = arch;
    smaller.halfFilled = true;
    smaller.block = {512, 1, 1};
    EXPECT_EQ(run(ptx, counting(512), smaller).words[0], 1u) << arch;
  }
}

// Its barriers are not counted: it misses nobody.
TEST(BarrierExecution, ASingleWarpAtTheEndWaitsForNobody) {
  const std::string ptx =
      loopWithBarriers("mov.u32 %r1, %tid.x; mov.u32 %r2, 3200;", "st.global.u32 [%mine], %r1;");
  for (const char *arch : kTargets) {
    Form form = checkedForm(arch);
    form.block.y = 31;
    form.spinLimit = 20;
    std::vector<uint32_t> expected(992);
    for (uint32_t thread = 0; thread < 992; ++thread)
      expected[thread] = 3200 + thread % 32;
    EXPECT_EQ(run(ptx, counting(992), form).words, expected) << arch;
  }
}

TEST(BarrierExecution, WarpsOfAWaveMayEndApart) {
  // Every second warp ends within the loop, and with it the half of a wave.
  std::string ptx = loopWithBarriers(kLimitOf96, "st.global.u32 [%mine], %r3;");
  ptx.insert(ptx.find("mad.lo.u32 %r7"), "and.b32 %r9, %tid, 32; setp.ne.u32 %p1, %r9, 0;"
                                         "setp.ge.and.u32 %p1, %r1, 64, %p1; @%p1 exit;\n");
  std::vector<uint32_t> expected = counting(1024);
  for (uint32_t thread = 0; thread < 1024; ++thread) {
    if (thread & 32)
      continue;
    expected[thread] = 0;
    for (uint32_t round : {0, 1, 1}) // the last time, what the other warp wrote before
      expected[thread] = expected[thread] * 5 + (thread ^ 32) * 3 + thread % 32 + round * 32;
  }
  for (const char *arch : kTargets)
    EXPECT_EQ(run(ptx, counting(1024), checkedForm(arch)).words, expected) << arch;
}

// LLVM sank the load past the barrier, behind which other warps write what it reads: the branch,
// which is uniform, ends its block, and nothing in the kernel divides a warp (E55).
TEST(BarrierExecution, LoadsStayInFrontOfABarrier) {
  std::string ptx = executable(R"(
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r3, %r1, %r2;
    st.shared.u32 [%r3], %tid;
    bar.sync 0;
    xor.b32 %r4, %r2, 256; add.u32 %r4, %r1, %r4;
    ld.shared.u32 %r5, [%r4];
    ld.param.u32 %r6, [n]; setp.eq.u32 %p0, %r6, 0x7654321;
    bar.sync 0;
    @%p0 bra SKIP;
    st.shared.u32 [%r3], 7777;
    mul.lo.u32 %r5, %r5, 3;
    st.global.u32 [%mine], %r5;
  SKIP:)",
                               ".shared .align 4 .b8 s[512];");
  std::vector<uint32_t> expected(128);
  for (uint32_t thread = 0; thread < 128; ++thread)
    expected[thread] = (thread ^ 64) * 3;
  expectInAnyOrder(ptx, counting(128), ofThreads(128), expected);
}
