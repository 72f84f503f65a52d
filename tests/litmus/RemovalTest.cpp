// SPDX-License-Identifier: Apache-2.0
// Whether the litmus tests would notice: each wait, cache operation and scope bit of their code,
// and each fence, ordering and scope of their IR, is removed by itself. Then either the test must
// fail in the emulator's `order` mode, or nothing can fail: no execution at all of the changed code
// on the documented machine (Machine.h) shows what is forbidden. Which of the two is computed.
//
// LitmusRemoval.Code/Ir take a sample; with RUBIA_TEST_LITMUS_ALL=1 (ctest label `long`) all, and
// print the figures of docs/testing-compiler.md.
#include "tests/Targets.h"
#include "tests/litmus/Mutants.h"
#include "tests/litmus/Run.h"
#include "tests/litmus/Table.h"
#include "tests/litmus/Trace.h"
#include <gtest/gtest.h>
#include <map>

using namespace llvm;

namespace rubia::litmus {
namespace {

/// Rows that are compiled together.
constexpr size_t kChunk = 6;
/// Of one test. Nearly all removals show within some dozens.
constexpr unsigned kMaxLaunches = 50'000;

/// About one removal. Same: LLVM gives the same code; NotExecuted: no thread of the test comes
/// there; Redundant: nothing can show; Missed: something can, but did not.
enum class Finding : uint8_t { Same, NotExecuted, Redundant, Noticed, Missed };
constexpr unsigned kFindings = 5;

class Counts {
public:
  unsigned &operator[](Finding finding) { return of[unsigned(finding)]; }

private:
  unsigned of[kFindings] = {};
};

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

  /// After how many launches of this code the test fails; 0: never.
  unsigned noticedAfter(size_t row, size_t index, ArrayRef<uint8_t> code) {
    auto runner = Runner::load(code);
    if (!runner) {
      ADD_FAILURE() << rows[row].test.name << ": " << toString(runner.takeError());
      return 0;
    }
    for (unsigned seed = 1; seed <= kMaxLaunches; ++seed) {
      Histogram histogram;
      if (Error error = (*runner)->run(rows[row].test, index, seed, histogram)) {
        consumeError(std::move(error)); // a register that is used too early, a wait without end
        return seed;
      }
      for (auto &[outcome, count] : histogram)
        if (!allowed[row].contains(outcome))
          return seed;
    }
    return 0;
  }

  /// `program`: what the threads of the changed code execute.
  Finding judge(const std::string &kind, size_t row, size_t index, ArrayRef<uint8_t> code,
                const MachineProgram &program) {
    const Exploration all = explore(rows[row].test, program, &allowed[row]);
    EXPECT_FALSE(all.isTooLarge) << rows[row].test.name << ", " << kind;
    if (!all.fails(allowed[row]))
      return Finding::Redundant;
    const unsigned launches = noticedAfter(row, index, code);
    mostLaunches = std::max(mostLaunches, launches);
    if (launches)
      return Finding::Noticed;
    ADD_FAILURE() << rows[row].test.name << ": " << kind << " is not noticed, though "
                  << (all.usesPending ? "a register is used before it is loaded"
                      : all.hangs     ? "a thread may wait for ever"
                                      : "a forbidden outcome is possible");
    return Finding::Missed;
  }

  void note(size_t row, const std::string &kind, Finding finding) {
    static constexpr const char *kNames[kFindings] = {"same code", "not executed", "redundant",
                                                      "noticed", "missed"};
    if (getenv("RUBIA_TEST_LITMUS_VERBOSE"))
      printf("%s %s: %s: %s\n", GetParam(), rows[row].test.name.c_str(), kind.c_str(),
             kNames[unsigned(finding)]);
    ++counts[finding];
    ++kinds[kind][finding];
  }

  void print(const char *what) {
    if (takesAll()) {
      for (auto &[kind, of] : kinds)
        printf("%s %s: %s: %u noticed, %u redundant, %u missed\n", GetParam(), what, kind.c_str(),
               of[Finding::Noticed], of[Finding::Redundant], of[Finding::Missed]);
      printf("%s %s: %u noticed, %u redundant, %u not executed, %u the same code, %u missed; at "
             "most %u launches\n",
             GetParam(), what, counts[Finding::Noticed], counts[Finding::Redundant],
             counts[Finding::NotExecuted], counts[Finding::Same], counts[Finding::Missed],
             mostLaunches);
    }
    EXPECT_GT(counts[Finding::Noticed], 0u);
  }

  std::vector<Row> rows;
  std::vector<std::set<Outcome>> allowed;
  Counts counts;
  std::map<std::string, Counts> kinds;
  unsigned mostLaunches = 0;
};

INSTANTIATE_TEST_SUITE_P(Targets, LitmusRemoval, testing::ValuesIn(rubia::test::testTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST_P(LitmusRemoval, Code) {
  unsigned number = 0;
  for (size_t first = 0; first < rows.size(); first += kChunk) {
    if (!isInSample(first / kChunk, 8, GetParam()))
      continue;
    auto code = compile(testsOf(first), GetParam());
    ASSERT_TRUE(bool(code)) << toString(code.takeError());
    auto mutants = codeMutants(*code, GetParam());
    ASSERT_TRUE(bool(mutants)) << toString(mutants.takeError());
    auto runner = Runner::load(*code);
    ASSERT_TRUE(bool(runner)) << toString(runner.takeError());
    std::vector<MachineProgram> programs;
    for (size_t i = first; i < std::min(first + kChunk, rows.size()); ++i) {
      auto program = trace(**runner, rows[i].test, i - first);
      ASSERT_TRUE(bool(program)) << toString(program.takeError());
      programs.push_back(std::move(*program));
    }
    for (const CodeMutant &mutant : *mutants) {
      if (!isInSample(number++, 8, GetParam()))
        continue;
      const size_t index = size_t(std::stoul(mutant.kernel.substr(4)));
      MachineProgram program = programs[index];
      if (!program.replace(mutant.pc, mutant.step ? &*mutant.step : nullptr)) {
        note(first + index, mutant.kind, Finding::NotExecuted);
        continue;
      }
      std::vector<uint8_t> changed = *code;
      std::copy(mutant.bytes.begin(), mutant.bytes.end(),
                changed.begin() + ptrdiff_t(mutant.offset));
      note(first + index, mutant.kind, judge(mutant.kind, first + index, index, changed, program));
    }
  }
  print("code");
}

TEST_P(LitmusRemoval, Ir) {
  unsigned number = 0;
  for (size_t row = 0; row < rows.size(); ++row) {
    if (!isInSample(row, 30, GetParam()))
      continue;
    auto original = compile(rows[row].test, GetParam());
    ASSERT_TRUE(bool(original)) << toString(original.takeError());
    for (unsigned mutation = 0;; ++mutation) {
      if (!isInSample(number++, 2, GetParam()))
        continue;
      std::string kind;
      auto code = compile(rows[row].test, GetParam(),
                          [&](Module &module) { kind = mutateModule(module, "test0", mutation); });
      if (kind.empty())
        break;
      ASSERT_TRUE(bool(code)) << rows[row].test.name << ", " << kind << ": "
                              << toString(code.takeError());
      if (*code == *original) { // LLVM makes no difference
        note(row, kind, Finding::Same);
        continue;
      }
      auto runner = Runner::load(*code);
      ASSERT_TRUE(bool(runner)) << toString(runner.takeError());
      auto program = trace(**runner, rows[row].test, 0);
      ASSERT_TRUE(bool(program)) << toString(program.takeError());
      note(row, kind, judge(kind, row, 0, *code, *program));
    }
  }
  print("IR");
}

} // namespace
} // namespace rubia::litmus
