// SPDX-License-Identifier: Apache-2.0
// Who a thread is, and barriers, traps and exits of many.
#include "tests/lowering/execution/Execution.h"
#include <algorithm>

using namespace rubia::lowering::test;

TEST(ThreadExecution, IndexesInThreeDimensions) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y; mov.u32 %r2, %tid.z;
    shl.b32 %r1, %r1, 8; shl.b32 %r2, %r2, 16;
    or.b32 %r0, %r0, %r1; or.b32 %r0, %r0, %r2;
    mov.u32 %r3, %ctaid.x; shl.b32 %r3, %r3, 24; or.b32 %r0, %r0, %r3;
    st.global.u32 [%mine], %r0;)");
  Form form;
  form.block = {5, 7, 3};
  form.grid = {2, 1, 1};
  std::vector<uint32_t> expected;
  for (uint32_t cta = 0; cta < 2; ++cta)
    for (uint32_t z = 0; z < 3; ++z)
      for (uint32_t y = 0; y < 7; ++y)
        for (uint32_t x = 0; x < 5; ++x)
          expected.push_back(x | y << 8 | z << 16 | cta << 24);
  EXPECT_EQ(runAll(ptx, counting(210), form), expected);
}

// A uniform carry that was inverted on its way: lanes that are not active must not count, those of
// a half wave, of a CTA's last warp, or of another branch.
TEST(ThreadExecution, CarriesIgnoreLanesThatAreNotActive) {
  const std::string chain = R"(
    ld.global.b32 %r1, [%buf];
    add.cc.u32 %r2, %r1, 0;
    subc.cc.u32 %r3, 0, %r2;
    addc.cc.u32 %r4, %r2, 0xbda88792;
    addc.u32 %r5, %r4, %r4;)";
  // 0 - ffffffff without a carry borrows: the additions that follow see no carry and one.
  constexpr uint32_t kFirst = 0xffffffff, kSum = kFirst + 0xbda88792;
  constexpr uint32_t kExpected = 2 * kSum + 1;
  for (const char *guard : {"", "setp.lt.u32 %p0, %tid, 5; @%p0 bra done;"}) {
    Form form;
    form.block = {96, 1, 1};
    std::vector<uint32_t> words(288, kFirst), expected(words);
    // Of threads that take part: %r5, and behind these %r3.
    auto expect = [&](unsigned threads) {
      expected = words;
      for (unsigned thread = *guard ? 5 : 0; thread < threads; ++thread) {
        expected[96 + thread] = kExpected;
        expected[192 + thread] = 0;
      }
    };
    std::string ptx = executable(std::string(guard) + chain + R"(
      st.global.u32 [%mine+384], %r5;
      st.global.u32 [%mine+768], %r3;
      done: ret;)");
    expect(96);
    EXPECT_EQ(runOnAllTargets(ptx, words, form), expected) << guard;
    form.block = {9, 1, 1};
    expect(9);
    EXPECT_EQ(runOnAllTargets(ptx, words, form), expected) << guard;
  }
}

TEST(ThreadExecution, RequiredSizeGivesTheSameIndexes) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %tid.x; mov.u32 %r1, %tid.y;
    shl.b32 %r1, %r1, 8; or.b32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)",
                               "", ".reqntid 12, 5, 1");
  Form form;
  form.block = {12, 5, 1};
  std::vector<uint32_t> expected;
  for (uint32_t y = 0; y < 5; ++y)
    for (uint32_t x = 0; x < 12; ++x)
      expected.push_back(x | y << 8);
  EXPECT_EQ(runAll(ptx, counting(60), form), expected);
}

TEST(ThreadExecution, WarpAndLane) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %warpid; mov.u32 %r1, %laneid;
    shl.b32 %r0, %r0, 8; or.b32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)");
  Form form;
  form.block = {9, 11, 1};
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 99; ++i)
    expected.push_back(i / 32 << 8 | i % 32);
  EXPECT_EQ(runAll(ptx, counting(99), form), expected);
}

TEST(ThreadExecution, LaunchFacts) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %ntid.y; st.global.u32 [%buf], %r0;
    mov.u32 %r0, %nctaid.y; st.global.u32 [%buf+4], %r0;
    mov.u32 %r0, %dynamic_smem_size; st.global.u32 [%buf+8], %r0;
    mov.u32 %r0, %total_smem_size; st.global.u32 [%buf+12], %r0;
    mov.u64 %rd0, %gridid; st.global.u32 [%buf+16], %rd0;
    mov.b32 %r0, %envreg1; st.global.u32 [%buf+20], %r0;
    mov.b32 %r0, %envreg2; st.global.u32 [%buf+24], %r0;
    mov.u32 %r0, WARP_SZ; st.shared.u32 [s], %r0; ld.shared.u32 %r1, [s];
    st.global.u32 [%buf+28], %r1;)",
                               ".shared .align 4 .b8 s[20];");
  Form form;
  form.block = {4, 2, 1};
  form.grid = {1, 3, 1};
  form.dynamicSharedBytes = 100;
  EXPECT_EQ(runAll(ptx, counting(8), form),
            (std::vector<uint32_t>{2, 3, 100, 128, 0x34567890, 0xaaaabbbb, 0xccccdddd, 32}));
}

// The reserved region is apart from the kernel's own shared memory.
TEST(ThreadExecution, ReservedSharedMemory) {
  std::string ptx = executable(R"(
    mov.b32 %r0, %reserved_smem_offset_1; mov.b32 %r1, %reserved_smem_offset_end;
    mov.b32 %r2, %reserved_smem_offset_begin;
    sub.u32 %r3, %r1, %r2; st.global.u32 [%buf], %r3;
    st.shared.u32 [s], 5;
    st.shared.u32 [%r0], 6; st.shared.u32 [%r0+284], 7;
    ld.shared.u32 %r4, [s]; ld.shared.u32 %r5, [%r0]; ld.shared.u32 %r6, [%r0+284];
    st.global.u32 [%buf+4], %r4; st.global.u32 [%buf+8], %r5; st.global.u32 [%buf+12], %r6;)",
                               ".shared .align 4 .b8 s[20];");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(4), form), (std::vector<uint32_t>{1024, 5, 6, 7}));
}

TEST(ThreadExecution, SleepsEnd) {
  std::string ptx = executable(R"(
    nanosleep.u32 100; nanosleep.u32 20000;
    mul.lo.u32 %r0, %tid, 3000; nanosleep.u32 %r0;
    pmevent 1;
    st.global.u32 [%mine], 1;)");
  EXPECT_EQ(runAll(ptx, counting(32)), std::vector<uint32_t>(32, 1));
}

TEST(ThreadExecution, ClocksGoOn) {
  std::string ptx = executable(R"(
    mov.u64 %rd0, %clock64; mov.u64 %rd2, %globaltimer;
    nanosleep.u32 20000;
    mov.u64 %rd1, %clock64; mov.u64 %rd3, %globaltimer;
    setp.gt.u64 %p0, %rd1, %rd0;
    sub.u64 %rd2, %rd3, %rd2; setp.ge.and.u64 %p0, %rd2, 20000, %p0;
    selp.u32 %r0, 1, 0, %p0; st.global.u32 [%mine], %r0;)");
  EXPECT_EQ(runAll(ptx, counting(32)), std::vector<uint32_t>(32, 1));
}

TEST(ThreadExecution, MultiprocessorsAreBelowTheirNumber) {
  std::string ptx = executable(R"(
    mov.u32 %r0, %smid; mov.u32 %r1, %nsmid;
    setp.lt.u32 %p0, %r0, %r1; selp.u32 %r0, 1, 0, %p0; st.global.u32 [%mine], %r0;)");
  EXPECT_EQ(runAll(ptx, counting(32)), std::vector<uint32_t>(32, 1));
}

TEST(ThreadExecution, FunctionsKnowTheLaunchToo) {
  std::string ptx = executable(R"({
    .param .b32 r;
    call.uni (r), f, ();
    ld.param.b32 %r0, [r];
    st.global.u32 [%mine], %r0;
  })",
                               R"(
.func (.param .b32 r) f() {
  .reg .b32 %r<5>;
  mov.u32 %r0, %tid.y; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mov.u32 %r3, %laneid;
  mad.lo.u32 %r0, %r0, %r1, %r2;
  shl.b32 %r3, %r3, 16; or.b32 %r0, %r0, %r3;
  st.param.b32 [r], %r0;
  ret;
}
)");
  Form form;
  form.block = {10, 7, 1};
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 70; ++i)
    expected.push_back(i | i % 32 << 16);
  EXPECT_EQ(runAll(ptx, counting(70), form), expected);
}

TEST(ThreadExecution, BarrierOrdersSharedMemory) {
  std::string ptx = executable(R"(
    mov.u32 %r1, s; shl.b32 %r2, %tid, 2; add.u32 %r1, %r1, %r2;
    ld.global.u32 %r0, [%mine]; st.shared.u32 [%r1], %r0;
    bar.sync 0;
    mov.u32 %r3, s; xor.b32 %r2, %r2, 252; add.u32 %r3, %r3, %r2;
    ld.shared.u32 %r0, [%r3]; st.global.u32 [%mine], %r0;)",
                               ".shared .align 4 .b8 s[256];");
  Form form;
  form.block = {64, 1, 1};
  std::vector<uint32_t> expected = counting(64);
  std::reverse(expected.begin(), expected.end());
  EXPECT_EQ(runAll(ptx, counting(64), form), expected);
}

TEST(ThreadExecution, BarrierReductions) {
  std::string ptx = executable(R"(
    setp.lt.u32 %p0, %tid, 50;
    bar.red.popc.u32 %r0, 0, %p0;
    bar.red.popc.u32 %r1, 0, !%p0;
    bar.red.and.pred %p1, 0, %p0;
    setp.lt.u32 %p2, %tid, 1000;
    bar.red.and.pred %p3, 0, %p2;
    bar.red.or.pred %p4, 0, %p0;
    bar.red.or.pred %p5, 0, !%p2;
    shl.b32 %r1, %r1, 8; or.b32 %r0, %r0, %r1;
    selp.b32 %r2, 65536, 0, %p1; or.b32 %r0, %r0, %r2;
    selp.b32 %r2, 131072, 0, %p3; or.b32 %r0, %r0, %r2;
    selp.b32 %r2, 262144, 0, %p4; or.b32 %r0, %r0, %r2;
    selp.b32 %r2, 524288, 0, %p5; or.b32 %r0, %r0, %r2;
    st.global.u32 [%mine], %r0;)");
  Form form;
  form.block = {100, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(100), form),
            std::vector<uint32_t>(100, 50 | 50 << 8 | 131072 | 262144));
}

TEST(ThreadExecution, BarrierAfterSomeThreadsHaveExited) {
  // The second warp is gone.
  std::string ptx = executable(R"(
    setp.ge.u32 %p0, %tid, 32;
    @%p0 exit;
    bar.sync 0;
    st.global.u32 [%mine], 7;)");
  Form form;
  form.block = {64, 1, 1};
  std::vector<uint32_t> expected = counting(64);
  std::fill_n(expected.begin(), 32, 7);
  EXPECT_EQ(runAll(ptx, counting(64), form), expected);
}

TEST(ThreadExecution, BarriersBetweenReductions) {
  // LLVM leaves the barriers within the whole-wave region of the reductions, where lanes are on
  // that have no thread.
  std::string ptx = executable(R"(
    redux.sync.add.u32 %r0, %tid, 0xffffffff;
    bar.sync 0;
    redux.sync.add.u32 %r1, %r0, 0xffffffff;
    bar.sync 0;
    redux.sync.add.u32 %r2, %r1, 0xffffffff;
    st.global.u32 [%mine], %r2;)");
  Form form;
  form.block = {48, 1, 1};
  std::vector<uint32_t> expected(48, 496 * 32 * 32);
  std::fill(expected.begin() + 32, expected.end(), 632 * 16 * 16);
  EXPECT_EQ(runAll(ptx, counting(48), form), expected);
}

TEST(ThreadExecution, TrapSaysWhoAndWhere) {
  std::string ptx = executable("setp.eq.u32 %p0, %tid, 37; @%p0 trap; ret;");
  Form form;
  form.block = {8, 8, 1};
  form.expectTrap = true;
  for (bool halfFilled : {false, true}) {
    form.halfFilled = halfFilled;
    rubia::abi::TrapRecord record = run(ptx, counting(64), form).trap;
    EXPECT_EQ(record.claimed, 1u);
    EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::TrapInstruction));
    EXPECT_EQ(record.tid[0], 5u);
    EXPECT_EQ(record.tid[1], 4u);
    EXPECT_EQ(record.tid[2], 0u);
    EXPECT_EQ(record.ctaid[0], 0u);
  }
}

// Nobody can have an address for multimem: only who executes it is ended, and learns which it was.
TEST(ThreadExecution, WhatIsRefusedEndsWhoExecutesIt) {
  auto newer = [](std::string text) {
    const std::string old = ".version 8.0\n.target sm_80";
    return text.replace(text.find(old), old.size(), ".version 8.1\n.target sm_90");
  };
  const std::string body = "add.u32 %r1, %tid, %r5; st.global.u32 [%mine], %r1;"
                           "setp.eq.u32 %p0, %tid, %r5;"
                           "@!%p0 bra done;"
                           "multimem.st.relaxed.sys.global.u32 [%buf], %r1;"
                           "multimem.ld_reduce.relaxed.sys.global.add.u32 %r2, [%buf];"
                           "st.global.u32 [%mine], %r2; done: ret;";
  std::vector<uint32_t> expected = counting(32);
  for (uint32_t &word : expected)
    word += 40;
  EXPECT_EQ(runAll(newer(executable("mov.u32 %r5, 40;" + body)), counting(32)), expected);
  Form form;
  form.expectTrap = true;
  Outcome outcome = run(newer(executable("mov.u32 %r5, 3;" + body)), counting(32), form);
  EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::Unsupported));
  EXPECT_EQ(outcome.trap.tid[0], 3u);
  EXPECT_EQ(outcome.trap.place, 0u); // the first of them
}

// Without a debugger an H100 ends the launch at it.
TEST(ThreadExecution, ABreakpointIsATrap) {
  Form form;
  form.expectTrap = true;
  for (bool halfFilled : {false, true}) {
    form.halfFilled = halfFilled;
    Outcome outcome = run(executable("setp.eq.u32 %p0, %tid, 21; @%p0 brkpt;"), counting(32), form);
    EXPECT_EQ(outcome.trap.reason, uint32_t(rubia::abi::TrapReason::TrapInstruction));
    EXPECT_EQ(outcome.trap.tid[0], 21u);
  }
}

// What has no effect on AMD leaves values and the order of accesses as they are.
TEST(ThreadExecution, HintsChangeNothing) {
  std::string ptx = executable(R"(
    cvta.global.u64 %rd0, %mine;
    prefetchu.L1 [%rd0]; prefetch.global.L2 [%mine];
    applypriority.global.L2::evict_normal [%mine], 128;
    griddepcontrol.wait; griddepcontrol.launch_dependents;
    setmaxnreg.dec.sync.aligned.u32 40; setmaxnreg.inc.sync.aligned.u32 80;
    shl.b32 %r0, %tid, 2; mov.u32 %r1, s; add.u32 %r2, %r1, %r0; xor.b32 %r0, %r0, 252;
    add.u32 %r3, %r1, %r0;
    st.shared.u32 [%r2], %tid; fence.proxy.async.shared::cta; bar.sync 0; fence.proxy.async;
    ld.shared.u32 %r4, [%r3]; pmevent 3;
    fence.proxy.alias; fence.mbarrier_init.release.cluster;
    st.global.u32 [%mine], %r4;)",
                               ".shared .u32 s[64];");
  const std::string old = ".version 8.0\n.target sm_80";
  ptx.replace(ptx.find(old), old.size(), ".version 8.3\n.target sm_90a");
  Form form;
  form.block = {64, 1, 1};
  std::vector<uint32_t> expected(64);
  for (uint32_t i = 0; i < 64; ++i)
    expected[i] = 63 - i;
  EXPECT_EQ(runAll(ptx, std::vector<uint32_t>(64), form), expected);
}

TEST(ThreadExecution, ReportingTrapNamesItsPlace) {
  std::string ptx = executable(R"(
    mov.u64 %rd0, bad;
    proto: .callprototype _ ();
    call %rd0, proto;)",
                               ".func bad { .reg .u64 %r; .reg .u32 %v; "
                               "txq.num_samples.b32 %v, [%r]; ret; }\n");
  Form form;
  form.expectTrap = true;
  rubia::abi::TrapRecord record = run(ptx, counting(1), form).trap;
  EXPECT_EQ(record.reason, uint32_t(rubia::abi::TrapReason::Unsupported));
  EXPECT_EQ(record.place, 0u);
}
