// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/ReplayTargets.h"
#include "diff/Images.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/Programs.h"
#include "tools/diff/TemporaryFolder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device, emulatorCheck, emulatorSeed, emulatorTimeout;
} // namespace rubia::settings::Id
namespace rubia::settings::DeviceChoice {
extern const Word Hip;
} // namespace rubia::settings::DeviceChoice

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;

Expected<std::string> nvidiaDriver() {
  for (const char *place : {
           "/usr/lib/x86_64-linux-gnu/libcuda.so.1",
           "/usr/lib64/libcuda.so.1",
           "/usr/local/nvidia/lib64/libcuda.so.1",
           "/usr/lib/wsl/lib/libcuda.so.1",
       })
    if (sys::fs::exists(place))
      return place;
  return createStringError("NVIDIA's libcuda.so.1 is in none of the usual places; --library names "
                           "another");
}

/// The libcuda.so.1 of another version of Rubia.
static Expected<std::string> otherVersion(StringRef path) {
  SmallString<256> file(path);
  if (std::error_code error = sys::fs::make_absolute(file))
    return createStringError(path + ": " + error.message());
  if (sys::fs::is_directory(file))
    sys::path::append(file, "libcuda.so.1");
  if (!sys::fs::exists(file))
    return createStringError("'" + path + "' is no folder with a libcuda.so.1");
  return file.str().str();
}

/// The setting that a word without `=` is a value of: of those that change code, else the targets.
static Expected<settings::Setting> settingOf(StringRef word) {
  SmallVector<const settings::Row *> found;
  for (const settings::Row &row : settings::rows())
    if (!row.key.empty() &&
        settings::indexOfWord(row.words, word) < settings::countWords(row.words))
      found.push_back(&row);
  if (found.size() > 1)
    return createStringError("'" + word + "' may be '" + found[0]->key + "=" + word + "' or '" +
                             found[1]->key + "=" + word + "'");
  if (found.empty() && !word.empty() && isDigit(word.front()))
    return createStringError("'" + word +
                             "' is no target: another version of Rubia is named by the folder of "
                             "its libcuda.so.1, as in /opt/rubia/lib/rubia");
  return found.empty() ? settings::Id::arch : found.front()->id;
}

/// One of the words of a target.
static Error addWord(ReplayTarget &target, StringRef word) {
  if (word == "nvidia")
    return nvidiaDriver().moveInto(target.library);
  if (!word.contains('=') && word.contains('/'))
    return otherVersion(word).moveInto(target.library);
  auto [key, value] = word.split('=');
  settings::Setting id = settings::Id::arch;
  if (word == "hip" || word == "emulator") {
    id = settings::Id::device;
    value = word;
  } else if (!word.contains('=')) {
    if (Error error = settingOf(word).moveInto(id))
      return error;
    value = word;
  } else {
    const settings::Row *found = nullptr;
    for (const settings::Row &row : settings::rows())
      if (!row.key.empty() && row.key == key)
        found = &row;
    if (!found)
      return createStringError("'" + key + "' is no option that changes code");
    id = found->id;
  }
  target.settings.set(id, value);
  return target.settings.check(id);
}

Expected<ReplayTarget> parseTarget(StringRef text, const ReplayTarget &base) {
  ReplayTarget target = base;
  target.name = text.str();
  if (text == "reference") {
    target.isReference = true;
    return target;
  }
  SmallVector<StringRef> words;
  text.split(words, ';');
  for (StringRef word : words)
    if (Error error = addWord(target, word))
      return std::move(error);
  return target;
}

Expected<Capsule> ReplayWork::open() const {
  Expected<Capsule> capsule = Capsule::open(path);
  if (!capsule)
    return capsule;
  for (const std::string &file : images) {
    Expected<size_t> found = capsule->addImages(file);
    if (!found)
      return found.takeError();
    if (!*found)
      return createStringError(file + ": no image of the capsule's launches that is not there yet");
  }
  return capsule;
}

Expected<std::string> ReplayWork::textOf(const Capsule &capsule, const Launch &launch) const {
  if (ptx.empty()) {
    Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
    return image ? Expected<std::string>(std::move(image->ptx)) : image.takeError();
  }
  auto file = input::readFile(ptx, capsule::kMaxImageBytes);
  if (!file)
    return file.takeError();
  return (*file)->getBuffer().str();
}

Expected<std::function<bool(const Launch &)>> ReplayWork::chooser() const {
  auto names = std::make_shared<Regex>(kernel.empty() ? "^" : kernel); // an empty one is invalid
  std::string problem;
  if (!names->isValid(problem))
    return createStringError("--kernel: " + problem);
  return [names, ordinals = ordinals](const Launch &launch) {
    return names->match(launch.kernel) &&
           (ordinals.empty() || is_contained(ordinals, launch.ordinal));
  };
}

/// `rubia replay-here` with these words, in the environment of the target. Its status, 128 and the
/// signal's number if one ended it.
static Expected<int> runOnce(const ReplayWork &work, const std::string &output,
                             const ReplayTarget &target, std::vector<std::string> more) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  const std::string library =
      target.library.empty() ? *libraries + "/libcuda.so.1" : target.library;
  // What is beside it is of the same version.
  if (const StringRef folder = sys::path::parent_path(library); !folder.empty())
    *libraries = folder.str();
  Program program;
  program.path = "/proc/self/exe";
  program.words = {"rubia", "replay-here", work.path,
                   "-o",    output,        "--library",
                   library, "--timeout",   std::to_string(work.timeout)};
  if (target.isReference)
    more.push_back("--reference");
  if (!work.ptx.empty())
    more.insert(more.end(), {"--ptx", work.ptx});
  if (!work.kernel.empty())
    more.insert(more.end(), {"--kernel", work.kernel});
  if (work.noise)
    more.insert(more.end(), {"--noise", std::to_string(*work.noise)});
  if (work.isPlain)
    more.push_back("--plain");
  for (const std::string &file : work.images)
    more.insert(more.end(), {"--images", file});
  for (uint64_t ordinal : work.ordinals)
    more.insert(more.end(), {"--launch", std::to_string(ordinal)});
  program.words.insert(program.words.end(), more.begin(), more.end());
  program.variables = environmentOf(target.settings, *libraries);
  return program.run();
}

static Error failureOf(const ReplayTarget &target, int status) {
  return createStringError("the replay on " + target.name + " ended with status " + Twine(status));
}

/// With the last line that it has written to a file.
static Error failureOf(const ReplayTarget &target, int status, const std::string &file) {
  constexpr uint64_t kMost = 1 << 20;
  auto text = input::readFile(file, kMost);
  if (!text) {
    consumeError(text.takeError());
    return failureOf(target, status);
  }
  const StringRef last = (*text)->getBuffer().rtrim().rsplit('\n').second;
  return createStringError(toString(failureOf(target, status)) + ": " +
                           (last.empty() ? (*text)->getBuffer().rtrim() : last));
}

json::Object toJson(const capsule::StoreSite &site) {
  return json::Object{{"line", site.line},
                      {"instruction", json::fixUTF8(site.text)},
                      {"source", json::fixUTF8(site.source)}};
}

static capsule::StoreSite siteOf(const json::Object &object) {
  return {uint32_t(object.getInteger("line").value_or(0)),
          object.getString("instruction").value_or("").str(),
          object.getString("source").value_or("").str()};
}

json::Value toJson(const capsule::Writer &writer) {
  const auto dimensions = [](const uint32_t (&values)[3]) {
    return json::Array{int64_t(values[0]), int64_t(values[1]), int64_t(values[2])};
  };
  json::Object out = toJson(writer.site);
  out["cta"] = dimensions(writer.cta);
  out["thread"] = dimensions(writer.thread);
  out["stores"] = writer.stores;
  return out;
}

/// JSON that a process of ours has written.
static Expected<json::Value> readJson(const std::string &file) {
  constexpr uint64_t kMost = 1 << 26;
  auto text = input::readFile(file, kMost);
  if (!text)
    return text.takeError();
  return json::parse((*text)->getBuffer());
}

static capsule::Writer writerOf(const json::Object &object) {
  capsule::Writer writer;
  writer.site = siteOf(object);
  writer.stores = uint32_t(object.getInteger("stores").value_or(0));
  const json::Array *cta = object.getArray("cta"), *thread = object.getArray("thread");
  const bool isWhole = cta && thread && cta->size() == 3 && thread->size() == 3;
  for (unsigned i = 0; isWhole && i < 3; ++i) {
    writer.cta[i] = uint32_t((*cta)[i].getAsInteger().value_or(0));
    writer.thread[i] = uint32_t((*thread)[i].getAsInteger().value_or(0));
  }
  return writer;
}

Expected<std::vector<capsule::Writer>> writersOn(const ReplayWork &work, const ReplayTarget &target,
                                                 const capsule::LocateRequest &request) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  const std::string output = (folder.path + "/writers.json").str();
  std::vector<std::string> words = {"--locate", std::to_string(request.launch),
                                    std::to_string(request.region), std::to_string(request.offset)};
  if (request.sharedOf)
    words.push_back(std::to_string(*request.sharedOf));
  Expected<int> status = runOnce(work, output, target, std::move(words));
  if (!status)
    return status.takeError();
  if (*status)
    return failureOf(target, *status);
  Expected<json::Value> value = readJson(output);
  if (!value)
    return value.takeError();
  std::vector<capsule::Writer> writers;
  for (const json::Value &one : value->getAsArray() ? *value->getAsArray() : json::Array())
    if (const json::Object *object = one.getAsObject())
      writers.push_back(writerOf(*object));
  return writers;
}

Expected<std::optional<capsule::Writer>> locateOn(const ReplayWork &work,
                                                  const ReplayTarget &target,
                                                  const capsule::LocateRequest &request) {
  Expected<std::vector<capsule::Writer>> writers = writersOn(work, target, request);
  if (!writers)
    return writers.takeError();
  if (writers->empty())
    return std::nullopt;
  return writers->front();
}

Error writeWriters(const capsule::WriterMap &map, const std::string &file) {
  json::Array sites;
  for (const capsule::StoreSite &site : map.sites)
    sites.push_back(toJson(site));
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(sites));
  if (Error error = writeFile(file + ".sites", text))
    return error;
  return writeFile(file, toStringRef(map.words));
}

Expected<capsule::WriterMap> locateAllOn(const ReplayWork &work, const ReplayTarget &target,
                                         const capsule::LocateRequest &request) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  const std::string output = (folder.path + "/writers").str();
  Expected<int> status =
      runOnce(work, output, target,
              {"--writers", std::to_string(request.launch), std::to_string(request.region)});
  if (!status)
    return status.takeError();
  if (*status)
    return failureOf(target, *status);
  Expected<json::Value> sites = readJson(output + ".sites");
  if (!sites)
    return sites.takeError();
  capsule::WriterMap map;
  for (const json::Value &site : sites->getAsArray() ? *sites->getAsArray() : json::Array())
    if (const json::Object *object = site.getAsObject())
      map.sites.push_back(siteOf(*object));
  auto words = input::readFile(output, UINT64_MAX);
  if (!words)
    return words.takeError();
  map.words.assign((*words)->getBuffer().bytes_begin(), (*words)->getBuffer().bytes_end());
  return map;
}

/// What Rubia says on stderr as the launch runs, under a check of the emulator; empty: none.
static Expected<std::string> messagesOf(const ReplayWork &work, const ReplayTarget &target,
                                        uint64_t ordinal, const std::string &check) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  ReplayTarget checked = target;
  if (!check.empty())
    checked.settings.set(settings::Id::emulatorCheck, check);
  ReplayWork one = work;
  one.ordinals = {ordinal};
  const std::string messages = (folder.path + "/messages").str();
  // Such a launch fails: what counts is what it says.
  Expected<int> status =
      runOnce(one, (folder.path + "/capsule").str(), checked, {"--messages", messages});
  if (!status)
    return status.takeError();
  constexpr uint64_t kMost = 1 << 20;
  auto text = input::readFile(messages, kMost);
  if (!text)
    return text.takeError();
  return (*text)->getBuffer().str();
}

Expected<std::vector<uint8_t>> traceOn(const ReplayWork &work, const ReplayTarget &target,
                                       const capsule::TraceOf &of, ArrayRef<uint8_t> given) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  const std::string output = (folder.path + "/trace").str(),
                    givenFile = (folder.path + "/given").str(),
                    messages = (folder.path + "/messages").str();
  std::vector<std::string> words = {"--trace",
                                    std::to_string(of.launch),
                                    std::to_string(of.cta),
                                    std::to_string(of.thread),
                                    "--messages",
                                    messages};
  if (of.given == capsule::Given::Loads)
    words.push_back("--given-loads");
  if (!given.empty()) {
    if (Error error = writeFile(givenFile, toStringRef(given)))
      return std::move(error);
    words.insert(words.end(), {"--given", givenFile});
  }
  if (of.isFailing && !target.isReference)
    words.push_back("--failing");
  Expected<int> status = runOnce(work, output, target, std::move(words));
  if (!status)
    return status.takeError();
  const bool isKept = of.isFailing && !target.isReference && sys::fs::exists(output);
  if (*status && !isKept)
    return failureOf(target, *status, messages);
  auto bytes = input::readFile(output, UINT64_MAX);
  if (!bytes)
    return bytes.takeError();
  const StringRef all = (*bytes)->getBuffer();
  if (all.size() != capsule::kTraceBytes)
    return createStringError("what the replay on " + target.name + " has written is cut");
  std::vector<uint8_t> trace(all.bytes_begin(), all.bytes_end());
  if (*status) // a signal ended it
    trace[capsule::kTraceFailed] = 1;
  return trace;
}

std::string withoutSourceLines(StringRef ptx) {
  std::string text;
  for (StringRef line : split(ptx, '\n'))
    text += (line.ltrim().starts_with(".loc") ? "" : line.str()) + "\n";
  return text;
}

std::optional<FailingThread> failingThreadIn(StringRef message) {
  SmallVector<StringRef> parts;
  constexpr unsigned kNumbers = 6, kBefore = 1, kKind = 2;
  const char *three = "\\(([0-9]+),([0-9]+),([0-9]+)\\)";
  if (!Regex("([^\n]*)(workgroup|block) " + std::string(three) + ",? thread " + three + "([^\n]*)")
           .match(message, &parts))
    return std::nullopt;
  FailingThread failing;
  for (unsigned i = 0; i < kNumbers; ++i) {
    uint32_t &number = i < 3 ? failing.thread.cta[i] : failing.thread.thread[i - 3];
    if (parts[kKind + 1 + i].getAsInteger(10, number))
      return std::nullopt;
  }
  // "[k.ptx:12]" behind the thread, or "k.ptx:12:" where the message begins.
  SmallVector<StringRef> place;
  if (Regex("\\[[^]0-9][^]]*:([0-9]+)( in [^]]*)?\\]").match(parts.back(), &place) ||
      (parts[kKind] == "block" && Regex("ptx:([0-9]+):").match(parts[kBefore], &place)))
    (void)place[1].getAsInteger(10, failing.line); // 0 where it does not fit
  return failing;
}

Expected<std::optional<FailingThread>> failingThread(const Capsule &capsule, const Launch &launch,
                                                     const ReplayWork &work,
                                                     const ReplayTarget &target) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  Expected<std::string> ptx = work.textOf(capsule, launch);
  if (!ptx)
    return ptx.takeError();
  ReplayWork plain = work;
  plain.ptx = (folder.path + "/plain.ptx").str();
  if (Error error = writeFile(plain.ptx, withoutSourceLines(*ptx)))
    return std::move(error);
  Expected<std::string> said = messagesOf(plain, target, launch.ordinal, "");
  if (!said)
    return said.takeError();
  return failingThreadIn(*said);
}

Error writeTouched(const Capsule &capsule, const ReplayWork &work, const std::string &library,
                   const std::string &file) {
  json::Array launches;
  for (const Launch &launch : capsule.launches) {
    alarm(work.timeout);
    Expected<capsule::TouchedPages> pages = touchedPages(capsule, launch, library);
    alarm(0);
    if (!pages) {
      messages() << "rubia: launch " << launch.ordinal
                 << " keeps all pages: " << toString(pages.takeError()) << "\n";
      continue;
    }
    json::Array regions;
    for (const std::vector<uint8_t> &region : *pages)
      regions.push_back(toHex(region, true));
    launches.push_back(json::Array{launch.ordinal, std::move(regions)});
  }
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(launches));
  return writeFile(file, text);
}

Expected<std::map<uint64_t, capsule::TouchedPages>> touchedOn(const ReplayWork &work,
                                                              const ReplayTarget &target) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  const std::string output = (folder.path + "/touched").str();
  Expected<int> status = runOnce(work, output, target, {"--touched"});
  if (!status)
    return status.takeError();
  if (*status)
    return failureOf(target, *status);
  Expected<json::Value> value = readJson(output);
  if (!value)
    return value.takeError();
  std::map<uint64_t, capsule::TouchedPages> all;
  for (const json::Value &launch : value->getAsArray() ? *value->getAsArray() : json::Array()) {
    const json::Array &pair = *launch.getAsArray(); // of our own process
    capsule::TouchedPages &pages = all[*pair[0].getAsUINT64()];
    for (const json::Value &region : *pair[1].getAsArray()) {
      const std::string bytes = fromHex(*region.getAsString());
      pages.emplace_back(bytes.begin(), bytes.end());
    }
  }
  return all;
}

/// What a check says of the launch behind these words.
static Expected<std::string> findingOf(const ReplayWork &work, const ReplayTarget &target,
                                       uint64_t ordinal, const std::string &check,
                                       StringRef words) {
  Expected<std::string> said = messagesOf(work, target, ordinal, check);
  if (!said)
    return said.takeError();
  const StringRef all = *said;
  const size_t at = all.find(words);
  if (at == StringRef::npos)
    return "";
  return all.drop_front(at + words.size()).take_until([](char c) { return c == '\n'; }).str();
}

bool hasOrders(const ReplayTarget &target) {
  return target.library.empty() && !target.settings.is(settings::DeviceChoice::Hip);
}

ReplayTarget impatient(ReplayTarget target, unsigned timeout) {
  constexpr unsigned kSeconds = 10;
  const unsigned seconds = timeout ? std::clamp(timeout / 4, 1u, kSeconds) : kSeconds;
  target.settings.set(settings::Id::emulatorTimeout, std::to_string(seconds));
  return target;
}

ReplayTarget inOrder(const ReplayTarget &target, uint64_t seed) {
  ReplayTarget ordered = target;
  ordered.settings.set(settings::Id::emulatorCheck, "order");
  ordered.settings.set(settings::Id::emulatorSeed, std::to_string(seed));
  return ordered;
}

/// What a process has left that a signal ended: a capsule that is cut short.
static std::string leftIn(const Twine &folder, StringRef name) {
  std::error_code problem;
  for (sys::fs::directory_iterator i(folder, problem), end; i != end && !problem;
       i.increment(problem))
    if (sys::path::filename(i->path()).starts_with((name + ".tmp.").str()))
      return i->path();
  return "";
}

/// The launch that ended its process.
static Launch lostOne(const Launch &launch, const ReplayWork &work, int signal) {
  Launch lost = launch;
  for (capsule::Region *region : lost.regions())
    region->after.reset();
  lost.problem = signal == SIGALRM ? (kNotEnded + Twine(work.timeout) + " s").str()
                                   : ("its process was ended by signal " + Twine(signal)).str();
  return lost;
}

Expected<Replayed> Replayed::run(const ReplayWork &work, const Capsule &capsule,
                                 const ReplayTarget &target) {
  TemporaryFolder folder;
  if (folder.problem)
    return createStringError("no temporary folder: " + folder.problem.message());
  auto isWanted = work.chooser();
  if (!isWanted)
    return isWanted.takeError();
  Replayed all;
  for (size_t from = 0; from < capsule.launches.size();) {
    const std::string name = std::to_string(from);
    std::string output = (folder.path + "/" + name).str();
    std::vector<std::string> words = {"--from", name};
    const std::string messages = (folder.path + "/messages").str();
    if (work.noise) // a program that is changed may be wrong, which is nobody's business
      words.insert(words.end(), {"--messages", messages});
    Expected<int> status = runOnce(work, output, target, words);
    if (!status)
      return status.takeError();
    constexpr int kSignal = 128;
    if (*status && *status < kSignal)
      return failureOf(target, *status, messages);
    if (*status)
      output = leftIn(folder.path, name);
    if (output.empty())
      return failureOf(target, *status);
    Expected<Capsule> part = Capsule::open(output);
    if (!part)
      return part.takeError();
    const auto goBehind = [&](uint64_t ordinal) {
      while (from < capsule.launches.size() && capsule.launches[from].ordinal <= ordinal)
        ++from;
    };
    const Launch *last = part->launches.empty() ? nullptr : &part->launches.back();
    const bool isBroken = last && !last->status && !last->problem.empty();
    if (last)
      goBehind(last->ordinal);
    all.parts.push_back(std::make_shared<const Capsule>(std::move(*part)));
    if (!*status && !isBroken)
      break;
    if (!*status)
      continue;
    while (from < capsule.launches.size() && !(*isWanted)(capsule.launches[from]))
      ++from;
    if (from == capsule.launches.size())
      return failureOf(target, *status); // behind its last launch
    all.lost.push_back(
        std::make_shared<const Launch>(lostOne(capsule.launches[from], work, *status - kSignal)));
    ++from;
  }
  return all;
}

Replayed Replayed::of(Capsule capsule) {
  Replayed one;
  one.parts.push_back(std::make_shared<const Capsule>(std::move(capsule)));
  return one;
}

Replayed::Found Replayed::find(uint64_t ordinal) const {
  for (const std::shared_ptr<const Capsule> &part : parts)
    for (const Launch &launch : part->launches)
      if (launch.ordinal == ordinal)
        return {part.get(), &launch};
  for (const std::shared_ptr<const Launch> &launch : lost)
    if (launch->ordinal == ordinal)
      return {parts.front().get(), launch.get()};
  return {nullptr, nullptr};
}

/// An allocation that a launch leaves with other contents, its threads in another order. Empty:
/// none, or it cannot be had in time.
static Expected<std::string> otherOrder(const Capsule &capsule, const Launch &got, ReplayWork work,
                                        const ReplayTarget &target) {
  constexpr unsigned kOrders = 3, kSeconds = 60; // such runs are slow
  work.ordinals = {got.ordinal};
  work.timeout = work.timeout ? std::min(work.timeout, kSeconds) : kSeconds;
  for (unsigned seed = 1; seed <= kOrders; ++seed) {
    Expected<Replayed> other = Replayed::run(work, capsule, inOrder(target, seed));
    if (!other)
      return other.takeError();
    const Replayed::Found found = other->find(got.ordinal);
    if (!found.launch || !found.launch->whyNotReplayable().empty())
      return "";
    const std::vector<const capsule::Region *> ours = got.regions(),
                                               theirs = found.launch->regions();
    for (size_t i = 0; i < ours.size() && i < theirs.size(); ++i)
      if (ours[i]->after != theirs[i]->after)
        return ("in another order of CTAs and threads (RUBIA_EMULATOR_SEED=" + Twine(seed) +
                ") it leaves other bytes in allocation " + Twine(i))
            .str();
  }
  return "";
}

Expected<std::optional<Undefined>> undefinedIn(const Capsule &capsule, const Replayed &got,
                                               const ReplayWork &work, const ReplayTarget &target,
                                               uint64_t ordinal) {
  // What is read before it is written may be so for a race.
  for (auto [isRace, check, words] :
       {std::tuple(true, "races", "data race: "),
        {false, "uninitialised", "use of a value that was never written: "}}) {
    Expected<std::string> what = findingOf(work, target, ordinal, check, words);
    if (!what)
      return what.takeError();
    if (!what->empty())
      return Undefined{isRace, std::move(*what)};
  }
  const Replayed::Found here = got.find(ordinal);
  if (!here.launch || !here.launch->whyNotReplayable().empty())
    return std::nullopt;
  Expected<std::string> what = otherOrder(capsule, *here.launch, work, target);
  if (!what)
    return what.takeError();
  return what->empty() ? std::nullopt : std::optional(Undefined{true, std::move(*what)});
}

} // namespace rubia::tools
