// SPDX-License-Identifier: Apache-2.0
// Device functions and calls: values, structs, registers, pointers, exit.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

static const char *kDouble = R"(
.func (.param .b32 result) twice(.param .b32 x) {
  .reg .b32 %r<2>;
  ld.param.u32 %r0, [x];
  add.u32 %r0, %r0, %r0;
  st.param.u32 [result], %r0;
  ret;
}
)";

static const char *kCallTwice = R"({
  .param .b32 a; .param .b32 b;
  st.param.b32 [a], %r0;
  call.uni (b), twice, (a);
  ld.param.b32 %r1, [b];
})";

TEST(LoweringCall, PassesValues) {
  std::string ir = irOf(kCallTwice, {}, kDouble);
  EXPECT_TRUE(hasInOrder(ir, {"define protected amdgpu_kernel void @k", "call i32 @twice(i32 *)",
                              "define internal i32 @twice(i32 %x)", "ret i32"}));
}

TEST(LoweringCall, PassesStructsByValue) {
  const char *callee = R"(
.func (.param .align 8 .b8 result[24]) f(.param .align 8 .b8 x[16]) {
  .reg .b64 %rd<2>;
  ld.param.u64 %rd0, [x+8];
  st.param.u64 [result+16], %rd0;
  ret;
}
)";
  std::string ir = irOf(R"({
  .param .align 8 .b8 a[16]; .param .align 8 .b8 b[24];
  st.param.b64 [a+8], %rd0;
  call.uni (b), f, (a);
  ld.param.b64 %rd1, [b+16];
})",
                        {}, callee);
  EXPECT_TRUE(hasInOrder(ir, {"call [6 x i32] @f([4 x i32] *)", "define internal [6 x i32] @f"}));
}

TEST(LoweringCall, SeveralResultsInRegisters) {
  const char *callee = R"(
.func (.reg .u32 a, .reg .f32 b) f(.reg .u32 x, .reg .pred q) {
  mov.u32 a, x;
  mov.f32 b, 0f3F800000;
  ret;
}
)";
  std::string ir = irOf("call (%r0, %f0), f, (%r1, %p0);", {}, callee);
  EXPECT_TRUE(hasInOrder(ir, {"call { i32, i32 } @f(i32 *, i1 *)", "extractvalue", ", 0",
                              "extractvalue", ", 1", "define internal { i32, i32 } @f"}));
}

TEST(LoweringCall, ThroughAPointer) {
  std::string ir = irOf(R"(mov.u64 %rd0, twice; {
  .param .b32 a; .param .b32 b;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _);
  st.param.b32 [a], %r0;
  call (b), %rd0, (a), proto;
})",
                        {}, kDouble);
  EXPECT_TRUE(hasInOrder(
      ir, {"ptrtoint (ptr @twice to i64)", "inttoptr i64 * to ptr", "call i32 %*(i32 *)"}));
}

TEST(LoweringCall, ExitInAFunctionEndsTheCaller) {
  const char *callee = ".func f(.param .b32 x) { .reg .pred %p; @%p exit; ret; }\n";
  std::string ir = irOf("{ .param .b32 a; st.param.b32 [a], 1; call.uni f, (a); }", {}, callee);
  EXPECT_TRUE(hasInOrder(ir, {"call i1 @f", "br i1 *, label %exits, label %returned", "exits:",
                              "ret void", "define internal i1 @f", "ret i1 true", "ret i1 false"}));
}

// All functions of a unit that can be called through an address say whether the thread is to end as
// soon as one of them does.
TEST(LoweringCall, ExitBelowAFunctionWhoseAddressIsTaken) {
  const char *callees = ".func leaf() { .reg .pred %p; @%p exit; ret; }\n"
                        ".func mid() { call.uni leaf; ret; }\n"
                        ".func other() { ret; }\n";
  std::string ir = irOf("mov.u64 %rd0, mid; mov.u64 %rd1, other; p: .callprototype _ ();\n"
                        "call %rd0, (), p;",
                        {}, callees);
  EXPECT_TRUE(hasInOrder(ir, {"call i1 %*()", "label %exits", "define internal i1 @mid",
                              "define internal i1 @other", "ret i1 false"}));
}

// Called through its address only, a function that cannot be compiled reports itself.
TEST(LoweringCall, ATargetThatCannotBeCompiledReportsItself) {
  const char *callees = ".extern .func absent();\n.func mid() { call.uni absent; ret; }\n";
  Lowered indirect =
      lowered(kernel("mov.u64 %rd0, mid; t: .calltargets mid; call %rd0, (), t;", callees));
  ASSERT_TRUE(indirect.module);
  EXPECT_THAT(indirect.metadata(), HasSubstr("a call of 'absent', which has no body here"));
  EXPECT_THAT(indirect.metadata(), HasSubstr("mid:"));
  Lowered direct = lowered(kernel("mov.u64 %rd0, mid; call.uni mid;", callees));
  ASSERT_EQ(direct.diagnostics.size(), 1u);
  EXPECT_EQ(direct.diagnostics[0].function, "mid");
  EXPECT_NE(direct.diagnostics[0].line, 0u);
}

TEST(LoweringCall, ParameterAddressesSayWhoseTheyAre) {
  EXPECT_THAT(irOf("ld.param.u32 %r0, [%rd0];"), HasSubstr("load i32, ptr addrspace(4)"));
  EXPECT_THAT(irOf("ld.param::func.u32 %r0, [%rd0];"), HasSubstr("load i32, ptr addrspace(5)"));
  std::string callee = ".func f() { .reg .b32 %r; .reg .b64 %rd; ld.param";
  EXPECT_THAT(irOf("call.uni f;", {}, callee + ".u32 %r, [%rd]; ret; }\n"),
              HasSubstr("load i32, ptr addrspace(5)"));
  EXPECT_THAT(irOf("call.uni f;", {}, callee + "::entry.u32 %r, [%rd]; ret; }\n"),
              HasSubstr("load i32, ptr addrspace(4)"));
}

// A register may point to either kind of .param if a kernel takes addresses of both.
TEST(LoweringCall, AnAmbiguousParameterAddressIsAnError) {
  std::string both = "mov.b64 %rd0, a; mov.b64 %rd1, p; ld.param";
  std::string before = "{ .param .b32 a; ";
  Lowered result = lowered(kernel(before + both + ".u32 %r0, [%rd0]; }"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr(".param::entry or .param::func"));
  EXPECT_TRUE(result.diagnostics[0].unsupported);
  EXPECT_TRUE(lowered(kernel(before + both + "::func.u32 %r0, [%rd0]; }")).module);
  EXPECT_THAT(irOf(before + "mov.b64 %rd0, a; ld.param.u32 %r0, [%rd0]; }"),
              HasSubstr("load i32, ptr addrspace(5)"));
}

TEST(LoweringCall, OfTheDriverNeedsItsSignature) {
  const char *declared = ".extern .func (.param .b32 r) vprintf(.param .b64 f);\n";
  Lowered result = lowered(kernel(
      "{ .param .b32 r; .param .b64 f; st.param.b64 [f], %rd0; call.uni (r), vprintf, (f); }",
      declared));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("'vprintf' is declared other than CUDA"));
}

// The result of a call that declares none is dropped.
TEST(LoweringCall, OfTheDriverMayDropItsResult) {
  EXPECT_THAT(
      irOf("{ .param .b64 f; .param .b64 v; st.param.b64 [f], %rd0; st.param.b64 [v], %rd0; "
           "call.uni vprintf, (f, v); }",
           {}, ".extern .func vprintf(.param .b64 f, .param .b64 v);\n"),
      testing::ContainsRegex("call i32 @[a-z_]*printf"));
}

TEST(LoweringCall, WithoutABodyIsAnError) {
  Lowered result = lowered(kernel("call.uni f;", ".extern .func f;"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("'f'"));
  EXPECT_TRUE(result.diagnostics[0].unsupported);
}

TEST(LoweringFunction, AttributesOfKernels) {
  std::string ir = irOf("ret;", {}, "", ".maxntid 128, 2, 1");
  EXPECT_THAT(ir, HasSubstr("\"amdgpu-flat-work-group-size\"=\"1,256\""));
  EXPECT_THAT(ir, HasSubstr("\"target-cpu\"=\"gfx1100\""));
  EXPECT_THAT(ir, HasSubstr("\"uniform-work-group-size\"=\"true\""));
  EXPECT_THAT(ir, HasSubstr("null_pointer_is_valid"));
  EXPECT_THAT(ir, Not(HasSubstr("mustprogress ")));
  EXPECT_THAT(irOf("ret;", {}, "", ".reqntid 96"),
              HasSubstr("\"amdgpu-flat-work-group-size\"=\"96,96\""));
  EXPECT_THAT(irOf("ret;"), HasSubstr("\"amdgpu-flat-work-group-size\"=\"1,1024\""));
  EXPECT_THAT(irOf("ret;", halfFilled("gfx90a"), "", ".reqntid 96"),
              HasSubstr("\"amdgpu-flat-work-group-size\"=\"192,192\""));
  EXPECT_THAT(irOf("ret;", forArch("gfx90a"), "", ".reqntid 96"),
              HasSubstr("\"amdgpu-flat-work-group-size\"=\"96,96\""));
}

TEST(LoweringFunction, DenormalsAreFlushedIfEverythingFlushesThem) {
  const char *flush = "\"denormal-fp-math-f32\"=\"preserve-sign,preserve-sign\"";
  EXPECT_THAT(irOf("add.ftz.f32 %f0, %f1, %f2; ret;"), HasSubstr(flush));
  EXPECT_THAT(irOf("add.f32 %f0, %f1, %f2; ret;"), Not(HasSubstr(flush)));
  EXPECT_THAT(irOf("add.f32 %f0, %f1, %f2; mul.ftz.f32 %f0, %f1, %f2; "
                   "add.ftz.f32 %f0, %f1, %f2; ret;"),
              Not(HasSubstr(flush)));
  // Atomic additions flush in global memory only.
  std::string ftz = "add.ftz.f32 %f0, %f1, %f2; ";
  EXPECT_THAT(irOf(ftz + "red.global.add.f32 [%rd0], %f0; ret;"), HasSubstr(flush));
  EXPECT_THAT(irOf(ftz + "red.shared.add.f32 [%rd0], %f0; ret;"), Not(HasSubstr(flush)));
  EXPECT_THAT(irOf(ftz + "atom.add.f32 %f0, [%rd0], %f0; ret;"), Not(HasSubstr(flush)));
}

TEST(LoweringFunction, HalfFilledKernelLeavesWithItsIdleLanes) {
  std::string ir = irOf("mov.u32 %r0, %tid.x;", halfFilled("gfx942"));
  EXPECT_TRUE(hasInOrder(ir, {"@llvm.amdgcn.workitem.id.x", "and i32 *, 63", "icmp ult i32 *, 32",
                              "icmp ult i32", "br i1 *, label %prologue, label %idle",
                              "prologue:", "udiv i32", "idle:", "ret void"}));
  EXPECT_THAT(irOf("mov.u32 %r0, %tid.x;"), Not(HasSubstr("idle:")));
}
