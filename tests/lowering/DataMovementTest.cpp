// SPDX-License-Identifier: Apache-2.0
// mov, cvta, isspacep, prefetch and the registers behind them.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringMov, UnwrittenRegisterIsFrozen) {
  EXPECT_TRUE(hasInOrder(irOf("mov.u32 %r0, %r1;"),
                         {"%\"%r1\" = alloca i32", "freeze i32 poison", "store i32", "load i32"}));
}

TEST(LoweringMov, PredicatesAreBits) {
  EXPECT_TRUE(hasInOrder(irOf("mov.pred %p0, %p1;"), {"alloca i1", "load i1", "store i1"}));
}

TEST(LoweringMov, FloatsAreIntegersInRegisters) {
  std::string ir = irOf("mov.f32 %f0, 0f3F800000; mov.f64 %fd0, 0d3FF0000000000000;"
                        "mov.f32 %f1, 1.5; mov.b32 %r0, 0f40000000;");
  EXPECT_TRUE(hasInOrder(ir, {"store i32 1065353216", "store i64 4607182418800017408",
                              "store i32 1069547520", "store i32 1073741824"}));
}

TEST(LoweringMov, PacksWithTheFirstElementLow) {
  std::string ir = irOf("mov.b64 %rd0, {%r0, %r1};");
  EXPECT_TRUE(hasInOrder(
      ir, {"zext i32 * to i64", "shl i64 *, 0", "zext i32 * to i64", "shl i64 *, 32", "or i64"}));
}

TEST(LoweringMov, UnpacksWithTheFirstElementLow) {
  std::string ir = irOf("mov.b64 {%r0, %r1}, %rd0; mov.b32 {%rs0, _}, %r0;");
  EXPECT_TRUE(hasInOrder(ir, {"lshr i64 *, 0", "trunc i64 * to i32", "lshr i64 *, 32",
                              "trunc i64 * to i32", "trunc i32 * to i16"}));
}

TEST(LoweringMov, OneHundredAndTwentyEightBits) {
  std::string ir = irOf(".reg .b128 %q0, %q1; mov.b128 %q0, {%rd0, %rd1}; mov.b128 %q1, %q0;"
                        "mov.b128 {%rd2, %rd3}, %q1;");
  EXPECT_TRUE(hasInOrder(ir, {"zext i64 * to i128", "shl i128 *, 64", "or i128", "store i128",
                              "lshr i128 *, 64", "trunc i128 * to i64"}));
}

TEST(LoweringMov, VectorsElementByElement) {
  // Both are read before either is written.
  EXPECT_TRUE(hasInOrder(irOf("mov.v2.b32 {%r0, %r1}, {%r1, %r0};"),
                         {"load i32, * %\"%r1\"", "load i32, * %\"%r0\"", "store i32 * %\"%r0\"",
                          "store i32 * %\"%r1\""}));
  std::string ir = irOf(".reg .v4 .u32 %v; mov.v4.u32 %v, {%r0, %r1, %r2, %r3};"
                        "mov.u32 %r0, %v.z;");
  EXPECT_TRUE(hasInOrder(ir, {"load i32, * %\"%r2\"", "load i32, * %\"%r3\"", "store i32"}));
}

TEST(LoweringMov, GuardKeepsTheOldValue) {
  EXPECT_TRUE(hasInOrder(irOf("@%p0 mov.u32 %r0, 7;"), {"select i1 *, i32 7, i32"}));
  EXPECT_TRUE(hasInOrder(irOf("@!%p0 mov.u32 %r0, 7;"), {"xor i1", "select i1 *, i32 7, i32"}));
}

TEST(LoweringMov, GuardedMemoryAccessIsABranch) {
  EXPECT_TRUE(hasInOrder(
      irOf("@%p0 ld.global.u32 %r0, [%rd0];"),
      {"br i1 *, label %guarded, label %next", "guarded:", "load i32", "br label %next", "next:"}));
}

TEST(LoweringCvta, SharedAndLocalGoThroughTheAperture) {
  std::string ir = irOf("cvta.shared.u64 %rd0, %rd1; cvta.local.u64 %rd2, %rd3;");
  EXPECT_TRUE(hasInOrder(ir, {"inttoptr i32 * to ptr addrspace(3)",
                              "addrspacecast ptr addrspace(3) * to ptr", "ptrtoint ptr * to i64",
                              "addrspacecast ptr addrspace(5) * to ptr"}));
}

TEST(LoweringCvta, GlobalConstAndParamAreTheirOwn) {
  EXPECT_THAT(irOf("cvta.global.u64 %rd0, %rd1; cvta.to.global.u64 %rd0, %rd1;"
                   "cvta.const.u64 %rd0, %rd1; cvta.param.u64 %rd0, %rd1;"),
              Not(HasSubstr("addrspacecast")));
}

TEST(LoweringCvta, ToSharedIsTheLowerHalf) {
  EXPECT_TRUE(hasInOrder(irOf("cvta.to.shared.u64 %rd0, %rd1;"),
                         {"trunc i64 * to i32", "zext i32 * to i64"}));
}

TEST(LoweringCvta, OfAVariable) {
  EXPECT_TRUE(
      hasInOrder(irOf("cvta.global.u64 %rd0, a;", {}, ".global .u32 a;"),
                 {"load i64, ptr addrspace(1) getelementptr * @__rubia_module_table, i64 8"}));
}

TEST(LoweringIsspacep, SharedLocalGlobal) {
  std::string ir = irOf("isspacep.shared %p0, %rd0; isspacep.local %p0, %rd0;"
                        "isspacep.global %p0, %rd0;");
  EXPECT_TRUE(
      hasInOrder(ir, {"@llvm.amdgcn.is.shared", "@llvm.amdgcn.is.private", "@llvm.amdgcn.is.shared",
                      "@llvm.amdgcn.is.private", "or i1", "xor i1"}));
}

TEST(LoweringIsspacep, ConstIsWhereAVariableIs) {
  EXPECT_TRUE(hasInOrder(
      irOf("isspacep.const %p0, %rd0;", {}, ".const .b8 a[12]; .global .u32 g; .const .u64 c;"),
      {"icmp ult i64 *, 12", "icmp ult i64 *, 8", "or i1"}));
}

TEST(LoweringIsspacep, ParamIsWhereTheKernelsParametersAre) {
  EXPECT_TRUE(hasInOrder(irOf("isspacep.param %p0, %rd0;"), {"sub i64", "icmp ult i64 *, 12"}));
  // A function finds them before the launch arguments, which tell their size.
  auto result = lowered(withHeader(".func f(.param .b64 a) { .reg .b64 %x; .reg .pred %p;"
                                   "ld.param.b64 %x, [a]; isspacep.param %p, %x; ret; }"
                                   ".entry k() { .param .b64 a; call f, (a); ret; }"));
  EXPECT_TRUE(result.diagnostics.empty());
  EXPECT_TRUE(hasInOrder(result.text(), {"@llvm.amdgcn.implicitarg.ptr", "i64 -64", "i64 48",
                                         "lshr i32 *, 16", "icmp ult i64"}));
}

TEST(LoweringPrefetch, HasNoEffect) {
  EXPECT_THAT(irOf("prefetch.global.L2 [%rd0];"), Not(HasSubstr("prefetch")));
}
