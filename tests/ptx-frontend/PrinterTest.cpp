// SPDX-License-Identifier: Apache-2.0
// Module -> text -> the same module.

#include "ptx-frontend/Printer.h"
#include "Dump.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>

using namespace rubia::ptx;

namespace {

void roundTrip(const std::string &text) {
  ParseResult first = parse("first.ptx", text);
  ASSERT_EQ(messages(first), "") << text;
  std::string printed = print(first.module);
  ParseResult second = parse("second.ptx", printed);
  ASSERT_EQ(messages(second), "") << printed;
  EXPECT_EQ(dump(first.module), dump(second.module)) << printed;
  EXPECT_EQ(printed, print(second.module));
}

std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";

TEST(PtxPrinter, PrintsWhatItRead) {
  for (
      const char *body : {
          "",
          ".visible .global .align 16 .b8 a[32] = {1, 2, 3}; .const .f32 c = 0f7FC00001;",
          ".global .f64 d[2] = {1.5, 0d7FF8000000000001}; .global .v2 .u8 v[2] = {{5, 6}, {7, 8}};",
          ".global .v4 .f32 v = {1.0, 2.0, 3.0, 4.0}; .global .v2 .u8 w[3] = {{5, 6}, {7}};",
          ".extern .shared .align 16 .b8 s[]; .global .attribute(.managed) .u32 m;",
          ".global .u32 g; .global .u64 p[3] = {g, generic(g)+4, 5}; .global .u8 q[2] = {0xff(g), "
          "0xff00(generic(g)+1)};",
          ".func f(); .entry a(); .global .u64 p[2] = {f, a}; .func f() { ret; }",
          ".global .texref t; .global .surfref u; .global .samplerref w;",
          ".entry k(.param .u64 .ptr .global .align 16 a, .param .align 8 .b8 b[24])\n"
          ".maxntid 256 .reqntid 1,2,3 .minnctapersm 2 .maxnreg 32 .reqnctapercluster 2 "
          ".explicitcluster .blocksareclusters .maxclusterrank 8 { ret; }",
          ".func (.reg .u32 r) f(.reg .u32 a, .reg .v2 .f32 b) .noreturn { mov.u32 r, a; ret; }",
          ".func (.param .b32 r) g(.param .b32 a); .entry k() { .param .b32 x; .param .b32 y; call "
          "(y), g, (x); ret; } .func (.param .b32 r) g(.param .b32 b) { ret; }",
          ".func a(); .func b() { call a; ret; } .func a() { call b; ret; }",
          ".global .samplerref s[2] = {{addr_mode_0 = wrap, filter_mode = 1}, {}}; .global .texref "
          "t = {width = 4, channel_order = -1}; .global .surfref u[] = {{}, {memory_layout = 0}};",
          ".global .attribute(.managed, .unified(1, 0xffffffffffffffff)) .u32 m; .func "
          ".attribute(.unified(3, 4)) f() { ret; }",
          ".pragma \"a\", \"b\"; .entry k() .pragma \"c\"; { .pragma \"nounroll\"; ret; .pragma "
          "\"used_bytes_mask 0xff\"; .pragma \"frequency 3\"; ret; .pragma \"end\"; }",
          ".section .debug_str { lab: .b8 1, -2\n.b16 3 .b32 lab, lab+4, lab-end, .debug_info, "
          ".debug_info+8\n.b64 k end: } .entry k() { .loc 1 2 3, function_name lab+4, inlined_at 1 "
          "2 3\n ret; }",
          ".file 1 \"a.cu\", 1700000000, 4096\n.file 2 \"b.cu\", 1\n",
          ".func f() .abi_preserve 8 .abi_preserve_control 0 .noreturn { p: .callprototype _ () "
          ".noreturn .abi_preserve 3; ret; } .entry k() .maxnctapersm 3 { ret; }",
          ".func b(); .func a(); .alias a, b;",
          ".func f() { ret; } .func g(); .alias g, f; .entry k() { call g; ret; }",
          ".file 1 \"a.cu\"\n.entry k() { .loc 1 2 3\n ret; .loc 1 3 4, function_name s, "
          "inlined_at "
          "1 2 3\n .loc 1 4 4, function_name s, inlined_at 1 9 9\n ret; }",
      })
    roundTrip(header + body);
}

TEST(PtxPrinter, MakesNamesOfScopesUnique) {
  roundTrip(header + R"(.global .u32 g;
.entry k(.param .u32 p) {
  .reg .b32 %r<3>; .reg .u32 x; .reg .f32 %r7;
  { .reg .b32 %r<3>; .reg .u32 x; mov.u32 x, %r1; { .reg .b64 %r<2>; mov.b64 %r1, 0; } L: bra L; }
  { .reg .u32 g; .shared .u32 s; st.shared.u32 [s], g; L: bra L; }
  { .shared .u32 s; st.shared.u32 [s], x; .param .u32 p; st.param.u32 [p], x; }
  ld.global.u32 x, [g];
  ld.param.u32 x, [p];
})");
}

TEST(PtxPrinter, PrintsCallsAndTables) {
  roundTrip(header + R"(
.func (.param .b32 r) f(.param .b32 a);
.entry k(.param .u32 n) {
  .reg .b32 %r<3>; .reg .b64 %rd<2>; .param .b32 x; .param .b32 y;
  proto: .callprototype (.param .b32 _) _ (.param .b32 _, .param .align 8 .b8 _[16]) .noreturn;
  list: .calltargets f;
  targets: .branchtargets A, B, A;
  call (y), %rd1, (x), list;
  .reg .pred %p1;
  @!%p1 bra B;
  brx.idx %r1, targets;
A: brx.idx %r1, targets;
B: exit;
C:
})");
}

TEST(PtxPrinter, PrintsOneInstruction) {
  ParseResult result = parse("t", inKernel("@!%p1 ld.global.v2.f32 {%f1, _}, [%rd1+8];"));
  const Function &k = *result.module.function("k");
  EXPECT_EQ(print(result.module, k, k.body[0]), "@!%p1 ld.global.v2.f32 {%f1, _}, [%rd1+8];");
}

TEST(PtxPrinter, LeavesOutInvalidBodies) {
  ParseResult result = parse("t", header + ".entry bad() { foo; } .entry good() { ret; }");
  ParseResult again = parse("u", print(result.module));
  EXPECT_EQ(messages(again), "");
  EXPECT_FALSE(again.module.function("bad")->hasBody);
  EXPECT_TRUE(again.module.function("good")->hasBody);
}

// What nvcc makes of a dozen kernels.
TEST(PtxPrinter, RoundTripsCompilerOutput) {
  auto file = llvm::MemoryBuffer::getFile(RUBIA_PTX_SAMPLE);
  ASSERT_TRUE(file);
  roundTrip((*file)->getBuffer().str());
}

} // namespace
