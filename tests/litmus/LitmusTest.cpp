// SPDX-License-Identifier: Apache-2.0
// Litmus tests of the PTX memory model on the code that Rubia compiles, in the emulator's `order`
// mode: no outcome that the model forbids, and relaxed ones where it allows them.
#include "tests/Targets.h"
#include "tests/litmus/Run.h"
#include "tests/litmus/Table.h"
#include "tests/litmus/Trace.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::litmus {
namespace {

std::vector<Row> rows() {
  std::string error;
  std::vector<Row> rows = allRows(error);
  EXPECT_EQ(error, "");
  return rows;
}

TEST(LitmusModel, AgreesWithTheVerdictsOfTheTable) {
  for (const Row &row : rows()) {
    bool allowed = false;
    for (const Outcome &outcome : allowedOutcomes(row.test))
      allowed |= row.isInteresting(outcome);
    EXPECT_EQ(allowed, row.verdict != Verdict::Forbidden) << row.test.name;
  }
}

class Litmus : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(Targets, Litmus, testing::ValuesIn(rubia::test::allTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST_P(Litmus, ShowsNoForbiddenOutcomeAndSomeWeakOnes) {
  std::vector<Row> all;
  std::vector<litmus::Test> tests;
  for (size_t i = 0; Row &row : rows())
    if (isInSample(i++, 3, GetParam())) {
      tests.push_back(row.test);
      all.push_back(std::move(row));
    }
  auto code = compile(tests, GetParam());
  ASSERT_TRUE(bool(code)) << toString(code.takeError());
  auto runner = Runner::load(*code);
  ASSERT_TRUE(bool(runner)) << toString(runner.takeError());
  const unsigned seeds = seedCount(12);
  for (size_t i = 0; i < all.size(); ++i) {
    const Row &row = all[i];
    const std::set<Outcome> allowed = allowedOutcomes(row.test);
    auto program = trace(**runner, row.test, i);
    ASSERT_TRUE(bool(program)) << toString(program.takeError());
    const Exploration everything = explore(row.test, *program);
    EXPECT_FALSE(everything.isTooLarge || everything.usesPending || everything.hangs)
        << row.test.name;
    for (const Outcome &outcome : everything.outcomes)
      EXPECT_TRUE(allowed.count(outcome))
          << row.test.name << ": " << litmus::toString(outcome) << " is possible";
    Histogram histogram;
    auto isSeen = [&] {
      for (auto &[outcome, count] : histogram)
        if (row.isInteresting(outcome))
          return true;
      return false;
    };
    const bool isToShow = row.verdict == Verdict::Weak; // for some time
    for (unsigned seed = 1; seed <= seeds || (isToShow && !isSeen() && seed <= 200); ++seed)
      if (Error error = (*runner)->run(row.test, i, seed * 1000 + i, histogram)) {
        ADD_FAILURE() << row.test.name << ": " << toString(std::move(error));
        break;
      }
    unsigned interesting = 0;
    for (auto &[outcome, count] : histogram) {
      EXPECT_TRUE(allowed.count(outcome))
          << row.test.name << ": " << litmus::toString(outcome) << ", " << count << " times";
      EXPECT_TRUE(everything.outcomes.count(outcome))
          << row.test.name << ": " << litmus::toString(outcome) << " is more than is possible";
      interesting += row.isInteresting(outcome) ? count : 0;
    }
    if (row.verdict == Verdict::Weak)
      EXPECT_GT(interesting, 0u) << row.test.name;
    if (getenv("RUBIA_TEST_LITMUS_VERBOSE"))
      printf("%s %s: %zu outcomes of %zu possible, %zu allowed, interesting %u\n", GetParam(),
             row.test.name.c_str(), histogram.size(), everything.outcomes.size(), allowed.size(),
             interesting);
  }
}

} // namespace
} // namespace rubia::litmus
