// SPDX-License-Identifier: Apache-2.0
// What the checks say about whole launches: how much memory they take, whom they name, and what
// they leave alone.
#include "settings/Settings.h"
#include "tests/Targets.h"
#include "tests/emulator-checks/Launcher.h"
#include "llvm/ADT/StringRef.h"
#include <gtest/gtest.h>
#include <sys/resource.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorCheck;
} // namespace rubia::settings::Id

namespace rubia::emulator::test {
namespace {

Outcome launch(const std::string &arch, const Case &test, StringRef checks, bool notes = true) {
  auto outcomes = runAll(
      RUBIA_PTX "/launches.planted.ptx", {test}, arch,
      cantFail(checksOf(settings::Settings().set(settings::Id::emulatorCheck, checks))), notes);
  EXPECT_EQ(outcomes.size(), 1u);
  Outcome outcome = std::move(outcomes[test.kernel]);
  EXPECT_EQ(outcome.error, "");
  return outcome;
}

void expectNothing(const Outcome &outcome) {
  EXPECT_EQ(outcome.warnings, "");
  if (outcome.fault)
    ADD_FAILURE() << outcome.fault->message();
}

Case caseOf(const std::string &kernel, unsigned block, unsigned grid, unsigned words) {
  Case test;
  test.kernel = kernel;
  test.block = block;
  test.grid = grid;
  test.words = words;
  return test;
}

long mostMemory() { // KiB, so far
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

class EmulatorCheckLaunches : public testing::TestWithParam<const char *> {};

/// What races takes grows with the workgroups, not with their square.
TEST_P(EmulatorCheckLaunches, TakeLittleMemory) {
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
  GTEST_SKIP() << "the sanitizer keeps what has been freed";
#endif
  launch(GetParam(), caseOf("last_block", 32, 10, 9000), "races"); // compiles
  const long before = mostMemory();
  expectNothing(launch(GetParam(), caseOf("last_block", 32, 8000, 9000), "races"));
  expectNothing(launch(GetParam(), caseOf("many_barriers", 256, 200, 300), "races"));
  EXPECT_LT(mostMemory() - before, 64 << 10);
}

TEST_P(EmulatorCheckLaunches, NameThreadsOfTwoDimensions) {
  Case test = caseOf("two_dimensions", 16, 1, 64);
  test.rows = 4;
  const Outcome outcome = launch(GetParam(), test, "memory");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::OutOfBounds);
  EXPECT_EQ(outcome.fault->thread.x, 5u) << outcome.fault->message();
  EXPECT_EQ(outcome.fault->thread.y, 3u) << outcome.fault->message();
}

/// Where stores say whether they are relaxed, in code without notes.
TEST_P(EmulatorCheckLaunches, TellStoresBesideAtomicOperations) {
  expectNothing(
      launch(GetParam(), caseOf("relaxed_store_against_atomic", 32, 2, 64), "races", false));
  const Outcome outcome =
      launch(GetParam(), caseOf("store_against_atomic", 32, 2, 64), "races", false);
  if (rubia::test::rowOf(GetParam()).cachePolicy == targets::CachePolicy::GlcDlc) {
    expectNothing(outcome);
    return;
  }
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::DataRace);
  EXPECT_EQ(outcome.fault->thread.x, 3u);
}

/// A relaxed load in LDS looks as a plain one does: in code without notes it must not end the
/// launch.
TEST_P(EmulatorCheckLaunches, OnlyWarnOfLoadsBesideAtomicOperationsInLds) {
  const Case test = caseOf("relaxed_load_of_counter", 64, 1, 64);
  expectNothing(launch(GetParam(), test, "races"));
  const Outcome outcome = launch(GetParam(), test, "races", false);
  EXPECT_NE(outcome.warnings.find("a data race in LDS"), std::string::npos) << outcome.warnings;
  EXPECT_NE(outcome.warnings.find("thread (40,0,0)"), std::string::npos) << outcome.warnings;
  if (outcome.fault)
    ADD_FAILURE() << outcome.fault->message();
}

/// Relaxed, volatile and acquiring accesses wherever they stand, plain loads of what is compared
/// and swapped, vectors and structures.
TEST_P(EmulatorCheckLaunches, AllowWhatPtxAllows) {
  for (const char *kernel :
       {"relaxed_store_and_addition", "stop_flag_with_stores", "two_winners", "addition_of_doubles",
        "plain_load_and_swap", "atomic_halves", "relaxed_store_against_atomic"})
    expectNothing(launch(GetParam(), caseOf(kernel, 64, 4, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("structures", 32, 1, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("neighbours", 32, 1, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("return_before_barrier", 96, 1, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("private_before_return", 96, 1, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("same_value", 64, 4, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("barriers_between_reductions", 48, 1, 512), "all"));
  expectNothing(launch(GetParam(), caseOf("flags_of_warps", 64, 1, 512), "all"));
}

/// A thread that writes and returns is as legal as one that only returns; a thread that went round
/// the barrier looks the same. LLVM executes the stores of both ways as one, behind the barrier.
TEST_P(EmulatorCheckLaunches, WarnOfResultsBeforeAReturn) {
  expectNothing(launch(GetParam(), caseOf("result_before_return", 32, 1, 512), "all"));
  const Outcome outcome =
      launch(GetParam(), caseOf("result_before_return_joined", 32, 1, 512), "all");
  if (outcome.fault)
    ADD_FAILURE() << outcome.fault->message();
  EXPECT_TRUE(StringRef(outcome.warnings)
                  .contains("thread (24,0,0) of workgroup (0,0,0) goes round the barrier at "))
      << outcome.warnings;
}

TEST_P(EmulatorCheckLaunches, NameAllWorkgroupsThatWait) {
  const Outcome outcome = launch(GetParam(), caseOf("crosswise", 32, 2, 64), "barriers");
  ASSERT_TRUE(outcome.fault);
  EXPECT_EQ(outcome.fault->kind, Fault::Deadlock);
  EXPECT_NE(outcome.fault->detail.find("workgroup (0,0,0): wave 0 at"), std::string::npos);
  EXPECT_NE(outcome.fault->detail.find("workgroup (1,0,0): wave 0 at"), std::string::npos)
      << outcome.fault->detail;
}

INSTANTIATE_TEST_SUITE_P(All, EmulatorCheckLaunches,
                         testing::Values("gfx1100", "gfx942", "gfx1201"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace
} // namespace rubia::emulator::test
