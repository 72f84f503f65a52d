// Barriers, fences and atomics.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

TEST(LoweringBarSync, OrdersTheWorkgroup) {
  for (const char *body : {"bar.sync 0;", "barrier.sync.aligned 0;", "bar.sync %r0;"})
    EXPECT_TRUE(hasInOrder(irOf(body), {"fence syncscope(\"workgroup\") release",
                                        "call void @llvm.amdgcn.s.barrier()",
                                        "fence syncscope(\"workgroup\") acquire"}));
}

TEST(LoweringBarSync, ThreadCountOfTheWholeCta) {
  EXPECT_THAT(irOf("bar.sync 1, 64;", {}, "", ".reqntid 32, 2, 1"), HasSubstr("s.barrier"));
}

TEST(LoweringBarSync, SomeThreadsAreUnsupported) {
  for (const char *body : {"bar.sync 1, 64;", "bar.sync 0, %r0;", "bar.arrive 1, 64;",
                           "bar.red.popc.u32 %r0, 1, 64, %p0;"}) {
    Lowered result = lowered(kernel(body));
    ASSERT_EQ(result.diagnostics.size(), 1u) << body;
    EXPECT_TRUE(result.diagnostics[0].unsupported);
  }
}

TEST(LoweringBarRed, CountsInSharedMemory) {
  std::string ir = irOf("bar.red.popc.u32 %r0, 0, %p0;");
  EXPECT_TRUE(
      hasInOrder(ir, {"@__rubia_barrier_reduction = internal addrspace(3) global i32 poison",
                      "s.barrier", "store atomic i32 0", "s.barrier", "@llvm.amdgcn.ballot",
                      "@llvm.ctpop", "atomicrmw add ptr addrspace(3) @__rubia_barrier_reduction",
                      "s.barrier", "load atomic i32"}));
}

TEST(LoweringBarRed, AndOr) {
  EXPECT_TRUE(hasInOrder(irOf("bar.red.and.pred %p0, 0, %p1;"),
                         {"xor i1", "atomicrmw add", "icmp eq i32 *, 0"}));
  EXPECT_TRUE(hasInOrder(irOf("bar.red.or.pred %p0, 0, !%p1;"),
                         {"xor i1", "atomicrmw add", "icmp ne i32 *, 0"}));
}

TEST(LoweringMembar, IsASequentiallyConsistentFence) {
  EXPECT_TRUE(hasInOrder(irOf("membar.cta; membar.gl; membar.sys;"),
                         {"fence syncscope(\"workgroup\") seq_cst",
                          "fence syncscope(\"agent\") seq_cst", "fence seq_cst"}));
}

TEST(LoweringFence, SemanticsAndScope) {
  EXPECT_TRUE(hasInOrder(irOf("fence.acq_rel.gpu; fence.sc.cta; fence.acq_rel.sys;"),
                         {"fence syncscope(\"agent\") acq_rel",
                          "fence syncscope(\"workgroup\") seq_cst", "fence acq_rel"}));
}

TEST(LoweringAtom, EveryOperation) {
  struct Case {
    const char *ptx, *ir;
  };
  for (const Case &test : std::initializer_list<Case>{
           {"atom.global.add.u32 %r0, [%rd0], %r1;", "atomicrmw add ptr addrspace(1) *, i32"},
           {"atom.global.add.u64 %rd0, [%rd0], %rd1;", "atomicrmw add ptr addrspace(1) *, i64"},
           {"atom.global.add.f32 %f0, [%rd0], %f1;", "atomicrmw fadd ptr addrspace(1) *, float"},
           {"atom.global.add.f64 %fd0, [%rd0], %fd1;", "atomicrmw fadd ptr addrspace(1) *, double"},
           {"atom.shared.and.b32 %r0, [%rd0], %r1;", "atomicrmw and ptr addrspace(3)"},
           {"atom.shared.or.b32 %r0, [%rd0], %r1;", "atomicrmw or ptr addrspace(3)"},
           {"atom.shared.xor.b64 %rd0, [%rd0], %rd1;", "atomicrmw xor ptr addrspace(3) *, i64"},
           {"atom.exch.b32 %r0, [%rd0], %r1;", "atomicrmw xchg ptr %"},
           {"atom.global.inc.u32 %r0, [%rd0], %r1;", "atomicrmw uinc_wrap"},
           {"atom.global.dec.u32 %r0, [%rd0], %r1;", "atomicrmw udec_wrap"},
           {"atom.global.min.s32 %r0, [%rd0], %r1;", "atomicrmw min"},
           {"atom.global.max.s64 %rd0, [%rd0], %rd1;", "atomicrmw max"},
           {"atom.global.min.u32 %r0, [%rd0], %r1;", "atomicrmw umin"},
           {"atom.global.max.u64 %rd0, [%rd0], %rd1;", "atomicrmw umax"},
           {"atom.global.cas.b32 %r0, [%rd0], %r1, %r2;", "cmpxchg ptr addrspace(1) *, i32"},
           {"atom.global.cas.b16 %rs0, [%rd0], %rs1, %rs2;", "cmpxchg ptr addrspace(1) *, i16"},
           {"red.global.add.f32 [%rd0], %f1;", "atomicrmw fadd"},
           {"red.shared.max.u32 [%rd0], %r1;", "atomicrmw umax ptr addrspace(3)"},
           {"red.global.inc.u32 [%rd0], %r1;", "atomicrmw uinc_wrap"},
           {"red.global.xor.b32 [%rd0], %r1;", "atomicrmw xor"},
       })
    EXPECT_TRUE(hasInOrder(irOf(test.ptx), {test.ir})) << test.ptx;
}

TEST(LoweringAtom, DefaultIsRelaxedAtGpuScope) {
  EXPECT_THAT(irOf("atom.global.add.u32 %r0, [%rd0], %r1;"),
              HasSubstr("syncscope(\"agent\") monotonic"));
}

TEST(LoweringAtom, SemanticsAndScope) {
  EXPECT_THAT(irOf("atom.acq_rel.cta.global.add.u32 %r0, [%rd0], %r1;"),
              HasSubstr("syncscope(\"workgroup\") acq_rel"));
  EXPECT_TRUE(hasInOrder(irOf("atom.acquire.sys.global.cas.b32 %r0, [%rd0], %r1, %r2;"),
                         {"cmpxchg ptr addrspace(1)", "acquire acquire"}));
}

TEST(LoweringAtom, FastFormUnlessSystemScopeOrSafe) {
  const char *metadata = "!amdgpu.no.fine.grained.memory";
  EXPECT_THAT(irOf("atom.global.add.f32 %f0, [%rd0], %f1;"), HasSubstr(metadata));
  EXPECT_THAT(irOf("atom.sys.global.add.f32 %f0, [%rd0], %f1;"), Not(HasSubstr(metadata)));
  Options safe;
  safe.safeAtomics = true;
  EXPECT_THAT(irOf("atom.global.add.f32 %f0, [%rd0], %f1;", safe), Not(HasSubstr(metadata)));
}

TEST(LoweringAtom, GenericAddressIsNeverLocal) {
  EXPECT_THAT(irOf("atom.add.f32 %f0, [%rd0], %f1;"), HasSubstr("!noalias.addrspace"));
}
