// SPDX-License-Identifier: Apache-2.0
#include "ptx-frontend/Linker.h"
#include "ptx-frontend/Parser.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::ptx {
namespace {

const std::string kHead = ".version 7.0\n.target sm_80\n.address_size 64\n";

std::string unit(const std::string &body) { return kHead + body; }

/// The linked text, which has to be PTX; or what is wrong, behind "error: ".
std::string linked(std::vector<std::string> bodies) {
  std::vector<LinkInput> inputs;
  for (size_t i = 0; i < bodies.size(); ++i)
    inputs.push_back({"unit" + std::to_string(i), unit(bodies[i])});
  Expected<std::string> text = link(inputs);
  if (!text)
    return "error: " + toString(text.takeError());
  ParseResult parsed = parse("linked", *text);
  for (const Diagnostic &d : parsed.diagnostics)
    ADD_FAILURE() << format(d, "linked", *text);
  EXPECT_TRUE(parsed.usable) << *text;
  return *text;
}

size_t count(const std::string &text, const std::string &what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1))
    ++found;
  return found;
}

const std::string kCall = "{ .reg .b32 r; call (r), f, (); ret; }\n";
std::string function(const std::string &linkage, int value) {
  return linkage + ".func (.reg .b32 r) f() { mov.u32 r, " + std::to_string(value) + "; ret; }\n";
}

TEST(PtxLinker, PutsADefinitionInThePlaceOfDeclarations) {
  for (bool isFirst : {false, true}) {
    std::string user = ".extern .func (.reg .b32 r) f();\n.visible .entry k() " + kCall;
    std::string text = isFirst ? linked({function(".visible ", 7), user})
                               : linked({user, function(".visible ", 7)});
    EXPECT_EQ(count(text, ".extern"), 0u) << text;
    EXPECT_EQ(count(text, "mov.u32 r, 7"), 1u) << text;
  }
}

TEST(PtxLinker, TakesTheStrongDefinitionElseTheFirstWeakOne) {
  std::string weak1 = function(".weak ", 1), weak2 = function(".weak ", 2),
              strong = function(".visible ", 3), kernel = ".visible .entry k() " + kCall;
  std::string text = linked({weak1 + kernel, weak2, strong});
  EXPECT_EQ(count(text, "mov.u32 r, 3"), 1u) << text;
  EXPECT_EQ(count(text, "mov.u32 r, 1") + count(text, "mov.u32 r, 2"), 0u) << text;
  text = linked({weak1 + kernel, weak2});
  EXPECT_EQ(count(text, "mov.u32 r, 1"), 1u) << text;
  EXPECT_EQ(count(text, "mov.u32 r, 2"), 0u) << text;
}

TEST(PtxLinker, RenamesWhatIsAUnitsOwn) {
  std::string text = linked({function("", 1) + ".visible .entry a() " + kCall,
                             function("", 2) + ".visible .entry b() " + kCall});
  EXPECT_EQ(count(text, "f$unit0"), 3u) << text; // prototype, body, call
  EXPECT_EQ(count(text, "f$unit1"), 3u) << text;
  // A name that another unit exports is not touched there.
  text = linked({function("", 1) + ".visible .entry a() " + kCall,
                 function(".visible ", 2) + ".visible .entry b() " + kCall});
  EXPECT_EQ(count(text, "f$unit0"), 3u) << text;
  EXPECT_EQ(count(text, "f$unit1"), 0u) << text;
}

TEST(PtxLinker, DeclaresVariablesBeforeTheyAreUsed) {
  std::string text = linked(
      {".extern .global .u32 b;\n.visible .global .u64 a = b;\n.visible .entry k() { .reg .b64 r; "
       "mov.u64 r, a; ret; }\n",
       ".extern .global .u32 c;\n.visible .global .u32 b = 5;\n.visible .global .u64 p = c;\n",
       ".visible .global .u32 c;\n.visible .func g() { ret; }\n",
       ".extern .func g();\n.visible .global .u64 q = g;\n"});
  EXPECT_LT(text.find("b = 5"), text.find("a = b")) << text;
  EXPECT_EQ(count(text, ".extern"), 0u) << text;
}

TEST(PtxLinker, DeclaresKernelsWhoseAddressesAreTaken) {
  std::string text =
      linked({".entry a(.param .u32 x);\n.extern .entry b();\n.global .u64 table[2] = {a, b};\n"
              ".entry a(.param .u32 x) { .reg .b64 r; mov.u64 r, table; ret; }\n",
              ".visible .entry b() { ret; }\n.visible .entry c() { ret; }\n"});
  EXPECT_EQ(count(text, ".entry a(.param .u32 x);"), 1u) << text;
  EXPECT_LT(text.find(".visible .entry b();"), text.find("table")) << text;
  EXPECT_EQ(count(text, ".entry c"), 1u) << text;
}

TEST(PtxLinker, MakesCommonVariablesOne) {
  std::string text =
      linked({".common .global .align 4 .b8 x[4];\n", ".common .global .align 4 .b8 x[16];\n",
              ".extern .global .align 4 .b8 x[];\n.visible .entry k() { .reg .b64 r; "
              "mov.u64 r, x; ret; }\n"});
  EXPECT_EQ(count(text, "x[16]"), 1u) << text;
  EXPECT_EQ(count(text, "x[4]"), 0u) << text;
}

TEST(PtxLinker, KeepsTheDynamicSharedArrayOfTheLargestAlignment) {
  std::string text =
      linked({".extern .shared .align 4 .b8 s[];\n.visible .entry a() { .reg .b32 r; "
              "mov.u32 r, s; ret; }\n",
              ".extern .shared .align 16 .b8 s[];\n.visible .entry b() { .reg .b32 "
              "r; mov.u32 r, s; ret; }\n"});
  EXPECT_EQ(count(text, ".extern .shared .align 16"), 1u) << text;
  EXPECT_EQ(count(text, ".extern .shared .align 4"), 0u) << text;
}

TEST(PtxLinker, NumbersFilesAnew) {
  std::string a = ".file 1 \"a.cu\"\n.visible .entry a() {\n.loc 1 3 1\nret; }\n";
  std::string b =
      ".file 1 \"b.cu\"\n.visible .entry b() {\n.loc 1 4 2, function_name $L, inlined_at "
      "1 9 9\nret; }\n.section .debug_str\n{\n$L:\n.b8 0\n}\n";
  std::string text = linked({a, b});
  EXPECT_EQ(count(text, ".file 2 \"a.cu\"") + count(text, ".file 1 \"a.cu\""), 1u) << text;
  ParseResult parsed = parse("linked", text);
  std::vector<std::string> places;
  for (const SourceLine &line : parsed.module.sourceLines)
    for (const SourceFile &file : parsed.module.files)
      if (file.number == line.file)
        places.push_back(file.path.str() + ":" + std::to_string(line.line));
  EXPECT_EQ(places, (std::vector<std::string>{"a.cu:3", "b.cu:4"}));
}

TEST(PtxLinker, LeavesWhatNobodyDefines) {
  std::string user = ".extern .func (.reg .b32 r) f();\n.extern .global .u32 v;\n";
  std::string text = linked({user + ".visible .entry a() " + kCall, user});
  EXPECT_EQ(count(text, ".extern .func"), 1u) << text;
  EXPECT_EQ(count(text, ".extern .global"), 1u) << text;
}

TEST(PtxLinker, TakesTheNewestVersionAndTarget) {
  std::string newer = unit(function(".visible ", 1));
  newer.replace(newer.find("7.0"), 3, "8.4");
  newer.replace(newer.find("sm_80"), 5, "sm_90");
  Expected<std::string> text =
      link({{"old", unit(".extern .func (.reg .b32 r) f();\n.visible .entry k() " + kCall)},
            {"new", newer}});
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(text->find(".version 8.4\n.target sm_90\n.address_size 64\n"), 0u) << *text;
}

TEST(PtxLinker, NamesWhatCannotBeLinked) {
  EXPECT_EQ(linked({function(".visible ", 1), function(".visible ", 2)}),
            "error: cannot be linked: multiple definition of 'f', in 'unit0' and in 'unit1'");
  EXPECT_EQ(linked({".extern .global .u32 v;\n", ".visible .global .u64 v;\n"}),
            "error: cannot be linked: 'v' has another size in 'unit0' than in 'unit1'");
  EXPECT_EQ(linked({".extern .global .u32 v;\n", ".visible .const .u32 v;\n"}),
            "error: cannot be linked: 'v' has another state space in 'unit0' than in 'unit1'");
  EXPECT_EQ(linked({".extern .func f(.reg .b64 x);\n", function(".visible ", 1)}),
            "error: cannot be linked: 'f' has another signature in 'unit0' than in 'unit1'");
  EXPECT_EQ(linked({".extern .global .u32 f;\n", function(".visible ", 1)}),
            "error: cannot be linked: 'f' has another kind in 'unit0' than in 'unit1'");
  EXPECT_EQ(linked({".extern .func f();\n", ".visible .entry f() { ret; }\n"}),
            "error: cannot be linked: 'f' has another kind in 'unit0' than in 'unit1'");
  // A common variable gives way to one that is no smaller.
  for (const char *linkage : {".visible", ".weak"})
    EXPECT_EQ(linked({linkage + std::string(" .global .b8 v[4] = {1};\n"),
                      ".common .global .b8 v[64];\n"}),
              "error: cannot be linked: 'v' has another size in 'unit1' than in 'unit0'");
  EXPECT_EQ(
      count(linked({".visible .global .b8 v[4] = {1};\n", ".common .global .b8 v[2];\n"}), " v["),
      1u);
  EXPECT_EQ(linked({".extern .global .u64 a;\n.visible .global .u64 b = a;\n",
                    ".extern .global .u64 b;\n.visible .global .u64 a = b;\n"}),
            "error: unsupported: the initialisers of 'b' and 'a' name each other");
  Expected<std::string> text = link({{"nonsense", "nonsense"}});
  EXPECT_FALSE(bool(text));
  consumeError(text.takeError());
}

TEST(PtxLinker, TakesOfLibrariesWhatIsNeeded) {
  const std::string second = unit(".extern .func third();\n" + function(".visible ", 1)),
                    third = unit(".visible .func third() { ret; }\n"),
                    other = unit(".visible .func other() { ret; }\n");
  const std::string user = unit(".extern .func (.reg .b32 r) f();\n.visible .entry k() " + kCall);
  // The order does not matter.
  Expected<std::string> text = link({{"third", third, /*isLibrary=*/true},
                                     {"other", other, true},
                                     {"again", unit(function(".visible ", 2)), true},
                                     {"second", second, true},
                                     {"user", user}});
  ASSERT_TRUE(bool(text)) << toString(text.takeError());
  EXPECT_EQ(count(*text, "mov.u32 r, 2"), 1u) << *text; // the first that has it
  EXPECT_EQ(count(*text, "mov.u32 r, 1"), 0u) << *text;
  EXPECT_EQ(count(*text, "third"), 0u) << *text;
  EXPECT_EQ(count(*text, "other"), 0u) << *text;
  text = link({{"third", third, true}, {"second", second, true}, {"user", user}});
  ASSERT_TRUE(bool(text)) << toString(text.takeError());
  EXPECT_EQ(count(*text, "mov.u32 r, 1"), 1u) << *text;
  EXPECT_EQ(count(*text, ".visible .func third"), 2u) << *text; // prototype and body
  text = link({{"third", third, true}});
  ASSERT_TRUE(bool(text));
  EXPECT_EQ(count(*text, "third"), 0u) << *text;
}

TEST(PtxLinker, TakesOfLibrariesTheKernels) {
  const std::string library = unit(".extern .func f();\n.visible .entry k() { call f; ret; }\n"),
                    needed = unit(".visible .func f() { ret; }\n"),
                    again = unit(".visible .entry k() { trap; }\n");
  Expected<std::string> text = link({{"user", unit(".visible .entry u() { ret; }\n")},
                                     {"needed", needed, /*isLibrary=*/true},
                                     {"library", library, true},
                                     {"again", again, true},
                                     {"local", unit(".entry local() { ret; }\n"), true}});
  ASSERT_TRUE(bool(text)) << toString(text.takeError());
  EXPECT_EQ(count(*text, ".visible .entry k"), 1u) << *text;
  EXPECT_EQ(count(*text, "trap"), 0u) << *text; // the first that has it
  EXPECT_EQ(count(*text, "local"), 0u) << *text;
  EXPECT_EQ(count(*text, ".visible .func f"), 2u) << *text;
}

// No code may vanish with a location that is in error: the linked text has the error too.
TEST(PtxLinker, KeepsWhatFollowsAMalformedLocation) {
  for (const char *location : {".loc 1 5 0, function_name $L", ".loc 1 5 0, function_name $L+",
                               ".loc 1 5 0, inlined_at 1 4",
                               ".loc 1 5 0, function_name $L, inlined_at 1", ".loc 1 5", ".loc"}) {
    const std::string body = std::string(".visible .entry k() {\n.reg .b32 r;\n") + location +
                             "\nadd.u32 r, r, 1;\nadd.u32 r, r, 2;\n"
                             ".loc 1 6 0, function_name $L, inlined_at 1 4 0\nadd.u32 r, r, 3;\n"
                             "ret; }\n";
    Expected<std::string> text =
        link({{"a", unit(body)}, {"b", unit(".visible .entry b() { ret; }\n")}});
    ASSERT_TRUE(bool(text)) << location << ": " << toString(text.takeError());
    EXPECT_EQ(count(*text, "add.u32"), 3u) << location << ": " << *text;
    EXPECT_FALSE(parse("linked", *text).diagnostics.empty()) << location << ": " << *text;
  }
}

TEST(PtxLinker, LinksNothingToNothing) {
  Expected<std::string> text = link({});
  ASSERT_TRUE(bool(text));
  EXPECT_TRUE(parse("linked", *text).usable);
}

} // namespace
} // namespace rubia::ptx
