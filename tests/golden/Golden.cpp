// Golden results of scalar instructions: records them on the GPU at hand, compares another device
// with them, and compares the reference evaluator with them.
#include "GoldenFile.h"
#include "Runner.h"
#include "diff/Reference.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;
using namespace rubia;
using namespace rubia::golden;

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
  auto runner = Runner::create();
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
  unsigned cases = 0, wrongCases = 0, tuples = 0, mismatches = 0;
  double worst = 0; // of approximate results, as a fraction of their bounds
};

std::string tupleText(const GoldenFile &file, const GoldenCase &golden, size_t tuple) {
  std::string text;
  size_t count = golden.test.sources.size();
  for (size_t i = 0; i < count; ++i)
    text += formatv("{0}{1:x}", i ? ", " : "", file.inputs[golden.inputs][tuple * count + i]);
  return text;
}

uint64_t maskOf(const Operand &operand) {
  return operand.bits == 64 ? ~uint64_t(0) : (uint64_t(1) << operand.bits) - 1;
}

// The reference against what hardware gave.
int check(const std::string &path, unsigned shown) {
  auto file = read(path);
  if (!file)
    return fail(file.takeError());
  MapVector<StringRef, Tally> tallies;
  unsigned without = 0;
  bool allEqual = true;
  for (const GoldenCase &golden : file->cases) {
    const Case &test = golden.test;
    auto reference = diff::referenceFor(test.mnemonic, test.selectors);
    if (!reference) {
      ++without;
      outs() << formatv("{0}\n", toString(reference.takeError()));
      continue;
    }
    Tally &tally = tallies[test.chapter];
    ++tally.cases;
    unsigned wrong = 0;
    for (size_t tuple = 0; tuple < kTupleCount; ++tuple) {
      diff::ReferenceInputs inputs;
      for (size_t i = 0, at = 0; i < test.sources.size(); ++i, ++at) {
        if (test.immediate && i == test.immediateIndex)
          inputs.source[at++] = uint64_t(*test.immediate);
        inputs.source[at] = file->inputs[golden.inputs][tuple * test.sources.size() + i] ^
                            uint64_t(test.sources[i].negated);
      }
      if (test.immediate && test.immediateIndex == test.sources.size())
        inputs.source[test.immediateIndex] = uint64_t(*test.immediate);
      inputs.carry = test.sources.empty() ? false : inputs.source[test.sources.size() - 1];
      diff::ReferenceOutput expected = (*reference)(inputs);
      const uint64_t *got = &golden.outputs[tuple * test.destinations.size()];
      bool equal = true;
      if (expected.bounds[0] || expected.bounds[1]) {
        for (unsigned half = 0; half < 2; ++half)
          if (expected.bounds[half]) {
            double fraction = diff::errorFraction(*expected.bounds[half], got[0] >> (16 * half));
            tally.worst = std::max(tally.worst, fraction);
            equal &= fraction <= 1;
          }
      } else
        equal = (expected.bits & maskOf(test.destinations[0])) == got[0];
      if (test.destinations.size() > 1)
        equal &= (expected.second & maskOf(test.destinations[1])) == got[1];
      ++tally.tuples;
      if (equal)
        continue;
      ++tally.mismatches;
      if (wrong++ < shown)
        outs() << formatv("{0}: ({1}) gives {2:x}, the reference {3:x}\n", test.mnemonic,
                          tupleText(*file, golden, tuple), got[0], expected.bits);
    }
    tally.wrongCases += wrong != 0;
    allEqual &= wrong == 0;
  }
  for (const auto &[chapter, tally] : tallies)
    outs() << formatv("{0}: {1} cases, {2} tuples, {3} mismatches in {4} cases, worst error {5:f3} "
                      "of its bound\n",
                      chapter.str(), tally.cases, tally.tuples, tally.mismatches, tally.wrongCases,
                      tally.worst);
  outs() << formatv("{0} cases have no reference\n", without);
  return allEqual && !without ? 0 : 1;
}

// Another device against what hardware gave.
int compare(const std::string &path, unsigned shown, unsigned step) {
  auto file = read(path);
  if (!file)
    return fail(file.takeError());
  auto runner = Runner::create();
  if (!runner)
    return fail(runner.takeError());
  std::vector<Case> cases;
  std::vector<const std::vector<uint64_t> *> inputs;
  std::vector<const GoldenCase *> goldens;
  for (size_t i = 0; i < file->cases.size(); i += step) {
    goldens.push_back(&file->cases[i]);
    cases.push_back(file->cases[i].test);
    inputs.push_back(&file->inputs[file->cases[i].inputs]);
  }
  unsigned equal = 0, refused = 0;
  runAll(**runner, cases, inputs, [&](size_t i, Runner::Result &result) {
    const GoldenCase &golden = *goldens[i];
    if (!result.error.empty()) {
      ++refused;
      outs() << formatv("not run: {0} ({1})\n", cases[i].mnemonic, result.error);
      return;
    }
    unsigned wrong = 0;
    size_t columns = cases[i].destinations.size();
    for (size_t tuple = 0; tuple < kTupleCount; ++tuple) {
      bool same =
          std::equal(&golden.outputs[tuple * columns], &golden.outputs[tuple * columns] + columns,
                     &result.outputs[tuple * columns]);
      if (!same && wrong++ < shown)
        outs() << formatv("{0}: ({1}) gives {2:x}, hardware {3:x}\n", cases[i].mnemonic,
                          tupleText(*file, golden, tuple), result.outputs[tuple * columns],
                          golden.outputs[tuple * columns]);
    }
    equal += wrong == 0;
  });
  outs() << formatv("{0} of {1} cases equal, {2} not run, on {3}\n", equal, cases.size(), refused,
                    (*runner)->device());
  return equal == cases.size() ? 0 : 1;
}

} // namespace

int main(int argc, char **argv) {
  CLI::App app{"Golden results of scalar instructions"};
  app.require_subcommand(1);
  std::string path;
  unsigned shown = 1, step = 1;
  auto *list = app.add_subcommand("list", "print the cases");
  auto *writing =
      app.add_subcommand("modules", "write the PTX of the cases, a file for each dialect");
  writing->add_option("FOLDER", path)->required()->check(CLI::ExistingDirectory);
  auto *recording = app.add_subcommand("record", "run all cases on the GPU at hand");
  recording->add_option("FILE", path, "where to write")->required();
  auto *checking = app.add_subcommand("check", "compare the reference evaluator with a recording");
  checking->add_option("FILE", path)->required()->check(CLI::ExistingFile);
  auto *comparing = app.add_subcommand("compare", "compare the device at hand with a recording");
  comparing->add_option("FILE", path)->required()->check(CLI::ExistingFile);
  comparing->add_option("--every", step, "only every N-th case")->check(CLI::PositiveNumber);
  for (auto *command : {checking, comparing})
    command->add_option("--show", shown, "mismatches to print of each case");
  CLI11_PARSE(app, argc, argv);
  if (*list) {
    for (const Case &test : scalarCases())
      outs() << formatv("{0} | {1}\n", test.mnemonic, test.text);
    return 0;
  }
  if (*writing)
    return writeModules(path);
  if (*recording)
    return record(path);
  return *checking ? check(path, shown) : compare(path, shown, step);
}
