// SPDX-License-Identifier: Apache-2.0
// Bad input: exact messages and places, and that an error costs no more than its function.

#include "Dump.h"
#include <gtest/gtest.h>

using namespace rubia::ptx;

namespace {

struct Case {
  const char *body, *messages;
};

// The body of inKernel() begins at line 9.
void check(std::initializer_list<Case> cases) {
  for (const Case &c : cases) {
    ParseResult result = parse("t.ptx", inKernel(c.body));
    EXPECT_EQ(messages(result), c.messages) << c.body;
    EXPECT_TRUE(result.usable);
    const Function *k = result.module.function("k");
    ASSERT_TRUE(k);
    EXPECT_FALSE(k->valid) << c.body;
    EXPECT_TRUE(result.module.function("fn")->valid) << c.body;
    for (const Diagnostic &d : result.diagnostics)
      EXPECT_EQ(d.function, "k") << c.body;
  }
}

TEST(PtxDiagnostics, NamesUnknownInstructions) {
  check({
      {"foo.bar;", "9:1: unknown instruction 'foo.bar' in kernel 'k'"},
      {"tex.2d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [gv, {%f1, %f2}];",
       "9:41: operand 2 of 'tex.2d.v4.f32.f32' is 'gv' of type .u32, expected .texref"},
      {"ad.s32 %r1, %r2, %r3;",
       "9:1: unknown instruction 'ad.s32' in kernel 'k', did you mean 'add'?"},
      {"setpp.eq.s32 %p1, %r1, %r2;",
       "9:1: unknown instruction 'setpp.eq.s32' in kernel 'k', did you mean 'setp'?"},
      {"add.fzt.f32 %f1, %f2, %f3;",
       "9:1: unknown modifier '.fzt' of 'add.fzt.f32' in kernel 'k', did you mean '.ftz'?"},
      {"ld.globl.u32 %r1, [%rd1];",
       "9:1: unknown modifier '.globl' of 'ld.globl.u32' in kernel 'k', did you mean '.global'?"},
      {"add.s33 %r1, %r2, %r3;",
       "9:1: unknown modifier '.s33' of 'add.s33' in kernel 'k', did you mean '.s32'?"},
      {"add.rn.s32 %r1, %r2, %r3;",
       "9:1: modifier '.rn' is not allowed in 'add.rn.s32' in kernel 'k'"},
      {"cvt.f32.s32 %f1, %r1;", "9:1: 'cvt.f32.s32' in kernel 'k' lacks a modifier such as '.rn'"},
      {"add.wide.s32 %r1, %r2, %r3;",
       "9:1: unknown instruction 'add.wide.s32' in kernel 'k': no form of 'add' has '.wide'"},
      {"add.frobnicate.s32 %r1, %r2, %r3;", "9:1: unknown instruction 'add.frobnicate.s32' in "
                                            "kernel 'k': no form of 'add' has '.frobnicate'"},
      {"setp.ltu.s32 %p1, %r1, %r2;",
       "9:1: modifier '.ltu' is not allowed in 'setp.ltu.s32' in kernel 'k'"},
  });
}

// The table has all of PTX up to 9.1: only in a newer version can an unknown word be legal.
TEST(PtxDiagnostics, TellsUnsupportedFromMalformed) {
  auto unsupported = [](std::string version, const char *body) {
    std::string text = inKernel(body);
    text.replace(text.find("8.0"), 3, version);
    return parse("t", text).diagnostics.back().unsupported;
  };
  for (const char *body : {"foo.bar;", "add.frobnicate.s32 %r1, %r2, %r3;", "ad.s32 %r1;"}) {
    EXPECT_FALSE(unsupported("9.1", body)) << body;
    EXPECT_TRUE(unsupported("9.2", body)) << body;
  }
  EXPECT_FALSE(unsupported("9.2", "add.s32 %r1;"));
}

TEST(PtxDiagnostics, FindsMissingPunctuation) {
  check({
      {"add.s32 %r1, %r2, %r3\nret;", "9:22: expected ';' after instruction, found 'ret'"},
      {"add.s32 %r1, %r2, %r3 ret;", "9:23: expected ';' after instruction, found 'ret'"},
      {"ret", "9:4: expected ';' after instruction, found '}'"},
      {"add.s32 %r1 %r2, %r3;", "9:13: expected ';' after instruction, found '%r2'"},
      {"add.s32 %r1, , %r3;", "9:14: expected an operand, found ','"},
      {"ld.global.u32 %r1, [%rd1;", "9:25: expected ']', found ';'"},
      {"ld.global.v2.u32 {%r1, %r2, [%rd1];", "9:29: expected an operand, found '['"},
      {"ld.global.v2.u32 {%r1, %r2;", "9:27: expected ',' or '}', found ';'"},
      {"mov.u32 %r1, (1+2;", "9:18: expected ')', found ';'"},
      {"mov.u32 %r1, 1+;", "9:16: expected a constant, found ';'"},
      {"@ ret;", "9:3: undeclared name 'ret'"},
      {"@%p1;", "9:5: expected an instruction, found ';'"},
      {";", "9:1: expected a statement, found ';'"},
      {"5;", "9:1: expected a statement, found '5'"},
      {".reg .b32 %z<5;", "9:15: expected '>', found ';'"},
      {".reg .b32 5;", "9:11: expected a register name, found '5'"},
      {".reg %z;", "9:6: expected a type, found '%z'"},
      {"call (%r1, fn, (%r2);", "9:17: expected a constant, found '%r2'"},
      {"ret;;", "9:5: expected a statement, found ';'"},
      {"ld.global.u32 %r1, [%rd1-4];",
       "9:25: expected '+' or ']', found '-': a negative offset is written as '+-4'"},
      {"ld.shared.u32 %r1, [sv-4];",
       "9:23: expected '+' or ']', found '-': a negative offset is written as '+-4'"},
      {".extern .shared .u32 x[];", "9:1: unexpected directive '.extern'"},
      {".file 1 \"a\"\nret;", "9:1: unexpected directive '.file'"},
  });
}

TEST(PtxDiagnostics, FindsUndeclaredAndDuplicateNames) {
  check({
      {"mov.u32 %x1, 5;", "9:9: undeclared register '%x1'"},
      {"mov.u32 %r10, 5;", "9:9: undeclared register '%r10': '.reg' declares '%r<10>'"},
      {"mov.u32 %r1, %cluster_ctarank;",
       "9:14: operand 2 of 'mov.u32' is '%cluster_ctarank', which needs sm_90"},
      {"mov.u32 %r1, %clusterid.x;",
       "9:14: operand 2 of 'mov.u32' is '%clusterid.x', which needs sm_90"},
      {"@%tid.x ret;", "9:2: guard '%tid.x' is no predicate register"},
      {"mov.u32 foo, 5;", "9:9: undeclared name 'foo'"},
      {"ld.global.u32 %r1, [nosuch];", "9:21: undeclared name 'nosuch'"},
      {"mov.u32 %r1, %warpsize;", "9:14: undeclared register '%warpsize', did you mean 'WARP_SZ'?"},
      {"mov.u32 %r1, %laneld;", "9:14: undeclared register '%laneld', did you mean '%laneid'?"},
      {"mov.u32 %r1, %tidx;", "9:14: undeclared register '%tidx', did you mean '%tid.x'?"},
      {"mov.u32 %r1, %ntidd.x;", "9:14: undeclared register '%ntidd.x', did you mean '%ntid.x'?"},
      {"mov.u32 %r1, %envreg32;", "9:14: undeclared register '%envreg32'"},
      {".shared .u32 buffer[4]; ld.shared.u32 %r1, [bufer];",
       "9:45: undeclared name 'bufer', did you mean 'buffer'?"},
      {"{ .shared .u32 buffer; } ld.shared.u32 %r1, [bufer];", "9:46: undeclared name 'bufer'"},
      {"bra nowhere;", "9:5: undefined label 'nowhere'"},
      {"{ L: ret; } bra L;", "9:17: undefined label 'L'"},
      {"L: ret;\nL: ret;", "10:1: label 'L' is defined twice"},
      {"call nosuch;", "9:6: undeclared name 'nosuch'"},
      {"{ .reg .u32 x; } mov.u32 x, 1;", "9:26: undeclared name 'x'"},
      {".reg .u32 x; .reg .f32 x;", "9:24: 'x' is declared twice"},
      {".reg .u32 %r<3>;", "9:11: '%r<10>' is declared already"},
      {".reg .u32 %r3;", "9:11: '%r3' is declared twice: it is one of '%r<10>'"},
      {".shared .u32 a; .shared .u32 a;", "9:30: 'a' is declared twice"},
      {"brx.idx %r1, nolist;", "9:14: undeclared list of branch targets 'nolist'"},
      {"@%p9 ret;", "9:2: undeclared register '%p9': '.reg' declares '%p<5>'"},
      {".reg .v2 .f32 v; mov.f32 %f1, v.z;", "9:31: undeclared name 'v.z'"},
  });
}

TEST(PtxDiagnostics, FindsWrongConstants) {
  check({
      {"mov.u32 %r1, 99999999999999999999;",
       "9:14: integer constant '99999999999999999999' does not fit into 64 bits"},
      {"mov.u32 %r1, 08;", "9:14: malformed octal constant '08'"},
      {"mov.u32 %r1, 5/0;", "9:15: division by zero"},
      {"mov.f32 %f1, 0f123;",
       "9:14: expected an operand, found '0f123', where 0f takes 8 hexadecimal digits"},
      {"mov.f32 %f1, -0f3F800000;", "9:14: this operator takes integers"},
      {"mov.f32 %f1, 1.0+2;",
       "9:17: an operator takes two integers or two floating point constants"},
      {"mov.u32 %r1, 0x;", "9:14: a constant without digits"},
      {"mov.u32 %r1, (.f32)1;", "9:15: expected '.s64' or '.u64', found '.f32'"},
      {".reg .b32 %z<-1>;", "9:14: expected a number of registers, found '-'"},
      {".shared .u32 x[-1];", "9:15: a dimension cannot be negative"},
      {".shared .align 3 .u32 x;", "9:16: an alignment is a power of two up to 2^20"},
      {".shared .u32 x = 5;", "9:16: 'x' cannot have an initialiser in its state space"},
      {".shared .u32 x[];", "9:14: 'x' has no size and is not extern"},
      {".shared .pred x;", "9:1: a predicate is a register"},
      {"mov.f64 %fd1, 0d3FF;",
       "9:15: expected an operand, found '0d3FF', where 0d takes 16 hexadecimal digits"},
      {"mov.f32 %f1, 0F3F8000000;",
       "9:14: expected an operand, found '0F3F8000000', where 0f takes 8 hexadecimal digits"},
      {".shared .u32 x[0];", "9:14: 'x' has no size and is not extern"},
      {".shared .u32 x[2][0];", "9:18: only the first dimension can be left open"},
  });
}

TEST(PtxDiagnostics, FindsErrorsOfTheModule) {
  std::string header = ".version 8.0\n.target sm_80\n";
  for (const Case &c : std::initializer_list<Case>{
           {".global .u32 x = y;", "3:18: undeclared name 'y'"},
           {".global .f32 x = 1;",
            "3:18: an integer cannot initialise 'x', expected a floating point constant"},
           {".global .u32 x[2] = {1,2,3};", "3:26: too many initialisers for 'x'"},
           {".global .u8 x[4] = {1, 2, 3, 4, 5, 6};", "3:33: too many initialisers for 'x'"},
           {".global .u8 x[4] = {1, 2, 3, 08, 5};", "3:30: malformed octal constant '08'"},
           {".global .u8 x[4] = {1, 2, 3 4};", "3:29: expected ',' or '}', found '4'"},
           {".global .f32 x[4] = {1.0, 2, 3};",
            "3:27: an integer cannot initialise 'x', expected a floating point constant"},
           {".global .u32 x[2] = 5;", "3:21: expected '{', found '5'"},
           {".global .u32 x = {5};", "3:18: expected a value, found '{'"},
           {".global .u32 x[2][2] = {1,2,3,4};", "3:25: expected '{', found '1'"},
           {".global .u16 x = x2;", "3:18: undeclared name 'x2'"},
           {".global .u32 x; .global .u16 y = x;", "3:34: an address cannot initialise 'y'"},
           {".global .u32 x; .global .u32 x;", "3:30: 'x' is declared twice"},
           {".globl .u32 x;", "3:1: expected a directive, found '.globl'"},
           {"add.s32 a, b, c;", "3:1: expected a directive, found 'add.s32'"},
           {".reg .u32 x;", "3:1: unsupported: registers of the module"},
           {".visible foo;", "3:10: expected a variable or function, found 'foo'"},
           {".entry k(.reg .u32 x) { ret; }", "3:10: a kernel parameter is in '.param'"},
           {".entry k(.param .u32 x { ret; }", "3:24: expected ',' or ')', found '{'"},
           {".entry k() .maxntid { ret; }", "3:21: expected a constant, found '{'"},
           {".entry k() { ret;", "3:12: the body of 'k' has no end"},
           {".func f() { ret; } .func f() { ret; }", "3:26: 'f' is defined twice"},
           {".func f(); .func f(.reg .u32 x) { ret; }",
            "3:18: 'f' differs from its earlier declaration"},
           {".address_size 16", "3:15: the address size is 32 or 64"},
           {".file 1 foo", "3:9: expected a file name, found 'foo'"},
           {"#include \"x\"\n", "3:1: expected a directive, found a preprocessor line"},
           {"/* no end", "3:1: expected a directive, found a comment without end"},
           {".const[2] .u32 x;", "3:7: unsupported: constant banks"},
           {".alias f, g;", "3:8: undeclared function 'f'\n3:11: undeclared function 'g'"},
           {".extern .visible .global .u32 x;", "3:1: a declaration has one linkage directive"},
           {".weak .weak .func f() { ret; }", "3:1: a declaration has one linkage directive"},
           {".common .shared .u32 x;", "3:9: '.common' is for variables in '.global'"},
           {".common .func f() { ret; }", "3:1: '.common' is for variables in '.global'"},
           {";", "3:1: expected a directive, found ';'"},
           {".entry k() { ret; };", "3:20: expected a directive, found ';'"},
           {".version 8.0", "3:1: '.version' stands only once, at the beginning of the module"},
           {".target sm_10", "3:1: unsupported: '.target' changes between sm_1x and later targets"},
           {".func f(.reg .u32 a) g", "3:22: expected ';' after function declaration, found 'g'"},
           {".global .u32 x; .address_size 64",
            "3:17: '.address_size' stands only once, at the beginning of the module"},
           {".func f() { ret; } .entry k(); .alias k, f;",
            "3:39: kernel 'k' cannot be part of an alias"},
           {".entry k() { ret; } .func f(); .alias f, k;",
            "3:42: kernel 'k' cannot be part of an alias"},
           {".func f() { ret; } .func g(.reg .u32 a); .alias g, f;",
            "3:49: alias 'g' and 'f' have different parameters"},
           {".func f() { ret; } .func g(); .alias g, f; .alias g, f;",
            "3:51: 'g' is an alias already"},
           {".func f(); .alias f, f;", "3:19: 'f' has an alias already"},
           {".func f(); .func g(); .alias g, f; .alias f, g;", "3:43: 'f' has an alias already"},
           {".func f() { ret; } .func g(); .alias g, f; .func g() { ret; }",
            "3:50: alias 'g' has a body"},
           {".func f() { ret; } .func g() { ret; } .alias g, f;", "3:46: alias 'g' has a body"},
           {".entry k(.param .b8 x[]) { ret; }", "3:21: parameter 'x' of a kernel has no size"},
           {".global .bf16 x;", "3:1: '.bf16' is a type of instructions only, '.b16' holds it"},
           {".const .e4m3x4 x;", "3:1: '.e4m3x4' is a type of instructions only, '.b32' holds it"},
           {".global .u4 x;", "3:1: '.u4' is a type of instructions only, '.b8' holds it"},
           {".func f(.reg .tf32 x) { ret; }",
            "3:9: '.tf32' is a type of instructions only, '.b32' holds it"},
       }) {
    ParseResult result = parse("t.ptx", header + c.body);
    EXPECT_EQ(messages(result), c.messages) << c.body;
    EXPECT_TRUE(result.usable);
  }
}

TEST(PtxDiagnostics, RefusesUnreadableHeaders) {
  for (const Case &c : std::initializer_list<Case>{
           {"", "1:1: expected '.version', found end of file"},
           {".target sm_80", "1:1: expected '.version', found '.target'"},
           {".version 8", "1:10: expected a version such as 8.0, found '8'"},
           {".version 8.0\n.entry k() {}", "2:1: expected '.target', found '.entry'"},
           {".version 7.7\n.target sm_90", "2:9: the target needs PTX 7.8"},
           {".version 8.0\n.target gfx90a", "2:9: unknown target 'gfx90a'"},
           {".version 8.0\n.version 8.0\n.target sm_80",
            "2:1: expected '.target', found '.version'"},
           {".version 1.4\n.target sm_13, map_f64_to_f32",
            "2:16: 'map_f64_to_f32' is for targets before sm_13"},
           {".version 8.0\n.target sm_8x", "2:9: expected a target such as sm_80, found '8x'"},
           {"\x7f"
            "ELF",
            "1:1: expected '.version', found character 7f"},
       }) {
    ParseResult result = parse("t.ptx", c.body);
    EXPECT_EQ(messages(result), c.messages) << c.body;
    EXPECT_FALSE(result.usable);
  }
}

TEST(PtxDiagnostics, OneBadKernelLeavesTheOthers) {
  ParseResult result = parse("t.ptx", R"(.version 8.0
.target sm_80
.entry a() { ret; }
.entry b() { frobnicate.f32 {x}, [y, {z}]; .reg .u32 r; mov.u32 r, 1.0; ret; }
.global .u32 broken = ;
.entry c(.param .u3 p) { .reg .u32 r; { mov.u32 r, 1; } ret; }
.entry d() { { bra L; L: } ret; }
.entry e() { foo; trp; foo; ret; }
)");
  EXPECT_TRUE(result.usable);
  EXPECT_TRUE(result.hasErrors());
  EXPECT_EQ(messages(result),
            "4:14: unknown instruction 'frobnicate.f32' in kernel 'b'\n"
            "4:68: operand 2 of 'mov.u32' is a floating point constant, expected .u32\n"
            "5:23: expected a constant, found ';'\n"
            "6:17: expected a type, found '.u3'\n"
            "8:14: unknown instruction 'foo' in kernel 'e'\n"
            "8:19: unknown instruction 'trp' in kernel 'e', did you mean 'trap'?");
  for (auto [name, valid] :
       {std::pair("a", true), {"b", false}, {"c", false}, {"d", true}, {"e", false}})
    EXPECT_EQ(result.module.function(name)->valid, valid) << name;
  EXPECT_TRUE(result.module.function("b")->body.empty());
}

TEST(PtxDiagnostics, GoesOnAfterAMissingSemicolon) {
  ParseResult result =
      parse("t.ptx", inKernel("add.s32 %r1, %r2, %r3\nmov.u32 %r4, %r2;\nfoo;\nret;"));
  ASSERT_EQ(result.diagnostics.size(), 2u);
  EXPECT_EQ(result.diagnostics[1].message, "unknown instruction 'foo' in kernel 'k'");
}

TEST(PtxDiagnostics, ShowsTheLineAndACaret) {
  std::string text = ".version 8.0\n.target sm_80\n.entry k() {\n\tfoo.bar %r1;\n}\n";
  ParseResult result = parse("k.ptx", text);
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(format(result.diagnostics[0], "k.ptx", text),
            "k.ptx:4:2: error: unknown instruction 'foo.bar' in kernel 'k'\n"
            "\tfoo.bar %r1;\n"
            "\t^\n");
}

} // namespace
