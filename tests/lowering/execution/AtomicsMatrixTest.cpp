// SPDX-License-Identifier: Apache-2.0
// Every operation of atom and red on every type, width and state space, on all targets, by the fast
// and by the safe form: each thread has a location of its own and operands of its own, edge values
// among them; the host computes what memory and the returned value must be. One kernel executes all
// of them, so that each target is compiled for three times.
#include "tests/lowering/execution/AtomicOperations.h"
#include "tests/lowering/execution/Execution.h"
#include "llvm/ADT/STLExtras.h"
#include <cstring>

using namespace rubia::lowering::test;

namespace {

constexpr unsigned kTuples = 256;
constexpr unsigned kRecordWords = 20; // memory, b, c, returned value, memory after: 16 bytes each

// The kernel: thread t has the t-th record of each step.
std::string kernelText(const std::vector<Step> &all, const char *extra) {
  std::string body;
  for (const Step &step : all) {
    body += step.load("%record");
    const char *address = "%record", *quad = ".v4.b32 {%r36, %r37, %r38, %r39}, [";
    if (step.inShared()) {
      address = step.place == Step::Place::Shared ? "%cell" : "%generic";
      body += std::string("ld.global") + quad + "%record];\n" +
              "st.shared.v4.b32 [%cell], {%r36, %r37, %r38, %r39};\n";
    }
    body += step.execute(address) + step.store("%record") +
            (step.inShared() ? "ld.shared" : "ld.global") + quad +
            (step.inShared() ? "%cell" : "%record") + "];\n" +
            "st.global.v4.b32 [%record+64], {%r36, %r37, %r38, %r39};\n" +
            "add.u64 %record, %record, " + std::to_string(kTuples * kRecordWords * 4) + ";\n";
  }
  return std::string(".version 8.8\n.target sm_90\n.address_size 64\n") +
         ".shared .align 16 .b8 cells[1024];\n" +
         ".visible .entry k(.param .u64 p, .param .u32 n)\n{\n" + kStepRegisters + R"(
.reg .b64 %record, %generic; .reg .b32 %tid, %cell, %x; .reg .f32 %f;
ld.param.u64 %record, [p];
cvta.to.global.u64 %record, %record;
mov.u32 %tid, %tid.x;
mov.u32 %x, %ctaid.x;
mad.lo.u32 %x, %x, 64, %tid;
mad.wide.u32 %record, %x, 80, %record;
mov.u32 %cell, cells;
mad.lo.u32 %cell, %tid, 16, %cell;
cvt.u64.u32 %generic, %cell;
cvta.shared.u64 %generic, %generic;
)" + extra +
         body + "}\n";
}

void put(uint32_t *words, Wide value) { std::memcpy(words, &value, 16); }
Wide get(const uint32_t *words) {
  Wide value;
  std::memcpy(&value, words, 16);
  return value;
}

std::vector<uint32_t> initialRecords(const std::vector<Step> &all) {
  std::vector<uint32_t> words(all.size() * kTuples * kRecordWords);
  std::mt19937_64 random(1);
  uint32_t *record = words.data();
  for (const Step &step : all)
    for (unsigned t = 0; t < kTuples; ++t, record += kRecordWords) {
      Wide old = anyValue(*step.operation, random), b = anyValue(*step.operation, random);
      if (step.operation->sources == 2 && t % 2) // a comparison that holds
        b = old;
      put(record, old);
      put(record + 4, b);
      put(record + 8, anyValue(*step.operation, random));
    }
  return words;
}

void check(const std::vector<Step> &all, const Form &form, const char *extra = "") {
  std::vector<uint32_t> before = initialRecords(all);
  std::vector<uint32_t> after = run(kernelText(all, extra), before, form).words;
  unsigned failures = 0;
  size_t at = 0;
  for (const Step &step : all) {
    const Operation &operation = *step.operation;
    unsigned bits = operation.bits * operation.count;
    for (unsigned t = 0; t < kTuples; ++t, at += kRecordWords) {
      Wide old = get(&before[at]), b = get(&before[at + 4]), c = get(&before[at + 8]);
      Wide expected =
          operation.apply(masked(old, bits), masked(b, bits), masked(c, bits), !step.inShared());
      if (bits < 128)
        expected |= old >> bits << bits; // the neighbourhood stays
      Wide memory = get(&after[at + 16]), returned = get(&after[at + 12]);
      bool right = equal(masked(memory, bits), masked(expected, bits), operation.format, bits) &&
                   (bits == 128 || memory >> bits == expected >> bits) &&
                   (step.isRed || masked(returned, bits) == masked(old, bits));
      if (!right && ++failures <= 20)
        ADD_FAILURE() << step.text() << " of " << show(old) << ", " << show(b) << ", " << show(c)
                      << ": memory " << show(memory) << ", expected " << show(expected)
                      << ", returned " << show(returned);
    }
  }
  EXPECT_EQ(failures, 0u);
}

Form formFor(const char *arch) {
  Form form;
  form.arch = arch;
  form.halfFilled = isWave64(form.arch);
  form.grid = {kTuples / 64, 1, 1};
  form.block = {64, 1, 1};
  return form;
}

class AtomicsMatrix : public testing::TestWithParam<const char *> {
protected:
  size_t number = size_t(llvm::find(kTargets, llvm::StringRef(GetParam())) - std::begin(kTargets));
};

// By default a target takes one half of the operations by the fast form and the other by the safe
// one, its neighbour in kTargets the other way round.
TEST_P(AtomicsMatrix, Fast) { check(sampledSteps(number), formFor(GetParam())); }

TEST_P(AtomicsMatrix, Safe) {
  Form form = formFor(GetParam());
  form.safeAtomics = true;
  check(sampledSteps(number + 1), form);
}

// In a unit of .ftz instructions the mode flushes denormals; f32 in global memory and bf16 have to
// come out the same.
TEST_P(AtomicsMatrix, InAUnitThatFlushes) {
  std::vector<Step> some;
  for (const Step &step : allSteps())
    if (step.operation->format == Format::BF16 ||
        (step.operation->format == Format::F32 && step.place == Step::Place::Global))
      some.push_back(step);
  check(some, formFor(GetParam()),
        "ld.global.f32 %f, [%record];\n"
        "add.ftz.f32 %f, %f, 0f3F800000;\n"
        "st.global.f32 [%record+64], %f;\n");
}

INSTANTIATE_TEST_SUITE_P(Targets, AtomicsMatrix, testing::ValuesIn(kTargets),
                         [](const auto &info) { return rubia::test::identifier(info.param); });

} // namespace
