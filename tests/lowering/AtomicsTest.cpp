// SPDX-License-Identifier: Apache-2.0
// atom and red: what they become. tests/lowering/execution/AtomicsTest.cpp executes them.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;
using testing::Not;

namespace rubia::settings::AtomicsMode {
extern const Word Safe;
} // namespace rubia::settings::AtomicsMode

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

// Of every way in which an atomic operation is done: an instruction, a comparison, a loop.
TEST(LoweringAtom, EveryWayHasTheScope) {
  const std::pair<const char *, const char *> scopes[] = {
      {".cta", "workgroup"}, {".cluster", "agent"}, {".gpu", "agent"}, {"", "agent"}, {".sys", ""}};
  const std::pair<const char *, const char *> forms[] = {
      {"atom.relaxed@.global.add.u32 %r0, [%rd0], %r1;", " = atomicrmw add"},
      {"red.relaxed@.global.max.s64 [%rd0], %rd1;", " = atomicrmw max"},
      {"atom.relaxed@.global.cas.b64 %rd1, [%rd0], %rd2, %rd3;", " = cmpxchg"},
      {"atom.relaxed@.global.add.noftz.bf16 %rs0, [%rd0], %rs1;", " = cmpxchg"},
      {"atom.relaxed@.global.add.noftz.bf16 %rs0, [%rd0], %rs1;", " = load atomic"}};
  for (auto [scope, name] : scopes)
    for (auto [form, operation] : forms) {
      std::string text = form;
      if (!*scope && text.starts_with("atom.relaxed@"))
        text.replace(text.find(".relaxed@"), 9, "");
      else
        text.replace(text.find('@'), 1, *scope ? scope : ".gpu");
      std::string ir = irOf(text);
      size_t begin = ir.find(operation);
      ASSERT_NE(begin, std::string::npos) << text;
      std::string line = ir.substr(begin, ir.find('\n', begin) - begin);
      if (*name)
        EXPECT_THAT(line, HasSubstr("syncscope(\"" + std::string(name) + "\") monotonic")) << text;
      else
        EXPECT_THAT(line, Not(HasSubstr("syncscope"))) << text;
    }
}

TEST(LoweringAtom, FastFormUnlessSystemScopeOrSafe) {
  const char *metadata = "!amdgpu.no.fine.grained.memory";
  EXPECT_THAT(irOf("atom.global.add.f32 %f0, [%rd0], %f1;"), HasSubstr(metadata));
  EXPECT_THAT(irOf("atom.sys.global.add.f32 %f0, [%rd0], %f1;"), Not(HasSubstr(metadata)));
  Options safe;
  safe.code.set(rubia::settings::AtomicsMode::Safe);
  EXPECT_THAT(irOf("atom.global.add.f32 %f0, [%rd0], %f1;", safe), Not(HasSubstr(metadata)));
}

TEST(LoweringAtom, GenericAddressIsNeverLocal) {
  EXPECT_THAT(irOf("atom.add.f32 %f0, [%rd0], %f1;"), HasSubstr("!noalias.addrspace"));
}

// The runtime compiles a unit again, in the safe form, only if that makes a difference.
TEST(LoweringAtom, FastOnesAreInTheMetadata) {
  auto isFast = [](const std::string &body, Options options) {
    return lowered(kernel(body), options).metadata().find("\"fastAtomics\":true") !=
           std::string::npos;
  };
  Options safe = forArch("gfx90a");
  safe.code.set(rubia::settings::AtomicsMode::Safe);
  const char *max = "red.global.max.u32 [%rd0], %r1;";
  EXPECT_TRUE(isFast(max, forArch("gfx90a")));
  EXPECT_FALSE(isFast(max, safe));
  EXPECT_FALSE(isFast(max, forArch("gfx942"))); // has them in any memory
  EXPECT_TRUE(isFast("red.add.f32 [%rd0], %f1;", forArch("gfx1100")));
  EXPECT_FALSE(isFast("red.add.f32 [%rd0], %f1;", forArch("gfx1030"))); // a loop in either form
  EXPECT_FALSE(isFast("red.sys.global.max.u32 [%rd0], %r1;", forArch("gfx90a")));
  EXPECT_FALSE(isFast("red.shared.max.u32 [%rd0], %r1;", forArch("gfx90a")));
  EXPECT_FALSE(isFast("atom.global.add.u32 %r0, [%rd0], %r1;", forArch("gfx90a")));
  EXPECT_FALSE(isFast("atom.global.cas.b32 %r0, [%rd0], %r1, %r2;", forArch("gfx90a")));
}

// Addresses that lie in memory would lead from the safe form of such a unit into the fast one.
TEST(LoweringAtom, UnitsWhoseFunctionsHaveAddressesAreSafeFromTheStart) {
  const std::string text = R"(.version 8.0
.target sm_80
.address_size 64
.func bump(.param .b64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  red.global.max.u32 [%d], 7;
  ret;
}
)";
  const char *inInitializer = R"(
.visible .global .align 8 .u64 table[1] = {bump};
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [p];
  ld.global.u64 %d1, [table];
  { .param .b64 a; st.param.b64 [a], %d0;
    proto: .callprototype _ (.param .b64 _);
    call %d1, (a), proto; }
  ret;
})";
  const char *taken = R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d<2>;
  ld.param.u64 %d0, [p];
  mov.u64 %d1, bump;
  st.global.u64 [%d0], %d1;
  ret;
})";
  const char *direct = R"(
.visible .entry k(.param .u64 p)
{
  .reg .b64 %d;
  ld.param.u64 %d, [p];
  { .param .b64 a; st.param.b64 [a], %d; call bump, (a); }
  ret;
})";
  auto isFast = [&](const char *kernel, const char *arch) {
    Lowered result = lowered(text + kernel, forArch(arch));
    EXPECT_TRUE(result.module);
    bool inMetadata = result.metadata().find("\"fastAtomics\":true") != std::string::npos;
    return std::pair(inMetadata, result.text().find("!amdgpu.no.fine") != std::string::npos);
  };
  EXPECT_EQ(isFast(inInitializer, "gfx90a"), std::pair(false, false));
  EXPECT_EQ(isFast(taken, "gfx90a"), std::pair(false, false));
  EXPECT_EQ(isFast(direct, "gfx90a"), std::pair(true, true));
  EXPECT_EQ(isFast(taken, "gfx942"), std::pair(false, true)); // right in any memory
}

TEST(LoweringAtom, VectorsAndLoopsHaveFencesForTheirSemantics) {
  EXPECT_TRUE(hasInOrder(irOf("red.release.gpu.global.add.v2.f32 [%rd0], {%f0, %f1};"),
                         {"fence syncscope(\"agent\") release",
                          "atomicrmw fadd ptr addrspace(1) *, float * monotonic", "i64 4",
                          "atomicrmw fadd ptr addrspace(1) *, float * monotonic"}));
  EXPECT_TRUE(hasInOrder(irOf("atom.acq_rel.cta.global.add.noftz.bf16 %rs0, [%rd0], %rs1;"),
                         {"fence syncscope(\"workgroup\") release", "llvm.ptrmask",
                          "load atomic i32, ptr addrspace(1) * monotonic",
                          "cmpxchg ptr addrspace(1) * monotonic monotonic",
                          "fence syncscope(\"workgroup\") acquire"}));
}

TEST(LoweringAtom, OneHundredTwentyEightBitsTakeALock) {
  std::string ir =
      irOf(".reg .b128 %q<3>; atom.acquire.gpu.global.cas.b128 %q0, [%rd0], %q1, %q2;");
  EXPECT_TRUE(hasInOrder(ir, {"@__rubia_module_table, i64 3", "llvm.amdgcn.ballot", "llvm.cttz",
                              "fence syncscope(\"agent\") acquire"}));
  EXPECT_TRUE(hasInOrder(
      ir, {"cmpxchg ptr addrspace(1) *, i32 0, i32 1 syncscope(\"agent\") acquire monotonic",
           "load volatile <4 x i32>", "store volatile <4 x i32>",
           "store atomic i32 0, ptr addrspace(1) * syncscope(\"agent\") release"}));
}
