// SPDX-License-Identifier: Apache-2.0
// Forms that old compilers and people write and that ptxas takes: what they compute.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

namespace {

std::vector<uint32_t> repeated(std::vector<uint32_t> values) {
  std::vector<uint32_t> words;
  for (uint32_t i = 0; i < 32; ++i)
    words.push_back(values[i % values.size()]);
  return words;
}

// The same module in an old version, which has .local variables at its level.
std::string inVersion(std::string ptx, const std::string &version, const std::string &target) {
  auto replace = [&](const std::string &directive, const std::string &value) {
    size_t at = ptx.find(directive) + directive.size();
    ptx.replace(at, ptx.find('\n', at) - at, " " + value);
  };
  replace(".version", version);
  replace(".target", target);
  return ptx;
}

} // namespace

TEST(SyntaxExecution, ScalarsOfVectorRegistersAndBack) {
  // Each eighth thread does another one.
  std::string ptx = executable(R"(
    .reg .v2 .b32 a; .reg .v4 .b16 b; .reg .v2 .b16 c; .reg .v2 .f32 d; .reg .v2 .b64 e;
    .reg .v4 .b32 f; .reg .b128 q; .reg .b16 h<4>;
    mov.u64 %rd0, 0x1111222233334444; mov.u64 %rd1, 0x5555666677778888;
    mov.b64 a, %rd0; mov.b64 %rd2, a;
    mov.b64 b, %rd0; mov.b64 %rd3, b;
    mov.u32 %r0, 0x99990000; mov.b32 c, %r0; mov.b32 %r1, c;
    mov.b64 d, %rd1;
    mov.b128 q, {%rd0, %rd1}; mov.b128 e, q; mov.b128 f, q;
    mov.b128 q, f; mov.b128 {%rd4, %rd5}, q;
    and.b32 %r2, %tid, 7;
    mov.b32 %r3, a.y; // 0
    setp.eq.u32 %p0, %r2, 1; @%p0 cvt.u32.u64 %r3, %rd2;
    setp.eq.u32 %p0, %r2, 2; @%p0 cvt.u32.u16 %r3, b.w;
    setp.eq.u32 %p0, %r2, 3; @%p0 xor.b32 %r3, %r1, %r0;
    setp.eq.u32 %p0, %r2, 4; @%p0 mov.b32 %r3, d.x;
    setp.eq.u32 %p0, %r2, 5; @%p0 cvt.u32.u64 %r3, e.y;
    setp.eq.u32 %p0, %r2, 6; @%p0 mov.b32 %r3, f.z;
    setp.eq.u32 %p0, %r2, 7; @%p0 cvt.u32.u64 %r3, %rd5;
    setp.eq.u64 %p1, %rd2, %rd0; setp.eq.and.u64 %p1, %rd3, %rd0, %p1;
    setp.eq.and.u64 %p1, %rd4, %rd0, %p1;
    @!%p1 mov.u32 %r3, 0xdead;
    st.global.u32 [%mine], %r3;)");
  EXPECT_EQ(runAll(inVersion(ptx, "8.3", "sm_70"), counting(32)),
            repeated({0x11112222, 0x33334444, 0x1111, 0, 0x77778888, 0x77778888, 0x77778888,
                      0x77778888}));
}

TEST(SyntaxExecution, SpecialRegistersInVectors) {
  std::string ptx = executable(R"(
    .reg .v4 .u32 v;
    mov.v4.u32 v, %ntid;
    mov.b64 %rd0, {%laneid, %ntid.x};
    mov.b64 {%r0, %r1}, %rd0;
    mov.u32 %r2, %tid.r;
    add.u32 %r0, %r0, %r1;      // lane + 32
    add.u32 %r0, %r0, v.x;      // lane + 64
    add.u32 %r0, %r0, v.y;      // lane + 65
    add.u32 %r0, %r0, %r2;      // 2 lane + 65
    st.global.u32 [%mine], %r0;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(2 * i + 65);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(SyntaxExecution, SumsOfRegistersAndConstants) {
  // As sources anywhere, also guarded, in 16, 32 and 64 bits, and after a label.
  std::string ptx = executable(R"(
    mov.u64 %rd0, 0x1fffffffc; mov.u16 %rs0, 0xfffe; mov.u32 %r0, 1000;
    bra L;
    mov.u32 %r0, 5;
    L: mov.u32 %r1, %r0+4;
    mov.u64 %rd1, %rd0+8; shr.u64 %rd1, %rd1, 32; cvt.u32.u64 %r2, %rd1;
    cvt.u32.u16 %r3, %rs0+4;
    setp.eq.u32 %p0, %r0+-1, 999;
    selp.u32 %r4, %r0+7, 0, %p0;
    setp.lt.u32 %p1, %tid, 16;
    st.global.u32 [%mine], %r1;
    @%p1 st.global.u32 [%mine], %tid+1000;
    and.b32 %r5, %tid, 3;
    setp.eq.u32 %p2, %r5, 1; @%p2 st.global.u32 [%mine], %r2;
    setp.eq.u32 %p2, %r5, 2; @%p2 st.global.u32 [%mine], %r3+0;
    setp.eq.u32 %p2, %r5, 3; @%p2 st.global.u32 [%mine], %r4;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i % 4 == 1   ? 2
                       : i % 4 == 2 ? 2
                       : i % 4 == 3 ? 1007
                       : i < 16     ? 1000 + i
                                    : 1004);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(SyntaxExecution, AddressesWithOffsetsAsValues) {
  std::string ptx = executable(R"(
    st.shared.u32 [table+8], table+4;
    ld.shared.u32 %r0, [table+8];
    mov.u32 %r1, table;
    sub.u32 %r0, %r0, %r1;
    add.u32 %r0, %r0, %tid;
    st.global.u32 [%mine], table+12; // an address in .shared, stored in .global
    ld.global.u32 %r2, [%mine];
    sub.u32 %r2, %r2, %r1;
    mad.lo.u32 %r0, %r2, 100, %r0;
    st.global.u32 [%mine], %r0;)",
                               ".shared .align 16 .b8 table[64];\n");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i + 4 + 1200);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(SyntaxExecution, ElementsOfArrays) {
  // By constants and registers, of any size and sign, in all spaces; stores, atomics and addresses.
  std::string ptx = executable(R"(
    .reg .s32 i; .reg .u64 j;
    and.b32 %r0, %tid, 3;
    ld.global.u32 %r1, words[%r0];          // 100 + tid % 4
    ld.global.u32 %r2, words[%r0+1];        // 101 + tid % 4
    cvt.u64.u32 j, %r0;
    ld.const.u8 %r3, bytes[j];              // 1 + tid % 4
    st.shared.u32 own[%tid], %tid;
    ld.shared.u32 %r4, own[%tid];           // tid
    sub.s32 i, %r0, 4;
    mov.u64 %rd0, words[4]; cvta.global.u64 %rd0, %rd0;
    mov.u64 %rd1, words[i]; mov.u64 %rd2, words;
    sub.u64 %rd1, %rd2, %rd1; cvt.u32.u64 %r5, %rd1; // 4 * (4 - tid % 4)
    ld.u32 %r6, [%rd0+-4];                  // 103
    ld.global.f32 %f0, vectors[5]; cvt.rzi.u32.f32 %r7, %f0; // 6, a scalar's place
    setp.eq.u32 %p0, %tid, 9;
    @%p0 st.shared.u32 own[%tid], 1000;
    @%p0 ld.shared.u32 %r4, own[9];
    atom.shared.add.u32 %r9, own[2*16], 0;
    add.u32 %r1, %r1, %r2; add.u32 %r1, %r1, %r3; add.u32 %r1, %r1, %r4; add.u32 %r1, %r1, %r5;
    add.u32 %r1, %r1, %r6; add.u32 %r1, %r1, %r7;
    st.global.u32 [%mine], %r1;)",
                               R"(
.global .align 4 .u32 words[5] = { 100, 101, 102, 103, 104 };
.global .align 16 .v4 .f32 vectors[2] = { { 1.0, 2.0, 3.0, 4.0 }, { 5.0, 6.0, 7.0, 8.0 } };
.const .align 4 .u8 bytes[4] = { 1, 2, 3, 4 };
.shared .align 4 .u32 own[36];
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(327 - i % 4 + (i == 9 ? 1000 : i));
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(SyntaxExecution, VectorRegistersAsArguments) {
  std::string ptx = executable(R"(
    .reg .v4 .f32 v, w; .reg .v2 .u32 x; .reg .v2 .b16 y; .reg .v2 .u64 z;
    cvt.rn.f32.u32 %f0, %tid;
    mov.v4.f32 v, {%f0, 0f40000000, 0f40400000, 0f40800000};
    call (w), turned, (v);
    mov.v2.u32 x, {%tid, 7};
    mov.u64 %rd0, increased;
    proto: .callprototype (.reg .v2 .u32 r) _ (.reg .v2 .u32 a);
    call (x), %rd0, (x), proto;
    mov.b32 y, x.y; call (y), halves, (y); mov.b32 %r1, y;
    cvt.u64.u32 z.x, %tid; mov.u64 z.y, 0x100000000; call (z), wide, (z); shr.u64 z.x, z.x, 32;
    cvt.rzi.u32.f32 %r0, w.w;
    mad.lo.u32 %r0, %r0, 1000, x.x;
    mad.lo.u32 %r0, %r1, 2, %r0;
    cvt.u32.u64 %r2, z.x; mad.lo.u32 %r0, %r2, 100, %r0;
    st.global.u32 [%mine], %r0;)",
                               R"(
.func (.reg .v4 .f32 r) turned(.reg .v4 .f32 a)
{ mov.f32 r.x, a.w; mov.f32 r.y, a.z; mov.f32 r.z, a.y; mov.f32 r.w, a.x; ret; }
.func (.reg .v2 .u32 r) increased(.reg .v2 .u32 a)
{ add.u32 r.x, a.x, 1; add.u32 r.y, a.y, 0x10000; ret; }
.func (.reg .v2 .b16 r) halves(.reg .v2 .b16 a)
{ mov.b16 r.x, a.y; mov.b16 r.y, 0; ret; }
.func (.reg .v2 .u64 r) wide(.reg .v2 .u64 a)
{ add.u64 r.x, a.x, a.y; mov.u64 r.y, 0; ret; }
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(1000 * i + (i + 1) + 2 * 1 + 100);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(SyntaxExecution, LocalVariablesOfTheModule) {
  std::string ptx = executable(R"(
    mov.u64 %rd0, table; // an address in .local
    st.local.u32 [%rd0+4], %tid;
    ld.local.u32 %r0, [table+4];
    cvta.local.u64 %rd1, table;
    ld.u32 %r1, [%rd1+4];
    add.u32 %r0, %r0, %r1;
    st.local.u32 [single], %r0;
    ld.local.u32 %r2, [single];
    st.global.u32 [%mine], %r2;)",
                               ".local .align 8 .b8 table[16];\n.local .u32 single;\n");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(2 * i);
  EXPECT_EQ(runAll(inVersion(ptx, "2.3", "sm_20"), counting(32)), expected);
}

// Every thread has one copy, which all functions see.
TEST(SyntaxExecution, LocalVariablesOfTheModuleInFunctions) {
  std::string ptx = executable(R"(
    st.local.u32 [counter], %tid;
    st.local.v4.u32 [wide], {1, 2, 3, 4};
    call twice;
    mov.u64 %rd0, once;
    proto: .callprototype _;
    call %rd0, proto;
    call leaves, (%tid);
    ld.local.u32 %r0, [counter];
    ld.local.u32 %r1, [wide+12];
    mad.lo.u32 %r0, %r1, 100, %r0;
    st.global.u32 [%mine], %r0;)",
                               R"(
.local .u32 counter;
.local .align 16 .b8 wide[16];
.func once { .reg .u32 r; ld.local.u32 r, [counter]; add.u32 r, r, 1; st.local.u32 [counter], r; ret; }
.func twice { call once; call once; ret; }
.func leaves(.reg .u32 t)
{ .reg .pred p; setp.lt.u32 p, t, 32; @!p exit; ret; }
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i + 3 + 400);
  EXPECT_EQ(runAll(inVersion(ptx, "2.3", "sm_20"), counting(32)), expected);
}
