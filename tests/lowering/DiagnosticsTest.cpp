// SPDX-License-Identifier: Apache-2.0
// Errors: where they are, and that they cost nobody else.
#include "Lowered.h"
#include "gmock/gmock.h"

using namespace rubia;
using namespace rubia::lowering;
using namespace rubia::lowering::test;
using testing::HasSubstr;

TEST(LoweringDiagnostics, NameKernelLineAndInstruction) {
  Lowered result = lowered(withHeader(".entry a() {\n  .reg .u32 %r; .reg .u32 %p;\n\n"
                                      "  cvta.shared.u32 %r, %p;\n}\n"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  const ptx::Diagnostic &diagnostic = result.diagnostics[0];
  EXPECT_EQ(diagnostic.function, "a");
  EXPECT_EQ(diagnostic.line, 7u);
  EXPECT_THAT(diagnostic.message, HasSubstr("'cvta.shared.u32'"));
  EXPECT_TRUE(diagnostic.unsupported);
}

TEST(LoweringDiagnostics, AllOfAUnit) {
  Lowered result = lowered(kernel("cvta.shared.u32 %r1, %r2;\ncvta.shared.u32 %r2, %r3;\n"
                                  "cvta.local.u32 %r1, %r2;"));
  EXPECT_EQ(result.diagnostics.size(), 3u);
}

TEST(LoweringDiagnostics, FormsThatAreOnlyParsed) {
  for (const char *instruction :
       {"tcgen05.wait::ld.sync.aligned;", "@%p0 tcgen05.fence::before_thread_sync;"}) {
    Lowered result = lowered(std::string(".version 8.8\n.target sm_100a\n.address_size 64\n"
                                         ".entry k() { .reg .pred %p0;\n") +
                             instruction + "}");
    ASSERT_EQ(result.diagnostics.size(), 1u) << instruction;
    EXPECT_TRUE(result.diagnostics[0].unsupported);
    EXPECT_GT(result.diagnostics[0].line, 1u);
    EXPECT_THAT(result.diagnostics[0].message, HasSubstr("unsupported instruction"));
  }
}

// What calls a function with errors is refused: what looks at functions before they are lowered
// bears with such ones.
TEST(LoweringDiagnostics, AFunctionWithErrorsCostsItsCallers) {
  for (const std::string body :
       {"bra nowhere;", "bra;", "@%p bra ;", "shfl.sync.idx.b32 %r;", "bar.sync;", "call;",
        "mov.u32;", "ld.u32;", "mbarrier.try_wait.b64;", "cp.async.wait_group;",
        "wgmma.wait_group.sync.aligned;", "@%p bra nowhere; add.u32 %r, %r, 1; bra nowhere;",
        "bra %r;", "T: .branchtargets nowhere, A;\nbrx.idx %r, T;\nA:", "add.u32 %r, %s, 1;",
        "@%p bra A;\n[[what]]\nA: bar.sync 0;", "L: @%q bra L;"})
    for (const char *arch : {"gfx1100", "gfx942"}) {
      ptx::ParseResult result = ptx::parse(
          "k.ptx", withHeader(".func f() { .reg .pred %p; .reg .b32 %r;\n" + body +
                              "\nret; }\n.entry k() { bar.sync 0; call.uni f; ret; }\n"));
      ASSERT_TRUE(result.usable && result.hasErrors()) << body;
      const Lowered refused = lowered(result.module, forArch(arch));
      EXPECT_FALSE(refused.module) << body;
      ASSERT_FALSE(refused.diagnostics.empty()) << body;
      EXPECT_THAT(refused.diagnostics[0].message, HasSubstr("'f' has errors")) << body;
    }
}

// The driver gives no multicast object that multimem could be used on: it costs nobody who does not
// execute it.
TEST(LoweringDiagnostics, WhatNoValidProgramExecutesIsNoted) {
  Lowered result =
      lowered(kernel("@%p0 multimem.ld_reduce.relaxed.gpu.global.add.u32 %r0, [%rd0];\n"
                     "@%p0 multimem.red.relaxed.gpu.global.add.u32 [%rd0], %r0;"));
  ASSERT_TRUE(result.module);
  const std::string text =
      cast<llvm::MDString>(
          result.module->getNamedMetadata("rubia.metadata")->getOperand(0)->getOperand(0))
          ->getString()
          .str();
  EXPECT_THAT(text, HasSubstr(R"("refused":["k:)"));
  EXPECT_THAT(text, HasSubstr("'multimem.ld_reduce.relaxed.gpu.global.add.u32': it acts on a"));
  EXPECT_THAT(text, HasSubstr("the kernel ends if it comes there"));
  // Of the second one, what the trap says.
  EXPECT_THAT(text, HasSubstr("'multimem.red.relaxed.gpu.global.add.u32': it acts on a"));
}

TEST(LoweringDiagnostics, OneBadKernelOfThree) {
  std::string text = withHeader(R"(
.entry a() { ret; }
.entry b() { .reg .b32 %r; cvta.shared.u32 %r, %r; ret; }
.entry c() { ret; })");
  EXPECT_TRUE(lowered(text, {}, 0).module);
  Lowered bad = lowered(text, {}, 1);
  EXPECT_FALSE(bad.module);
  ASSERT_EQ(bad.diagnostics.size(), 1u);
  EXPECT_EQ(bad.diagnostics[0].function, "b");
  EXPECT_TRUE(lowered(text, {}, 2).module);
}

TEST(LoweringDiagnostics, FunctionWithParseErrors) {
  ptx::ParseResult result = ptx::parse("test.ptx", withHeader(R"(
.func broken { nonsense.u32 1, 2; ret; }
.entry a() { call.uni broken; ret; }
.entry b() { ret; })"));
  ASSERT_TRUE(result.usable);
  ASSERT_TRUE(result.hasErrors());
  Lowered bad = lowered(result.module, {}, 0);
  ASSERT_EQ(bad.diagnostics.size(), 1u);
  EXPECT_THAT(bad.diagnostics[0].message, HasSubstr("'broken'"));
  EXPECT_TRUE(lowered(result.module, {}, 1).module);
}

TEST(LoweringDiagnostics, TooMuchSharedMemory) {
  Lowered result = lowered(kernel("st.shared.u32 [s], %r0;", ".shared .b8 s[70000];"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("70000"));
  EXPECT_TRUE(lowered(kernel("st.shared.u32 [s], %r0;", ".shared .b8 s[70000];"), forArch("gfx950"))
                  .module);
}

TEST(LoweringDiagnostics, TooManyThreadsForTheHalfFilledForm) {
  EXPECT_TRUE(lowered(kernel("ret;", "", ".reqntid 1024"), forArch("gfx942")).module);
  Lowered result = lowered(kernel("ret;", "", ".reqntid 1024"), halfFilled("gfx942"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("requires 1024 threads"));
  // Why it cannot be packed.
  result = lowered(kernel("bar.arrive 1, 64; ret;", "", ".reqntid 1024"), forArch("gfx942"));
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_THAT(result.diagnostics[0].message, HasSubstr("('bar.arrive') is counted in shared"));
}

TEST(LoweringDiagnostics, UnknownArch) {
  ptx::Module module = parsed(kernel("ret;"));
  llvm::LLVMContext context;
  auto result = lower(module, partition(module)[0], forArch("gfx9999"), context);
  ASSERT_FALSE(bool(result));
  EXPECT_THAT(llvm::toString(result.takeError()), HasSubstr("gfx9999"));
}

TEST(LoweringDiagnostics, TargetIdFeatures) {
  EXPECT_THAT(irOf("ret;", forArch("gfx90a:sramecc+:xnack-")),
              HasSubstr("\"target-features\"=\"+sramecc,-xnack\""));
}
