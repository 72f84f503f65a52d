// SPDX-License-Identifier: Apache-2.0
// Values that no register has room for are divided as LLVM divides them, with fewer questions.
#include "codegen/lib/speed/SplitCandidates.h"
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

constexpr unsigned kValues = 30;

/// A function that writes so many vector registers.
std::string writerText(const std::string &name, unsigned registers) {
  std::string clobbers;
  for (unsigned i = 0; i < registers; ++i)
    clobbers += ",~{v" + std::to_string(i) + "}";
  return "define internal void @" + name + "() noinline nounwind norecurse {\n" +
         "  call void asm sideeffect \"\", \"" + clobbers.substr(1) + "\"()\n  ret void\n}\n";
}

/// A loop that keeps values, and may call any of several functions.
std::string loopText(ArrayRef<std::string> functions) {
  std::string text = R"(
define amdgpu_kernel void @k(ptr addrspace(1) %p, i32 %n) {
entry:
)";
  for (unsigned i = 0; i < kValues; ++i)
    text += "  %v" + std::to_string(i) + " = load volatile i32, ptr addrspace(1) %p\n";
  text += "  br label %next0\n";
  for (auto [i, function] : enumerate(functions)) {
    const std::string n = std::to_string(i);
    text += "next" + n + ":\n";
    if (i == 0)
      text += "  %i = phi i32 [ 0, %entry ], [ %again, %last ]\n";
    text += "  %c" + n + " = load volatile i32, ptr addrspace(1) %p\n  %is" + n +
            " = icmp eq i32 %c" + n + ", 0\n  br i1 %is" + n + ", label %call" + n + ", label %" +
            (i + 1 < functions.size() ? "next" + std::to_string(i + 1) : "last") + "\ncall" + n +
            ":\n  call void @" + function + "()\n  br label %" +
            (i + 1 < functions.size() ? "next" + std::to_string(i + 1) : "last") + "\n";
  }
  text += "last:\n  %s0 = mul i32 %i, %v0\n";
  for (unsigned i = 1; i < kValues; ++i)
    text += "  %m" + std::to_string(i) + " = mul i32 %s" + std::to_string(i - 1) + ", 77\n  %s" +
            std::to_string(i) + " = xor i32 %m" + std::to_string(i) + ", %v" + std::to_string(i) +
            "\n";
  return text + "  store volatile i32 %s" + std::to_string(kValues - 1) + R"(, ptr addrspace(1) %p
  %again = add i32 %i, 1
  %goesOn = icmp ult i32 %again, %n
  br i1 %goesOn, label %next0, label %end
end:
  ret void
}
)";
}

std::string assemblyFor(const char *arch, const std::string &text) {
  ModuleSource source;
  Expected<std::string> code = emit(source.parse("target triple = \"amdgcn-amd-amdhsa\"\n" + text),
                                    optionsFor(arch), EmitKind::Assembly);
  EXPECT_TRUE(bool(code));
  return code ? *code : toString(code.takeError());
}

class SplitCandidatesTest : public testing::TestWithParam<const char *> {
protected:
  /// How many registers were left out; the code is the same with all of them.
  unsigned alikeIn(const std::string &text) {
    const unsigned before = splitCandidates().alike;
    const std::string code = assemblyFor(GetParam(), text);
    const unsigned alike = splitCandidates().alike - before;
    const AllRegistersTried all;
    EXPECT_EQ(code, assemblyFor(GetParam(), text));
    EXPECT_EQ(splitCandidates().alike - before, alike);
    return alike;
  }
};

TEST_P(SplitCandidatesTest, OfWhichMostAreWrittenByOneCall) {
  EXPECT_GT(alikeIn(writerText("all", 256) + loopText({"all"})), 20 * kValues)
      << "LLVM has functions of its own";
}

// Registers that only some calls write are not like those that all write.
TEST_P(SplitCandidatesTest, DifferByTheCallsThatWriteThem) {
  EXPECT_GT(alikeIn(writerText("all", 256) + writerText("some", 40) + writerText("few", 20) +
                    loopText({"all", "some", "few", "some"})),
            0u);
}

INSTANTIATE_TEST_SUITE_P(Targets, SplitCandidatesTest,
                         testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
