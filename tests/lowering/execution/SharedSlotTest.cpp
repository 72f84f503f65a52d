// SPDX-License-Identifier: Apache-2.0
// Shared memory in device memory: slots that CTAs take and give back. What instructions do there
// the other tests compare with LDS (runAll, runOnAllTargets).
#include "tests/lowering/execution/Execution.h"
#include <gmock/gmock.h>

using namespace rubia::lowering::test;

// Each CTA sums up what its threads have left in shared memory, and ends in several places.
static const std::string kSum = executable(R"(
    mov.u32 %r0, %ctaid.x;
    mad.lo.u32 %r1, %r0, 100, %tid;
    shl.b32 %r2, %tid, 2;
    mov.u32 %r3, dynamic;
    add.u32 %r4, %r3, %r2;
    st.shared.u32 [%r4], %r1;
    bar.sync 0;
    xor.b32 %r2, %r2, 36;
    add.u32 %r4, %r3, %r2;
    ld.shared.u32 %r5, [%r4];
    st.global.u32 [%mine], %r5;
    and.b32 %r6, %tid, 3;
    setp.eq.u32 %p0, %r6, 0;
    @%p0 exit;
    setp.gt.u32 %p0, %tid, 39;
    @%p0 exit;
    st.shared.u32 [%r4], %r0;
    ld.shared.u32 %r7, [%r4];
    add.u32 %r5, %r5, %r7;
    st.global.u32 [%mine], %r5;)",
                                           ".extern .shared .align 16 .b8 dynamic[];");

static uint32_t expected(uint32_t cta, uint32_t thread) {
  return 100 * cta + (thread ^ 9) + (thread % 4 && thread < 40 ? cta : 0);
}

TEST(SharedSlot, AreGivenBack) {
  constexpr uint32_t kCtas = 50, kThreads = 64;
  for (const char *arch : kTargets)
    for (bool packed : {false, true}) {
      Form form;
      form.arch = arch;
      form.packed = packed && isWave64(arch);
      form.halfFilled = !form.packed && isWave64(arch);
      form.grid = {kCtas, 1, 1};
      form.block = {kThreads, 1, 1};
      form.dynamicSharedBytes = kThreads * 4;
      form.sharedInMemory = true;
      form.hostThreads = 2;
      form.sharedSlots = 3; // of which CTAs that are under way have two: each is used often
      std::vector<uint32_t> words = run(kSum, std::vector<uint32_t>(kCtas * kThreads), form).words;
      for (uint32_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(words[i], expected(i / kThreads, i % kThreads)) << arch << ", thread " << i;
    }
}

// More CTAs under way than slots: who finds none waits until another CTA has ended.
TEST(SharedSlot, AreWaitedFor) {
  constexpr uint32_t kCtas = 40, kThreads = 64;
  Form form;
  form.grid = {kCtas, 1, 1};
  form.block = {kThreads, 1, 1};
  form.dynamicSharedBytes = kThreads * 4;
  form.sharedInMemory = true;
  form.hostThreads = 4;
  form.sharedSlots = 1;
  std::vector<uint32_t> words = run(kSum, std::vector<uint32_t>(kCtas * kThreads), form).words;
  for (uint32_t i = 0; i < words.size(); ++i)
    ASSERT_EQ(words[i], expected(i / kThreads, i % kThreads)) << "thread " << i;
}

// The CTA before must not be heard of in a slot: also with late stores and caches that nothing
// keeps coherent.
TEST(SharedSlot, AreOrderedBetweenTheirCtas) {
  constexpr uint32_t kCtas = 12, kThreads = 64;
  for (const char *arch : kTargets)
    for (uint64_t seed : {1, 2, 3}) {
      Form form;
      form.arch = arch;
      form.halfFilled = isWave64(arch);
      form.grid = {kCtas, 1, 1};
      form.block = {kThreads, 1, 1};
      form.dynamicSharedBytes = kThreads * 4;
      form.sharedInMemory = true;
      form.sharedSlots = 2;
      form.orderSeed = seed;
      std::vector<uint32_t> words = run(kSum, std::vector<uint32_t>(kCtas * kThreads), form).words;
      for (uint32_t i = 0; i < words.size(); ++i)
        ASSERT_EQ(words[i], expected(i / kThreads, i % kThreads)) << arch << ", thread " << i;
    }
}

// Additions of f32 flush denormals in global memory and keep them in shared memory, by any address.
TEST(SharedSlot, AtomicsAreThoseOfSharedMemory) {
  const std::string ptx = executable(R"(
    setp.ne.u32 %p0, %tid, 0;
    @%p0 exit;
    mov.u32 %r0, 3; // a denormal
    mov.b32 %f0, %r0;
    mov.u32 %r1, dynamic;
    st.shared.u32 [%r1], %r0;
    st.shared.u32 [%r1+4], %r0;
    red.shared.add.f32 [%r1], %f0;
    cvt.u64.u32 %rd0, %r1;
    cvta.shared.u64 %rd1, %rd0;
    red.add.f32 [%rd1+4], %f0;
    ld.shared.v2.u32 {%r2, %r3}, [%r1];
    st.global.u32 [%buf], %r2;
    st.global.u32 [%buf+4], %r3;
    st.global.u32 [%buf+8], %r0;
    red.global.add.f32 [%buf+8], %f0;
    st.global.u32 [%buf+12], %r0;
    red.add.f32 [%buf+12], %f0;
    cvta.to.shared.u64 %rd2, %rd1;
    cvt.u32.u64 %r4, %rd2;
    sub.u32 %r4, %r4, %r1;
    st.global.u32 [%buf+16], %r4;
    isspacep.shared %p1, %rd1;
    isspacep.shared %p2, %buf;
    isspacep.global %p3, %rd1;
    isspacep.global %p4, %buf;
    selp.u32 %r5, 1, 0, %p1;
    @%p2 add.u32 %r5, %r5, 2;
    @%p3 add.u32 %r5, %r5, 4;
    @%p4 add.u32 %r5, %r5, 8;
    st.global.u32 [%buf+20], %r5;)",
                                     ".extern .shared .align 16 .b8 dynamic[];");
  Form form;
  form.dynamicSharedBytes = 64;
  for (bool inMemory : {false, true}) {
    form.sharedInMemory = inMemory;
    std::vector<uint32_t> words = runOnAllTargets(ptx, std::vector<uint32_t>(8), form);
    EXPECT_THAT(words, ::testing::ElementsAre(6, 6, 0, 0, 0, 9, 0, 0));
  }
}
