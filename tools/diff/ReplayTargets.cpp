// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/ReplayTargets.h"
#include "tools/Programs.h"
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

/// `rubia replay-here` with these words, in the environment of the target.
static Error runOnce(const ReplayWork &work, const std::string &output, const ReplayTarget &target,
                     std::vector<std::string> more) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  Program program;
  program.path = "/proc/self/exe";
  program.words = {"rubia",
                   "replay-here",
                   work.path,
                   "-o",
                   output,
                   "--library",
                   work.library.empty() ? *libraries + "/libcuda.so.1" : work.library};
  if (!work.ptx.empty())
    more.insert(more.end(), {"--ptx", work.ptx});
  program.words.insert(program.words.end(), more.begin(), more.end());
  program.variables = environmentOf(target.settings, *libraries);
  Expected<int> status = program.run();
  if (!status)
    return status.takeError();
  return *status ? createStringError("the replay on " + target.name + " ended with status " +
                                     Twine(*status))
                 : Error::success();
}

namespace {
struct TemporaryFolder {
  SmallString<128> path;
  std::error_code problem = sys::fs::createUniqueDirectory("rubia-replay", path);
  ~TemporaryFolder() {
    if (!problem)
      sys::fs::remove_directories(path);
  }
};
} // namespace

json::Value toJson(const capsule::Writer &writer) {
  const auto dimensions = [](const uint32_t (&values)[3]) {
    return json::Array{int64_t(values[0]), int64_t(values[1]), int64_t(values[2])};
  };
  return json::Object{{"line", writer.site.line},
                      {"instruction", json::fixUTF8(writer.site.text)},
                      {"source", json::fixUTF8(writer.site.source)},
                      {"cta", dimensions(writer.cta)},
                      {"thread", dimensions(writer.thread)},
                      {"stores", writer.stores}};
}

/// What a process of ours has written.
static Expected<std::optional<capsule::Writer>> readWriter(const std::string &file) {
  constexpr uint64_t kMost = 1 << 20;
  auto text = input::readFile(file, kMost);
  if (!text)
    return text.takeError();
  Expected<json::Value> value = json::parse((*text)->getBuffer());
  if (!value)
    return value.takeError();
  const json::Object *object = value->getAsObject();
  if (!object)
    return std::nullopt;
  capsule::Writer writer;
  writer.site.line = uint32_t(object->getInteger("line").value_or(0));
  writer.site.text = object->getString("instruction").value_or("").str();
  writer.site.source = object->getString("source").value_or("").str();
  writer.stores = uint32_t(object->getInteger("stores").value_or(0));
  const json::Array *cta = object->getArray("cta"), *thread = object->getArray("thread");
  const bool isWhole = cta && thread && cta->size() == 3 && thread->size() == 3;
  for (unsigned i = 0; isWhole && i < 3; ++i) {
    writer.cta[i] = uint32_t((*cta)[i].getAsInteger().value_or(0));
    writer.thread[i] = uint32_t((*thread)[i].getAsInteger().value_or(0));
  }
  return writer;
}

Expected<std::optional<capsule::Writer>> locateOn(const ReplayWork &work,
                                                  const ReplayTarget &target,
                                                  const capsule::LocateRequest &request) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  const std::string output = (folder.path + "/writer.json").str();
  if (Error error = runOnce(work, output, target,
                            {"--locate", std::to_string(request.launch),
                             std::to_string(request.region), std::to_string(request.offset)}))
    return std::move(error);
  return readWriter(output);
}

Expected<Replayed> Replayed::run(const ReplayWork &work, const Capsule &capsule,
                                 const ReplayTarget &target) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  Replayed all;
  for (size_t from = 0; from < capsule.launches.size();) {
    const std::string output = (folder.path + "/" + Twine(from)).str();
    std::vector<std::string> words = {"--from", std::to_string(from)};
    if (!work.kernel.empty())
      words.insert(words.end(), {"--kernel", work.kernel});
    if (Error error = runOnce(work, output, target, words))
      return std::move(error);
    Expected<Capsule> part = Capsule::open(output);
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
