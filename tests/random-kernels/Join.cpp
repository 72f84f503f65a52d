// SPDX-License-Identifier: Apache-2.0
#include "Join.h"
#include "EmulatorRun.h"
#include "InterpreterRun.h"
#include "KnownDifferences.h"
#include "Recording.h"
#include "Reducer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>

using namespace llvm;

namespace rubia::settings::NanMode {
extern const Word Canonical;
} // namespace rubia::settings::NanMode
namespace rubia::settings::WarpFormChoice {
extern const Word Auto, Checked, HalfFilled, Packed;
} // namespace rubia::settings::WarpFormChoice

namespace rubia::random_kernels {
namespace {

namespace WarpFormChoice = settings::WarpFormChoice;

struct Processor {
  std::string name; // "gfx942 half-filled O0"
  Way way;
};

// The forms: waves of 32 lanes, two warps in a wave of 64, the same with a check at each barrier,
// one warp in it.
std::vector<Processor> processors(StringRef mistake) {
  std::vector<Processor> all;
  for (const auto &[arch, form, name] :
       {std::tuple("gfx1100", WarpFormChoice::Auto, "gfx1100"),
        {"gfx942", WarpFormChoice::Packed, "gfx942 packed"},
        {"gfx942", WarpFormChoice::Checked, "gfx942 checked"},
        {"gfx942", WarpFormChoice::HalfFilled, "gfx942 half-filled"}})
    for (unsigned level : {0, 3}) {
      Way way;
      way.arch = arch;
      way.form = form;
      way.optLevel = level;
      all.push_back({name + std::string(" O") + std::to_string(level), unfused(way)});
    }
  const auto [before, after] = mistake.split('/');
  all.front().way.mistake = {before.str(), after.str()};
  return all;
}

using Results = std::vector<uint8_t>;

/// None: two warps of this kernel must not share a wave.
Expected<std::optional<Results>> run(const Processor &processor, const Kernel &kernel) {
  Way way = processor.way;
  if (kernel.nanBits)
    way.nan = settings::NanMode::Canonical;
  Expected<EmulatorResult> got = emulate(kernel, way);
  if (got)
    return std::move(got->results);
  const std::string problem = toString(got.takeError());
  if (isNotLegal(way, problem))
    return std::nullopt;
  return createStringError(problem);
}

bool differs(const Processor &processor, const Kernel &kernel) {
  Expected<Results> expected = interpret(kernel);
  if (!expected) {
    consumeError(expected.takeError());
    return false;
  }
  return isTrueElsewhere(
      [&] {
        Expected<std::optional<Results>> got = run(processor, kernel);
        if (!got) {
          consumeError(got.takeError());
          return false;
        }
        return *got && **got != *expected;
      },
      false);
}

/// The smallest kernel of which a processor and the interpreter still think differently.
void printReduced(const Processor &processor, Kernel kernel) {
  const unsigned before = sizeOf(kernel.body);
  kernel =
      reduce(std::move(kernel), [&](const Kernel &smaller) { return differs(processor, smaller); });
  outs() << kModuleHead << textOf(kernel)
         << formatv("// {0}: {1} statements of {2}\n", processor.name, sizeOf(kernel.body), before);
}

enum class Verdict { Equal, Different, Failed };

/// What was recorded, and the interpreter's results of the same kernel.
bool isAsRecorded(const Kernel &kernel, const Recorded &recorded, const Results &results) {
  const Columns columns = columnsOf(kernel, results);
  // Of what may be fused, the level that does not optimise has fused nothing.
  return columns == recorded.unoptimised || (!kernel.contract && columns == recorded.optimised);
}

Verdict judge(uint64_t seed, const Kernel &kernel, const Recorded &recorded,
              ArrayRef<Processor> all, const KnownDifferences &known) {
  const auto tell = [&](const Twine &what) {
    outs() << formatv("{0} {1}: {2}\n", seed, kernel.family, what.str());
    outs().flush();
  };
  Expected<Results> expected = interpret(kernel);
  if (!expected) {
    tell("the interpreter: " + toString(expected.takeError()));
    return Verdict::Failed;
  }
  std::vector<const Processor *> others;
  std::optional<Results> other; // what they agree on
  bool agree = true;
  size_t ran = 0;
  for (const Processor &processor : all) {
    Expected<std::optional<Results>> got = run(processor, kernel);
    if (!got) {
      tell(processor.name + ": " + toString(got.takeError()));
      return Verdict::Failed;
    }
    ran += got->has_value();
    if (!*got || **got == *expected)
      continue;
    agree &= !other || *other == **got;
    other = std::move(**got);
    others.push_back(&processor);
  }
  const bool hasRecording = !recorded.optimised.empty() && !recorded.unoptimised.empty();
  const bool isRecorded = !hasRecording || isAsRecorded(kernel, recorded, *expected);
  if (others.empty() && isRecorded)
    return Verdict::Equal;
  const StringRef arch = others.empty() ? "reference" : StringRef(others.front()->way.arch);
  if (known.has(seed, arch))
    return Verdict::Equal;
  if (others.empty()) {
    tell("the NVIDIA GPU alone gives something else: its compiler, or both of ours, are wrong");
    return Verdict::Different;
  }
  std::vector<std::string> names;
  for (const Processor *processor : others)
    names.push_back(processor->name);
  if (others.size() == ran && agree && !isRecorded && isAsRecorded(kernel, recorded, *other))
    tell("the interpreter is wrong: all others give something else, and the NVIDIA GPU does too");
  else
    tell(llvm::join(names, ", ") + ": wrong; the interpreter gives something else" +
         (hasRecording && isRecorded ? ", as the NVIDIA GPU does" : ""));
  printReduced(*others.front(), kernel);
  return Verdict::Different;
}

} // namespace

int join(const JoinOptions &options) {
  Expected<Recording> recording = readRecording(options.recording);
  Expected<KnownDifferences> known = KnownDifferences::read(options.known);
  if (!recording || !known) {
    errs() << "rubia-random: "
           << toString(joinErrors(recording ? Error::success() : recording.takeError(),
                                  known ? Error::success() : known.takeError()))
           << "\n";
    return 1;
  }
  const std::vector<Processor> all = processors(options.mistake);
  const uint64_t first = std::max(options.first, recording->first) + options.offset,
                 recorded = recording->first + recording->kernels.size(),
                 end = options.count ? std::min(first + options.count, recorded) : recorded;
  unsigned counts[3] = {};
  for (uint64_t seed = first; seed < end; seed += options.every) {
    const Kernel kernel = generate(seed);
    const Recorded &one = recording->kernels[seed - recording->first];
    if (uint32_t(digestOf(kernel)) != one.digest) {
      outs() << seed << ": recorded of another kernel: the generator has changed\n";
      ++counts[unsigned(Verdict::Failed)];
      continue;
    }
    ++counts[unsigned(judge(seed, kernel, one, all, *known))];
  }
  outs() << formatv("{0} kernels equal on all, {1} differ, {2} not run\n", counts[0], counts[1],
                    counts[2]);
  return counts[1] || counts[2];
}

} // namespace rubia::random_kernels
