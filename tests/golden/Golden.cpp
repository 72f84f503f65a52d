// SPDX-License-Identifier: Apache-2.0
// Golden results: records them on the GPU at hand, compares another device
// with them, and compares the reference evaluator with them.
#include "Cost.h"
#include "GoldenFile.h"
#include "Judge.h"
#include "KernelCommands.h"
#include "MatrixJudge.h"
#include "ReferenceRunner.h"
#include "Runner.h"
#include "Sweep.h"
#include "Variants.h"
#include "settings/Settings.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <malloc.h>
#include <map>
#include <set>

using namespace llvm;
using namespace rubia;
using namespace rubia::golden;

namespace rubia::settings::Id {
extern const Setting nan;
} // namespace rubia::settings::Id
namespace rubia::settings::NanMode {
extern const Word Any, Canonical;
} // namespace rubia::settings::NanMode

namespace {

int fail(Error error) {
  errs() << "rubia-golden: " << toString(std::move(error)) << "\n";
  return 1;
}

// Runs cases in groups that need the same dialect.
constexpr size_t kGroup = 64;
template <class Done>
void runAll(Runner &runner, ArrayRef<Case> cases, ArrayRef<const std::vector<uint64_t> *> inputs,
            Done done) {
  auto dialect = [](const Case &c) {
    return std::tuple(c.sm, c.smVariant, c.version.major, c.version.minor);
  };
  for (size_t start = 0; start < cases.size();) {
    size_t end = start + 1;
    while (end < cases.size() && end - start < kGroup &&
           dialect(cases[end]) == dialect(cases[start]))
      ++end;
    auto results = runner.run(cases.slice(start, end - start), inputs.slice(start, end - start));
    for (size_t i = start; i < end; ++i)
      done(i, results[i - start]);
    start = end;
  }
}

int record(const std::string &path) {
  auto runner = Runner::onDriver();
  if (!runner)
    return fail(runner.takeError());
  GoldenFile file;
  file.device = (*runner)->device();
  file.date = formatv("{0:%Y-%m-%d}", sys::TimePoint<>(std::chrono::system_clock::now())).str();
  std::vector<Case> cases = scalarCases();
  size_t all = cases.size();
  unsigned capability = (*runner)->computeCapability();
  llvm::erase_if(cases, [&](const Case &test) {
    return test.sm > capability || (test.smVariant && test.sm != capability);
  });
  outs() << formatv("{0} of {1} cases need another GPU\n", all - cases.size(), all);
  std::map<std::vector<uint64_t>, unsigned> inputIndex;
  std::vector<unsigned> indices;
  for (const Case &test : cases) {
    std::vector<uint64_t> inputs = inputsFor(test);
    auto [found, isNew] = inputIndex.try_emplace(inputs, file.inputs.size());
    if (isNew)
      file.inputs.push_back(std::move(inputs));
    indices.push_back(found->second);
  }
  std::vector<const std::vector<uint64_t> *> inputs;
  for (unsigned index : indices)
    inputs.push_back(&file.inputs[index]);
  runAll(**runner, cases, inputs, [&](size_t i, Runner::Result &result) {
    if (result.error.empty()) {
      file.cases.push_back({cases[i], indices[i], std::move(result.outputs)});
      return;
    }
    errs() << formatv("not run: {0} ({1})\n", cases[i].text, result.error);
  });
  outs() << formatv("{0} of {1} cases recorded on {2}\n", file.cases.size(), cases.size(),
                    file.device);
  if (Error error = write(file, path))
    return fail(std::move(error));
  return 0;
}

int writeModules(const std::string &folder) {
  std::map<std::string, std::vector<Case>> byDialect;
  for (Case &test : scalarCases()) {
    std::string name = formatv("sm_{0}{1}-{2}.{3}", test.sm, test.smVariant ? "a" : "",
                               unsigned(test.version.major), unsigned(test.version.minor));
    byDialect[name].push_back(std::move(test));
  }
  for (const auto &[name, cases] : byDialect) {
    std::error_code error;
    raw_fd_ostream file(folder + "/" + name + ".ptx", error);
    if (error)
      return fail(createStringError(error, "cannot write " + folder));
    file << moduleFor(cases);
  }
  return 0;
}

struct Tally {
  unsigned cases = 0, wrongCases = 0, refused = 0, tuples = 0, mismatches = 0;
  double worst = 0; // of approximate results, as a fraction of their bounds
};

void print(const MapVector<StringRef, Tally> &tallies) {
  for (const auto &[chapter, tally] : tallies)
    outs() << formatv("{0}: {1} cases, {2} not run, {3} tuples, {4} mismatches in {5} cases, worst "
                      "error {6:f3} of its bound\n",
                      chapter, tally.cases, tally.refused, tally.tuples, tally.mismatches,
                      tally.wrongCases, tally.worst);
}

std::string tupleText(const GoldenFile &file, const GoldenCase &golden, size_t tuple) {
  std::string text;
  size_t count = golden.test.sources.size();
  for (size_t i = 0; i < count; ++i)
    text += formatv("{0}{1:x}", i ? ", " : "", file.inputs[golden.inputs][tuple * count + i]);
  return text;
}

ArrayRef<uint64_t> sourcesOf(const std::vector<uint64_t> &inputs, const Case &test, size_t tuple) {
  return ArrayRef(inputs).slice(tuple * test.sources.size(), test.sources.size());
}

// The reference against what hardware gave: every N-th tuple of each case, of the next case others.
int check(const std::string &path, unsigned every, unsigned shown, const Regex &match) {
  auto file = read(path);
  if (!file)
    return fail(file.takeError());
  MapVector<StringRef, Tally> tallies;
  unsigned without = 0, selected = 0;
  bool allEqual = true;
  for (const GoldenCase &golden : file->cases) {
    const Case &test = golden.test;
    if (!match.match(test.mnemonic))
      continue;
    auto judge = Judge::create(test);
    if (!judge) {
      ++without;
      outs() << formatv("{0}\n", toString(judge.takeError()));
      continue;
    }
    Tally &tally = tallies[test.chapter];
    ++tally.cases;
    unsigned wrong = 0;
    size_t columns = test.destinations.size();
    for (size_t tuple = selected++ % every; tuple < kTupleCount; tuple += every) {
      auto sources = sourcesOf(file->inputs[golden.inputs], test, tuple);
      auto got = ArrayRef(golden.outputs).slice(tuple * columns, columns);
      std::vector<uint64_t> expected = judge->expected(sources);
      ++tally.tuples;
      if (judge->isRight(sources, got, expected, false))
        continue;
      ++tally.mismatches;
      if (wrong++ < shown)
        outs() << formatv("{0}: ({1}) gives {2:x}, the reference {3:x}\n", test.mnemonic,
                          tupleText(*file, golden, tuple), got[0], expected[0]);
    }
    tally.worst = std::max(tally.worst, judge->worst());
    tally.wrongCases += wrong != 0;
    allEqual &= wrong == 0;
  }
  print(tallies);
  outs() << formatv("{0} cases have no reference\n", without);
  return allEqual && !without ? 0 : 1;
}

struct Comparison {
  std::string path, arch; // no arch: the driver's device
  settings::Word nan = settings::NanMode::Any;
  std::string match = ".";
  unsigned every = 1, offset = 0, shown = 1;
  unsigned constants = 0;          // executions with constants, see withConstants()
  bool mixed = false;              // beside an instruction of the other denormal mode
  bool againstReference = false;   // the cases that the file lacks
  bool inexactReciprocals = false; // of divisors whose fraction is all ones
  std::string results;             // file to append to
};

// The cases that no hardware at hand executes, judged by the reference.
std::vector<GoldenCase> casesWithoutHardware(GoldenFile &file) {
  std::set<std::string> recorded;
  for (const GoldenCase &golden : file.cases)
    recorded.insert(golden.test.mnemonic + golden.test.text);
  std::vector<GoldenCase> cases;
  for (Case &test : scalarCases()) {
    if (!recorded.insert(test.mnemonic + test.text).second)
      continue;
    GoldenCase golden{std::move(test), unsigned(file.inputs.size()), {}};
    file.inputs.push_back(inputsFor(golden.test));
    auto judge = Judge::create(golden.test);
    if (!judge) {
      outs() << formatv("{0}\n", toString(judge.takeError()));
      continue;
    }
    for (size_t tuple = 0; tuple < kTupleCount; ++tuple)
      append_range(golden.outputs,
                   judge->expected(sourcesOf(file.inputs.back(), golden.test, tuple)));
    cases.push_back(std::move(golden));
  }
  return cases;
}

// LLVM's division takes reciprocals of numbers whose fraction is all ones to be exact: a unit off,
// where they are not (docs/numerics.md).
bool isQuotientByAllOnes(const Case &test, ArrayRef<uint64_t> sources, uint64_t got,
                         uint64_t expected) {
  const StringRef name = test.mnemonic;
  if (!name.starts_with("div.rn") && !name.starts_with("rcp.rn"))
    return false;
  const uint64_t fraction = maskTrailingOnes<uint64_t>(name.ends_with("f64") ? 52 : 23);
  return (sources.back() & fraction) == fraction && (got == expected + 1 || expected == got + 1);
}

// A device against what hardware gave, or against the reference.
int compare(const Comparison &options) {
  auto file = read(options.path);
  if (!file)
    return fail(file.takeError());
  bool anyNan = options.nan == settings::NanMode::Any;
  Expected<std::unique_ptr<Runner>> runner = options.arch.empty() ? Runner::onDriver()
                                             : options.arch == "reference"
                                                 ? Runner::onReference()
                                                 : Runner::onEmulator(options.arch, options.nan);
  if (!runner)
    return fail(runner.takeError());
  std::vector<GoldenCase> all =
      options.againstReference ? casesWithoutHardware(*file) : std::move(file->cases);
  Regex match(options.match);
  erase_if(all, [&](const GoldenCase &golden) { return !match.match(golden.test.mnemonic); });
  std::vector<Case> cases;
  std::vector<std::vector<Constants>> executions;
  std::vector<const std::vector<uint64_t> *> inputs;
  std::vector<const GoldenCase *> goldens;
  for (size_t i = options.offset; i < all.size(); i += options.every) {
    goldens.push_back(&all[i]);
    inputs.push_back(&file->inputs[all[i].inputs]);
    Variant variant = options.constants
                          ? withConstants(all[i].test, *inputs.back(), options.constants, i)
                          : asRecorded(all[i].test);
    if (options.mixed)
      besideOtherDenormalMode(variant.test);
    cases.push_back(std::move(variant.test));
    executions.push_back(std::move(variant.executions));
  }
  std::error_code error;
  std::unique_ptr<raw_fd_ostream> results;
  if (!options.results.empty()) {
    results = std::make_unique<raw_fd_ostream>(options.results, error, sys::fs::OF_Append);
    if (error)
      return fail(createStringError(error, "cannot write " + options.results));
  }
  MapVector<StringRef, Tally> tallies;
  unsigned equal = 0, excused = 0;
  runAll(**runner, cases, inputs, [&](size_t i, Runner::Result &result) {
    const GoldenCase &golden = *goldens[i];
    const Case &test = golden.test;
    Tally &tally = tallies[test.chapter];
    ++tally.cases;
    auto note = [&](const char *verdict) {
      if (results)
        *results << test.mnemonic << '\t' << verdict << '\n';
    };
    if (!result.error.empty()) {
      ++tally.refused;
      note("not run");
      outs() << formatv("not run: {0} ({1})\n", test.mnemonic, result.error);
      return;
    }
    auto judge = Judge::create(test);
    if (!judge) {
      ++tally.wrongCases;
      note("no reference");
      outs() << formatv("{0}\n", toString(judge.takeError()));
      return;
    }
    unsigned wrong = 0;
    size_t columns = test.destinations.size();
    size_t count = executions[i].size();
    for (size_t tuple = 0; tuple < kTupleCount; ++tuple) {
      auto sources = sourcesOf(*inputs[i], test, tuple);
      auto expected = ArrayRef(golden.outputs).slice(tuple * columns, columns);
      for (auto [n, constants] : enumerate(executions[i])) {
        if (!hasSources(constants, sources))
          continue;
        auto got = ArrayRef(result.outputs).slice((tuple * count + n) * columns, columns);
        ++tally.tuples;
        if (judge->isRight(sources, got, expected, anyNan))
          continue;
        if (options.inexactReciprocals &&
            isQuotientByAllOnes(test, sources, got.front(), expected.front())) {
          ++excused;
          continue;
        }
        ++tally.mismatches;
        if (wrong++ < options.shown) {
          size_t column =
              std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin();
          outs() << formatv("{0}: ({1}) {2} gives {3:x}, expected {4:x}\n", test.mnemonic,
                            tupleText(*file, golden, tuple), textOf(constants), got[column],
                            expected[column]);
        }
      }
    }
    tally.worst = std::max(tally.worst, judge->worst());
    tally.wrongCases += wrong != 0;
    equal += wrong == 0;
    note(wrong ? "differs" : "equal");
  });
  print(tallies);
  if (excused)
    outs() << excused << " quotients by divisors of ones a unit off\n";
  outs() << formatv("{0} of {1} cases right on {2}\n", equal, cases.size(), (*runner)->device());
  return equal == cases.size() ? 0 : 1;
}

// Approximate f32 instructions at every stride-th operand.
int sweepAll(const Comparison &options, unsigned stride) {
  auto runner = options.arch.empty()
                    ? Runner::onDriver()
                    : Runner::onEmulator(options.arch, settings::NanMode::Canonical);
  if (!runner)
    return fail(runner.takeError());
  bool allRight = true;
  outs() << "on " << (*runner)->device() << ":\n";
  Regex match(options.match);
  for (const std::string &mnemonic : sweptInstructions()) {
    if (!match.match(mnemonic))
      continue;
    auto result = sweep(**runner, mnemonic, stride);
    if (!result)
      return fail(result.takeError());
    outs() << formatv("{0}: {1} operands, {2} wrong", mnemonic, result->inputs, result->wrong);
    if (result->wrong)
      outs() << formatv(", the first at 0x{0:x-8}", result->firstWrong);
    outs() << "\n";
    for (const SweptRegion &region : result->regions)
      outs() << formatv(
          "  {0}{1}worst error {2:f3} of its bound (at 0x{3:x-8}), {4:f2} ulp, {5:e2}\n",
          region.name, region.name.empty() ? "" : ": ", region.worstFraction, region.worstInput,
          region.worstUlps, region.worstAbsolute);
    outs().flush();
    allRight &= result->wrong == 0;
  }
  return allRight ? 0 : 1;
}

// The counts of the instructions that a file lists, against those that the file has.
int cost(const std::string &path, bool update) {
  static const std::pair<const char *, settings::Word> kColumns[] = {
      {"gfx1100", settings::NanMode::Any},
      {"gfx1100", settings::NanMode::Canonical},
      {"gfx942", settings::NanMode::Any},
      {"gfx942", settings::NanMode::Canonical}};
  auto file = MemoryBuffer::getFile(path);
  if (!file)
    return fail(createStringError(file.getError(), "cannot read " + path));
  std::map<std::string, Case> cases;
  for (Case &test : scalarCases())
    cases.try_emplace(test.mnemonic, std::move(test));
  std::string text;
  unsigned different = 0;
  for (StringRef line : split((*file)->getBuffer().rtrim('\n'), '\n')) {
    if (line.starts_with("#")) {
      text += line.str() + '\n';
      continue;
    }
    std::string mnemonic = line.split('\t').first.str();
    auto found = cases.find(mnemonic);
    if (found == cases.end())
      return fail(createStringError("no case of " + mnemonic));
    std::string row = mnemonic;
    for (auto [arch, nan] : kColumns) {
      auto count = instructionCount(found->second, arch, nan);
      if (!count)
        return fail(count.takeError());
      row += '\t' + std::to_string(*count);
    }
    if (row != line) {
      ++different;
      if (!update)
        outs() << "now " << row << "\nwas " << line << '\n';
    }
    text += row + '\n';
  }
  outs() << different << " rows differ\n";
  if (!update)
    return different != 0;
  std::error_code error;
  raw_fd_ostream out(path, error);
  if (error)
    return fail(createStringError(error, "cannot write " + path));
  out << text;
  return 0;
}

} // namespace

int main(int argc, char **argv) {
  mallopt(M_MMAP_THRESHOLD, 32 << 20); // as in GoogleTestMain.cpp
  mallopt(M_TRIM_THRESHOLD, 512 << 20);
  CLI::App app{"Golden results of scalar instructions and of kernels"};
  app.require_subcommand(1);
  std::string path;
  auto *list = app.add_subcommand("list", "print the cases");
  auto *writing =
      app.add_subcommand("modules", "write the PTX of the cases, a file for each dialect");
  writing->add_option("FOLDER", path)->required()->check(CLI::ExistingDirectory);
  auto *recording = app.add_subcommand("record", "run all cases on the GPU at hand");
  recording->add_option("FILE", path, "where to write")->required();
  auto *checking = app.add_subcommand("check", "compare the reference evaluator with a recording");
  auto *comparing = app.add_subcommand("compare", "compare a device with a recording");
  Comparison options;
  for (auto *command : {checking, comparing}) {
    command->add_option("FILE", options.path)->required()->check(CLI::ExistingFile);
    command->add_option("--show", options.shown, "mismatches to print of each case");
    command->add_option("--match", options.match, "only instructions that match this expression");
    command->add_option("--every", options.every, "only every N-th case; `check`: tuple of each")
        ->check(CLI::PositiveNumber);
  }
  comparing->add_option("--arch", options.arch,
                        "compile and emulate for this processor, or `reference`: execute by "
                        "reference/; else what libcuda.so.1 gives");
  comparing
      ->add_option_function<std::string>(
          "--nan",
          [&](const std::string &text) {
            options.nan = settings::Settings().set(settings::Id::nan, text).word(settings::Id::nan);
          },
          "NaN bits: any, canonical")
      ->check(CLI::IsMember({"any", "canonical"}));
  comparing->add_option("--offset", options.offset, "the first of them");
  comparing
      ->add_option("--constants", options.constants,
                   "execute each case N times with one operand constant, N times with all")
      ->check(CLI::Range(1, 16));
  comparing->add_flag("--mixed", options.mixed,
                      "beside an f32 instruction of the other denormal mode");
  comparing->add_flag("--inexact-reciprocals", options.inexactReciprocals,
                      "quotients by divisors whose fraction is all ones may be a unit off");
  comparing->add_flag("--reference", options.againstReference,
                      "the cases that the file lacks, against the reference evaluator");
  comparing->add_option("--results", options.results, "append a line for each case to this file");
  bool update = false;
  auto *costing = app.add_subcommand(
      "cost", "compare the numbers of machine instructions with those of a file");
  costing->add_option("FILE", path)->required()->check(CLI::ExistingFile);
  costing->add_flag("--update", update, "write the file anew");
  unsigned stride = 1;
  auto *sweeping = app.add_subcommand(
      "sweep", "approximate f32 instructions at all operands, against their documented bounds");
  sweeping->add_option("--arch", options.arch, "emulate this processor");
  sweeping->add_option("--match", options.match, "only instructions that match this expression");
  sweeping->add_option("--stride", stride, "every N-th operand only")->check(CLI::PositiveNumber);
  int kernelStatus = -1;
  addKernelCommands(app, kernelStatus, makeMatrixJudge(), runKernelsOnReference);
  CLI11_PARSE(app, argc, argv);
  if (kernelStatus >= 0)
    return kernelStatus;
  if (std::string error; !Regex(options.match).isValid(error)) {
    errs() << "rubia-golden: --match: " << error << "\n";
    return 2;
  }
  if (*list) {
    for (const Case &test : scalarCases())
      outs() << formatv("{0} | {1}\n", test.mnemonic, test.text);
    return 0;
  }
  if (*writing)
    return writeModules(path);
  if (*recording)
    return record(path);
  if (*costing)
    return cost(path, update);
  if (*sweeping)
    return sweepAll(options, stride);
  return *checking ? check(options.path, options.every, options.shown, Regex(options.match))
                   : compare(options);
}
