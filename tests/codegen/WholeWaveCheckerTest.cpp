// SPDX-License-Identifier: Apache-2.0
// Good and bad cases for the rules of codegen/WholeWaveChecker.h, on every generation.
#include "codegen/WholeWaveChecker.h"
#include "tests/codegen/AssemblyTest.h"

using namespace llvm;
using namespace rubia::codegen;
using namespace rubia::codegen::test;

namespace rubia::targets::Fact {
extern const GenerationFact architectedFlatScratch;
} // namespace rubia::targets::Fact

namespace {

class WholeWaveChecker : public CheckerTest {
protected:
  WholeWaveChecker() : CheckerTest(checkWholeWaves) {}
  static std::string whole(StringRef text) {
    return ("s_or_saveexec_B S8, -1\n" + text + "s_mov_B EXEC, S8\n").str();
  }
  bool hasFlatScratch() const {
    return rubia::targets::Fact::architectedFlatScratch(rubia::test::rowOf(GetParam()));
  }
  /// To a place in the frame, and from there.
  std::string store(StringRef reg) const {
    return hasFlatScratch() ? ("scratch_store_dword off, " + reg + ", s7\n").str()
                            : ("buffer_store_dword " + reg + ", off, s[0:3], s7\n").str();
  }
  std::string load(StringRef reg) const {
    return hasFlatScratch() ? ("scratch_load_dword " + reg + ", off, s7\n").str()
                            : ("buffer_load_dword " + reg + ", off, s[0:3], s7\n").str();
  }
};

constexpr const char *kEnter = "v_cmp_eq_u32 VCC, 0, v0\ns_and_saveexec_B S2, VCC\n";
constexpr const char *kOther = "s_xor_B S2, EXEC, S2\ns_or_saveexec_B S2, S2\n"
                               "s_xor_B EXEC, EXEC, S2\n";
constexpr const char *kMeet = "s_or_B EXEC, EXEC, S2\n";

TEST_P(WholeWaveChecker, AcceptsRegistersOfTheirOwn) {
  EXPECT_CLEAN(kEnter + whole("v_mov_b32 v1, 7\n") + "v_mov_b32 v2, v1\n" + kMeet +
               "v_mov_b32 v3, v2\n");
  // All lanes are active at both places.
  EXPECT_CLEAN(whole("v_mov_b32 v1, 7\n") + kEnter + "v_mov_b32 v2, v1\n" + kMeet +
               "v_mov_b32 v3, v1\n");
}

TEST_P(WholeWaveChecker, RejectsValuesOfIdleLanes) {
  // What was wrong in LLVM: the register is the one of a value that all lanes have.
  std::string text = std::string("v_mov_b32 v1, 5\n") + kEnter + whole("v_mov_b32 v1, 7\n");
  EXPECT_CONTAINS(errorOf(text + kMeet + "v_mov_b32 v3, v1\n"), "v1 is written with all lanes on, "
                                                                "but lanes that are idle read it");
  EXPECT_CLEAN(text + "v_mov_b32 v3, v1\n" + kMeet);
  EXPECT_CLEAN(text + kMeet + "v_mov_b32 v1, 2\nv_mov_b32 v3, v1\n");
  // Only the lanes of the branch have written it since.
  EXPECT_CONTAINS(errorOf(text + "v_mov_b32 v1, 2\n" + kMeet + "v_mov_b32 v3, v1\n"),
                  "v1 is written");
}

TEST_P(WholeWaveChecker, FollowsTheOtherBranch) {
  const std::string first = whole("v_mov_b32 v1, 5\n") + kEnter;
  EXPECT_CONTAINS(
      errorOf(first + whole("v_mov_b32 v1, 7\n") + kOther + whole("v_mov_b32 v4, v1\n") + kMeet),
      "v1 is written");
  EXPECT_CLEAN(first + whole("v_mov_b32 v2, 7\n") + kOther + whole("v_mov_b32 v4, v1\n") + kMeet);
  // An active lane does not jump over its branch.
  EXPECT_CLEAN(std::string(kEnter) + "s_cbranch_execz .Lx\n" + whole("v_mov_b32 v1, 7\n") +
               "v_mov_b32 v2, v1\n.Lx:\n" + kMeet);
}

// Where the register was overwritten the flag is set, and where it is not set the register is read.
TEST_P(WholeWaveChecker, FollowsFlagsOfUniformConditions) {
  const auto program = [](const std::string &first, const std::string &second,
                          const std::string &test) {
    return "v_mov_b32 v1, 5\n" + std::string(kEnter) + "s_mov_B S4, " + first +
           "\ns_cmp_eq_u32 s6, 0\ns_cbranch_scc1 .Lx\ns_mov_B S4, " + second + "\n" +
           whole("v_mov_b32 v1, 7\n") + ".Lx:\n" + kMeet + test + "v_mov_b32 v3, v1\n.Ly:\n";
  };
  const std::string ifSet = "s_andn2_B VCC, EXEC, S4\ns_cbranch_vccz .Ly\n";
  const std::string ifNone = "s_and_B VCC, EXEC, S4\ns_cbranch_vccz .Ly\n";
  EXPECT_CLEAN(program("0", "-1", ifSet));
  EXPECT_CLEAN(program("-1", "0", ifNone));
  EXPECT_CONTAINS(errorOf(program("-1", "0", ifSet)), "v1 is written");
  EXPECT_CONTAINS(errorOf(program("0", "-1", ifNone)), "v1 is written");
  EXPECT_CONTAINS(errorOf(program("0", "1", ifSet)), "v1 is written");
  // A copy of it is the same flag, until it is written.
  const std::string copy = "s_mov_B S8, S4\n",
                    copyIsSet = "s_andn2_B VCC, EXEC, S8\ns_cbranch_vccz .Ly\n";
  EXPECT_CLEAN(program("0", "-1", copy + copyIsSet));
  EXPECT_CONTAINS(errorOf(program("0", "-1", copy + "s_not_B S8, S8\n" + copyIsSet)),
                  "v1 is written");
}

TEST_P(WholeWaveChecker, FollowsLanesThatLeaveALoop) {
  const auto loop = [](const std::string &inside, const std::string &behind) {
    return "v_mov_b32 v1, 5\ns_mov_B S4, 0\n.Lx:\n" + inside +
           "v_cmp_eq_u32 VCC, 0, v0\ns_or_B S4, VCC, S4\ns_andn2_B EXEC, EXEC, S4\n"
           "s_cbranch_execnz .Lx\ns_or_B EXEC, EXEC, S4\n" +
           behind;
  };
  EXPECT_CONTAINS(errorOf(loop(whole("v_mov_b32 v1, 7\n"), "v_mov_b32 v3, v1\n")), "v1 is written");
  EXPECT_CLEAN(loop(whole("v_mov_b32 v2, 7\n"), "v_mov_b32 v3, v1\n"));
}

TEST_P(WholeWaveChecker, KnowsWhichLanesComeBack) {
  // In a loop, so that lanes which are idle now may have been in the branch before.
  const auto loop = [](const std::string &inside) {
    return ".Ly:\n" + std::string(kEnter) + "s_cbranch_execz .Lz\n" + inside + ".Lz:\n" + kMeet +
           "s_cbranch_scc1 .Ly\n";
  };
  const std::string inner =
      "v_cmp_eq_u32 VCC, 1, v0\ns_and_saveexec_B S6, VCC\ns_cbranch_execz .Lx\n"
      "v_mov_b32 v3, 3\n.Lx:\ns_or_B EXEC, EXEC, S6\n";
  EXPECT_CLEAN(loop(whole("v_mov_b32 v1, 7\n") + inner + "v_mov_b32 v2, v1\n"));
  EXPECT_CONTAINS(errorOf(loop("v_mov_b32 v2, v1\n" + whole("v_mov_b32 v1, 7\n") + inner)),
                  "v1 is written");
}

// A value of all lanes, from before lanes become idle to after they come back.
TEST_P(WholeWaveChecker, AcceptsValuesThatAllLanesHave) {
  // Of before, so that idle lanes may have a value in v1.
  const std::string first = "v_mov_b32 v1, 1\n" + std::string(kEnter) +
                            "s_cbranch_execz .Lz\nv_mov_b32 v2, 2\n.Lz:\n" + kMeet;
  const std::string branch = "v_cmp_eq_u32 VCC, 1, v0\ns_and_saveexec_B S6, VCC\n"
                             "v_mov_b32 v3, 3\ns_or_B EXEC, EXEC, S6\n";
  const std::string branches = "v_cmp_eq_u32 VCC, 1, v0\ns_and_saveexec_B S6, VCC\n"
                               "s_xor_B S4, EXEC, S6\nv_mov_b32 v3, 3\n"
                               "s_andn2_saveexec_B S4, S4\nv_mov_b32 v3, 4\n"
                               "s_or_B EXEC, EXEC, S4\n";
  const std::string loop = "s_mov_B S4, 0\n.Lx:\nv_cmp_eq_u32 VCC, 0, v0\ns_or_B S4, VCC, S4\n"
                           "s_andn2_B EXEC, EXEC, S4\ns_cbranch_execnz .Lx\n"
                           "s_or_B EXEC, EXEC, S4\n";
  for (const std::string &between : {branch, branches, loop}) {
    EXPECT_CLEAN(first + whole("v_mov_b32 v1, 7\n") + between + whole("v_mov_b32 v3, v1\n"));
    EXPECT_CONTAINS(errorOf("v_mov_b32 v1, 1\n" + std::string(kEnter) + whole("v_mov_b32 v1, 7\n") +
                            between + kMeet + "v_mov_b32 v3, v1\n"),
                    "v1 is written");
  }
}

TEST_P(WholeWaveChecker, FollowsABranchWithinABlock) {
  const auto text = [&](const char *last) {
    return "v_mov_b32 v1, 5\nv_cmp_eq_u32 VCC, 1, v0\n" + std::string(kEnter) +
           whole("v_mov_b32 v1, 7\n") + "s_and_saveexec_B S6, VCC\nv_mov_b32 v3, 3\n" + last +
           "v_mov_b32 v3, v1\n";
  };
  EXPECT_CONTAINS(errorOf(text("s_or_B EXEC, EXEC, S2\n")), "v1 is written"); // both branches end
  EXPECT_CLEAN(text("s_or_B EXEC, EXEC, S6\n"));
  // S6 is something else by then.
  EXPECT_CONTAINS(errorOf(text("s_mov_B S6, S2\ns_or_B EXEC, EXEC, S6\n")), "v1 is written");
}

TEST_P(WholeWaveChecker, FollowsMasksInLanesOfVectorRegisters) {
  const std::string high = isWave64() ? "v_writelane_b32 v40, s3, 4\n" : "";
  const std::string back = isWave64() ? "v_readlane_b32 s3, v40, 4\n" : "";
  const auto text = [&](const char *written) {
    return "v_mov_b32 v1, 5\n" + std::string(kEnter) + "v_writelane_b32 v40, s2, 3\n" + high +
           whole("v_mov_b32 " + std::string(written) + ", 7\n") +
           "s_mov_B S2, 0\nv_readlane_b32 s2, v40, 3\n" + back + kMeet + "v_mov_b32 v3, v1\n";
  };
  EXPECT_CONTAINS(errorOf(text("v1")), "v1 is written");
  EXPECT_CLEAN(text("v2"));
}

// Registers that are saved around a call.
TEST_P(WholeWaveChecker, FollowsSavedRegisters) {
  // Lanes come back round a loop, whose branch saves the register.
  const auto text = [&](const std::string &between, const std::string &last) {
    return "v_mov_b32 v1, 5\n.Ly:\n" + std::string(kEnter) + "s_cbranch_execz .Lz\n" +
           whole(store("v1")) + between + whole(load("v1")) + ".Lz:\n" + kMeet +
           "s_cbranch_scc1 .Ly\n" + last;
  };
  const std::string reads = "v_mov_b32 v3, v1\n";
  EXPECT_CLEAN(text("", reads));
  EXPECT_CLEAN(text("v_mov_b32 v2, 7\n", reads));
  EXPECT_CLEAN(text("s_cbranch_scc0 .Lw\nv_mov_b32 v2, 7\n.Lw:\n", reads));
  // The slot has an older value, another register's, or that of a part of the lanes.
  EXPECT_CONTAINS(errorOf(text("v_mov_b32 v1, 7\n", reads)), "v1 is written with all lanes on");
  EXPECT_CONTAINS(errorOf(text("s_cbranch_scc0 .Lw\nv_mov_b32 v1, 7\n.Lw:\n", reads)),
                  "v1 is written");
  EXPECT_CONTAINS(errorOf(text(whole(store("v2")), reads)), "v1 is written");
  EXPECT_CONTAINS(errorOf("v_mov_b32 v1, 5\n" + std::string(kEnter) + store("v1") +
                          whole(load("v1")) + kMeet + reads),
                  "v1 is written");
  // What is lost before it is saved.
  EXPECT_CONTAINS(errorOf("v_mov_b32 v1, 5\n" + std::string(kEnter) + whole("v_mov_b32 v1, 7\n") +
                          whole(store("v1")) + whole(load("v1")) + kMeet + reads),
                  "'v_mov_b32");
}

// Assembly in a region narrows EXEC and sets it again: the region goes on.
TEST_P(WholeWaveChecker, FollowsRegionsOfAssembly) {
  const std::string own = "s_or_saveexec_B S4, -1\ns_and_B EXEC, EXEC, S2\n"
                          "v_mov_b32 v1, 7\ns_mov_B EXEC, S4\n";
  EXPECT_CONTAINS(errorOf("v_mov_b32 v1, 5\n" + std::string(kEnter) + whole(own) + kMeet +
                          "v_mov_b32 v3, v1\n"),
                  "v1 is written with all lanes on");
  EXPECT_CONTAINS(errorOf("v_mov_b32 v1, 5\n" + std::string(kEnter) +
                          whole("s_or_saveexec_B S4, -1\ns_mov_B EXEC, S4\n"
                                "v_mov_b32 v1, 7\n") +
                          kMeet + "v_mov_b32 v3, v1\n"),
                  "v1 is written with all lanes on");
}

TEST_P(WholeWaveChecker, AsksFunctionsToGiveRegistersBack) {
  const std::string head = "define internal void @f() noinline {\n";
  const std::string kernel = "  ret void\n}\ndefine amdgpu_kernel void @k() {\n"
                             "  call void @f()\n  ret void\n}\n";
  EXPECT_CONTAINS(errorOfModule(head + assembly(whole("v_mov_b32 v1, 7\n")) + kernel),
                  "v1 is written with all lanes on");
  EXPECT_EQ(errorOfModule(head + assembly("v_mov_b32 v1, 7\n") + kernel), "");
}

TEST_P(WholeWaveChecker, RunsWhereItIsAskedFor) {
  ModuleSource source;
  Options options = optionsFor(GetParam());
  options.checkWholeWaves = true;
  const std::string text = kernelOf("v_mov_b32 v1, 5\n" + std::string(kEnter) +
                                    whole("v_mov_b32 v1, 7\n") + kMeet + "v_mov_b32 v3, v1\n");
  Expected<CodeObject> object = source.compile(text, options);
  ASSERT_FALSE(bool(object));
  handleAllErrors(object.takeError(), [](const CodegenError &error) {
    EXPECT_EQ(error.function, "k");
    EXPECT_EQ(error.fault, Fault::Malformed);
    EXPECT_CONTAINS(error.message, "idle lanes of 'k' at 0x");
  });
}

INSTANTIATE_TEST_SUITE_P(Targets, WholeWaveChecker, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
