// SPDX-License-Identifier: Apache-2.0
// State spaces: module variables, shared, local and generic addresses.
#include "tests/lowering/execution/Execution.h"
#include <cstring>

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
    mov.f32 %f0, 0f3f000000;
    createpolicy.fractional.L2::evict_first.b64 %policy, %f0;
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
    cvta.const.u64 %rd0, c;
    isspacep.global %p0, %rd0; selp.u32 %r1, 32, 0, %p0; add.u32 %r0, %r0, %r1;
    isspacep.global %p0, %rd1; selp.u32 %r1, 64, 0, %p0; add.u32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)",
                               ".const .u32 c[2] = {1, 20};");
  std::string old = ".version 8.0"; // .param::entry
  ptx.replace(0, old.size(), ".version 8.3");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{5 + 64}));
}

// Several kernels may call it, so that it has to be told where their parameters end. Those of `k`
// are 12 bytes, and 4 more align what follows.
TEST(MemoryExecution, ParametersOfTheKernelInFunctions) {
  std::string ptx = executable(R"(
    .local .align 8 .b8 l[8];
    .param .b64 a;
    .param .b32 r;
    cvta.param.u64 %rd0, p;
    cvta.local.u64 %rd1, l;
    add.u64 %rd2, %rd0, 11;
    add.u64 %rd3, %rd0, 12;
    sub.u64 %rd4, %rd0, 1;
    mov.u32 %r0, 0;
    st.param.b64 [a], %rd0; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    or.b32 %r0, %r0, %r1;
    st.param.b64 [a], %rd2; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    shl.b32 %r1, %r1, 1; or.b32 %r0, %r0, %r1;
    st.param.b64 [a], %rd3; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    shl.b32 %r1, %r1, 2; or.b32 %r0, %r0, %r1;
    st.param.b64 [a], %rd4; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    shl.b32 %r1, %r1, 3; or.b32 %r0, %r0, %r1;
    st.param.b64 [a], %rd1; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    shl.b32 %r1, %r1, 4; or.b32 %r0, %r0, %r1;
    st.param.b64 [a], %buf; call.uni (r), isParameter, (a); ld.param.b32 %r1, [r];
    shl.b32 %r1, %r1, 5; or.b32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;)",
                               R"(
.func (.param .b32 r) isParameter(.param .b64 a) {
  .reg .b64 %x; .reg .pred %q; .reg .b32 %v;
  ld.param.b64 %x, [a]; isspacep.param %q, %x; selp.b32 %v, 1, 0, %q;
  st.param.b32 [r], %v; ret;
})");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{3}));
}

// A generic address may be below its array for a while: the sum of its lower half and of a negative
// number carries. In the function, whose frame is somewhere in the stack, the number is any.
TEST(MemoryExecution, AddressesBelowALocalArray) {
  const std::string below = R"(
    mov.u64 %rd0, ARRAY; cvta.local.u64 %rd0, %rd0;
    st.local.u32 [ARRAY+4], NUMBER;
    add.s64 %rd1, %rd0, -8;
    st.volatile.global.u64 [%out], %rd1; ld.volatile.global.u64 %rd1, [%out];
    ld.u32 %r1, [%rd1+12]; add.u32 %r0, %r0, %r1;
    ld.volatile.global.s32 %rd2, [%out+8]; // -4
    mul.lo.s64 %rd2, %rd2, 3;
    add.s64 %rd1, %rd0, %rd2;
    st.volatile.global.u64 [%out], %rd1; ld.volatile.global.u64 %rd1, [%out];
    ld.u32 %r1, [%rd1+16]; add.u32 %r0, %r0, %r1;)";
  auto of = [&](const std::string &array, const std::string &number) {
    std::string text = below;
    for (size_t at; (at = text.find("ARRAY")) != std::string::npos;)
      text.replace(at, 5, array);
    return text.replace(text.find("NUMBER"), 6, number);
  };
  const std::string declared = R"(
    .local .align 8 .b8 l[24]; .local .align 8 .b8 m[40]; .local .align 8 .b8 n2[48];
    .reg .b64 %out;)";
  std::string ptx = executable(declared + R"(
    .param .b64 a;
    .param .b32 r;
    mov.b64 %out, %buf; mov.u32 %r0, 0;)" +
                                   of("l", "1") + of("m", "20") + of("n2", "300") + R"(
    st.param.b64 [a], %buf;
    call.uni (r), f, (a); ld.param.b32 %r1, [r]; add.u32 %r0, %r0, %r1;
    mov.b64 %rd0, 0; st.global.u64 [%buf], %rd0;
    st.global.u32 [%buf+16], %r0;)",
                               R"(
.visible .func (.param .b32 r) f(.param .b64 a) {
  .reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p;)" +
                                   declared + R"(
  .param .b64 b;
  .param .b32 s;
  ld.param.b64 %out, [a]; mov.u32 %r0, 0;)" +
                                   of("l", "4000") + of("m", "50000") + of("n2", "600000") + R"(
  ld.volatile.global.u32 %r2, [%out+12];
  add.u32 %r3, %r2, -1; st.volatile.global.u32 [%out+12], %r3;
  setp.eq.u32 %p, %r2, 0;
  @%p bra DONE;
  st.param.b64 [b], %out;
  call.uni (s), f, (b); ld.param.b32 %r1, [s]; add.u32 %r0, %r0, %r1;
DONE:
  st.param.b32 [r], %r0; ret;
})");
  Form form;
  form.block = {1, 1, 1};
  std::vector<uint32_t> result = runAll(ptx, {0, 0, uint32_t(-4), 1, 0}, form);
  ASSERT_EQ(result.size(), 5u);
  EXPECT_EQ(result[4], 2 * 321 + 2 * 2 * 654000u);
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

static std::string forNewTargets(std::string ptx) {
  std::string old = ".version 8.0\n.target sm_80";
  EXPECT_EQ(ptx.find(old), 0u);
  return ptx.replace(0, old.size(), ".version 8.8\n.target sm_100");
}

// The null pointer of LLVM's shared memory is all ones: 0 is an address like any other, and the
// generic address 0 is nobody's.
TEST(MemoryExecution, SharedAddressZero) {
  std::string ptx = executable(R"(
    mov.u32 %r1, s;
    cvt.u64.u32 %rd0, %r1;
    cvta.shared.u64 %rd1, %rd0;
    st.u32 [%rd1], 77;
    cvta.to.shared.u64 %rd2, %rd1;
    ld.shared.u32 %r0, [%rd2];
    st.global.u32 [%buf], %r0;
    sub.u64 %rd3, %rd2, %rd0;
    st.global.u32 [%buf+4], %r1;
    st.global.u64 [%buf+8], %rd3;
    isspacep.shared %p0, %rd1; selp.u32 %r0, 1, 0, %p0;
    mov.u64 %rd4, 0;
    isspacep.shared %p0, %rd4; selp.u32 %r2, 2, 0, %p0; or.b32 %r0, %r0, %r2;
    isspacep.local %p0, %rd4; selp.u32 %r2, 4, 0, %p0; or.b32 %r0, %r0, %r2;
    isspacep.global %p0, %rd4; selp.u32 %r2, 8, 0, %p0; or.b32 %r0, %r0, %r2;
    atom.add.u32 %r3, [%rd1], 3;
    add.u32 %r3, %r3, %r0;
    ld.shared.u32 %r2, [s];
    add.u32 %r3, %r3, %r2;
    st.global.u32 [%buf+16], %r3;)",
                               ".shared .align 4 .b8 s[8];");
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runOnAllTargets(ptx, std::vector<uint32_t>(5), form),
            (std::vector<uint32_t>{77, 0, 0, 0, 77 + 9 + 80}));
}

// A cluster is one CTA.
TEST(MemoryExecution, SharedMemoryOfTheCluster) {
  std::string ptx =
      forNewTargets(executable(R"(
    mov.u32 %r9, 0;
    mapa.shared::cluster.u32 %r0, s, %r9;
    st.shared::cluster.u32 [%r0+4], 5;
    cvt.u64.u32 %rd0, %r0;
    cvta.shared::cluster.u64 %rd0, %rd0;
    mapa.u64 %rd1, %rd0, %r9;
    mapa.u64 %rd5, s, %r9;
    atom.add.u32 %r1, [%rd1+4], 6;
    atom.shared::cluster.add.u32 %r2, [%r0+4], 7;
    cvta.to.shared::cluster.u64 %rd2, %rd5;
    ld.shared.u32 %r3, [%rd2+4];
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3;
    isspacep.shared::cluster %p0, %rd0; selp.u32 %r2, 1000, 0, %p0; add.u32 %r1, %r1, %r2;
    isspacep.shared::cluster %p0, %buf; selp.u32 %r2, 2000, 0, %p0; add.u32 %r1, %r1, %r2;
    getctarank.u64 %r2, %rd0; add.u32 %r1, %r1, %r2;
    getctarank.shared::cluster.u32 %r2, s; add.u32 %r1, %r1, %r2;
    st.global.u32 [%buf], %r1;)",
                               ".shared .align 4 .b8 unused[16]; .shared .align 4 .b8 s[8];"));
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(1), form), (std::vector<uint32_t>{5 + 11 + 18 + 1000}));
}

// Accesses of which PTX does not say when they are done, but in which order they are seen.
TEST(MemoryExecution, BulkAndAsynchronousAccesses) {
  std::string ptx = forNewTargets(executable(R"(
    mov.u32 %r0, s;
    shl.b32 %r1, %tid, 2; add.u32 %r0, %r0, %r1;
    st.shared.u32 [%r0], 9;
    bar.sync 0;
    setp.ne.u32 %p0, %tid, 0;
    mov.u64 %rd0, 40;
    @!%p0 st.bulk.shared::cta [s+16], %rd0, 0;
    bar.sync 0;
    ld.shared.u32 %r2, [%r0];
    st.async.release.gpu.global.u32 [%mine], %r2;
    red.async.release.sys.global.add.u32 [%mine], 1;
    st.async.mmio.release.sys.global.u32 [%buf+128], 3;)",
                                             ".shared .align 8 .b8 s[128];"));
  std::vector<uint32_t> expected(33, 10);
  for (int i = 4; i < 14; ++i)
    expected[size_t(i)] = 1;
  expected[32] = 3;
  EXPECT_EQ(runAll(ptx, std::vector<uint32_t>(33), {}), expected);
}

// Generic addresses of a kernel's parameters, by register and with an offset.
TEST(MemoryExecution, ParametersByAddress) {
  std::string ptx = forNewTargets(executable(R"(
    cvta.param.u64 %rd0, n;
    ld.u32 %r0, [%rd0];
    cvta.to.param::entry.u64 %rd1, %rd0;
    ld.param::entry.u32 %r1, [%rd1];
    mov.b64 %rd2, p;
    ld.param.u32 %r2, [%rd2+8];
    add.u32 %r0, %r0, %r1; add.u32 %r0, %r0, %r2;
    st.global.u32 [%mine], %r0;)"));
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(7), form), (std::vector<uint32_t>{21, 1, 2, 3, 4, 5, 6}));
}

// Every type and vector, by every kind of access, from one space to another and back: all bytes
// arrive, and no others.
TEST(MemoryExecution, EveryTypeByEveryAccess) {
  struct Access {
    const char *load, *store;
  };
  const Access accesses[] = {
      {".weak", ""},
      {".volatile", ".volatile"},
      {".relaxed.gpu", ".relaxed.sys"},
      {".acquire.cta", ".release.gpu"},
      {".acquire.sys", ".release.cta"},
  };
  std::string body = "mov.u64 %rd5, s;\nmov.u64 %rd6, %rd5;\ncvta.shared.u64 %rd6, %rd6;\n"
                     "mov.u64 %rd7, l;\n";
  unsigned offset = 0;
  std::vector<unsigned> sizes;
  auto copy = [&](std::string type, unsigned bytes, unsigned count, const Access &access) {
    const char *reg = bytes == 16 ? "%q" : bytes == 8 ? "%rd1" : bytes == 4 ? "%r1" : "%rs1";
    std::string list, vector = count > 1 ? ".v" + std::to_string(count) : "";
    for (unsigned i = 0; i < count; ++i)
      list += (i ? ", " : "") + std::string(reg) + std::to_string(i);
    if (count > 1)
      list = "{" + list + "}";
    std::string suffix = vector + "." + type + " ", at = std::to_string(offset);
    auto move = [&](std::string load, std::string from, std::string store, std::string to) {
      body += "ld" + load + suffix + list + ", [" + from + "];\nst" + store + suffix + "[" + to +
              "], " + list + ";\n";
    };
    move(access.load + std::string(".global"), "%buf+" + at, access.store + std::string(".shared"),
         "%rd5");
    move(access.load + std::string(""), "%rd6", ".local", "%rd7");
    move(".local", "%rd7", access.store + std::string(""), "%buf+8192+" + at);
    sizes.push_back(bytes * count);
    offset += 32;
  };
  for (const Access &access : accesses) {
    for (const char *type : {"b8", "u8", "s8"})
      for (unsigned count : {1, 2, 4, 8})
        copy(type, 1, count, access);
    for (const char *type : {"b16", "u16", "s16"})
      for (unsigned count : {1, 2, 4, 8})
        copy(type, 2, count, access);
    for (const char *type : {"b32", "u32", "s32", "f32"})
      for (unsigned count : {1, 2, 4})
        copy(type, 4, count, access);
    for (const char *type : {"b64", "u64", "s64", "f64"})
      for (unsigned count : {1, 2})
        copy(type, 8, count, access);
    copy("b128", 16, 1, access);
  }
  ASSERT_LE(offset, 8192u);
  std::string registers = ".reg .b128 %q0;\n.local .align 32 .b8 l[32];\n";
  std::string ptx = forNewTargets(executable(registers + body, ".shared .align 32 .b8 s[32];"));
  std::vector<uint32_t> words(4096);
  std::vector<uint8_t> source(8192);
  for (size_t i = 0; i < source.size(); ++i)
    source[i] = uint8_t(i * 37 + i / 256 + 1);
  std::memcpy(words.data(), source.data(), source.size());
  Form form;
  form.block = {1, 1, 1};
  for (const char *arch : kTargets) {
    form.arch = arch;
    form.halfFilled = isWave64(form.arch);
    std::vector<uint32_t> result = run(ptx, words, form).words;
    std::vector<uint8_t> copied(8192);
    std::memcpy(copied.data(), result.data() + 2048, copied.size());
    for (size_t i = 0; i < sizes.size(); ++i)
      for (size_t byte = 0; byte < 32; ++byte)
        ASSERT_EQ(copied[32 * i + byte], byte < sizes[i] ? source[32 * i + byte] : 0)
            << arch << ", access " << i << ", byte " << byte;
  }
}

TEST(MemoryExecution, MmioOfEverySize) {
  struct Type {
    const char *name, *reg;
    size_t bytes;
  };
  const Type types[] = {{"u8", "%r0", 1},  {"b16", "%rs0", 2}, {"u32", "%r0", 4},
                        {"f32", "%f0", 4}, {"s64", "%rd0", 8}, {"b128", "%q0", 16}};
  std::string body = ".reg .b128 %q0;\n";
  std::vector<uint32_t> expected = counting(128);
  auto *bytes = reinterpret_cast<uint8_t *>(expected.data());
  size_t offset = 0;
  for (const auto &[load, store] : {std::pair{".relaxed.sys.global.", ".release.sys."},
                                    std::pair{".acquire.sys.", ".relaxed.sys.global."}})
    for (const Type &type : types) {
      const std::string reg = type.reg, name = type.name, from = std::to_string(offset),
                        to = std::to_string(offset + 256);
      body += "ld.mmio" + (load + name) + " " + reg + ", [%buf+" + from + "];\n" + "st.mmio" +
              (store + name) + " [%buf+" + to + "], " + reg + ";\n";
      std::memcpy(bytes + 256 + offset, bytes + offset, type.bytes);
      offset += 16;
    }
  std::string ptx = executable(body);
  for (auto [from, to] : {std::pair{"sm_80", "sm_90"}, std::pair{".version 8.0", ".version 9.3"}})
    ptx.replace(ptx.find(from), strlen(from), to);
  Form form;
  form.block = {1, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(128), form), expected);
}
