// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/StandAlone.h"
#include "input/File.h"
#include "tools/OutputFile.h"
#include "tools/Programs.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Program.h"
#include <sys/resource.h>

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;

static Error takeParameters(StandAlone &one, const Capsule &capsule, const Launch &launch) {
  if (!launch.textures.empty() || !launch.arrays.empty() || launch.isCooperative ||
      !launch.attributes.empty())
    return createStringError("it has textures, or is launched with attributes");
  std::vector<size_t> taken;
  for (const Launch::Parameter &parameter : launch.layout) {
    const ArrayRef<uint8_t> bytes =
        ArrayRef(launch.parameters).slice(parameter.offset, parameter.bytes);
    StandAlone::Parameter &made = one.parameters.emplace_back();
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
      made.bytes.assign(contents->begin() + ptrdiff_t(value - region->address), contents->end());
    }
    if (made.bytes.empty())
      made.word = "bytes:" + toHex(bytes, true);
  }
  return Error::success();
}

Expected<StandAlone> StandAlone::of(const Capsule &capsule, const Launch &launch,
                                    const ReplayWork &work) {
  StandAlone one;
  if (Error error = work.textOf(capsule, launch).moveInto(one.ptx))
    return std::move(error);
  std::copy_n(launch.grid, 3, one.grid);
  std::copy_n(launch.block, 3, one.block);
  if (Error error = takeParameters(one, capsule, launch))
    return std::move(error);
  return one;
}

Expected<StandAloneRunner> StandAloneRunner::open(const std::string &folder, const Launch &launch) {
  StandAloneRunner runner(launch);
  if (std::error_code problem = sys::fs::create_directories(folder))
    return createStringError(folder + ": " + problem.message());
  SmallString<256> path;
  if (std::error_code problem = sys::fs::real_path("/proc/self/exe", path))
    return createStringError("/proc/self/exe: " + problem.message());
  runner.program = path.str().str();
  if (std::error_code problem = sys::fs::real_path(folder, path))
    return createStringError(folder + ": " + problem.message());
  runner.folder = path.str().str();
  if (StringRef(runner.folder).contains(':'))
    return createStringError("the name of the folder may not have a ':'");
  return runner;
}

std::string StandAloneRunner::fileOf(size_t parameter, StringRef suffix) const {
  return (folder + "/" + Twine(parameter + 1) + "." + suffix).str();
}

Error StandAloneRunner::write(const StandAlone &one) const {
  if (Error error = writeFile(folder + "/kernel.ptx", StringRef(one.ptx)))
    return error;
  for (auto [i, parameter] : enumerate(one.parameters))
    if (parameter.word.empty())
      if (Error error = writeFile(fileOf(i, "in"), toStringRef(ArrayRef(parameter.bytes))))
        return error;
  return Error::success();
}

std::vector<std::string> StandAloneRunner::wordsOf(const StandAlone &one, StringRef code) const {
  const auto size = [](const uint32_t (&of)[3]) {
    return (Twine(of[0]) + "," + Twine(of[1]) + "," + Twine(of[2])).str();
  };
  return {"rubia",
          "launch",
          code.str(),
          "--entry",
          launch.kernel,
          "--grid",
          size(one.grid),
          "--block",
          size(one.block),
          "--shared",
          std::to_string(launch.sharedBytes)};
}

Expected<int> StandAloneRunner::run(const StandAlone &one, StringRef code, StringRef suffix,
                                    const settings::Settings &settings, bool isReference) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  std::vector<std::string> words = wordsOf(one, (folder + "/" + code).str());
  words.push_back("-q");
  if (isReference)
    words.push_back("--reference");
  for (auto [i, parameter] : enumerate(one.parameters))
    words.push_back(parameter.word.empty() ? "buf:" + fileOf(i, "in") + ":" + fileOf(i, suffix)
                                           : parameter.word);
  const std::vector<std::string> variables = environmentOf(settings, *libraries);
  const std::vector<StringRef> arguments(words.begin(), words.end()),
      environment(variables.begin(), variables.end());
  const std::optional<StringRef> nowhere[] = {StringRef(""), StringRef(""), StringRef("")};
  std::string problem;
  const sys::ProcessInfo started =
      sys::ExecuteNoWait(program, arguments, ArrayRef(environment), nowhere, 0, &problem);
  if (started.Pid == sys::ProcessInfo::InvalidPid)
    return createStringError("rubia launch: " + problem);
  const rlimit most = {rlim_t(limit.count()), rlim_t(limit.count())};
  (void)prlimit(started.Pid, RLIMIT_CPU, &most, nullptr); // it may have ended
  constexpr unsigned kSleeping = 600;                     // seconds, of a run that computes nothing
  std::optional<sys::ProcessStatistics> used;
  const int status = sys::Wait(started, kSleeping, &problem, &used).ReturnCode;
  last = used ? used->TotalTime : std::chrono::microseconds(0);
  sum += last;
  if (status == -1)
    return createStringError("rubia launch: " + problem);
  constexpr int kByASignal = -2; // of ours or of the kernel, as it took too long; or it crashed
  return status == kByASignal ? 124 : status;
}

Expected<bool> StandAloneRunner::areEqual(const StandAlone &one, StringRef suffix,
                                          StringRef other) const {
  for (auto [i, parameter] : enumerate(one.parameters)) {
    if (!parameter.word.empty())
      continue;
    auto a = input::readFile(fileOf(i, suffix), UINT64_MAX),
         b = input::readFile(fileOf(i, other), UINT64_MAX);
    if (!a || !b)
      return joinErrors(a ? Error::success() : a.takeError(), b ? Error::success() : b.takeError());
    if ((*a)->getBuffer() != (*b)->getBuffer())
      return false;
  }
  return true;
}

} // namespace rubia::tools
