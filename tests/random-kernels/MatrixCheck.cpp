// SPDX-License-Identifier: Apache-2.0
#include "MatrixCheck.h"
#include "BarrierGenerator.h"
#include "DividedGenerator.h"
#include "InterpreterRun.h"
#include "MatrixKernel.h"
#include "Reducer.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::random_kernels {
namespace {

enum class Verdict { Equal, Different, NotLegal, Failed };

struct Judgement {
  Verdict verdict;
  std::string text;
};

MatrixKernel generate(const MatrixOptions &options, uint64_t seed) {
  return options.family == kMatrixFamily ? generateMatrices(seed)
         : options.family == kBarrierFamily
             ? generateBarriers(seed)
             : generateDivided(seed, options.family == kMeetingsFamily);
}

Judgement judge(const Program &program, const Way &way) {
  Expected<std::vector<uint8_t>> expected = interpret(program);
  if (!expected)
    return {Verdict::Failed, "the interpreter: " + toString(expected.takeError())};
  Expected<EmulatorResult> got = emulate(program, way);
  if (!got) {
    std::string problem = toString(got.takeError());
    return {isNotLegal(way, problem) ? Verdict::NotLegal : Verdict::Failed, "not run: " + problem};
  }
  if (got->results == *expected)
    return {Verdict::Equal, ""};
  const auto differing = count_if(zip_equal(got->results, *expected), [](const auto &both) {
    return std::get<0>(both) != std::get<1>(both);
  });
  return {Verdict::Different, formatv("differs in {0} bytes", differing)};
}

/// Steps that are not needed go, and what is inside of one takes its place.
class StepReducer {
public:
  StepReducer(MatrixKernel kernel, const MatrixOptions &options)
      : kernel(std::move(kernel)), options(options) {}

  bool differs(const MatrixKernel &candidate) {
    ++attempts;
    return isTrueElsewhere(
        [&] {
          const Judgement judgement = judge(programOf(candidate), options.way);
          return options.error.empty() ? judgement.verdict == Verdict::Different
                                       : judgement.verdict == Verdict::Failed &&
                                             StringRef(judgement.text).contains(options.error);
        },
        false);
  }
  MatrixKernel take() {
    while (list([](MatrixKernel &k) -> std::vector<Step> & { return k.steps; }))
      ;
    return std::move(kernel);
  }
  unsigned attempts = 0;

private:
  using Where = std::function<std::vector<Step> &(MatrixKernel &)>;

  template <class Change> bool attempt(const Change &change) {
    MatrixKernel candidate = kernel;
    change(candidate);
    if (!differs(candidate))
      return false;
    kernel = std::move(candidate);
    return true;
  }

  bool list(const Where &where) {
    bool changed = dropPieces([&] { return where(kernel).size(); },
                              [&](size_t start, size_t end) {
                                return attempt([&](MatrixKernel &candidate) {
                                  std::vector<Step> &all = where(candidate);
                                  all.erase(all.begin() + long(start), all.begin() + long(end));
                                });
                              });
    for (size_t i = 0; i < where(kernel).size(); ++i)
      for (auto inside : {&Step::body, &Step::orElse}) {
        if (i < where(kernel).size() && !(where(kernel)[i].*inside).empty())
          changed |= attempt([&](MatrixKernel &candidate) {
            std::vector<Step> &all = where(candidate), steps = all[i].*inside;
            all.erase(all.begin() + long(i));
            all.insert(all.begin() + long(i), steps.begin(), steps.end());
          });
        if (i < where(kernel).size() && !(where(kernel)[i].*inside).empty())
          changed |=
              list([=](MatrixKernel &k) -> std::vector<Step> & { return where(k)[i].*inside; });
      }
    return changed;
  }

  MatrixKernel kernel;
  const MatrixOptions &options;
};

} // namespace

int printMatrices(const MatrixOptions &options) {
  for (uint64_t i = 0; i < options.count; i += options.every) {
    const Program program = programOf(generate(options, options.first + i));
    outs() << "// block " << program.block << "\n" << program.text;
  }
  return 0;
}

int checkMatrices(const MatrixOptions &options) {
  std::array<unsigned, 4> counts = {};
  for (uint64_t i = 0; i < options.count; i += options.every) {
    const uint64_t seed = options.first + i;
    const auto [verdict, text] = judge(programOf(generate(options, seed)), options.way);
    ++counts[unsigned(verdict)];
    if (verdict == Verdict::Different || verdict == Verdict::Failed)
      outs() << formatv("{0} {1}: {2}\n", seed, options.family, text);
    outs().flush();
  }
  const auto [equal, different, notLegal, failed] = counts;
  outs() << formatv("{0} equal, {1} differ, {2} not run, {3} not legal in this form\n", equal,
                    different, failed, notLegal);
  return different || failed || !equal;
}

int reduceMatrices(const MatrixOptions &options) {
  const MatrixKernel whole = generate(options, options.first);
  StepReducer reducer(whole, options);
  if (!reducer.differs(whole)) {
    outs() << "it does not differ\n";
    return 1;
  }
  const MatrixKernel kernel = reducer.take();
  outs() << programOf(kernel).text
         << formatv("// {0} steps of {1}, {2} attempts\n", sizeOf(kernel.steps),
                    sizeOf(whole.steps), reducer.attempts);
  return 0;
}

} // namespace rubia::random_kernels
