// SPDX-License-Identifier: Apache-2.0
// What directives other than instructions leave in a module. PTX ISA: directives.

#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include <gtest/gtest.h>

using namespace rubia::ptx;

namespace {

std::string header = ".version 9.0\n.target sm_90\n.address_size 64\n";

ParseResult parsed(const std::string &text) {
  ParseResult result = parse("t.ptx", header + text);
  EXPECT_EQ(messages(result), "") << text;
  return result;
}

std::string firstMessage(const std::string &text) {
  ParseResult result = parse("t.ptx", text);
  return result.diagnostics.empty() ? "" : result.diagnostics[0].message;
}

TEST(PtxDirectives, WarnOfNewerVersions) {
  std::string body = "\n.target sm_90\n.address_size 64\n.entry k() { ret; }";
  ParseResult result = parse("t.ptx", ".version 9.4" + body);
  EXPECT_FALSE(result.hasErrors());
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].severity, Severity::Warning);
  EXPECT_EQ(result.diagnostics[0].message,
            "PTX 9.4 is newer than 9.3, the newest version that is known");
  EXPECT_EQ(firstMessage(".version 9.3" + body), "");
  EXPECT_EQ(firstMessage(".version 7.8" + body), "");
}

TEST(PtxDirectives, IdentifyUnifiedNames) {
  ParseResult result = parsed(".global .attribute(.managed, .unified(1, 0xfffffffffffffffe)) .u32 "
                              "m; .func .attribute(.unified(3, 4)) f() { ret; } .global .u32 n;");
  const Variable &m = *result.module.variables[0];
  EXPECT_TRUE(m.managed && m.unified.given);
  EXPECT_EQ(m.unified.first, 1u);
  EXPECT_EQ(m.unified.second, 0xfffffffffffffffeu);
  EXPECT_EQ(result.module.function("f")->unified.second, 4u);
  EXPECT_FALSE(result.module.variables[1]->unified.given);
  EXPECT_EQ(firstMessage(header + ".func .attribute(.managed) f() { ret; }"),
            "a function cannot be managed");
}

TEST(PtxDirectives, KeepFieldsOfOpaqueReferences) {
  ParseResult result = parsed(".global .samplerref s[2] = {{addr_mode_0 = wrap, filter_mode = 1}, "
                              "{}}; .global .texref t = {width = 4, channel_order = -1}; "
                              ".global .surfref u[] = {{}, {memory_layout = 0}, {}};");
  const Variable &s = *result.module.variables[0], &t = *result.module.variables[1],
                 &u = *result.module.variables[2];
  ASSERT_EQ(s.fields.size(), 2u);
  EXPECT_EQ(s.fields[0].word, "wrap");
  EXPECT_EQ(s.fields[1].name, "filter_mode");
  EXPECT_EQ(s.fields[1].value, 1);
  EXPECT_EQ(t.fields[1].value, -1);
  EXPECT_EQ(u.elementCount, 3u);
  EXPECT_EQ(u.sizeInBytes, 24u);
  EXPECT_EQ(u.fields[0].element, 1u);
  EXPECT_EQ(firstMessage(header + ".global .texref t = {colour = 4};"),
            "expected a field such as width or addr_mode_0, found 'colour'");
  EXPECT_EQ(firstMessage(header + ".global .texref t = {width = red};"),
            "expected a constant, found 'red'");
}

TEST(PtxDirectives, ReadOldTextures) {
  ParseResult result = parse("t.ptx", ".version 1.4\n.target sm_13\n.tex .u32 t;");
  EXPECT_EQ(messages(result), "");
  EXPECT_EQ(result.module.variables[0]->type, Type::TexRef);
  EXPECT_EQ(result.module.variables[0]->space, StateSpace::Global);
  EXPECT_EQ(firstMessage(header + ".tex .u32 t;"), "'.tex' is not available since PTX 1.5");
}

TEST(PtxDirectives, KeepSections) {
  ParseResult result = parsed(".section .debug_str { a: .b8 97, -1\n.b32 a+1, a-b, .debug_info "
                              ".b64 k b: }\n.section .debug_loc { }");
  ASSERT_EQ(result.module.sections.size(), 2u);
  EXPECT_EQ(result.module.sections[0].name, ".debug_str");
  EXPECT_TRUE(result.module.sections[0].contents.contains("a-b"));
  EXPECT_EQ(firstMessage(header + ".section .x { .u8 1 }"),
            "expected '.b8', '.b16', '.b32', '.b64', a label or '}', found '.u8'");
  EXPECT_EQ(firstMessage(header + ".section .x { .b8 \"a\" }"),
            "expected a number, a label or a section, found '\"a\"'");
  EXPECT_EQ(firstMessage(header + ".section .x { .b8 1"),
            "expected '.b8', '.b16', '.b32', '.b64', a label or '}', found end of file");
}

TEST(PtxDirectives, KeepPragmasAndFiles) {
  ParseResult result = parsed(".pragma \"a\", \"b\"; .file 3 \"x.cu\", 17, 5\n.entry k() .pragma "
                              "\"c\"; { ret; .pragma \"nounroll\"; ret; }");
  EXPECT_EQ(result.module.pragmas, (std::vector<llvm::StringRef>{"a", "b"}));
  EXPECT_EQ(result.module.files[0].modified, 17u);
  EXPECT_EQ(result.module.files[0].size, 5u);
  const Function &k = *result.module.function("k");
  ASSERT_EQ(k.pragmas.size(), 2u);
  EXPECT_EQ(k.pragmas[0].instruction, kNone);
  EXPECT_EQ(k.pragmas[1].text, "nounroll");
  EXPECT_EQ(k.pragmas[1].instruction, 1u);
}

TEST(PtxDirectives, KeepWhatCallsPreserve) {
  ParseResult result = parsed(".func f() .abi_preserve 8 .abi_preserve_control 0 { p: "
                              ".callprototype _ () .abi_preserve 3; ret; } .func g() { ret; } "
                              ".entry k() .maxnctapersm 3 { ret; }");
  const Function &f = *result.module.function("f");
  EXPECT_EQ(f.attributes.abiPreserve, 8u);
  EXPECT_EQ(f.attributes.abiPreserveControl, 0u);
  EXPECT_EQ(f.prototypes[0].abiPreserve, 3u);
  EXPECT_EQ(f.prototypes[0].abiPreserveControl, kNone);
  EXPECT_EQ(result.module.function("g")->attributes.abiPreserve, kNone);
  EXPECT_EQ(result.module.function("k")->attributes.maxBlocksPerMultiprocessor, 3u);
}

TEST(PtxDirectives, KnowAllSpecialRegisters) {
  parsed(".entry k() { .reg .b32 r; .reg .b64 d;\n"
         "mov.u32 r, %clusterid.x; mov.u32 r, %nclusterid.y; mov.u32 r, %cluster_ctaid.z;\n"
         "mov.u32 r, %cluster_nctaid.w; mov.u32 r, %cluster_ctarank; mov.u32 r, "
         "%cluster_nctarank;\nmov.u32 r, %pm7; mov.u64 d, "
         "%pm0_64;\nmov.b32 r, %envreg0; mov.b32 r, %envreg31; mov.b32 r, "
         "%reserved_smem_offset_begin;\nmov.b32 r, %reserved_smem_offset_1; mov.u32 r, "
         "%aggr_smem_size; mov.u64 d, %current_graph_exec; ret; }");
  EXPECT_EQ(firstMessage(".version 7.7\n.target sm_80\n.address_size 64\n.entry k() { .reg .b32 r; "
                         "mov.u32 r, %clusterid.x; ret; }"),
            "operand 2 of 'mov.u32' is '%clusterid.x', which needs PTX 7.8");
  EXPECT_EQ(firstMessage(header + ".entry k() { .reg .b32 r; mov.u32 r, %envreg32; ret; }"),
            "undeclared register '%envreg32'");
}

} // namespace
