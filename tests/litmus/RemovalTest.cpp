// Whether the litmus tests would notice: each wait, cache operation and scope bit of their code,
// and each fence, ordering and scope of their IR, is removed by itself, and the test must fail
// then.
//
// LitmusRemoval.Code/IR take a sample; with RUBIA_LITMUS_ALL=1 (ctest label `long`) all, and print
// the figures of docs/testing.md.
#include "tests/litmus/Mutants.h"
#include "tests/litmus/Redundant.h"
#include "tests/litmus/Run.h"
#include "tests/litmus/Table.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::litmus {
namespace {

/// Rows that are compiled together.
constexpr size_t kChunk = 6;

bool takesAll() { return getenv("RUBIA_LITMUS_ALL") != nullptr; }

struct Count {
  unsigned noticed = 0, missed = 0;
  std::string example; // a test that does not notice
};
using Counts = std::map<std::string, Count>;

class LitmusRemoval : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    std::string error;
    for (Row &row : allRows(error))
      if (row.verdict == Verdict::Forbidden) // the others have nothing to lose
        rows.push_back(std::move(row));
    ASSERT_EQ(error, "");
    for (const Row &row : rows)
      allowed.push_back(allowedOutcomes(row.test));
  }

  std::vector<litmus::Test> testsOf(size_t first) const {
    std::vector<litmus::Test> tests;
    for (size_t i = first; i < std::min(first + kChunk, rows.size()); ++i)
      tests.push_back(rows[i].test);
    return tests;
  }

  /// Whether the test fails with this code.
  bool notices(size_t row, size_t index, ArrayRef<uint8_t> code) {
    auto runner = Runner::load(code);
    if (!runner) {
      ADD_FAILURE() << rows[row].test.name << ": " << toString(runner.takeError());
      return true;
    }
    // All instances of a test in LDS do the same.
    const bool isShared =
        StringRef(rows[row].test.locations).find_first_of("st") != StringRef::npos;
    const unsigned seeds = seedCount(takesAll() ? 100 : 60) * (isShared ? 8 : 1);
    for (unsigned seed = 1; seed <= seeds; ++seed) {
      Histogram histogram;
      if (Error error = (*runner)->run(rows[row].test, index, seed, histogram)) {
        consumeError(std::move(error)); // a register that is used too early, a wait without end
        return true;
      }
      for (auto &[outcome, count] : histogram)
        if (!allowed[row].count(outcome))
          return true;
    }
    return false;
  }

  void note(const std::string &kind, size_t row, bool isNoticed) {
    Count &count = counts[kind];
    ++(isNoticed ? count.noticed : count.missed);
    if (!isNoticed && count.example.empty())
      count.example = rows[row].test.name;
  }

  /// Every kind must be noticed somewhere, but for those that Redundant.h explains.
  void judge(const char *what) {
    unsigned noticed = 0, missed = 0;
    for (auto &[kind, count] : counts) {
      noticed += count.noticed;
      missed += count.missed;
      const std::string reason = reasonOf(GetParam(), kind);
      if (!takesAll())
        continue;
      printf("%s %s: %s: %u of %u noticed%s%s%s%s\n", GetParam(), what, kind.c_str(), count.noticed,
             count.noticed + count.missed, count.missed ? ", not by " : "", count.example.c_str(),
             reason.empty() ? "" : "; ", reason.c_str());
      EXPECT_TRUE(count.noticed || !reason.empty()) << kind << ": no test notices";
    }
    if (takesAll())
      printf("%s %s: %u of %u noticed\n", GetParam(), what, noticed, noticed + missed);
    EXPECT_GT(noticed, 0u);
  }

  std::vector<Row> rows;
  std::vector<std::set<Outcome>> allowed;
  Counts counts;
};

INSTANTIATE_TEST_SUITE_P(Targets, LitmusRemoval, testing::ValuesIn(kTargets),
                         [](const auto &info) { return std::string(info.param); });

TEST_P(LitmusRemoval, Code) {
  unsigned number = 0;
  for (size_t first = 0; first < rows.size(); first += kChunk) {
    if (!takesAll() && first / kChunk % 5 != 0)
      continue;
    auto code = compile(testsOf(first), GetParam());
    ASSERT_TRUE(bool(code)) << toString(code.takeError());
    auto mutants = codeMutants(*code, GetParam());
    ASSERT_TRUE(bool(mutants)) << toString(mutants.takeError());
    for (const CodeMutant &mutant : *mutants) {
      if (!takesAll() && number++ % 7 != 0)
        continue;
      std::vector<uint8_t> changed = *code;
      std::copy(mutant.bytes.begin(), mutant.bytes.end(),
                changed.begin() + ptrdiff_t(mutant.offset));
      const size_t index = size_t(std::stoul(mutant.kernel.substr(4)));
      note(mutant.kind, first + index, notices(first + index, index, changed));
    }
  }
  judge("code");
}

TEST_P(LitmusRemoval, Ir) {
  unsigned number = 0, same = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!takesAll() && row % 22 != 0)
      continue;
    auto original = compile(rows[row].test, GetParam());
    ASSERT_TRUE(bool(original)) << toString(original.takeError());
    for (unsigned mutation = 0;; ++mutation) {
      if (!takesAll() && number++ % 2 != 0)
        continue;
      std::string kind;
      auto code = compile(rows[row].test, GetParam(),
                          [&](Module &module) { kind = mutateModule(module, "test0", mutation); });
      if (kind.empty())
        break;
      ASSERT_TRUE(bool(code)) << rows[row].test.name << ", " << kind << ": "
                              << toString(code.takeError());
      if (*code == *original) // LLVM makes no difference
        ++same;
      else
        note(kind, row, notices(row, 0, *code));
    }
  }
  judge("IR");
  if (takesAll())
    printf("%s IR: %u give the same code\n", GetParam(), same);
}

} // namespace
} // namespace rubia::litmus
