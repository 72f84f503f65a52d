// atom and red: what they become. tests/lowering/execution/AtomicsTest.cpp executes them.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

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
