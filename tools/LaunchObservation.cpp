// SPDX-License-Identifier: Apache-2.0
#include "tools/LaunchObservation.h"
#include "fatbin/Container.h"
#include "input/File.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/launch/Pages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::settings::Id {
extern const Setting emulatorProfile, emulatorSources, emulatorStats, emulatorTrace,
    emulatorTraceSelect;
} // namespace rubia::settings::Id

namespace rubia::tools {

/// A number that fits 64 bits, or a word.
static CLI::Validator isCount(StringRef word) {
  return CLI::Validator(
      [word](std::string &text) {
        uint64_t number;
        return text == word || !StringRef(text).getAsInteger(10, number)
                   ? std::string()
                   : "'" + text + "' is not a whole number" +
                         (word.empty() ? "" : " or " + word.str());
      },
      "");
}

/// X[,Y,Z], or a word.
static CLI::Validator isPlace(StringRef word) {
  return CLI::Validator(
      [word](std::string &text) {
        SmallVector<StringRef, 3> parts;
        StringRef(text).split(parts, ',');
        uint32_t number;
        const bool isGood = parts.size() <= 3 && all_of(parts, [&](StringRef part) {
                              return !part.trim().getAsInteger(0, number);
                            });
        return isGood || (!word.empty() && text == word)
                   ? std::string()
                   : "'" + text + "' is not X[,Y,Z]" + (word.empty() ? "" : " or " + word.str());
      },
      "");
}

void ObservationOptions::addTo(CLI::App &command) {
  CLI::Option *wantStats = command.add_flag(
      "--stats{all}", stats,
      "what the emulator executed: instructions by class and by name, memory transactions, LDS "
      "bank conflicts, divergence, occupancy; --stats=counts: only what costs no time");
  wantStats->check(CLI::IsMember({"all", "counts"}));
  CLI::Option *wantProfile = command.add_flag(
      "--profile{lines}", profile,
      "the same by source line, most instructions first; --profile=instructions: by instruction");
  wantProfile->check(CLI::IsMember({"lines", "instructions"}));
  CLI::Option *wantTrace =
      command.add_flag("--trace{10000}", trace,
                       "executed instructions with the registers that they change; --trace=K: the "
                       "first K of each chosen wave of a launch (default 10000; 0: all)");
  wantTrace->check(isCount(""));
  command
      .add_option("--trace-workgroup", workgroup,
                  "X[,Y,Z] or all: the workgroup whose waves are traced")
      ->check(isPlace("all"))
      ->capture_default_str()
      ->needs(wantTrace);
  CLI::Option *chooseWave =
      command.add_option("--trace-wave", wave, "N or all: the wave of each such workgroup")
          ->check(isCount("all"))
          ->capture_default_str()
          ->needs(wantTrace);
  command
      .add_option(
          "--trace-thread", thread,
          "X[,Y,Z]: of each such workgroup the wave of this thread, and of vector registers "
          "only its lane")
      ->check(isPlace(""))
      ->needs(wantTrace)
      ->excludes(chooseWave);
  command.add_option("--source", sources,
                     "folder below which source lines may be read; others that the kernel's debug "
                     "information names are not opened");
  command.add_flag("--json{-}", json,
                   "machine-readable --stats, --profile and --trace; --json=FILE: to a file");
  command.add_option("--html", html,
                     "a page of --stats and --profile, with a flame graph, into this file");
  command.add_option("--folded", folded,
                     "wave instructions by stack of inlined functions, a line for each, as flame "
                     "graph programs read them, into this file");
}

Error LaunchObservation::makeFile(File &file, settings::Settings &settings, settings::Setting id) {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("rubia-launch", "json", path))
    return createStringError(error, "no temporary file for what is observed");
  file.path = path.str().str();
  file.remover = std::make_unique<FileRemover>(path);
  settings.set(id, file.path);
  return Error::success();
}

Expected<LaunchObservation> LaunchObservation::start(const ObservationOptions &options,
                                                     settings::Settings &settings) {
  namespace Id = settings::Id;
  LaunchObservation observation(options);
  if (!options.sources.empty())
    settings.set(Id::emulatorSources, join(options.sources, ":"));
  const bool profile = options.profiles();
  if (profile || !options.stats.empty())
    if (Error error = makeFile(observation.launches, settings,
                               profile ? Id::emulatorProfile : Id::emulatorStats))
      return std::move(error);
  if (options.trace.empty())
    return observation;
  if (Error error = makeFile(observation.trace, settings, Id::emulatorTrace))
    return std::move(error);
  std::string select = "workgroup=" + options.workgroup + ";wave=" + options.wave +
                       ";limit=" + options.trace + (options.json.empty() ? "" : ";format=json");
  if (!options.thread.empty())
    select += ";thread=" + options.thread;
  settings.set(Id::emulatorTraceSelect, select);
  return observation;
}

static Expected<std::unique_ptr<MemoryBuffer>> read(const std::string &path) {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  return std::move(*buffer);
}

/// One value a line.
static Expected<ordered_json> readLines(const std::string &path) {
  ordered_json all = ordered_json::array();
  if (path.empty())
    return all;
  auto buffer = read(path);
  if (!buffer)
    return buffer.takeError();
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    ordered_json value = ordered_json::parse(line.begin(), line.end(), nullptr, false);
    if (value.is_discarded())
      return createStringError(path + ": not what the emulator writes: " + line);
    all.push_back(std::move(value));
  }
  return all;
}

namespace {
/// Lines of PTX that has no lines of its own are those of the image, which has no name. If it is
/// the file, they are its.
class PtxLines {
public:
  explicit PtxLines(const std::string &file);
  void name(ordered_json &launches) const;
  /// "<image>:28" at the start of a line of a trace.
  std::string name(StringRef trace) const;

private:
  StringRef text(size_t number) const {
    return number >= 1 && number <= lines.size() ? lines[number - 1].trim() : "";
  }
  static constexpr StringLiteral kImage = "<image>";
  std::string file;
  std::unique_ptr<MemoryBuffer> buffer;
  SmallVector<StringRef> lines; // none: the file is something else
};
} // namespace

PtxLines::PtxLines(const std::string &file) : file(file) {
  auto opened = input::readFile(file, fatbin::kMaxPayloadBytes);
  if (!opened) {
    consumeError(opened.takeError()); // it was read before: now it is a pipe's end, say
    return;
  }
  buffer = std::move(*opened);
  const StringRef all = buffer->getBuffer();
  if (all.contains(".version") && !all.contains('\0'))
    all.split(lines, '\n');
}

void PtxLines::name(ordered_json &launches) const {
  if (lines.empty())
    return;
  for (ordered_json &launch : launches)
    for (const char *part : {"source_lines", "code"}) {
      auto entries = launch.find(part);
      if (entries == launch.end())
        continue;
      for (ordered_json &entry : *entries) {
        if (entry.value("file", "") != kImage)
          continue;
        entry["file"] = file;
        if (auto frames = entry.find("frames"); frames != entry.end())
          for (ordered_json &frame : *frames)
            if (frame.value("file", "") == kImage)
              frame["file"] = file;
        if (entry.contains("function"))
          entry["text"] = text(entry["line"]).str();
      }
    }
}

std::string PtxLines::name(StringRef trace) const {
  std::string named;
  while (!trace.empty()) {
    auto [line, rest] = trace.split('\n');
    trace = rest;
    StringRef place = line;
    size_t number;
    named += !lines.empty() && place.consume_front(kImage) && place.consume_front(":") &&
                     !place.getAsInteger(10, number)
                 ? file + ":" + std::to_string(number) + ": " + text(number).str()
                 : line.str();
    named += '\n';
  }
  return named;
}

Error LaunchObservation::printJson(const ordered_json &all) const {
  Expected<ordered_json> lines = readLines(trace.path);
  if (!lines)
    return lines.takeError();
  ordered_json document = {{"version", 1}};
  if (!launches.path.empty())
    document["launches"] = all;
  if (!trace.path.empty())
    document["trace"] = std::move(*lines);
  return writeFile(options.json, document.dump(2) + "\n");
}

Expected<bool> LaunchObservation::missedTrace() const {
  if (trace.path.empty())
    return false;
  uint64_t size = 0;
  if (std::error_code error = sys::fs::file_size(trace.path, size))
    return createStringError(error, trace.path);
  return size == 0;
}

Error LaunchObservation::print(const std::string &file) const {
  Expected<ordered_json> all = readLines(launches.path);
  if (!all)
    return all.takeError();
  const PtxLines ptx(file);
  ptx.name(*all);
  if (!options.html.empty())
    if (Error error =
            writeFile(options.html, [&](raw_ostream &os) { writeLaunchPage(os, file, *all); }))
      return error;
  if (!options.folded.empty())
    if (Error error =
            writeFile(options.folded, [&](raw_ostream &os) { writeFolded(os, flamesOf(*all)); }))
      return error;
  if (!options.json.empty())
    return printJson(*all);
  if (!trace.path.empty()) {
    auto lines = read(trace.path);
    if (!lines)
      return lines.takeError();
    printed() << ptx.name((*lines)->getBuffer());
  }
  printTables(*all);
  return Error::success();
}

void LaunchObservation::printTables(const ordered_json &launches) const {
  for (const ordered_json &launch : launches) {
    if (!options.stats.empty())
      printStatistics(launch);
    if (options.profile == "lines")
      printSourceLines(launch);
    else if (!options.profile.empty())
      printInstructions(launch);
  }
}

} // namespace rubia::tools
