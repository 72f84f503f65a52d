// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Reduce.h"
#include "diff/Cut.h"
#include "tools/OutputFile.h"
#include "tools/diff/StandAlone.h"
#include "tools/diff/TemporaryFolder.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, cacheDir, contract, emulatorCheck, nan;
} // namespace rubia::settings::Id

namespace rubia::tools {
namespace {

using capsule::Launch;

class Reducer {
public:
  Reducer(const Launch &launch, const ReplayTarget &target, StandAloneRunner runner,
          StandAlone whole)
      : launch(launch), target(target), runner(std::move(runner)), best(std::move(whole)) {
    this->target.settings.set(settings::Id::contract, "never");
    this->target.settings.set(settings::Id::nan, "canonical");
    this->target.settings.set(settings::Id::cacheDir, cache.path.str());
  }
  Expected<Reduced> run();

private:
  /// Whether the target leaves other bytes, and nothing is undefined.
  Expected<bool> differs(const StandAlone &candidate);
  /// Takes it in the place of the best one.
  Expected<bool> take(StandAlone candidate);
  void limitRuns();
  Error cutGrid();
  Error tidy();
  Error cutPtx();
  Error cutMemory();
  Error write();
  bool isTimeUp() const { return runner.time() > kMost; }

  static constexpr std::chrono::minutes kMost{10}; // of processor time
  const Launch &launch;
  ReplayTarget target;
  const TemporaryFolder cache; // nobody wants these kernels later
  StandAloneRunner runner;
  StandAlone best;
  std::chrono::microseconds slowest{0}; // of the runs of an attempt
  Reduced reduced;
};

Expected<bool> Reducer::differs(const StandAlone &candidate) {
  ++reduced.attempts;
  if (Error error = runner.write(candidate))
    return std::move(error);
  slowest = std::chrono::seconds(0);
  const auto run = [&](StringRef suffix, bool isReference, StringRef checks = "") {
    settings::Settings settings = target.settings;
    if (!checks.empty())
      settings.set(settings::Id::emulatorCheck, checks);
    Expected<int> status = runner.run(candidate, "kernel.ptx", suffix, settings, isReference);
    slowest = std::max(slowest, runner.lastTime());
    return status;
  };
  for (bool isReference : {true, false}) {
    Expected<int> status = run(isReference ? "expected" : "got", isReference);
    if (!status || *status)
      return status ? Expected<bool>(false) : status.takeError();
  }
  Expected<bool> areEqual = runner.areEqual(candidate, "expected", "got");
  if (!areEqual)
    return areEqual.takeError();
  if (*areEqual || !hasOrders(target))
    return !*areEqual;
  Expected<int> status = run("got", false, "races,uninitialised");
  return status ? Expected<bool>(!*status) : status.takeError();
}

Expected<bool> Reducer::take(StandAlone candidate) {
  if (isTimeUp())
    return false;
  Expected<bool> isGood = differs(candidate);
  if (isGood && *isGood) {
    best = std::move(candidate);
    limitRuns();
  }
  return isGood;
}

// What is cut may be the end of a loop.
void Reducer::limitRuns() {
  runner.limitRuns(std::chrono::ceil<std::chrono::seconds>(slowest * 4) + std::chrono::seconds(2));
}

Error Reducer::cutGrid() {
  for (auto sizes : {&StandAlone::grid, &StandAlone::block})
    for (unsigned i = 0; i < 3; ++i)
      for (uint32_t size = 1; size < (best.*sizes)[i]; size *= 2) {
        StandAlone smaller = best;
        (smaller.*sizes)[i] = size;
        Expected<bool> isTaken = take(std::move(smaller));
        if (!isTaken)
          return isTaken.takeError();
        if (*isTaken)
          break;
      }
  return Error::success();
}

Error Reducer::tidy() {
  StandAlone tidy = best;
  tidy.ptx = capsule::tidied(best.ptx, launch.kernel);
  Expected<bool> isGood = differs(tidy); // also when there is no time for more
  if (isGood && *isGood)
    best = std::move(tidy);
  return isGood.takeError();
}

Error Reducer::cutPtx() {
  Expected<capsule::CutPtx> cut = capsule::CutPtx::open(best.ptx, launch.kernel);
  if (!cut)
    return cut.takeError();
  const size_t count = cut->size();
  BitVector gone = cut->closed(cut->inexact());
  const auto attempt = [&](const BitVector &next) -> Expected<bool> {
    StandAlone smaller = best;
    if (Error error = cut->without(next).moveInto(smaller.ptx))
      return std::move(error);
    Expected<bool> isTaken = take(std::move(smaller));
    if (isTaken && *isTaken)
      gone = next;
    return isTaken;
  };
  if (cut->inexact().any()) {
    Expected<bool> isExact = attempt(gone);
    if (!isExact)
      return isExact.takeError();
    if (!*isExact)
      return createStringError(
          "the difference needs its inexact instructions, whose results may be "
          "others");
  }
  for (size_t size = std::max<size_t>(count / 2, 1);; size = std::max<size_t>(size / 2, 1)) {
    bool isChanged = false;
    for (size_t end = count; end > 0;) { // what is read comes after what computes it
      const size_t begin = end > size ? end - size : 0;
      BitVector next = gone;
      next.set(unsigned(begin), unsigned(end));
      end = begin;
      if (next == gone)
        continue;
      Expected<bool> isTaken = attempt(cut->closed(next));
      if (!isTaken)
        return isTaken.takeError();
      isChanged |= *isTaken;
    }
    if (isTimeUp() || (size == 1 && !isChanged))
      break;
  }
  return tidy();
}

Error Reducer::cutMemory() {
  for (size_t i = 0; i < best.parameters.size(); ++i)
    for (size_t size = 4; size < best.parameters[i].bytes.size(); size *= 4) {
      StandAlone smaller = best;
      smaller.parameters[i].bytes.resize(size);
      Expected<bool> isTaken = take(std::move(smaller));
      if (!isTaken)
        return isTaken.takeError();
      if (*isTaken)
        break;
    }
  return Error::success();
}

/// For a shell.
std::string quoted(StringRef word) {
  if (!word.empty() &&
      all_of(word, [](char c) { return isAlnum(c) || StringRef("-_./,:=").contains(c); }))
    return word.str();
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

Error Reducer::write() {
  // The files are those of the last attempt.
  Expected<bool> isGood = differs(best);
  if (!isGood)
    return isGood.takeError();
  if (!*isGood)
    return createStringError("it does not always differ");
  std::vector<std::string> words = runner.wordsOf(best, "kernel.ptx");
  const std::string archs(target.settings.text(settings::Id::arch));
  if (!archs.empty())
    words.insert(words.end(), {"--arch", archs});
  for (const auto &[key, value] : target.settings.code().keyFields())
    words.insert(words.end(), {"--" + key.str(), value.str()});
  words.insert(words.end(), {"--rtol", "0", "--atol", "0"});
  for (auto [i, parameter] : enumerate(best.parameters)) {
    if (!parameter.word.empty())
      continue;
    words.insert(words.end(),
                 {"--compare", std::to_string(i + 1) + "=" + std::to_string(i + 1) + ".expected"});
    reduced.bytes += parameter.bytes.size();
    (void)sys::fs::remove(runner.fileOf(i, "got"));
  }
  for (auto [i, parameter] : enumerate(best.parameters))
    words.push_back(parameter.word.empty() ? "buf:" + std::to_string(i + 1) + ".in"
                                           : parameter.word);
  std::string script =
      "#!/bin/sh\n# Fails as long as the target leaves other bytes than PTX says.\n"
      "cd \"$(dirname \"$0\")\" || exit 2\nexec";
  for (const std::string &word : words)
    script += " " + quoted(word);
  const std::string path = runner.path() + "/run.sh";
  if (Error error = writeFile(path, StringRef(script + "\n")))
    return error;
  if (std::error_code problem = sys::fs::setPermissions(
          path, sys::fs::all_read | sys::fs::owner_write | sys::fs::all_exe))
    return createStringError(path + ": " + problem.message());
  reduced.lines = size_t(StringRef(best.ptx).count('\n'));
  reduced.ctas = uint64_t(best.grid[0]) * best.grid[1] * best.grid[2];
  return Error::success();
}

Expected<Reduced> Reducer::run() {
  if (cache.problem)
    return createStringError("no temporary folder: " + cache.problem.message());
  Expected<bool> isGood = differs(best);
  if (!isGood)
    return isGood.takeError();
  if (!*isGood)
    return createStringError(
        "by itself, without fused operations and with NVIDIA's bits of NaNs, "
        "the target leaves what the reference does, or something is undefined");
  limitRuns();
  for (auto step : {&Reducer::cutGrid, &Reducer::tidy, &Reducer::cutPtx, &Reducer::cutGrid,
                    &Reducer::cutMemory, &Reducer::write})
    if (Error error = (this->*step)())
      return std::move(error);
  return reduced;
}

} // namespace

Expected<Reduced> reduce(const capsule::Capsule &capsule, const Launch &launch,
                         const ReplayWork &work, const ReplayTarget &target,
                         const std::string &folder) {
  Expected<StandAloneRunner> runner = StandAloneRunner::open(folder, launch);
  if (!runner)
    return runner.takeError();
  Expected<StandAlone> whole = StandAlone::of(capsule, launch, work);
  if (!whole)
    return whole.takeError();
  Reducer reducer(launch, target, std::move(*runner), std::move(*whole));
  return reducer.run();
}

} // namespace rubia::tools
