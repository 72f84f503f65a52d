// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/Reduce.h"
#include "diff/Cut.h"
#include "diff/Images.h"
#include "tools/OutputFile.h"
#include "tools/Programs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <chrono>

using namespace llvm;

namespace rubia::tools {
namespace {

using capsule::Launch;

/// What `rubia launch` runs.
struct Candidate {
  std::string ptx;
  uint32_t grid[3], block[3];
  struct Parameter {
    std::string word;           // "bytes:01000000"; empty: a buffer
    std::vector<uint8_t> bytes; // of a buffer
  };
  std::vector<Parameter> parameters;
};

class Reducer {
public:
  Reducer(const capsule::Capsule &capsule, const Launch &launch, const ReplayWork &work,
          const ReplayTarget &target, std::string folder)
      : capsule(capsule), launch(launch), work(work), target(target), folder(std::move(folder)) {
    this->target.settings.set(settings::Id::contract, "never");
    this->target.settings.set(settings::Id::nan, "canonical");
  }
  Error open();
  Expected<Reduced> run();

private:
  Error takeParameters();
  std::vector<std::string> wordsOf(const Candidate &candidate, bool isScript) const;
  /// The status; 124: it took too long. Buffers are in N.`suffix` then.
  Expected<int> execute(const Candidate &candidate, StringRef suffix, bool isReference,
                        StringRef check = "");
  /// Whether the target leaves other bytes, and nothing is undefined.
  Expected<bool> differs(const Candidate &candidate);
  /// Takes it in the place of the best one.
  Expected<bool> take(Candidate candidate);
  Error cutGrid();
  Error cutPtx(bool takesZeros);
  Error cutAllOfPtx();
  Error cutMemory();
  Error write();
  std::string fileOf(size_t parameter, StringRef suffix) const {
    return (folder + "/" + Twine(parameter + 1) + "." + suffix).str();
  }
  bool isTimeUp() const { return std::chrono::steady_clock::now() > end; }

  const capsule::Capsule &capsule;
  const Launch &launch;
  const ReplayWork &work;
  ReplayTarget target;
  std::string folder, program;
  Candidate best;
  Reduced reduced;
  std::chrono::steady_clock::time_point end;
};

Error Reducer::takeParameters() {
  if (!launch.textures.empty() || !launch.arrays.empty() || launch.isCooperative ||
      !launch.attributes.empty())
    return createStringError("it has textures, or is launched with attributes");
  std::vector<size_t> taken;
  for (const Launch::Parameter &parameter : launch.layout) {
    const ArrayRef<uint8_t> bytes =
        ArrayRef(launch.parameters).slice(parameter.offset, parameter.bytes);
    Candidate::Parameter &one = best.parameters.emplace_back();
    for (size_t at = 0; at + 8 <= bytes.size(); at += 8) {
      const uint64_t value = support::endian::read64le(bytes.data() + at);
      const auto region = find_if(launch.memory, [&](const capsule::Region &candidate) {
        return value - candidate.address < candidate.bytes;
      });
      if (region == launch.memory.end())
        continue;
      const size_t index = size_t(region - launch.memory.begin());
      if (bytes.size() != 8 || is_contained(taken, index))
        return createStringError("a structure has pointers, or two parameters point into one "
                                 "allocation");
      taken.push_back(index);
      Expected<std::vector<uint8_t>> contents = capsule.contents(*region, region->before);
      if (!contents)
        return contents.takeError();
      one.bytes.assign(contents->begin() + ptrdiff_t(value - region->address), contents->end());
    }
    if (one.bytes.empty())
      one.word = "bytes:" + toHex(bytes, true);
  }
  return Error::success();
}

Error Reducer::open() {
  if (std::error_code problem = sys::fs::create_directories(folder))
    return createStringError(folder + ": " + problem.message());
  SmallString<256> path;
  if (std::error_code problem = sys::fs::real_path("/proc/self/exe", path))
    return createStringError("/proc/self/exe: " + problem.message());
  program = path.str().str();
  if (std::error_code problem = sys::fs::real_path(folder, path))
    return createStringError(folder + ": " + problem.message());
  folder = path.str().str();
  if (StringRef(folder).contains(':'))
    return createStringError("the name of the folder may not have a ':'");
  if (work.ptx.empty()) {
    Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
    if (!image)
      return image.takeError();
    best.ptx = std::move(image->ptx);
  } else {
    auto file = input::readFile(work.ptx, UINT64_MAX);
    if (!file)
      return file.takeError();
    best.ptx = (*file)->getBuffer().str();
  }
  std::copy_n(launch.grid, 3, best.grid);
  std::copy_n(launch.block, 3, best.block);
  return takeParameters();
}

std::vector<std::string> Reducer::wordsOf(const Candidate &candidate, bool isScript) const {
  const auto size = [](const uint32_t (&of)[3]) {
    return (Twine(of[0]) + "," + Twine(of[1]) + "," + Twine(of[2])).str();
  };
  std::vector<std::string> words = {"rubia",
                                    "launch",
                                    isScript ? "kernel.ptx" : folder + "/kernel.ptx",
                                    "--entry",
                                    launch.kernel,
                                    "--grid",
                                    size(candidate.grid),
                                    "--block",
                                    size(candidate.block),
                                    "--shared",
                                    std::to_string(launch.sharedBytes)};
  return words;
}

Expected<int> Reducer::execute(const Candidate &candidate, StringRef suffix, bool isReference,
                               StringRef check) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  std::vector<std::string> words = wordsOf(candidate, false);
  words.push_back("-q");
  if (isReference)
    words.push_back("--reference");
  for (auto [i, parameter] : enumerate(candidate.parameters))
    words.push_back(parameter.word.empty() ? "buf:" + fileOf(i, "in") + ":" + fileOf(i, suffix)
                                           : parameter.word);
  settings::Settings settings = target.settings;
  if (!check.empty())
    settings.set(settings::Id::emulatorCheck, check);
  const std::vector<std::string> variables = environmentOf(settings, *libraries);
  const std::vector<StringRef> arguments(words.begin(), words.end()),
      environment(variables.begin(), variables.end());
  const std::optional<StringRef> nowhere[] = {StringRef(""), StringRef(""), StringRef("")};
  constexpr unsigned kSeconds = 60;
  std::string problem;
  constexpr int kTooLong = -2;
  const int status = sys::ExecuteAndWait(program, arguments, ArrayRef(environment), nowhere,
                                         kSeconds, 0, &problem);
  if (status == -1)
    return createStringError("rubia launch: " + problem);
  return status == kTooLong ? 124 : status;
}

Expected<bool> Reducer::differs(const Candidate &candidate) {
  ++reduced.attempts;
  if (Error error = writeFile(folder + "/kernel.ptx", StringRef(candidate.ptx)))
    return std::move(error);
  for (auto [i, parameter] : enumerate(candidate.parameters))
    if (parameter.word.empty())
      if (Error error = writeFile(fileOf(i, "in"), toStringRef(ArrayRef(parameter.bytes))))
        return std::move(error);
  Expected<int> status = execute(candidate, "expected", true);
  if (!status || *status)
    return status ? Expected<bool>(false) : status.takeError();
  status = execute(candidate, "got", false);
  if (!status || *status)
    return status ? Expected<bool>(false) : status.takeError();
  bool isOther = false;
  for (auto [i, parameter] : enumerate(candidate.parameters)) {
    if (!parameter.word.empty())
      continue;
    auto expected = input::readFile(fileOf(i, "expected"), UINT64_MAX),
         got = input::readFile(fileOf(i, "got"), UINT64_MAX);
    if (!expected || !got)
      return joinErrors(expected ? Error::success() : expected.takeError(),
                        got ? Error::success() : got.takeError());
    isOther |= (*expected)->getBuffer() != (*got)->getBuffer();
  }
  if (!isOther || !hasOrders(target))
    return isOther;
  for (StringRef check : {"races", "uninitialised"}) {
    status = execute(candidate, "got", false, check);
    if (!status || *status)
      return status ? Expected<bool>(false) : status.takeError();
  }
  return true;
}

Expected<bool> Reducer::take(Candidate candidate) {
  if (isTimeUp())
    return false;
  Expected<bool> isGood = differs(candidate);
  if (isGood && *isGood)
    best = std::move(candidate);
  return isGood;
}

Error Reducer::cutGrid() {
  for (auto sizes : {&Candidate::grid, &Candidate::block})
    for (unsigned i = 0; i < 3; ++i)
      for (uint32_t size = 1; size < (best.*sizes)[i]; size *= 2) {
        Candidate smaller = best;
        (smaller.*sizes)[i] = size;
        Expected<bool> isTaken = take(std::move(smaller));
        if (!isTaken)
          return isTaken.takeError();
        if (*isTaken)
          break;
      }
  return Error::success();
}

Error Reducer::cutPtx(bool takesZeros) {
  Expected<capsule::CutPtx> cut = capsule::CutPtx::open(best.ptx, launch.kernel, takesZeros);
  if (!cut)
    return cut.takeError();
  const size_t count = cut->statements().size();
  BitVector gone = cut->inexact();
  const auto attempt = [&](const BitVector &next) -> Expected<bool> {
    Candidate smaller = best;
    if (Error error = cut->without(next).moveInto(smaller.ptx))
      return std::move(error);
    Expected<bool> isTaken = take(std::move(smaller));
    if (isTaken && *isTaken)
      gone = next;
    return isTaken;
  };
  if (gone.any()) {
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
      Expected<bool> isTaken = attempt(next);
      if (!isTaken)
        return isTaken.takeError();
      isChanged |= *isTaken;
    }
    if (isTimeUp() || (size == 1 && !isChanged))
      break;
  }
  Candidate tidy = best;
  tidy.ptx = capsule::tidied(best.ptx, launch.kernel);
  return take(std::move(tidy)).takeError();
}

Error Reducer::cutAllOfPtx() {
  if (Error error = cutPtx(false))
    return error;
  // Only the emulator tells that a register is read that nobody has written.
  return hasOrders(target) ? cutPtx(true) : Error::success();
}

Error Reducer::cutMemory() {
  for (size_t i = 0; i < best.parameters.size(); ++i)
    for (size_t size = 4; size < best.parameters[i].bytes.size(); size *= 4) {
      Candidate smaller = best;
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
  std::vector<std::string> words = wordsOf(best, true);
  const std::string archs(target.settings.arch());
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
    (void)sys::fs::remove(fileOf(i, "got"));
  }
  for (auto [i, parameter] : enumerate(best.parameters))
    words.push_back(parameter.word.empty() ? "buf:" + std::to_string(i + 1) + ".in"
                                           : parameter.word);
  std::string script =
      "#!/bin/sh\n# Fails as long as the target leaves other bytes than PTX says.\n"
      "cd \"$(dirname \"$0\")\" || exit 2\nexec";
  for (const std::string &word : words)
    script += " " + quoted(word);
  const std::string path = folder + "/run.sh";
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
  constexpr std::chrono::minutes kMost{10};
  end = std::chrono::steady_clock::now() + kMost;
  Expected<bool> isGood = differs(best);
  if (!isGood)
    return isGood.takeError();
  if (!*isGood)
    return createStringError(
        "by itself, without fused operations and with NVIDIA's bits of NaNs, "
        "the target leaves what the reference does, or something is undefined");
  for (auto step : {&Reducer::cutGrid, &Reducer::cutAllOfPtx, &Reducer::cutGrid,
                    &Reducer::cutMemory, &Reducer::write})
    if (Error error = (this->*step)())
      return std::move(error);
  return reduced;
}

} // namespace

Expected<Reduced> reduce(const capsule::Capsule &capsule, const Launch &launch,
                         const ReplayWork &work, const ReplayTarget &target,
                         const std::string &folder) {
  Reducer reducer(capsule, launch, work, target, folder);
  if (Error error = reducer.open())
    return std::move(error);
  return reducer.run();
}

} // namespace rubia::tools
