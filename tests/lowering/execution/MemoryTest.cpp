// State spaces: module variables, shared, local and generic addresses.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

TEST(MemoryExecution, ModuleVariables) {
  std::string ptx = executable(R"(
    ld.const.u32 %r0, [c+4];
    ld.global.u64 %rd0, [pointer];
    ld.global.u32 %r1, [%rd0];
    add.u32 %r0, %r0, %r1;
    st.global.u32 [g+8], %r0;
    cvta.global.u64 %rd1, g;
    ld.u32 %r2, [%rd1+8];
    st.global.u32 [%mine], %r2;)",
                               ".const .u32 c[2] = {1, 20}; .global .u32 g[3] = {1, 300, 5};"
                               ".global .u64 pointer = g+4;");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{320}));
}

TEST(MemoryExecution, GenericAddressesOfEverySpace) {
  std::string ptx = executable(R"(
    .local .align 8 .b8 l[16];
    mov.u64 %rd0, s; cvta.shared.u64 %rd0, %rd0;
    mov.u64 %rd1, l; cvta.local.u64 %rd1, %rd1;
    cvta.global.u64 %rd2, g;
    st.u32 [%rd0+4], 1; st.u32 [%rd1+8], 20; st.u32 [%rd2], 300;
    ld.shared.u32 %r0, [s+4]; ld.local.u32 %r1, [l+8]; ld.global.u32 %r2, [g];
    add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;
    isspacep.shared %p0, %rd0; selp.u32 %r3, 1000, 0, %p0; add.u32 %r0, %r0, %r3;
    isspacep.local %p0, %rd1; selp.u32 %r3, 2000, 0, %p0; add.u32 %r0, %r0, %r3;
    isspacep.global %p0, %rd2; selp.u32 %r3, 4000, 0, %p0; add.u32 %r0, %r0, %r3;
    isspacep.shared %p0, %rd1; selp.u32 %r3, 8000, 0, %p0; add.u32 %r0, %r0, %r3;
    isspacep.global %p0, %rd0; selp.u32 %r3, 16000, 0, %p0; add.u32 %r0, %r0, %r3;
    cvta.to.shared.u64 %rd3, %rd0; ld.shared.u32 %r4, [%rd3+4]; add.u32 %r0, %r0, %r4;
    cvta.to.local.u64 %rd4, %rd1; ld.local.u32 %r4, [%rd4+8]; add.u32 %r0, %r0, %r4;
    st.global.u32 [%mine], %r0;)",
                               ".shared .align 4 .b8 s[8]; .global .u32 g;");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{7000 + 321 + 21}));
}

// 256 bits, eight small elements and 128 bits at once; hints for caches have no effect.
TEST(MemoryExecution, WideAccesses) {
  std::string ptx = executable(R"(
    .reg .b64 %policy;
    .reg .b128 %q;
    createpolicy.fractional.L2::evict_last.b64 %policy, 1.0;
    prefetch.global.L2::evict_last [%buf];
    discard.global.L2 [%buf+256], 128;
    ld.global.L2::cache_hint.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%buf], %policy;
    st.global.v8.b32 [%buf+32], {%r7, %r6, %r5, %r4, %r3, %r2, %r1, %r0};
    ld.global.nc.v4.u64 {%rd0, %rd1, %rd2, %rd3}, [%buf];
    st.global.v4.u64 [%buf+64], {%rd3, %rd2, %rd1, %rd0};
    ld.global.v8.s8 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%buf+8];
    add.u32 %r3, %r3, %r7;
    mov.u16 %rs0, 9;
    st.global.v8.u16 [%buf+96], {%rs0, %rs0, %rs0, %rs0, %rs0, %rs0, %rs0, %rs0};
    st.global.u32 [%buf+96], %r3;
    ldu.global.v2.u32 {%r0, %r1}, [%buf+16];
    st.global.v2.u32 [%buf+100], {%r1, %r0};
    ld.global.b128 %q, [%buf];
    st.global.b128 [%buf+112], %q;)");
  std::string old = ".version 8.0\n.target sm_80"; // 256 bits came with sm_100
  ASSERT_EQ(ptx.find(old), 0u);
  ptx.replace(0, old.size(), ".version 8.8\n.target sm_100");
  Form form;
  form.block = {1, 1, 1};
  std::vector<uint32_t> words = {1, 2, 0xf0000003, 0x80000004, 5, 6, 7, 8};
  words.resize(96);
  std::vector<uint32_t> result = runAll(ptx, words, form);
  EXPECT_EQ(
      std::vector<uint32_t>(result.begin() + 8, result.begin() + 32),
      (std::vector<uint32_t>{8, 7,       6, 5,          0x80000004, 0xf0000003, 2, 1,          7,
                             8, 5,       6, 0xf0000003, 0x80000004, 1,          2, 0xffffff70, 6,
                             5, 0x90009, 1, 2,          0xf0000003, 0x80000004}));
}

TEST(MemoryExecution, WhereConstantsAndParametersAre) {
  std::string ptx = executable(R"(
    cvta.const.u64 %rd0, c;
    cvta.param.u64 %rd1, n;
    mov.u32 %r0, 0;
    isspacep.const %p0, %rd0; selp.u32 %r1, 1, 0, %p0; add.u32 %r0, %r0, %r1;
    isspacep.const %p0, %buf; selp.u32 %r1, 2, 0, %p0; add.u32 %r0, %r0, %r1;
    isspacep.param::entry %p0, %rd1; selp.u32 %r1, 4, 0, %p0; add.u32 %r0, %r0, %r1;
    isspacep.param %p0, %rd0; selp.u32 %r1, 8, 0, %p0; add.u32 %r0, %r0, %r1;
    add.u64 %rd0, %rd0, 8;
    isspacep.const %p0, %rd0; selp.u32 %r1, 16, 0, %p0; add.u32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)",
                               ".const .u32 c[2] = {1, 20};");
  std::string old = ".version 8.0"; // .param::entry
  ptx.replace(0, old.size(), ".version 8.3");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{5}));
}

TEST(MemoryExecution, LocalArrayWithDynamicIndex) {
  std::string ptx = executable(R"(
    .local .align 4 .b8 l[64];
    mov.u64 %rd0, l;
    mov.u32 %r0, 0;
  fill:
    mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0;
    mad.lo.u32 %r1, %r0, 100, %tid;
    st.local.u32 [%rd1], %r1;
    add.u32 %r0, %r0, 1;
    setp.lt.u32 %p0, %r0, 16;
    @%p0 bra fill;
    and.b32 %r2, %tid, 15;
    mul.wide.u32 %rd1, %r2, 4; add.u64 %rd1, %rd1, %rd0;
    ld.local.u32 %r3, [%rd1];
    st.global.u32 [%mine], %r3;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 64; ++i)
    expected.push_back(i % 16 * 100 + i);
  Form form;
  form.block = {64, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(64), form), expected);
}

TEST(MemoryExecution, DynamicSharedMemoryFollowsStatic) {
  std::string ptx = executable(R"(
    mov.u32 %r0, d; mov.u32 %r1, e; sub.u32 %r2, %r0, %r1;
    shl.b32 %r3, %tid, 2; add.u32 %r4, %r0, %r3;
    st.shared.u32 [%r4], %tid;
    st.shared.u32 [s], 5;
    bar.sync 0;
    xor.b32 %r3, %r3, 124; add.u32 %r4, %r1, %r3;
    ld.shared.u32 %r5, [%r4]; ld.shared.u32 %r6, [s];
    add.u32 %r5, %r5, %r6; add.u32 %r5, %r5, %r2;
    st.global.u32 [%mine], %r5;)",
                               ".shared .align 4 .b8 s[4]; .extern .shared .align 4 .b8 d[];"
                               ".extern .shared .align 16 .b8 e[];");
  Form form;
  form.dynamicSharedBytes = 128;
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(31 - i + 5);
  EXPECT_EQ(runAll(ptx, counting(32), form), expected);
}

TEST(MemoryExecution, VectorsAndNarrowTypes) {
  std::string ptx = executable(R"(
    ld.global.v4.u32 {%r0, %r1, %r2, %r3}, [%buf];
    st.global.v2.u32 [%buf+16], {%r3, %r0};
    ld.global.v4.u8 {%rs0, %rs1, %rs2, %rs3}, [%buf+4];
    cvt.u32.u16 %r4, %rs1; st.global.u32 [%buf+24], %r4;
    ld.global.s8 %r5, [%buf+11]; st.global.u32 [%buf+28], %r5;
    ld.global.s16 %rd0, [%buf+10]; st.global.u64 [%buf+32], %rd0;
    mov.b64 %rd1, {%r1, %r2}; st.global.u64 [%buf+40], %rd1;
    mov.b32 {%rs4, %rs5}, %r1; st.global.u16 [%buf+48], %rs5;
    st.global.u8 [%buf+51], %r2;)");
  std::vector<uint32_t> words = {1, 0x11223344, 0x80ff7f01, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, words, form),
            (std::vector<uint32_t>{1, 0x11223344, 0x80ff7f01, 4, 4, 1, 0x33, 0xffffff80, 0xffff80ff,
                                   0xffffffff, 0x11223344, 0x80ff7f01, 0x01001122}));
}

TEST(MemoryExecution, VolatileAndOrderedAccesses) {
  std::string ptx = executable(R"(
    ld.volatile.global.u32 %r0, [%mine]; add.u32 %r0, %r0, 1;
    st.volatile.global.u32 [%mine], %r0;
    ld.acquire.gpu.global.u32 %r0, [%mine]; add.u32 %r0, %r0, 1;
    st.release.gpu.global.u32 [%mine], %r0;
    fence.acq_rel.sys; membar.gl;
    ld.relaxed.cta.global.u32 %r0, [%mine]; add.u32 %r0, %r0, 1;
    st.relaxed.sys.global.u32 [%mine], %r0;)");
  std::vector<uint32_t> expected = counting(32);
  for (uint32_t &word : expected)
    word += 3;
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}
