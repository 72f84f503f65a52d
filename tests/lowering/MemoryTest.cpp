// SPDX-License-Identifier: Apache-2.0
// ld and st, state spaces, module variables. PTX ISA: data-movement-and-conversion-instructions-ld.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringMemory, ParameterIsConstantLoadFromTheArgumentSegment) {
  EXPECT_TRUE(hasInOrder(irOf("ld.param.u32 %r0, [n];"),
                         {"ptr addrspace(4) byref([80 x i8]) align 16 %arguments",
                          "getelementptr i8, ptr addrspace(4) %arguments, i64 8",
                          "load i32, ptr addrspace(4)", "!invariant.load"}));
}

TEST(LoweringMemory, ParameterAddressInARegister) {
  EXPECT_TRUE(hasInOrder(irOf("mov.u64 %rd0, p; ld.param.u32 %r0, [%rd0+8];"),
                         {"ptrtoint ptr addrspace(4) %arguments to i64",
                          "inttoptr i64 * to ptr addrspace(4)",
                          "getelementptr i8, ptr addrspace(4) *, i64 8", "load i32"}));
}

TEST(LoweringMemory, EverySpaceHasItsPointer) {
  EXPECT_TRUE(hasInOrder(
      irOf("ld.global.u32 %r0, [%rd0+4]; ld.shared.u32 %r1, [%rd1]; ld.shared.u32 %r1, [%r2];"
           "ld.local.u32 %r0, [%rd0]; ld.const.u32 %r0, [%rd0]; ld.u32 %r0, [%rd0];"),
      {"inttoptr i64 * to ptr addrspace(1)", "getelementptr i8, ptr addrspace(1) *, i64 4",
       "load i32, ptr addrspace(1)", "trunc i64 * to i32", "inttoptr i32 * to ptr addrspace(3)",
       "load i32, ptr addrspace(3)", "inttoptr i32 * to ptr addrspace(3)", "addrspace(5)",
       "load i32, ptr addrspace(5)", "freeze i32", "load i32, ptr addrspace(4) *!invariant.load",
       "load i32, ptr %"}));
}

// What no instruction wrote is some value, whatever leads there.
TEST(LoweringMemory, LoadsOfWhatMayBeUnwrittenAreFrozen) {
  for (const char *load : {"ld.shared.u32 %r0, [%r1];", "ld.local.u32 %r0, [%r1];",
                           "ld.u32 %r0, [%rd0];", "ld.shared.v2.u32 {%r0, %r1}, [%r2];"})
    EXPECT_TRUE(hasInOrder(irOf(load), {"load * addrspace", "freeze"}) ||
                hasInOrder(irOf(load), {"load i32, ptr %", "freeze"}))
        << load;
  EXPECT_THAT(irOf("ld.global.u32 %r0, [%rd0];"),
              testing::Not(testing::ContainsRegex("freeze i32 %")));
}

TEST(LoweringMemory, NegativeOffset) {
  EXPECT_THAT(irOf("ld.global.u8 %r0, [%rd0+-1];"),
              testing::ContainsRegex("getelementptr i8, ptr addrspace.1. %[0-9]*, i64 -1"));
}

TEST(LoweringMemory, NarrowLoadsExtendToTheRegister) {
  std::string ir = irOf("ld.global.u8 %r0, [%rd0]; ld.global.s8 %r0, [%rd0];"
                        "ld.global.s16 %rd1, [%rd0]; ld.global.b8 %rs0, [%rd0];");
  EXPECT_TRUE(hasInOrder(
      ir, {"zext i8 * to i32", "sext i8 * to i32", "sext i16 * to i64", "zext i8 * to i16"}));
}

TEST(LoweringMemory, NarrowStoreTruncates) {
  EXPECT_TRUE(hasInOrder(irOf("st.global.u8 [%rd0], %r0;"),
                         {"trunc i32 * to i8", "store i8 *, ptr addrspace(1)", "align 1"}));
}

TEST(LoweringMemory, VectorIsOneAlignedAccess) {
  EXPECT_TRUE(hasInOrder(irOf("ld.global.v4.f32 {%f0,%f1,%f2,%f3}, [%rd0];"
                              "st.global.v4.f32 [%rd0], {%f3,%f2,%f1,%f0};"),
                         {"load <4 x i32>, ptr addrspace(1) *, align 16", "extractelement", "i64 3",
                          "insertelement", "store <4 x i32> *, ptr addrspace(1) *, align 16"}));
  EXPECT_TRUE(hasInOrder(irOf("ld.shared.v2.u8 {%rs0,%rs1}, [%rd0];"),
                         {"load <2 x i8>, ptr addrspace(3) *, align 2"}));
}

TEST(LoweringMemory, VectorLoadMayDropElements) {
  EXPECT_TRUE(hasInOrder(irOf("ld.global.v2.u32 {%r0, _}, [%rd0];"), {"load <2 x i32>"}));
}

TEST(LoweringMemory, VolatileIsRelaxedAtSystemScope) {
  std::string ir = irOf("ld.volatile.global.u32 %r0, [%rd0]; st.volatile.shared.u32 [%rd0], %r0;");
  EXPECT_TRUE(hasInOrder(ir, {"load atomic volatile i32, ptr addrspace(1) * monotonic, align 4",
                              "store atomic volatile i32 *, ptr addrspace(3) * monotonic"}));
}

// What LLVM has no atomics for is volatile, and its TBAA type has the scope.
TEST(LoweringMemory, StrongVectorIsOneAccess) {
  EXPECT_TRUE(hasInOrder(
      irOf("ld.volatile.global.v2.f32 {%f0,%f1}, [%rd0];"
           "st.release.cta.shared.v4.b8 [%rd0], {%rs0, %rs1, %rs2, %rs3};"
           "ld.acquire.gpu.global.v4.b32 {%r0, %r1, %r2, %r3}, [%rd0];"),
      {"load atomic volatile i64, ptr addrspace(1) * monotonic, align 8", "bitcast",
       "extractelement",
       "store atomic i32 *, ptr addrspace(3) * syncscope(\"workgroup\") release, align 4",
       "load volatile <4 x i32>, ptr addrspace(1) *, align 16*!tbaa", "freeze", "extractelement",
       "fence syncscope(\"agent\") acquire"}));
  EXPECT_TRUE(
      hasInOrder(irOf("st.relaxed.gpu.v2.b64 [%rd0], {%rd1, %rd2};"),
                 {"store volatile <4 x i32> *, ptr *, align 16*!tbaa", "!\"rubia.whole.agent\""}));
}

TEST(LoweringMemory, SemanticsAndScopes) {
  std::string ir =
      irOf("ld.acquire.gpu.global.u32 %r0, [%rd0]; st.release.cta.global.u32 [%rd0], %r0;"
           "ld.relaxed.sys.global.u64 %rd1, [%rd0]; ld.acquire.cluster.u32 %r1, [%rd0];");
  EXPECT_TRUE(
      hasInOrder(ir, {"load atomic i32, ptr addrspace(1) * syncscope(\"agent\") monotonic",
                      "fence syncscope(\"agent\") acquire",
                      "store atomic i32 *, ptr addrspace(1) * syncscope(\"workgroup\") release",
                      "load atomic i64, ptr addrspace(1) * monotonic",
                      "load atomic i32, ptr * syncscope(\"agent\") monotonic",
                      "fence syncscope(\"agent\") acquire"}));
}

// lowering/lib/transform/MemoryOrder.cpp
TEST(LoweringMemory, ReleasesOnGfx9WaitForVectorMemory) {
  const char wait[] = "call void @llvm.amdgcn.s.waitcnt(i32 3952)";
  const std::pair<const char *, const char *> cases[] = {
      {"st.release.cta.global.u32 [%rd0], %r0;", "store atomic i32 * monotonic"},
      {"atom.acq_rel.sys.global.add.u32 %r0, [%rd0], 1;", "atomicrmw add * acquire"},
      {"atom.release.gpu.global.cas.b32 %r0, [%rd0], 1, 2;", "cmpxchg * monotonic"},
      {"fence.acq_rel.cta; st.relaxed.gpu.global.u32 [%rd0], %r0;", "store atomic i32 * monotonic"},
      {"bar.sync 0;", "s.barrier"},
  };
  for (auto [body, after] : cases) {
    EXPECT_TRUE(hasInOrder(irOf(body, forArch("gfx90a")), {"fence ", wait, after})) << body;
    EXPECT_THAT(irOf(body), Not(HasSubstr("s.waitcnt"))) << body;
  }
}

TEST(LoweringMemory, NonCoherentLoadIsInvariant) {
  EXPECT_THAT(irOf("ld.global.nc.v2.f32 {%f0,%f1}, [%rd0];"), HasSubstr("!invariant.load"));
  EXPECT_THAT(irOf("ld.global.v2.f32 {%f0,%f1}, [%rd0];"), Not(HasSubstr("!invariant.load")));
}

TEST(LoweringMemory, StreamingIsNontemporal) {
  EXPECT_THAT(irOf("st.global.cs.f32 [%rd0], %f0;"), HasSubstr("!nontemporal"));
}

TEST(LoweringMemory, StoredImmediates) {
  std::string ir = irOf("st.global.f32 [%rd0], 0f3F800000; st.global.u32 [%rd0], -1;"
                        "st.global.u8 [%rd0], 7;");
  EXPECT_TRUE(hasInOrder(ir, {"store i32 1065353216", "store i32 -1", "store i8 7"}));
}

TEST(LoweringMemory, ModuleVariablesComeFromTheModuleTable) {
  std::string ir = irOf("ld.global.u32 %r0, [b+8]; ld.const.f32 %f0, [c]; mov.u64 %rd0, a;", {},
                        ".global .u32 a; .global .u32 b[4]; .const .f32 c = 0f3F800000;");
  EXPECT_TRUE(
      hasInOrder(ir, {"@__rubia_module_table = protected addrspace(1) "
                      "externally_initialized global [11 x i64] zeroinitializer, align 8"}));
  EXPECT_TRUE(hasInOrder(ir, {"@__rubia_module_table, i64 9", "i64 8", "load i32, ptr addrspace(1)",
                              "@__rubia_module_table, i64 10", "load i32, ptr addrspace(4)",
                              "@__rubia_module_table, i64 8"}));
}

TEST(LoweringMemory, SharedVariables) {
  std::string ir = irOf("mov.u32 %r0, s; st.shared.u32 [s+4], %r0; ld.shared.u32 %r1, [d];"
                        "ld.shared.u32 %r1, [e];",
                        {},
                        ".shared .align 8 .b8 s[64]; .extern .shared .align 16 .b8 d[];"
                        ".extern .shared .b32 e[];");
  EXPECT_TRUE(hasInOrder(
      ir, {"@s = internal addrspace(3) global [64 x i8] poison, align 16",
           "@__rubia_dynamic_shared = external addrspace(3) global [0 x i8], align 16",
           "ptrtoint (ptr addrspace(3) @s to i32)",
           "store i32 *, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @s, i64 4)",
           "load i32, ptr addrspace(3) @__rubia_dynamic_shared",
           "load i32, ptr addrspace(3) @__rubia_dynamic_shared"}));
}

TEST(LoweringMemory, LocalVariableIsAnAlloca) {
  EXPECT_TRUE(hasInOrder(irOf(".local .align 16 .b8 depot[48]; mov.u64 %rd0, depot;"
                              "cvta.local.u64 %rd1, %rd0; st.local.u32 [depot+8], %r0;"),
                         {"%depot = alloca [48 x i8], align 16, addrspace(5)",
                          "ptrtoint ptr addrspace(5) %depot to i32", "addrspacecast",
                          "getelementptr i8, ptr addrspace(5) %depot, i64 8",
                          "store i32 *, ptr addrspace(5)"}));
}
