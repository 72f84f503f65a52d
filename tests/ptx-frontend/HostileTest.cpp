// SPDX-License-Identifier: Apache-2.0
// Input that means harm: deep nesting, huge numbers, cut-off and mutilated text. It must cost
// neither much time nor memory, and never more than a diagnostic.

#include "Dump.h"
#include "ptx-frontend/Printer.h"
#include "llvm/Support/MemoryBuffer.h"
#include <gtest/gtest.h>
#include <random>

using namespace rubia::ptx;

namespace {

std::string header = ".version 8.0\n.target sm_80\n.address_size 64\n";

std::string repeat(llvm::StringRef text, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += text;
  return out;
}

std::string firstMessage(const std::string &text) {
  ParseResult result = parse("t.ptx", header + text);
  return result.diagnostics.empty() ? "" : result.diagnostics[0].message;
}

TEST(PtxHostile, BoundsNesting) {
  std::string tooDeep = "constant expression is nested too deeply";
  EXPECT_EQ(firstMessage(".global .u32 x = " + repeat("(", 100000) + "1;"), tooDeep);
  EXPECT_EQ(firstMessage(".global .u32 x = " + repeat("-", 100000) + "1;"), tooDeep);
  EXPECT_EQ(firstMessage(".global .u32 x = " + repeat("1?", 100000) + "1;"), tooDeep);
  EXPECT_EQ(firstMessage(".global .u32 x = " + repeat("0?1:", 100000) + "1;"), tooDeep);
  EXPECT_EQ(firstMessage(".global .u32 x = 1" + repeat("+1", 100000) + ";"), "");
  EXPECT_EQ(firstMessage(".global .u32 x[2] = " + repeat("{", 100000)),
            "expected a value, found '{'");
  EXPECT_EQ(firstMessage(".global .u32 x" + repeat("[1]", 100000) + ";"), "too many dimensions");
  EXPECT_EQ(firstMessage(".global .u64 x = " + repeat("generic(", 100000)),
            "generic() inside generic()");
  EXPECT_EQ(firstMessage(".entry k() { " + repeat("{", 100000) + repeat("}", 100000) + " ret; }"),
            "blocks are nested too deeply");
  EXPECT_EQ(firstMessage(".entry k() { L: " + repeat("{", 99) + "bra L;" + repeat("}", 99) + "}"),
            "");
  EXPECT_EQ(firstMessage(".section .x " + repeat("{", 100000)),
            "expected '.b8', '.b16', '.b32', '.b64', a label or '}', found '{'");
}

TEST(PtxHostile, BoundsNumbers) {
  EXPECT_EQ(firstMessage(".entry k() { .reg .u32 %r<4000000000>; }"), "too many registers");
  EXPECT_EQ(firstMessage(".entry k() { .reg .u32 %r<18446744073709551615>; }"),
            "too many registers");
  EXPECT_EQ(
      firstMessage(".entry a() { .reg .u32 %r<600000>; } .entry b() { .reg .u32 %r<600000>; }"),
      "too many registers");
  EXPECT_EQ(firstMessage(".global .u64 x[1000000000][1000000000][1000000000];"),
            "array 'x' is larger than 2^40 bytes");
  EXPECT_EQ(firstMessage(".global .u8 x[1000000000000] = {1};"), "initialiser of 'x' is too large");
  EXPECT_EQ(firstMessage(".global .u8 x[1000000000000] = {0};"), "");
  EXPECT_EQ(firstMessage(".entry k() .maxntid 4294967296 { ret; }"),
            "a value from 0 to 2147483647 is expected");
  EXPECT_EQ(firstMessage(".file 99999999999 \"x\""), "file number out of range");
  EXPECT_EQ(firstMessage(".loc 99999999999 99999999999 1"), "");
  for (const char *half : {"function_name L", "function_name L+4", "inlined_at 1 2 3",
                           "inlined_at 1 2 3, function_name L"})
    EXPECT_NE(firstMessage(std::string(".loc 1 2 3, ") + half), "") << half; // both, in this order
  EXPECT_EQ(firstMessage(".global .align 4611686018427387904 .u32 x;"),
            "an alignment is a power of two up to 2^20");
  EXPECT_EQ(firstMessage(".global .f64 x = 1" + repeat("0", 900) + ".0;"),
            "floating point constant '1" + repeat("0", 39) + "' does not fit into 64 bits");
  EXPECT_EQ(firstMessage(".global .f64 x = 1." + repeat("1", 10000000) + ";"),
            "floating point constant '1." + repeat("1", 38) +
                "...' is longer than 1000 characters");
  EXPECT_EQ(firstMessage(".global .f64 x = 1." + repeat("1", 990) + "e-99;"), "");
}

TEST(PtxHostile, BoundsLists) {
  EXPECT_EQ(firstMessage(".entry k() { .reg .u32 x; add.u32 " + repeat("x,", 100000) + "x; }"),
            "too many operands");
  EXPECT_EQ(firstMessage(".entry k() { .reg .u32 x; mov.b32 {" + repeat("x,", 100000) + "x}, x; }"),
            "too many elements");
  EXPECT_EQ(firstMessage(".func f(); .entry k() { .reg .u32 x; call f, (" + repeat("x,", 100000) +
                         "x); }"),
            "too many arguments");
}

TEST(PtxHostile, KeepsTheNumberOfDiagnosticsSmall) {
  ParseResult result = parse("t", header + ".entry k() { " + repeat("%;\n", 50000) + " }");
  EXPECT_LE(result.diagnostics.size(), 10000u);
  EXPECT_FALSE(result.module.function("k")->valid);
}

TEST(PtxHostile, BoundsTheSizeOfDiagnostics) {
  std::string name(1 << 20, 'a');
  std::string unknown, undeclared, wrong;
  for (unsigned i = 0; i < 20000; ++i) {
    unknown += "q" + std::to_string(i) + ";\n";
    undeclared += "mov.u32 x, y" + std::to_string(i) + ";\n";
    wrong += "mov.u32 x, 1.0;\n";
  }
  for (const std::string &body : {unknown, undeclared, wrong}) {
    ParseResult result = parse("t", header + ".entry " + name + "() { .reg .u32 x; " + body + "}");
    size_t bytes = 0;
    for (const Diagnostic &d : result.diagnostics) {
      EXPECT_EQ(d.function.size(), name.size());
      EXPECT_LE(d.message.size(), 2000u);
      bytes += d.message.size() + d.function.size();
    }
    EXPECT_GE(result.diagnostics.size(), 10u);
    EXPECT_LE(bytes, 17u << 20);
  }
  EXPECT_EQ(firstMessage(".global .u32 x = " + name + ";"),
            "undeclared name '" + name.substr(0, 2000 - 17));
  EXPECT_EQ(firstMessage(".entry " + name + "() { foo; }"),
            "unknown instruction 'foo' in kernel '" + name.substr(0, 200) + "...'");
}

// Also an initialiser that turns out to be wrong has cost memory: all together are bounded.
TEST(PtxHostile, BoundsInitializersWithErrors) {
  std::string text = header;
  for (unsigned i = 0; i < 50; ++i)
    text += ".global .b8 x" + std::to_string(i) + "[2][30000000] = {{}, {1}, {}};\n";
  ParseResult result = parse("t", text);
  ASSERT_EQ(result.diagnostics.size(), 50u);
  EXPECT_EQ(result.diagnostics[0].message, "too many initialisers for 'x0'");
  EXPECT_EQ(result.diagnostics[1].message, "too many initialisers for 'x1'");
  for (unsigned i = 2; i < 50; ++i)
    EXPECT_EQ(result.diagnostics[i].message,
              "initialiser of 'x" + std::to_string(i) + "' is too large");
}

TEST(PtxHostile, BoundsOpenDimensions) {
  EXPECT_EQ(firstMessage(".global .b8 x[][1099511627776] = {{}, {}};"),
            "array 'x' is larger than 2^40 bytes");
  EXPECT_EQ(firstMessage(".global .u64 x[][1073741824] = {" + repeat("{},", 1000) + "{}};"),
            "array 'x' is larger than 2^40 bytes");
  EXPECT_EQ(firstMessage(".global .b8 x[][1099511627776] = {{}};"), "");
  ParseResult result = parse("t", header + ".global .u32 x[0] = {1, 2};");
  EXPECT_FALSE(result.hasErrors());
  EXPECT_EQ(result.module.variables[0]->elementCount, 2u);
}

TEST(PtxHostile, BoundsModifiers) {
  EXPECT_EQ(firstMessage(".entry k() { .reg .f32 x; add" + repeat(".sat", 50) + ".f32 x, x, x; }"),
            "");
  for (const char *modifier : {".sat", ".ftz", ".frobnicate"}) {
    std::string word = "add" + repeat(modifier, 100000) + ".f32";
    EXPECT_EQ(firstMessage(".entry k() { .reg .f32 x; " + word + " x, x, x; }"),
              "unknown instruction '" + word.substr(0, 200) +
                  "...' in kernel 'k': it has more than 60 modifiers");
  }
}

// As many stores as parameters: no store looks at all of them.
TEST(PtxHostile, ManyParameters) {
  std::string parameters, body;
  for (unsigned i = 0; i < 20000; ++i) {
    parameters += (i ? ", .param .u32 p" : ".param .u32 p") + std::to_string(i);
    body += "st.global.u32 [v], 1; ";
  }
  ParseResult result = parse("t", header + ".global .u32 v; .entry k(" + parameters + ") { " +
                                      body + "st.param.u32 [p19999], 1; }");
  ASSERT_EQ(result.diagnostics.size(), 1u);
  EXPECT_EQ(result.diagnostics[0].message,
            "operand 1 of 'st.param.u32' writes the kernel parameter 'p19999'");
}

// Suggestions look at all names: only for the first errors of a module with many.
TEST(PtxHostile, BoundsSuggestions) {
  std::string text = header;
  for (unsigned i = 0; i < 100000; ++i)
    text += ".global .u32 name" + std::to_string(i) + "x;\n";
  text += ".entry k() { .reg .u32 r;\n" + repeat("ld.global.u32 r, [nane7x];\n", 9000) + "}";
  ParseResult result = parse("t", text);
  ASSERT_EQ(result.diagnostics.size(), 9000u);
  EXPECT_EQ(result.diagnostics[0].message, "undeclared name 'nane7x', did you mean 'name7x'?");
  EXPECT_EQ(result.diagnostics[8999].message, "undeclared name 'nane7x'");
}

TEST(PtxHostile, ReadsEmbeddedZeros) {
  std::string text = header + ".entry k() { ret; }";
  EXPECT_FALSE(parse("t", text + std::string(3, '\0')).hasErrors());
  text[text.find("ret")] = '\0';
  EXPECT_TRUE(parse("t", text).hasErrors());
}

// Every prefix of a real module, and modules with mutilated bytes: no crash, and printing what is
// left works.
TEST(PtxHostile, SurvivesDamage) {
  auto file = llvm::MemoryBuffer::getFile(RUBIA_PTX_SAMPLE);
  ASSERT_TRUE(file);
  std::string text = (*file)->getBuffer().take_front(6000).str();
  for (size_t length = 0; length < text.size(); length += 7) {
    ParseResult result = parse("t", text.substr(0, length));
    (void)print(result.module);
  }
  std::mt19937 random(1);
  const llvm::StringRef characters = "{}[]();,.%@!_\"/*<>=+-:|0aR \n\x80";
  unsigned broken = 0;
  for (int round = 0; round < 1000; ++round) {
    std::string damaged = text;
    for (int i = 0; i < 5; ++i)
      damaged[random() % damaged.size()] = characters[random() % characters.size()];
    ParseResult result = parse("t", damaged);
    broken += result.hasErrors();
    for (const Diagnostic &d : result.diagnostics)
      EXPECT_FALSE(format(d, "t", damaged).empty());
    (void)print(result.module);
  }
  EXPECT_GT(broken, 500u);
}

} // namespace
