// SPDX-License-Identifier: Apache-2.0
// Random kernels: compares Rubia with the reference evaluator and with what an NVIDIA GPU gave, and
// reduces what differs.
#include "BarrierGenerator.h"
#include "DividedGenerator.h"
#include "EmulatorRun.h"
#include "Evaluator.h"
#include "InterpreterRun.h"
#include "Join.h"
#include "KnownDifferences.h"
#include "MatrixCheck.h"
#include "MatrixKernel.h"
#include "Narrow.h"
#include "Recording.h"
#include "Reducer.h"
#include "Repeat.h"
#include "Zeros.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <malloc.h>
#include <map>

using namespace llvm;
using namespace rubia;
using namespace rubia::random_kernels;

namespace rubia::settings::FlushMode {
extern const Word Nvidia;
} // namespace rubia::settings::FlushMode
namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode

namespace {

struct Options {
  uint64_t first = 0, count = 0, every = 1;
  std::string family, file, known, error, mistake;
  unsigned offset = 0;
  bool evaluator = false, interpreter = false, show = false, indirect = false, narrow = false,
       repeat = false, zeros = false;
  // These kernels have a generator of their own, and seeds of their own.
  Kernel kernel(uint64_t seed) const {
    Kernel made = generate(seed);
    made.indirect = indirect;
    if (narrow)
      random_kernels::narrow(made);
    if (repeat)
      random_kernels::repeat(made);
    if (zeros)
      computeWithZeros(made);
    return made;
  }
  bool isOfMatrices() const {
    return family == kMatrixFamily || family == kBarrierFamily || family == kDividedFamily ||
           family == kMeetingsFamily;
  }
  MatrixOptions ofMatrices() const {
    return {family, first, count ? count : 100, every, way, error};
  }
  // Whether what runs fuses nothing and gives the bits of NaNs.
  bool isReference() const { return evaluator || interpreter; }
  Way way;
};

int fail(Error error) {
  errs() << "rubia-random: " << toString(std::move(error)) << "\n";
  return 1;
}

int printText(const Options &options) {
  if (options.isOfMatrices())
    return printMatrices(options.ofMatrices());
  outs() << kModuleHead;
  for (uint64_t i = 0; i < (options.count ? options.count : 100); i += options.every) {
    Kernel kernel = options.kernel(options.first + i);
    if (!options.family.empty() && kernel.family != options.family)
      continue;
    outs() << "// " << kernel.family << ", grid " << kernel.grid << ", block " << kernel.block
           << "\n"
           << textOf(kernel);
  }
  return 0;
}

// Where the first difference of two buffers of results is.
std::string placeOf(const Kernel &kernel, size_t byte) {
  if (byte < kernel.cellsOffset())
    return formatv("own memory of thread {0}, byte {1}", byte / kGlobalBytes, byte % kGlobalBytes);
  if (byte < kernel.outputOffset())
    return formatv("cell {0}", (byte - kernel.cellsOffset()) / 8);
  byte -= kernel.outputOffset();
  unsigned stride = kernel.outputWords * 8;
  return formatv("word {0} of thread {1}", byte % stride / 8, byte / stride);
}

std::string differenceOf(const Kernel &kernel, ArrayRef<uint8_t> got, ArrayRef<uint8_t> expected) {
  size_t words = 0;
  std::string first;
  for (size_t i = 0; i + 8 <= expected.size(); i += 8) {
    if (std::equal(&got[i], &got[i] + 8, &expected[i]))
      continue;
    uint64_t a, b;
    memcpy(&a, &got[i], 8);
    memcpy(&b, &expected[i], 8);
    if (!words++)
      first = formatv("{0}: {1:x}, expected {2:x}", placeOf(kernel, i), a, b);
  }
  return formatv("{0} words; {1}", words, first);
}

int check(const Options &options) {
  if (options.isOfMatrices())
    return checkMatrices(options.ofMatrices());
  unsigned equal = 0, different = 0, failed = 0, skipped = 0;
  std::map<std::string, unsigned> wrong;
  for (uint64_t i = 0; i < (options.count ? options.count : 100); i += options.every) {
    Kernel kernel = options.kernel(options.first + i);
    if ((!options.family.empty() && kernel.family != options.family) ||
        (options.indirect && kernel.functions.empty()))
      continue;
    if (kernel.nanBits && options.way.nan != settings::NanMode::Canonical) {
      ++skipped;
      continue;
    }
    auto expected = evaluate(kernel);
    if (!expected) {
      outs() << formatv("{0} {1}: {2}\n", kernel.seed, kernel.family,
                        toString(expected.takeError()));
      ++failed;
      continue;
    }
    auto got = emulate(kernel, unfused(options.way));
    if (!got) {
      const std::string problem = toString(got.takeError());
      if (isNotLegal(options.way, problem)) {
        ++skipped;
        continue;
      }
      outs() << formatv("{0} {1}: not run: {2}\n", kernel.seed, kernel.family, problem);
      ++failed;
    } else if (got->results != *expected) {
      ++different;
      ++wrong[kernel.family];
      outs() << formatv("{0} {1}: differs, {2}\n", kernel.seed, kernel.family,
                        differenceOf(kernel, got->results, *expected));
    } else
      ++equal;
    outs().flush();
  }
  outs() << formatv("{0} equal, {1} differ, {2} not run, {3} skipped\n", equal, different, failed,
                    skipped);
  for (const auto &[family, count] : wrong)
    outs() << formatv("  {0}: {1}\n", family, count);
  return different || failed;
}

std::string columnsThatDiffer(const Columns &got, const Columns &expected) {
  std::vector<std::string> names;
  for (size_t i = 0; i < expected.size(); ++i)
    if (i >= got.size() || got[i] != expected[i])
      names.push_back(columnName(i));
  return join(names, ", ");
}

// What computes, as the known differences name it.
std::string nameOf(const Options &options) {
  if (options.isReference())
    return "reference";
  const bool asNvidia = options.way.flush == settings::FlushMode::Nvidia;
  return options.way.arch + (asNvidia ? " flush=nvidia" : "");
}

// A device, or the evaluator, against a recording. What NVIDIA's compiler computes in two ways at
// its two levels is right if it is one of them; of products and sums that may be fused only what
// the optimised level gives, and the evaluator, which fuses nothing, what the other one gives.
int compare(const Options &options) {
  auto recording = readRecording(options.file);
  if (!recording)
    return fail(recording.takeError());
  auto known = KnownDifferences::read(options.known);
  if (!known)
    return fail(known.takeError());
  unsigned equal = 0, different = 0, failed = 0, skipped = 0, stale = 0, unrecorded = 0;
  unsigned byLevel[3] = {}, knownOnes = 0, knownUnrecorded = 0, agreed = 0, halfFilled = 0;
  const uint64_t first = std::max(options.first, recording->first);
  const uint64_t count = options.count ? options.count : recording->kernels.size();
  const uint64_t end = std::min(first + count, recording->first + recording->kernels.size());
  for (uint64_t seed = first + options.offset; seed < end; seed += options.every) {
    const Recorded &recorded = recording->kernels[seed - recording->first];
    Kernel kernel = options.kernel(seed);
    if (!options.family.empty() && kernel.family != options.family)
      continue;
    auto tell = [&](const Twine &what) {
      outs() << formatv("{0} {1}: {2}\n", seed, kernel.family, what.str());
      outs().flush();
    };
    if (uint32_t(digestOf(kernel)) != recorded.digest) {
      ++stale;
      continue;
    }
    const bool isRecorded = !recorded.optimised.empty() && !recorded.unoptimised.empty();
    if (isRecorded && known->has(seed, "unrecorded")) {
      ++agreed;
      tell("known to have no recording, but has one");
    }
    if (!isRecorded) {
      if (known->has(seed, "unrecorded")) {
        ++knownUnrecorded;
        continue;
      }
      ++unrecorded;
      tell("has no recording");
      continue;
    }
    if (kernel.nanBits && !options.isReference() &&
        options.way.nan != settings::NanMode::Canonical) {
      ++skipped;
      continue;
    }
    Columns columns;
    std::string error;
    if (options.isReference()) {
      auto results = options.interpreter ? interpret(kernel) : evaluate(kernel);
      if (results)
        columns = columnsOf(kernel, *results);
      else
        error = toString(results.takeError());
    } else {
      auto results = emulate(kernel, options.way);
      if (results) {
        columns = columnsOf(kernel, results->results);
        halfFilled += results->form == abi::WarpForm::HalfFilled;
      } else
        error = toString(results.takeError());
    }
    bool isKnown = known->has(seed, nameOf(options));
    if (!error.empty()) {
      ++failed;
      tell("not run: " + error);
      continue;
    }
    bool optimised = columns == recorded.optimised, unoptimised = columns == recorded.unoptimised;
    if (!recorded.isEqual()) {
      ++byLevel[optimised ? 0 : unoptimised ? 1 : 2];
      if (options.show)
        tell("NVIDIA's levels differ in " +
             columnsThatDiffer(recorded.unoptimised, recorded.optimised) +
             (optimised     ? "; as optimised"
              : unoptimised ? "; as not optimised"
                            : "; as neither"));
    }
    bool mayBeOptimised = !kernel.contract || !options.isReference();
    bool mayBeUnoptimised = !kernel.contract || options.isReference();
    if ((optimised && mayBeOptimised) || (unoptimised && mayBeUnoptimised)) {
      ++equal;
      if (isKnown) {
        ++agreed;
        tell("known to differ, but agrees");
      }
      continue;
    }
    if (isKnown) {
      ++knownOnes;
      continue;
    }
    ++different;
    tell("differs in " +
         columnsThatDiffer(columns, mayBeOptimised ? recorded.optimised : recorded.unoptimised));
  }
  outs() << formatv(
      "{0} kernels equal, {1} differ, {2} known to differ, {3} not run, {4} skipped\n", equal,
      different, knownOnes, failed, skipped);
  if (byLevel[0] + byLevel[1] + byLevel[2])
    outs() << formatv(
        "where NVIDIA's levels differ: {0} as optimised, {1} as not, {2} as neither\n", byLevel[0],
        byLevel[1], byLevel[2]);
  if (halfFilled)
    outs() << halfFilled << " ran half-filled\n";
  if (stale)
    outs() << stale << " recorded of other kernels: the generator has changed\n";
  if (knownUnrecorded)
    outs() << knownUnrecorded << " known to have no recording\n";
  if (unrecorded)
    outs() << unrecorded << " have no recording\n";
  return different || failed || stale || unrecorded || agreed;
}

// Whether Rubia and the evaluator think differently of a kernel; or whether Rubia fails with an
// error that has some text, "crashed" for one that LLVM does not survive.
bool differs(const Kernel &kernel, const Options &options) {
  auto expected = evaluate(kernel);
  if (!expected) {
    consumeError(expected.takeError());
    return false;
  }
  return isTrueElsewhere(
      [&] {
        auto got = emulate(kernel, unfused(options.way));
        if (!got)
          return toString(got.takeError()).find(options.error) != std::string::npos &&
                 !options.error.empty();
        return options.error.empty() && got->results != *expected;
      },
      options.error == "crashed");
}

// Smaller kernels of which Rubia and the evaluator still think differently.
int reduceKernel(const Options &options) {
  if (options.isOfMatrices())
    return reduceMatrices(options.ofMatrices());
  unsigned attempts = 0;
  auto differs = [&](const Kernel &kernel) {
    ++attempts;
    return ::differs(kernel, options);
  };
  Kernel kernel = options.kernel(options.first);
  if (!differs(kernel)) {
    outs() << "it does not differ\n";
    return 1;
  }
  unsigned before = sizeOf(kernel.body);
  kernel = reduce(std::move(kernel), differs);
  outs() << kModuleHead << textOf(kernel);
  if (!options.error.empty())
    return 0;
  auto expected = evaluate(kernel);
  auto got = emulate(kernel, unfused(options.way));
  if (!expected || !got)
    return fail(joinErrors(expected.takeError(), got.takeError()));
  outs() << formatv("// {0} statements of {1}, {2} attempts; {3}\n", sizeOf(kernel.body), before,
                    attempts, differenceOf(kernel, got->results, *expected));
  size_t at = 0;
  while (got->results[at] == (*expected)[at])
    ++at;
  if (at >= kernel.outputOffset()) {
    unsigned thread = unsigned((at - kernel.outputOffset()) / (kernel.outputWords * 8));
    if (auto traced = evaluate(kernel, &outs(), thread); !traced)
      return fail(traced.takeError());
  }
  return 0;
}

int joinAll(const Options &options) {
  return join({options.file, options.known, options.first, options.count, options.every,
               options.offset, options.mistake});
}

int traceKernel(const Options &options) {
  Kernel kernel = generate(options.first);
  auto results = evaluate(kernel, &outs(), unsigned(options.count));
  if (results)
    return 0;
  errs() << toString(results.takeError()) << "\n";
  return 1;
}

// An option whose texts are those of the word's setting.
void addWord(CLI::App &command, const std::string &name, settings::Word &word,
             const std::string &what) {
  std::vector<std::string> texts;
  const std::string_view words = settings::rowOf(word.setting).words;
  for (size_t i = 0; i < settings::countWords(words); ++i)
    texts.emplace_back(settings::name(settings::wordAt(words, i)));
  command
      .add_option_function<std::string>(
          name,
          [&word](const std::string &text) {
            word = settings::Settings().set(word.setting, text).word(word.setting);
          },
          what)
      ->check(CLI::IsMember(texts));
}

} // namespace

int main(int argc, char **argv) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20);
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  CLI::App app{"Random kernels"};
  app.require_subcommand(1);
  Options options;
  int status = 0;
  auto add = [&](const char *name, const char *what, int (*run)(const Options &)) {
    CLI::App *command = app.add_subcommand(name, what);
    command->add_option("--first", options.first, "the first seed");
    command->add_option("--count", options.count, "how many; compare: all of them by default");
    command->add_option("--every", options.every, "only every N-th");
    command->add_option(
        "--family", options.family,
        "only kernels of this family; text, check, reduce: also `matrices`, `barriers`, "
        "`divided`, `meetings`");
    command->callback([=, &status, &options] { status = run(options); });
    return command;
  };
  auto *printing = add("text", "print kernels", printText);
  add("trace", "what the evaluator computes", traceKernel);
  auto *reducing = add("reduce", "the smallest kernel that still differs", reduceKernel);
  reducing->add_option("--error", options.error,
                       "that the kernel does not run, with this text, or \"crashed\"");
  auto *checking = add("check", "compare Rubia with the reference evaluator", check);
  for (CLI::App *command : {printing, reducing, checking}) {
    command->add_flag("--indirect", options.indirect,
                      "calls are by addresses in memory; check: only kernels with functions");
    command->add_flag("--narrow", options.narrow, "numbers have few bits");
    command->add_flag("--repeat", options.repeat, "what was computed is computed again");
    command->add_flag("--zeros", options.zeros, "instead, computations of 0, -0, 1 and -1");
  }
  auto *comparing = add("compare", "compare a device with a recording", compare);
  comparing->add_option("FILE", options.file)->required()->check(CLI::ExistingFile);
  comparing->add_option("--known", options.known, "known differences")->check(CLI::ExistingFile);
  comparing->add_option("--offset", options.offset, "begin with this one");
  comparing->add_flag("--reference", options.evaluator, "the evaluator, not Rubia");
  comparing->add_flag("--interpreter", options.interpreter,
                      "the kernel's text by the interpreter of reference/, not Rubia");
  comparing->add_flag("--zeros", options.zeros, "as the recording");
  comparing->add_flag("--show", options.show, "name kernels of which NVIDIA's levels differ");
  auto *joining =
      add("join", "compare all that can run a kernel, and reduce what differs", joinAll);
  joining->add_option("FILE", options.file)->required()->check(CLI::ExistingFile);
  joining->add_option("--known", options.known, "known differences")->check(CLI::ExistingFile);
  joining->add_option("--offset", options.offset, "begin with this one");
  joining->add_option("--mistake", options.mistake,
                      "OLD/NEW: the first processor gets NEW for the first OLD of a text");
  for (CLI::App *command : {checking, reducing, comparing}) {
    command->add_option("--arch", options.way.arch, "emulate this processor");
    command->add_option("--opt", options.way.optLevel, "of LLVM: 0 to 3");
    addWord(*command, "--nan", options.way.nan, "");
    addWord(*command, "--flush", options.way.flush, "");
    addWord(*command, "--mma", options.way.mma, "of the family `matrices`");
    addWord(*command, "--form", options.way.form, "");
  }
  CLI11_PARSE(app, argc, argv);
  return status;
}
