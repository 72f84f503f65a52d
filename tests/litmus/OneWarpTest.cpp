// SPDX-License-Identifier: Apache-2.0
// Litmus tests between the threads of one warp that wait for each other: what one has written
// before it releases, another one sees behind its acquire, though they go on in turns.
#include "tests/Targets.h"
#include "tests/litmus/Run.h"
#include "tests/litmus/Table.h"
#include "llvm/IR/Function.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include <gtest/gtest.h>

using namespace llvm;

namespace rubia::litmus {
namespace {

struct Line {
  const char *name, *text;
};

// The first thread waits for the second one, too: neither way of the branch can go first.
constexpr Line kLines[] = {
    {"rel.acq", "await.relaxed z 1; st.weak x 1; st.release y 1"
                " | st.relaxed z 1; await.acquire y 1; ld.weak x"},
    {"fences", "await.relaxed z 1; st.weak x 1; fence.acq_rel; st.relaxed y 1"
               " | st.relaxed z 1; await.relaxed y 1; fence.acq_rel; ld.weak x"},
    {"membar", "await.volatile z 1; st.weak x 1; membar; st.volatile y 1"
               " | st.volatile z 1; await.volatile y 1; membar; ld.weak x"},
    {"atom", "await.relaxed z 1; st.weak x 1; exch.release y 1"
             " | exch.relaxed z 1; await.acquire y 1; ld.weak x"},
    {"read.first", "await.relaxed z 1; st.weak x 1; st.release y 1"
                   " | ld.weak x; st.relaxed z 1; await.acquire y 1; ld.weak x"},
    {"both", "st.weak x 1; st.release y 1; await.acquire z 1; ld.weak w"
             " | await.acquire y 1; ld.weak x; st.weak w 1; st.release z 1"},
    {"chain",
     "await.relaxed w 1; st.weak x 1; st.release y 1"
     " | st.relaxed w 1; await.acquire y 1; st.release z 1 | await.acquire z 1; ld.weak x"},
    {"shared", "await.relaxed z 1; st.weak s 1; st.release t 1"
               " | st.relaxed z 1; await.acquire t 1; ld.weak s"},
    {"global.by.shared", "await.relaxed t 1; st.weak x 1; st.release s 1"
                         " | st.relaxed t 1; await.acquire s 1; ld.weak x"},
    {"shared.by.global", "await.relaxed z 1; st.weak s 1; st.release y 1"
                         " | st.relaxed z 1; await.acquire y 1; ld.weak s"},
};

class LitmusOneWarp : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    size_t number = 0;
    for (const Line &line : kLines)
      for (Scope scope : {Scope::Cta, Scope::Gpu}) {
        if (!isInSample(number++, 3, GetParam()))
          continue;
        const size_t threads = size_t(llvm::count(StringRef(line.text), '|')) + 1;
        std::optional<litmus::Test> test =
            parseTest(std::string(line.name) + (scope == Scope::Cta ? ".cta" : ".gpu"), line.text,
                      scope, std::string(threads, 'A'), /*severalDevices=*/false);
        ASSERT_TRUE(test) << line.name;
        test->isOneWarp = true;
        tests.push_back(std::move(*test));
      }
  }

  /// How often each test shows what is forbidden.
  std::vector<unsigned> forbidden(function_ref<void(Module &)> change) {
    std::vector<unsigned> counts(tests.size());
    auto code = compile(tests, GetParam(), change);
    if (!code) {
      ADD_FAILURE() << toString(code.takeError());
      return counts;
    }
    auto runner = Runner::load(*code);
    if (!runner) {
      ADD_FAILURE() << toString(runner.takeError());
      return counts;
    }
    for (auto [index, test] : enumerate(tests)) {
      Histogram histogram;
      for (unsigned seed = 1; seed <= seedCount(12); ++seed)
        if (Error error = (*runner)->run(test, index, seed * 1000 + index, histogram)) {
          ADD_FAILURE() << test.name << ": " << toString(std::move(error));
          break;
        }
      const std::set<Outcome> allowed = allowedOutcomes(test);
      for (auto &[outcome, count] : histogram)
        counts[index] += allowed.count(outcome) ? 0 : count;
    }
    return counts;
  }

  std::vector<litmus::Test> tests;
};
INSTANTIATE_TEST_SUITE_P(Targets, LitmusOneWarp, testing::ValuesIn(rubia::test::allTargets()),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

TEST_P(LitmusOneWarp, KeepsTheOrder) {
  size_t inTurns = 0;
  const std::vector<unsigned> counts = forbidden([&](Module &module) {
    for (const Function &function : module)
      inTurns += any_of(function, [](const BasicBlock &block) {
        return block.getName().starts_with("turns.again");
      });
  });
  EXPECT_EQ(inTurns, tests.size());
  for (auto [test, count] : zip_equal(tests, counts))
    EXPECT_EQ(count, 0u) << test.name;
}

// Moves an instruction to the end of another block, and what it is made of.
void moveTo(BasicBlock &block, Instruction &inst) {
  if (isa<AllocaInst>(inst))
    return;
  for (Value *operand : inst.operands())
    if (auto *needed = dyn_cast<Instruction>(operand))
      moveTo(block, *needed);
  inst.moveBefore(block.getTerminator()->getIterator());
}

// What is read is read in front of the turns.
TEST_P(LitmusOneWarp, NoticesLoadsThatDoNotWait) {
  size_t changed = 0;
  const std::vector<unsigned> counts = forbidden([&](Module &module) {
    for (Function &function : module) {
      SmallVector<LoadInst *> loads;
      for (Instruction &inst : instructions(function))
        if (auto *load = dyn_cast<LoadInst>(&inst);
            load && load->isSimple() && load->getType()->isIntegerTy(32) &&
            is_contained({1u, 3u}, load->getPointerAddressSpace()))
          loads.push_back(load);
      for (LoadInst *load : loads)
        moveTo(*find_if(function,
                        [](const BasicBlock &block) {
                          return block.getName().starts_with("turns.enter");
                        }),
               *load);
      changed += !loads.empty();
    }
  });
  EXPECT_EQ(changed, tests.size());
  for (auto [test, count] : zip_equal(tests, counts))
    EXPECT_GT(count, 0u) << test.name;
}

} // namespace
} // namespace rubia::litmus
