// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/ReplayTargets.h"
#include "tools/Programs.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;

Expected<ReplayTarget> parseTarget(StringRef text, const settings::Settings &base) {
  ReplayTarget target{text.str(), base};
  SmallVector<StringRef> words;
  text.split(words, ';');
  for (StringRef word : words) {
    const auto [key, value] = word.split('=');
    settings::Id id = settings::Id::arch;
    if (word.contains('=')) {
      const settings::Row *found = nullptr;
      for (const settings::Row &row : settings::rows())
        if (!row.key.empty() && row.key == key)
          found = &row;
      if (!found)
        return createStringError("'" + key + "' is no option that changes code");
      id = found->id;
    }
    target.settings.set(id, word.contains('=') ? value.str() : word.str());
    if (Error error = target.settings.check(id))
      return std::move(error);
  }
  return target;
}

/// One process: the capsule that it leaves at `output`.
static Expected<Capsule> runOnce(const std::string &path, const std::string &output,
                                 const ReplayTarget &target, const std::string &library,
                                 const std::string &kernel, size_t from) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  Program program;
  program.path = "/proc/self/exe";
  program.words = {"rubia",
                   "replay-here",
                   path,
                   "-o",
                   output,
                   "--from",
                   std::to_string(from),
                   "--library",
                   library.empty() ? *libraries + "/libcuda.so.1" : library};
  if (!kernel.empty())
    program.words.insert(program.words.end(), {"--kernel", kernel});
  program.variables = environmentOf(target.settings, *libraries);
  Expected<int> status = program.run();
  if (!status)
    return status.takeError();
  if (*status)
    return createStringError("the replay on " + target.name + " ended with status " +
                             Twine(*status));
  return Capsule::open(output);
}

Expected<Replayed> Replayed::run(const std::string &path, const Capsule &capsule,
                                 const ReplayTarget &target, const std::string &library,
                                 const std::string &kernel) {
  SmallString<128> folder;
  if (std::error_code error = sys::fs::createUniqueDirectory("rubia-replay", folder))
    return createStringError("no temporary folder: " + error.message());
  scope_exit removed([&] { sys::fs::remove_directories(folder); });
  Replayed all;
  for (size_t from = 0; from < capsule.launches.size();) {
    const std::string output = (folder + "/" + Twine(from)).str();
    Expected<Capsule> part = runOnce(path, output, target, library, kernel, from);
    if (!part)
      return part.takeError();
    if (part->launches.empty())
      break;
    const Launch &last = part->launches.back();
    const bool isBroken = !last.status && !last.problem.empty();
    all.parts.push_back(std::make_unique<Capsule>(std::move(*part)));
    if (!isBroken)
      break;
    // Goes on behind the launch that failed.
    while (from < capsule.launches.size() && capsule.launches[from].ordinal <= last.ordinal)
      ++from;
  }
  return all;
}

Replayed Replayed::of(Capsule capsule) {
  Replayed one;
  one.parts.push_back(std::make_unique<Capsule>(std::move(capsule)));
  return one;
}

Replayed::Found Replayed::find(uint64_t ordinal) const {
  for (const std::unique_ptr<Capsule> &part : parts)
    for (const Launch &launch : part->launches)
      if (launch.ordinal == ordinal)
        return {part.get(), &launch};
  return {nullptr, nullptr};
}

} // namespace rubia::tools
