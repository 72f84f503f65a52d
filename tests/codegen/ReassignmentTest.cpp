// SPDX-License-Identifier: Apache-2.0
// Values whose registers are wanted by others go where LLVM has them go, with fewer questions.
#include "codegen/lib/speed/Reassignment.h"
#include "tests/Targets.h"
#include "tests/codegen/ModuleFromText.h"
#include <random>

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace {

/// A kernel of long blocks with values of 32 and 64 bits, of which more are needed at a time than
/// there are registers for.
std::string kernelText(unsigned seed, unsigned loads = 12, unsigned operations = 120) {
  std::mt19937 random(seed);
  const auto below = [&](size_t end) { return random() % end; };
  std::string text = "target triple = \"amdgcn-amd-amdhsa\"\n"
                     "define amdgpu_kernel void @k(ptr addrspace(1) %p) \"amdgpu-num-vgpr\"=\"32\" "
                     "\"amdgpu-waves-per-eu\"=\"1,8\" {\nentry:\n"
                     "  %lane = call i32 @llvm.amdgcn.mbcnt.lo(i32 -1, i32 0)\n"
                     "  %at = getelementptr i64, ptr addrspace(1) %p, i32 %lane\n";
  std::vector<std::string> words, longs;
  unsigned next = 0;
  const auto add = [&](std::vector<std::string> &values, const std::string &operation) {
    values.push_back("%v" + std::to_string(next++));
    text += "  " + values.back() + " = " + operation + "\n";
  };
  for (unsigned block = 0; block < 3; ++block) {
    for (unsigned i = 0; i < loads; ++i) {
      add(words, "load volatile i32, ptr addrspace(1) %at");
      add(longs, "load volatile i64, ptr addrspace(1) %at");
    }
    for (unsigned i = 0; i < operations; ++i)
      switch (below(5)) {
      case 0:
        add(words, "mul i32 " + words[below(words.size())] + ", " + words[below(words.size())]);
        break;
      case 1:
        add(longs, "add i64 " + longs[below(longs.size())] + ", " + longs[below(longs.size())]);
        break;
      case 2:
        add(longs, "zext i32 " + words[below(words.size())] + " to i64");
        break;
      case 3:
        add(words, "trunc i64 " + longs[below(longs.size())] + " to i32");
        break;
      default:
        text += "  store volatile i64 " + longs[below(longs.size())] + ", ptr addrspace(1) %at\n";
      }
    const std::string name = std::to_string(block);
    text += "  %c" + name + " = icmp slt i32 " + words.back() + ", 7\n  br i1 %c" + name +
            ", label %then" + name + ", label %next" + name + "\nthen" + name +
            ":\n  store volatile i32 " + words[below(words.size())] +
            ", ptr addrspace(1) %at\n  br label %next" + name + "\nnext" + name + ":\n";
  }
  for (const std::string &value : words)
    text += "  store volatile i32 " + value + ", ptr addrspace(1) %at\n";
  return text + "  ret void\n}\ndeclare i32 @llvm.amdgcn.mbcnt.lo(i32, i32)\n";
}

std::string assemblyFor(const char *arch, const std::string &text) {
  ModuleSource source;
  Expected<std::string> code = emit(source.parse(text), optionsFor(arch), EmitKind::Assembly);
  EXPECT_TRUE(bool(code));
  return code ? *code : toString(code.takeError());
}

class ReassignmentTest : public testing::TestWithParam<const char *> {};

TEST_P(ReassignmentTest, GoesWhereLlvmGoes) {
  const Reassignments before = reassignments();
  for (unsigned seed = 1; seed <= 4; ++seed) {
    const std::string text = kernelText(seed), code = assemblyFor(GetParam(), text);
    const RegistersLookedUp all;
    EXPECT_EQ(code, assemblyFor(GetParam(), text)) << "seed " << seed;
  }
  const unsigned asked = reassignments().asked - before.asked;
  EXPECT_GT(asked, 20u) << "LLVM has functions of its own, or these values need no registers";
  EXPECT_GT(reassignments().departures - before.departures, 0u);
  EXPECT_LT(reassignments().lookedUp - before.lookedUp, 16 * asked);
}

// What was in use in one function says nothing of the next, which has registers left there.
TEST_P(ReassignmentTest, ForgetsWhatOtherFunctionsUsed) {
  constexpr struct {
    unsigned seed, loads, operations;
  } kSmaller[] = {{2, 9, 100}, {3, 5, 60}, {3, 7, 80}, {3, 6, 100}, {1, 7, 100}};
  for (const auto &[seed, loads, operations] : kSmaller) {
    const std::string text = kernelText(seed, loads, operations);
    (void)assemblyFor(GetParam(), kernelText(seed));
    const std::string code = assemblyFor(GetParam(), text);
    const RegistersLookedUp all;
    EXPECT_EQ(code, assemblyFor(GetParam(), text)) << "seed " << seed << ", " << loads << " loads";
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, ReassignmentTest, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
