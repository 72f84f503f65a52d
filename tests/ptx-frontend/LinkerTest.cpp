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
  EXPECT_LT(text.find(".extern .global .u32 b;"), text.find("a = b")) << text;
  EXPECT_LT(text.find(".extern .global .u32 c;"), text.find("p = c")) << text;
  EXPECT_EQ(count(text, ".extern"), 2u) << text;
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

TEST(PtxLinker, TakesTheFirstOfStrongDefinitionsIfAsked) {
  const std::string first = kHead + function(".visible ", 1) + ".visible .entry a() " + kCall,
                    second = kHead + function(".visible ", 2) + ".visible .entry b() " + kCall;
  Expected<Linked> refused = linkUnits({{"first", first}, {"second", second}});
  ASSERT_FALSE(refused);
  EXPECT_EQ(toString(refused.takeError()),
            "cannot be linked: multiple definition of 'f', in 'first' and in 'second'");
  Expected<Linked> taken = linkUnits({{"first", first}, {"second", second}}, {.takesFirst = true});
  ASSERT_TRUE(bool(taken)) << toString(taken.takeError());
  EXPECT_EQ(count(taken->text, "mov.u32 r, 1"), 1u) << taken->text;
  EXPECT_EQ(count(taken->text, "mov.u32 r, 2"), 0u) << taken->text;
  EXPECT_EQ(taken->ignored,
            std::vector<std::string>{"multiple definition of 'f', in 'first' and in 'second'"});
}

// Without a forward declaration, and ahead of the variable.
TEST(PtxLinker, DeclaresKernelsThatAnInitialiserNames) {
  std::string text = linked({".visible .entry k() { ret; }\n.visible .global .u64 p = k;\n"
                             ".entry own() { ret; }\n.global .u64 q = own;\n",
                             ".visible .func g() { ret; }\n"});
  EXPECT_LT(text.find(".entry k();"), text.find("p = k")) << text;
  EXPECT_LT(text.find(".entry own();"), text.find("q = own")) << text;
}

TEST(PtxLinker, VariablesOfTwoUnitsNameEachOther) {
  std::string text = linked(
      {".extern .global .align 8 .b8 b[16];\n.visible .global .align 8 .u64 a[2] = {b, 7};\n",
       ".extern .global .align 8 .u64 a[2];\n.visible .global .align 8 .b8 b[16];\n"
       ".visible .global .u64 c = a;\n.visible .entry k() { .reg .b64 r; mov.u64 r, c; ret; }\n"});
  EXPECT_EQ(parse("linked", text).module.variables.size(), 3u) << text;
  text = linked({".extern .global .u64 a;\n.visible .global .u64 b = a;\n",
                 ".extern .global .u64 b;\n.visible .global .u64 a = b;\n"});
  ParseResult parsed = parse("linked", text);
  ASSERT_EQ(parsed.module.variables.size(), 2u) << text;
  for (const Variable *variable : parsed.module.variables) {
    EXPECT_EQ(variable->linkage, Linkage::Visible) << text;
    ASSERT_EQ(variable->relocations.size(), 1u) << text;
    EXPECT_NE(variable->relocations[0].variable, variable) << text;
    EXPECT_TRUE(llvm::is_contained(parsed.module.variables, variable->relocations[0].variable));
  }
}

TEST(PtxLinker, TakesDeclarationsOfSeveralVariables) {
  std::string text = linked(
      {".visible .global .align 4 .u32 a = 1, b[2] = {2, 3}, c;\n.global .u32 own, other[4];\n",
       ".extern .global .u32 a, b[2];\n.global .u32 own;\n.visible .entry k() { .reg .b64 r; "
       "mov.u64 r, b; mov.u64 r, own; ret; }\n"});
  ParseResult parsed = parse("linked", text);
  EXPECT_EQ(parsed.module.variables.size(), 6u) << text;
  EXPECT_EQ(count(text, "own$unit"), 3u) << text;
  EXPECT_EQ(count(text, ".visible .global .align 4 .u32 b[2] = {2, 3};"), 1u) << text;
}

// Statics that have the names of opcodes, of attributes and of registers in a range.
TEST(PtxLinker, RenamesSymbolsAlone) {
  const std::string body =
      ".global .u32 ret, generic, r, r1, lab, add = 5;\n.visible .global .u64 p = generic(r);\n"
      ".visible .entry NAME() {\n.reg .pred q;\n.reg .b64 a, x;\n{ .reg .b32 r<3>, s;\n"
      "mov.b32 r1, 1;\nmov.b64 {s, r2}, x;\n@q add.u32 r2, r1, r1;\n}\nmov.u64 a, r1;\n"
      "mov.u64 a, add;\n@q bra lab;\nld.global.u32 a, [ret+4];\nlab: ret;\n}\n";
  auto named = [&](const std::string &name) {
    std::string text = body;
    text.replace(text.find("NAME"), 4, name);
    text.replace(text.find("u64 p"), 5, "u64 p" + name);
    return text;
  };
  std::string first = named("k1"), second = named("k2");
  std::string text = linked({first, second});
  EXPECT_EQ(count(text, "mov.b32 r1, 1;"), 2u) << text;
  EXPECT_EQ(count(text, "@q add.u32 r2, r1, r1;"), 2u) << text;
  EXPECT_EQ(count(text, "mov.u64 a, r1$unit1$;"), 1u) << text;
  EXPECT_EQ(count(text, "mov.u64 a, add$unit0$;"), 1u) << text;
  EXPECT_EQ(count(text, "[ret$unit1$+4]"), 1u) << text;
  EXPECT_EQ(count(text, ": ret;"), 2u) << text;
  EXPECT_EQ(count(text, "= generic(r$unit0$)"), 1u) << text;
}

// The host calls kernels by their names: the first keeps it.
TEST(PtxLinker, KernelsThatAreNotVisibleAreTheirUnitsOwn) {
  std::string text = linked({".entry k() { ret; }\n.entry alone() { ret; }\n",
                             ".entry k();\n.entry k() { trap; }\n.global .u64 p = k;\n"});
  EXPECT_EQ(count(text, ".entry k()"), 1u) << text;
  EXPECT_EQ(count(text, ".entry k$unit1$()"), 2u) << text;
  EXPECT_EQ(count(text, "p = k$unit1$"), 1u) << text;
  EXPECT_EQ(count(text, ".entry alone()"), 1u) << text;
  text = linked({".entry k() { ret; }\n", ".visible .entry k() { trap; }\n"});
  EXPECT_EQ(count(text, ".entry k$unit0$()"), 1u) << text;
  EXPECT_EQ(count(text, ".visible .entry k() { trap; }"), 1u) << text;
}

std::string withHeader(const std::string &version, const std::string &target,
                       const std::string &body) {
  return ".version " + version + "\n.target " + target + "\n.address_size 64\n" + body;
}

// Each unit has what its own version and target have.
TEST(PtxLinker, ChecksUnitsAgainstTheirOwnHeaders) {
  const std::string old = withHeader("6.0", "sm_60",
                                     ".visible .entry old() {\n.reg .b32 r;\n"
                                     "shfl.up.b32 r, r, 1, 0;\nret;\n}\n"),
                    newer = withHeader("8.0", "sm_90a",
                                       ".visible .entry newer() {\nwgmma.fence.sync.aligned;\n"
                                       "ret;\n}\n"),
                    wrong = withHeader("8.0", "sm_80",
                                       ".visible .entry wrong() {\n.reg .b32 r;\n\n"
                                       "shfl.up.b32 r, r, 1, 0;\nret;\n}\n");
  Expected<Linked> both = linkUnits({{"old", old}, {"newer", newer}});
  ASSERT_TRUE(bool(both)) << toString(both.takeError());
  EXPECT_TRUE(both->diagnostics.empty());
  ParseResult parsed = parse("linked", both->text);
  EXPECT_TRUE(parsed.diagnostics.empty()) << parsed.diagnostics[0].message;
  EXPECT_EQ(parsed.module.sm, 90u);
  EXPECT_EQ(parsed.module.smVariant, 'a');
  Expected<Linked> bad = linkUnits({{"old", old}, {"wrong", wrong}});
  ASSERT_TRUE(bool(bad)) << toString(bad.takeError());
  ASSERT_EQ(bad->diagnostics.size(), 1u);
  EXPECT_EQ(bad->diagnostics[0].input, 1u);
  EXPECT_EQ(bad->diagnostics[0].text.find("wrong:7:1: error: "), 0u) << bad->diagnostics[0].text;
}

TEST(PtxLinker, LinksWhatHasAGpuInCommon) {
  auto target = [](const char *first, const char *second) {
    Expected<std::string> text =
        link({{"a", withHeader("9.0", first, ".visible .entry a() { ret; }\n")},
              {"b", withHeader("9.0", second, ".visible .entry b() { ret; }\n")}});
    if (!text)
      return toString(text.takeError());
    const size_t at = text->find("sm_");
    return text->substr(at, text->find('\n', at) - at);
  };
  EXPECT_EQ(target("sm_80", "sm_90a"), "sm_90a");
  EXPECT_EQ(target("sm_100f", "sm_100a"), "sm_100a");
  EXPECT_EQ(target("sm_100f", "sm_103"), "sm_103f");
  EXPECT_EQ(target("sm_100", "sm_80"), "sm_100");
  EXPECT_EQ(target("sm_90a", "sm_100"),
            "cannot be linked: 'a' is for sm_90a and 'b' for sm_100: no GPU is both");
  EXPECT_EQ(target("sm_120", "sm_100f"),
            "cannot be linked: 'b' is for sm_100f and 'a' for sm_120: no GPU is both");
  EXPECT_EQ(target("sm_13", "sm_80"), "a: PTX before version 3.0 or for sm_1x cannot be linked");
}

// Lines of the linked text are those of the units, whatever was left out or renamed.
TEST(PtxLinker, KnowsWhereLinesComeFrom) {
  const std::string first =
      unit("// a comment\n.func f()\n{ ret; }\n\n.visible .entry a() {\n.loc 1 5 0, "
           "function_name $L,\n inlined_at 1 4 0\nadd.u32 missing1, 1, 2;\nret;\n}\n"
           ".file 1 \"x\"\n");
  const std::string second = unit(".func f()\n{\n ret;\n}\n.visible .entry b()\n\n{\nadd.u32 "
                                  "missing2, 1, 2;\ncall f;\nret;\n}\n");
  Expected<Linked> linked = linkUnits({{"first", first}, {"second", second}});
  ASSERT_TRUE(bool(linked)) << toString(linked.takeError());
  ParseResult parsed = parse("linked", linked->text);
  std::vector<std::string> places;
  for (const Diagnostic &d : parsed.diagnostics) {
    auto own = linked->origin(d);
    places.push_back(own ? linked->inputs[own->first] + ":" + std::to_string(own->second.line)
                         : "none");
  }
  EXPECT_EQ(places, (std::vector<std::string>{"first:11", "second:11"})) << linked->text;
}

TEST(PtxLinker, OnlyLaunchesFromTheDeviceAreTheDrivers) {
  ParseResult parsed =
      parse("unit", unit(".extern .func cnpMine();\n.extern .func cnpGetLastError();\n"
                         ".visible .entry k() { call cnpMine; call cnpGetLastError; ret; }\n"));
  EXPECT_EQ(unresolved(parsed.module), std::vector<std::string>{"cnpMine"});
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
