// Calls, indirect calls, exit from functions, branches and switches.
#include "tests/lowering/execution/Execution.h"

using namespace rubia::lowering::test;

TEST(CallExecution, StructsGoInAndOut) {
  std::string ptx = executable(R"({
    .param .align 8 .b8 a[20]; .param .align 8 .b8 r[24];
    cvt.u64.u32 %rd0, %tid;
    st.param.b64 [a], %rd0; st.param.b32 [a+8], 100; st.param.b64 [a+12], 7;
    call.uni (r), f, (a);
    ld.param.b64 %rd1, [r+8]; ld.param.b32 %r1, [r+16];
    cvt.u32.u64 %r0, %rd1; add.u32 %r0, %r0, %r1;
    st.global.u32 [%mine], %r0;
  })",
                               R"(
.func (.param .align 8 .b8 r[24]) f(.param .align 8 .b8 x[20]) {
  .reg .b64 %rd<4>; .reg .b32 %r<2>;
  ld.param.b64 %rd0, [x]; ld.param.b32 %r0, [x+8];
  mul.lo.u64 %rd0, %rd0, 3;
  st.param.b64 [r+8], %rd0; st.param.b32 [r+16], %r0;
  ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(3 * i + 100);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(CallExecution, DivergentIndirectCalls) {
  std::string ptx = executable(R"(
    mov.u64 %rd0, twice; mov.u64 %rd1, plusOne;
    and.b32 %r1, %tid, 1; setp.eq.u32 %p0, %r1, 0;
    selp.b64 %rd2, %rd0, %rd1, %p0;
    { .param .b32 a; .param .b32 r;
    proto: .callprototype (.param .b32 _) _ (.param .b32 _);
    st.param.b32 [a], %tid;
    call (r), %rd2, (a), proto;
    ld.param.b32 %r0, [r]; }
    st.global.u32 [%mine], %r0;)",
                               R"(
.func (.param .b32 r) twice(.param .b32 x) {
  .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, %r; st.param.b32 [r], %r; ret;
}
.func (.param .b32 r) plusOne(.param .b32 x) {
  .reg .b32 %r; ld.param.b32 %r, [x]; add.u32 %r, %r, 1; st.param.b32 [r], %r; ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i % 2 ? i + 1 : 2 * i);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(CallExecution, Recursion) {
  std::string ptx = executable(R"({
    .param .b32 a; .param .b32 r;
    and.b32 %r1, %tid, 7;
    st.param.b32 [a], %r1;
    call.uni (r), factorial, (a);
    ld.param.b32 %r0, [r];
    st.global.u32 [%mine], %r0;
  })",
                               R"(
.func (.param .b32 r) factorial(.param .b32 x) {
  .reg .b32 %r<3>; .reg .pred %p;
  ld.param.b32 %r0, [x];
  mov.u32 %r2, 1;
  setp.eq.u32 %p, %r0, 0;
  @%p bra done;
  sub.u32 %r1, %r0, 1;
  { .param .b32 a; .param .b32 s;
  st.param.b32 [a], %r1;
  call.uni (s), factorial, (a);
  ld.param.b32 %r1, [s]; }
  mul.lo.u32 %r2, %r0, %r1;
done:
  st.param.b32 [r], %r2;
  ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 16; ++i) {
    uint32_t product = 1;
    for (uint32_t j = 2; j <= i % 8; ++j)
      product *= j;
    expected.push_back(product);
  }
  Form form;
  form.block = {16, 1, 1};
  EXPECT_EQ(runAll(ptx, counting(16), form), expected);
}

TEST(CallExecution, ExitInAFunctionEndsOnlyThatThread) {
  std::string ptx = executable(R"({
    .param .b32 a;
    st.param.b32 [a], %tid;
    call.uni leave, (a);
    st.global.u32 [%mine], 1000;
  })",
                               R"(
.func inner(.param .b32 x) {
  .reg .b32 %r; .reg .pred %p;
  ld.param.b32 %r, [x]; and.b32 %r, %r, 3; setp.eq.u32 %p, %r, 2; @%p exit; ret;
}
.func leave(.param .b32 x) {
  .reg .b32 %r; .param .b32 a;
  ld.param.b32 %r, [x]; st.param.b32 [a], %r; call.uni inner, (a); ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i % 4 == 2 ? i : 1000);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

TEST(CallExecution, SwitchAndLoops) {
  std::string ptx = executable(R"(
    and.b32 %r0, %tid, 3;
    mov.u32 %r1, 0;
    ts: .branchtargets A, B, C, D;
    brx.idx %r0, ts;
  A: add.u32 %r1, %r1, 1;
  B: add.u32 %r1, %r1, 10;
    bra E;
  C: add.u32 %r1, %r1, 100;
    setp.lt.u32 %p0, %r1, 1000;
    @%p0 bra C;
  D: add.u32 %r1, %r1, 5000;
  E: st.global.u32 [%mine], %r1;)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i % 4 == 0 ? 11 : i % 4 == 1 ? 10 : i % 4 == 2 ? 6000 : 5000);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

// Parameters of functions lie in the thread's own memory, also if a register has their address.
TEST(CallExecution, ParametersThroughTheirAddress) {
  std::string ptx = executable(R"({
    .param .align 8 .b8 a[16]; .param .b32 i; .param .align 4 .b8 r[8];
    st.param.b32 [a], 100; st.param.b32 [a+4], 200; st.param.b32 [a+8], 300; st.param.b32 [a+12], 400;
    and.b32 %r0, %tid, 3; st.param.b32 [i], %r0;
    call.uni (r), pick, (a, i);
    ld.param.b32 %r1, [r]; ld.param.b32 %r2, [r+4];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%mine], %r1;
  })",
                               R"(
.func (.param .align 4 .b8 r[8]) pick(.param .align 8 .b8 a[16], .param .b32 i) {
  .reg .b64 %rd<6>; .reg .b32 %r<4>;
  ld.param.b32 %r0, [i];
  mov.b64 %rd0, a;
  mad.wide.u32 %rd1, %r0, 4, %rd0;
  ld.param.u32 %r1, [%rd1];
  mov.b64 %rd2, r;
  st.param.b32 [%rd2], %r1;
  cvta.param.u64 %rd3, %rd1;
  ld.u32 %r2, [%rd3];
  cvta.to.param.u64 %rd4, %rd3;
  ld.param.u32 %r3, [%rd4];
  sub.u32 %r2, %r2, %r3; add.u32 %r2, %r2, 7;
  st.param.b32 [%rd2+4], %r2;
  ret;
}
)");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back((i % 4 + 1) * 100 + 7);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}

// What a kernel passes to a function is no parameter of the kernel.
TEST(CallExecution, ArgumentsOfAKernelHaveAGenericAddress) {
  std::string ptx = executable(R"({
    .param .b32 a;
    add.u32 %r0, %tid, 5;
    st.param.b32 [a], %r0;
    cvta.param.u64 %rd0, a;
    ld.u32 %r1, [%rd0];
    cvta.param.u64 %rd1, n;
    ld.u32 %r2, [%rd1];
    add.u32 %r1, %r1, %r2;
    st.global.u32 [%mine], %r1;
  })");
  std::vector<uint32_t> expected;
  for (uint32_t i = 0; i < 32; ++i)
    expected.push_back(i + 5 + 32);
  EXPECT_EQ(runAll(ptx, counting(32)), expected);
}
