// SPDX-License-Identifier: Apache-2.0
// The changed text is PTX that the front end takes, and keeps what it does not change.
#include "diff/Perturbation.h"
#include "diff/lib/TextOfPtx.h"
#include "diff/lib/TextureSites.h"
#include "ptx-frontend/Parser.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace rubia;
using namespace rubia::capsule;

namespace {

std::string kernelOf(StringRef body) {
  return (".version 8.7\n.target sm_90\n.address_size 64\n"
          ".visible .entry k(.param .u64 a)\n{\n"
          ".reg .b64 %d<9>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .f64 %g<9>; .reg .b16 %h<9>; "
          ".reg .pred %p<9>;\n" +
          body + "\nret;\n}\n")
      .str();
}

PerturbedPtx perturbed(StringRef body) {
  PerturbedPtx out = cantFail(perturb(kernelOf(body), "k"));
  const ptx::ParseResult parsed = ptx::parse("perturbed", out.text);
  for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
    ADD_FAILURE() << ptx::format(diagnostic, "perturbed", out.text) << out.text;
  return out;
}

// A driver takes no PTX for newer devices than its own.
TEST(TextOfPtx, IsForTheDeviceThatIsThere) {
  const std::string text =
      "//\n// .target sm_30\n.version 8.8\n.target sm_120a, debug\n.address_size 64\n";
  EXPECT_EQ(withTarget(text, 90),
            "//\n// .target sm_30\n.version 8.8\n.target sm_90, debug\n.address_size 64\n");
  EXPECT_EQ(withTarget(text, 120), "");
  EXPECT_EQ(withTarget(text, 121), "");
  EXPECT_EQ(withTarget(".version 7.0\n.target texmode_unified, sm_90\n", 50), "");
}

} // namespace

TEST(Perturbation, MovesApproximateResults) {
  for (const char *body : {
           "ex2.approx.f32 %f1, %f2;",
           "ex2.approx.ftz.f32 %f1, %f1;",
           "ex2.approx.f32 %r1, %r2; // in registers of bits",
           "@%p1 rcp.approx.f32 %f1, %f2;",
           "@!%p1 lg2.approx.f32 %f1, %f2;",
           "@%p1\n  sqrt.approx.f32 %f1, %f2;",
           "again: sin.approx.f32 %f1, %f1; @%p1 bra again;",
           "cos.approx.f32 %f1, 0f3f800000;",
           "rcp.approx.f32 %f1, /* x; */ %f2 // y;\n;",
           "/* a; comment */ tanh.approx.f32 %f1, %f2;",
           "div.full.f32 %f1, %f2, %f3;",
           "div.approx.f32 %f1, %f2, %f3;",
           "rsqrt.approx.f64 %g1, %g2;",
           "@%p2 rcp.approx.ftz.f64 %g1, %g2;",
           "ex2.approx.f16 %h1, %h2;",
           "@!%p2 tanh.approx.f16x2 %r1, %r2;",
           "ex2.approx.ftz.bf16 %h1, %h2;",
           "tanh.approx.bf16x2 %r1, %r2;",
           "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4},"
           " {%r5,%r6}, {%f1,%f2,%f3,%f4};",
           "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16 {%r7,%r8}, {%r1,%r2,%r3,%r4}, "
           "{%r5,%r6}, {%r7,%r8};",
           "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%f1,%f2,%f3,%f4}, "
           "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f5,%f6,%f7,%f8};",
           "mma.sync.aligned.m16n8k32.row.col.f16.e4m3.e5m2.f16 {%r7,%r8}, {%r1,%r2,%r3,%r4}, "
           "{%r5,%r6}, {%r7,%r8};",
           "mma.sp::ordered_metadata.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 "
           "{%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6,%r7,%r8}, {%f1,%f2,%f3,%f4}, %r9, 0;",
           "wmma.mma.sync.aligned.row.col.m16n16k16.f32.f16 {%f1,%f2,%f3,%f4,%f5,%f6,%f7,%f8}, "
           "{%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, {%r1,%r2,%r3,%r4,%r5,%r6,%r7,%r8}, "
           "{%r9,%r10,%r11,%r12};",
       }) {
    const PerturbedPtx out = perturbed(body);
    EXPECT_EQ(out.sites, 1u) << body;
    EXPECT_EQ(out.still, "") << body;
  }
}

// Handles in registers and names; guards; levels. Fetches of texels are exact.
TEST(Perturbation, MovesWhatFiltersGive) {
  const auto filtered = [](StringRef body) {
    std::string text = kernelOf(body);
    text.insert(text.find(".visible"), ".global .texref image;\n");
    PerturbedPtx out = cantFail(perturb(text, "k", true));
    const ptx::ParseResult parsed = ptx::parse("perturbed", out.text);
    for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
      ADD_FAILURE() << ptx::format(diagnostic, "perturbed", out.text) << out.text;
    return out;
  };
  for (const char *body :
       {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];",
        "tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [image, {%f1}];",
        "@!%p1 tex.level.cube.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6, %f7, %f7}], %f8;",
        "@%p1\n tex.a2d.v4.f32.f32 {%r1, %f2, %f3, %f4}, [ %d1 , {%r5, %f6, %f7, %f8}];"}) {
    const PerturbedPtx out = filtered(body);
    EXPECT_EQ(out.sites, 1u) << body;
    EXPECT_EQ(out.still, "") << body;
    EXPECT_EQ(perturbed(StringRef(body).contains("image") ? "" : body).sites, 0u);
  }
  const PerturbedPtx fetch = filtered("tex.2d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [%d1, {%r5, %r6}];");
  EXPECT_EQ(fetch.sites, 0u);
  EXPECT_EQ(fetch.still, "");
  for (const char *body : {"tex.2d.v4.s32.f32 {%r1, %r2, %r3, %r4}, [%d1, {%f5, %f6}];",
                           "tex.grad.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}], "
                           "{%f7, %f8}, {%f9, %f10};"}) {
    const PerturbedPtx out = filtered(body);
    EXPECT_EQ(out.sites, 0u) << body;
    EXPECT_EQ(out.still, ("line 8: " + StringRef(body).take_until(isSpace)).str());
  }
}

// The register has its handle again, unless the instruction wrote there.
TEST(TextureSites, LookUpTheirHandles) {
  for (const auto &[body, lookups, restored] :
       {std::tuple("tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%d1, {%f5, %f6}];", 1, "mov.b64 %d1,"),
        {"@%p1 suld.b.1d.b64.trap %d1, [%d1, {%r1}];", 1, "@!%p1 mov.b64 %d1,"},
        {"suld.b.1d.b64.trap %d1, [%d1, {%r1}];", 1, ""},
        {"sust.b.2d.b32.trap [%d2, {%r1, %r2}], {%r3};", 1, "mov.b64 %d2,"},
        {"txq.width.b32 %r1, [%d3];", 1, "mov.b64 %d3,"},
        {"ld.global.u32 %r1, [%d1];", 0, ""}}) {
    const std::string text = cantFail(translateHandles(kernelOf(body), "k"));
    const ptx::ParseResult parsed = ptx::parse("translated", text);
    for (const ptx::Diagnostic &diagnostic : parsed.diagnostics)
      ADD_FAILURE() << ptx::format(diagnostic, "translated", text) << text;
    EXPECT_EQ(StringRef(text).count("rubia_search:"), size_t(lookups)) << text;
    const StringRef behind = StringRef(text).split(body).second;
    EXPECT_EQ(behind.contains("mov.b64"), *restored != 0) << text;
    EXPECT_TRUE(behind.contains(restored)) << text;
  }
}

TEST(Perturbation, LeavesExactInstructionsAlone) {
  for (const char *body : {"add.f32 %f1, %f2, %f3;", "rcp.rn.f32 %f1, %f2;",
                           "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%g1,%g2}, {%g3}, "
                           "{%g4}, {%g1,%g2};",
                           "mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%r1,%r2}, {%r3}, {%r4},"
                           " {%r1,%r2};"}) {
    const PerturbedPtx out = perturbed(body);
    EXPECT_EQ(out.sites, 0u) << body;
    EXPECT_EQ(out.still, "") << body;
    EXPECT_TRUE(StringRef(out.text).ends_with(
        StringRef(kernelOf(body)).drop_front(StringRef(kernelOf("")).find(".visible"))))
        << out.text;
  }
}

// Their results are inexact for other reasons than a bound.
TEST(Perturbation, NamesWhatDoesNotMove) {
  EXPECT_EQ(perturbed("atom.global.add.u32 %r1, [%d1], 1;").still, "line 7: atom.global.add.u32");
  EXPECT_EQ(perturbed("red.global.add.f32 [%d1], %f1;").still, "line 7: red.global.add.f32");
  EXPECT_EQ(perturbed("mov.u32 %r1, %clock;").still, "line 7: mov.u32");
  const std::string product = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32";
  EXPECT_EQ(perturbed("@%p1 " + product +
                      " {%f1,%f2,%f3,%f4}, {%r1,%r2,%r3,%r4}, {%r5,%r6}, "
                      "{%f1,%f2,%f3,%f4};")
                .still,
            "line 7: " + product);
}

// What the interpreter moves itself needs no other text, wgmma among it.
TEST(Perturbation, LeavesFiltersAndWarpgroupsToTheInterpreter) {
  const std::string filter = kernelOf("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [%d1, {%f1, %f2}];");
  for (const FilterMover mover : {FilterMover::Text, FilterMover::Interpreter}) {
    const PerturbedPtx out = cantFail(perturb(filter, "k", true, mover));
    EXPECT_EQ(out.sites, 1u);
    EXPECT_EQ(StringRef(out.text).contains("%rubia_"), mover == FilterMover::Text);
  }
  std::string product = kernelOf("wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 "
                                 "{%f1,%f2,%f3,%f4}, %d1, %d1, 1, 1, 1, 0, 0;");
  const size_t target = product.find("sm_");
  product.replace(target, product.find('\n', target) - target, "sm_90a");
  EXPECT_NE(cantFail(perturb(product, "k")).still, "");
  EXPECT_EQ(cantFail(perturb(product, "k", false, FilterMover::Interpreter)).still, "");
}

TEST(Perturbation, FirstRunsMoveAllResultsOneWay) {
  EXPECT_EQ(Noise::ofRun(0).bias, 1);
  EXPECT_EQ(Noise::ofRun(1).bias, -1);
  EXPECT_EQ(Noise::ofRun(2).bias, 0);
  EXPECT_NE(Noise::ofRun(2).seed, Noise::ofRun(3).seed);
}
