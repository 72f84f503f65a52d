// SPDX-License-Identifier: Apache-2.0
// rubia capsule: what is in a capsule, whether it is whole, and the same in less space.
#include "diff/Capsule.h"
#include "diff/Images.h"
#include "tools/Commands.h"
#include "tools/OutputFile.h"
#include "tools/diff/DiffCommands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <set>

using namespace llvm;

namespace rubia::tools {
namespace {

using capsule::Capsule;

struct CapsuleOptions {
  std::string file, output, kernel;
  bool json = false, calls = false, noImages = false, hashOnly = false;
};

std::string dimensions(const uint32_t (&sizes)[3]) {
  return formatv("{0}x{1}x{2}", sizes[0], sizes[1], sizes[2]).str();
}

uint64_t reachedBytes(const capsule::Launch &launch) {
  uint64_t bytes = 0;
  for (const capsule::Region *region : launch.regions())
    bytes += region->bytes;
  return bytes;
}

void printText(const Capsule &capsule) {
  const capsule::Environment &where = capsule.environment;
  printed() << "recorded on " << where.device << ", compute capability "
            << where.computeCapability / 10 << "." << where.computeCapability % 10 << ", driver "
            << where.driverVersion << (where.isJitForced ? ", PTX alone" : "") << "\n";
  if (where.hasLibraryCapability)
    printed() << "NVIDIA's libraries were told the compute capability that Rubia tells them\n";
  if (!where.commandLine.empty())
    printed() << "command line: " << join(where.commandLine, " ") << "\n";
  if (where.hasNoImages)
    printed() << "without images: `--images FILE` gives them at replay\n";
  if (where.hasNoResults)
    printed() << "without results: digests tell whether others are equal\n";
  printed() << capsule.launches.size() << " launches, " << capsule.recordCount() << " records, "
            << capsule.rawBytes() << " bytes in " << capsule.fileBytes() << "\n";
  if (capsule.end)
    printed() << "the program made " << capsule.end->launches << " launches; "
              << capsule.end->inStreamCapture << " into graphs are not recorded; of "
              << capsule.end->graphLaunches << " launches of graphs "
              << capsule.end->wholeGraphLaunches << " could not be taken apart\n";
  else
    printed() << "the recording was cut short\n";
  for (const capsule::Launch &launch : capsule.launches) {
    printed() << launch.ordinal << ": " << launch.kernel << " <<<" << dimensions(launch.grid)
              << ", " << dimensions(launch.block) << ", " << launch.sharedBytes << ">>>"
              << (launch.isCooperative ? " cooperative" : "") << ", " << launch.memory.size()
              << " allocations, ";
    if (!launch.textures.empty())
      printed() << launch.arrays.size() << " arrays, " << launch.textures.size()
                << " textures and surfaces, ";
    printed() << reachedBytes(launch) << " bytes";
    if (launch.untouchedPages)
      printed() << ", without " << launch.untouchedPages << " pages that it does not touch";
    if (launch.inGraph)
      printed() << ", node " << launch.inGraph->node << " of graph launch "
                << launch.inGraph->launch;
    printed() << "\n";
    if (const std::string why = launch.whyNotReplayable(); !why.empty())
      printed() << "  not replayable: " << why << "\n";
  }
}

void printJson(const Capsule &capsule) {
  json::Array launches;
  for (const capsule::Launch &launch : capsule.launches)
    launches.push_back(capsule::toJson(launch));
  json::Object document{{"version", 1},
                        {"environment", capsule::toJson(capsule.environment)},
                        {"complete", capsule.end.has_value()},
                        {"launches", std::move(launches)}};
  outs() << formatv("{0:2}", json::Value(std::move(document))) << "\n";
}

/// "3 [1234] cuMemAlloc_v2(pointer="0x7ffe", bytes=256) = 0, pointer -> "0x7f00""
void printCall(const capsule::Call &call) {
  printed() << call.number << " [" << call.thread << "] " << call.name << "(";
  const char *comma = "";
  for (const auto &[name, value] : call.arguments) {
    printed() << comma << name << "=" << formatv("{0}", value);
    comma = ", ";
  }
  printed() << ") = " << call.result;
  for (const auto &[name, value] : call.written)
    printed() << ", " << name << " -> " << formatv("{0}", value);
  printed() << "\n";
}

int showCalls(const Capsule &capsule) {
  uint64_t calls = 0;
  if (Error error = capsule.forEachCall([&](const capsule::Call &call) {
        printCall(call);
        ++calls;
      }))
    return fail(std::move(error));
  return calls ? kDone : fail("it has no calls: `rubia capture --calls` records them");
}

int show(const CapsuleOptions &options) {
  Expected<Capsule> capsule = Capsule::open(options.file);
  if (!capsule)
    return fail(capsule.takeError());
  if (options.calls)
    return showCalls(*capsule);
  if (options.json)
    printJson(*capsule);
  else
    printText(*capsule);
  return kDone;
}

int verify(const CapsuleOptions &options) {
  Expected<Capsule> capsule = Capsule::open(options.file);
  if (!capsule)
    return fail(capsule.takeError());
  if (Error error = capsule->verify())
    return fail(std::move(error));
  printed() << options.file << ": " << capsule->launches.size() << " launches, "
            << (capsule->end ? "whole" : "cut short") << "\n";
  return kDone;
}

constexpr int kCompression = 15;

/// Whether all that a launch changed lies in pages that it touched.
Expected<bool> areChangesTouched(const Capsule &capsule, const capsule::Launch &launch,
                                 const capsule::TouchedPages &touched) {
  for (size_t i = 0; i < launch.memory.size(); ++i) {
    const capsule::Region &region = launch.memory[i];
    auto before = capsule.pageDigests(region, region.before);
    if (!before)
      return before.takeError();
    auto after = capsule.pageDigests(region, *region.after);
    if (!after)
      return after.takeError();
    for (size_t page = 0; page < before->size(); ++page)
      if ((*before)[page] != (*after)[page] &&
          (i >= touched.size() || page >= touched[i].size() || !touched[i][page]))
        return false;
  }
  return true;
}

/// A launch with all that it refers to and that `environment` does not leave out; `touched`: only
/// those pages of its memory, null for all.
Error copyLaunch(const Capsule &capsule, const capsule::Launch &launch,
                 const capsule::Environment &environment, capsule::CapsuleOutput &output,
                 const capsule::TouchedPages *touched = nullptr) {
  for (const capsule::Digest &digest : launch.images) {
    if (environment.hasNoImages)
      continue;
    Expected<std::vector<uint8_t>> image = capsule.image(digest);
    if (!image)
      return image.takeError();
    if (Error error = output.add(capsule::RecordType::Image, ArrayRef(*image)).takeError())
      return error;
  }
  const auto copy = [&](const capsule::Region &region, const capsule::Digest &map,
                        bool digestsOnly) -> Expected<capsule::Digest> {
    Expected<std::vector<uint8_t>> bytes = capsule.contents(region, map);
    if (!bytes)
      return bytes.takeError();
    return digestsOnly ? output.addDigests(*bytes) : output.addMemory(*bytes);
  };
  capsule::Launch copied = launch; // the other capsule may have pages of another size
  for (size_t i = 0; touched && i < copied.memory.size(); ++i) {
    capsule::Region &region = copied.memory[i];
    for (capsule::Digest *map : {&region.before, &*region.after}) {
      Expected<std::vector<uint8_t>> bytes = capsule.contents(region, *map);
      if (!bytes)
        return bytes.takeError();
      if (Error error = output.addTouched(*bytes, (*touched)[i]).moveInto(*map))
        return error;
    }
    copied.untouchedPages += uint64_t(count((*touched)[i], 0));
  }
  if (touched)
    return output.add(capsule::RecordType::Launch, capsule::toJson(copied));
  for (capsule::Region *region : copied.regions()) {
    if (Error error = copy(*region, region->before, false).moveInto(region->before))
      return error;
    if (region->after)
      if (Error error =
              copy(*region, *region->after, environment.hasNoResults).moveInto(*region->after))
        return error;
  }
  return output.add(capsule::RecordType::Launch, capsule::toJson(copied));
}

/// The launches that `isWanted` takes, in a capsule of their own.
Error copyLaunches(const Capsule &capsule, const capsule::Environment &environment,
                   const std::string &path, function_ref<bool(const capsule::Launch &)> isWanted) {
  if (capsule.environment.hasNoResults)
    return createStringError(
        "digests are all that is left of its results, which stay in this file");
  Expected<capsule::CapsuleOutput> output = capsule::CapsuleOutput::create(path, kCompression);
  if (!output)
    return output.takeError();
  if (Error error = output->add(capsule::RecordType::Environment, capsule::toJson(environment)))
    return error;
  for (const capsule::Launch &launch : capsule.launches)
    if (isWanted(launch))
      if (Error error = copyLaunch(capsule, launch, environment, *output))
        return error;
  if (capsule.end)
    if (Error error = output->add(capsule::RecordType::End, capsule::toJson(*capsule.end)))
      return error;
  return output->finish();
}

/// The PTX of each module, as NAME.ptx after the digest of its image.
Error extract(const CapsuleOptions &options) {
  Expected<Capsule> capsule = Capsule::open(options.file);
  if (!capsule)
    return capsule.takeError();
  if (std::error_code error = sys::fs::create_directories(options.output))
    return createStringError(options.output + ": " + error.message());
  std::set<std::string> written;
  for (const capsule::Launch &launch : capsule->launches) {
    Expected<capsule::ReplayImage> image = capsule::replayImage(*capsule, launch);
    if (!image) {
      messages() << "rubia: left out: launch " << launch.ordinal << ": "
                 << toString(image.takeError()) << "\n";
      continue;
    }
    const std::string path = options.output + "/" +
                             StringRef(toHex(launch.images.front(), true)).take_front(16).str() +
                             ".ptx";
    if (!written.insert(path).second)
      continue;
    if (Error error = writeFile(path, image->ptx))
      return error;
    printed() << path << "\n";
  }
  return Error::success();
}

Error split(const CapsuleOptions &options) {
  Regex names(options.kernel);
  std::string problem;
  if (!names.isValid(problem))
    return createStringError("--kernel: " + problem);
  Expected<Capsule> capsule = Capsule::open(options.file);
  if (!capsule)
    return capsule.takeError();
  return copyLaunches(*capsule, capsule->environment, options.output,
                      [&](const capsule::Launch &launch) { return names.match(launch.kernel); });
}

} // namespace

Error keepTouched(const std::string &from, const std::string &to, const ReplayWork &work,
                  const ReplayTarget &target) {
  Expected<Capsule> capsule = Capsule::open(from);
  if (!capsule)
    return capsule.takeError();
  auto touched = touchedOn(work, target);
  if (!touched)
    return touched.takeError();
  Expected<capsule::CapsuleOutput> output = capsule::CapsuleOutput::create(to, kCompression);
  if (!output)
    return output.takeError();
  const capsule::Environment &environment = capsule->environment;
  if (Error error = output->add(capsule::RecordType::Environment, capsule::toJson(environment)))
    return error;
  for (const capsule::Launch &launch : capsule->launches) {
    const auto found = touched->find(launch.ordinal);
    const capsule::TouchedPages *pages = found == touched->end() ? nullptr : &found->second;
    Expected<bool> isWhole = pages ? areChangesTouched(*capsule, launch, *pages) : false;
    if (!isWhole)
      return isWhole.takeError();
    if (pages && !*isWhole)
      messages() << "rubia: launch " << launch.ordinal
                 << " keeps all pages: it changed some that its replay does not touch\n";
    if (Error error =
            copyLaunch(*capsule, launch, environment, *output, *isWhole ? pages : nullptr))
      return error;
  }
  if (capsule->end)
    if (Error error = output->add(capsule::RecordType::End, capsule::toJson(*capsule->end)))
      return error;
  return output->finish();
}

Error stripCapsule(const std::string &from, const std::string &to, bool noImages, bool hashOnly) {
  Expected<Capsule> capsule = Capsule::open(from);
  if (!capsule)
    return capsule.takeError();
  capsule::Environment environment = capsule->environment;
  environment.commandLine.clear();
  environment.hasNoImages |= noImages;
  environment.hasNoResults |= hashOnly;
  return copyLaunches(*capsule, environment, to, [](const capsule::Launch &) { return true; });
}

Error packCapsule(const std::string &from, const std::string &to) {
  Expected<Capsule> capsule = Capsule::open(from);
  if (!capsule)
    return capsule.takeError();
  Expected<capsule::CapsuleOutput> output = capsule::CapsuleOutput::create(to, kCompression);
  if (!output)
    return output.takeError();
  if (Error error =
          capsule->forEachRecord([&](capsule::RecordType type, ArrayRef<uint8_t> payload) -> Error {
            return output->add(type, payload).takeError();
          }))
    return error;
  return output->finish();
}

void addCapsule(CLI::App &app, int &status) {
  CLI::App *command = app.add_subcommand("capsule", "Look at a file that `rubia capture` has made");
  command->require_subcommand(1);
  auto options = std::make_shared<CapsuleOptions>();
  CLI::App *showing = command->add_subcommand("show", "List the launches");
  showing->add_option("file", options->file, "the capsule")->required();
  showing->add_flag("--json", options->json, "for programs");
  showing->add_flag("--calls", options->calls, "list the calls of the driver API instead");
  showing->callback([options, &status] { status = show(*options); });
  CLI::App *verifying =
      command->add_subcommand("verify", "Read everything, and compare it with its digests");
  verifying->add_option("file", options->file, "the capsule")->required();
  verifying->callback([options, &status] { status = verify(*options); });
  CLI::App *splitting = command->add_subcommand("split", "Take some launches out of it");
  splitting->add_option("file", options->file, "the capsule")->required();
  splitting->add_option("--kernel", options->kernel, "regular expression for the names of kernels")
      ->required();
  splitting->add_option("-o,--output", options->output, "the capsule to make")->required();
  splitting->callback([options, &status] {
    Error error = split(*options);
    status = error ? fail(std::move(error)) : kDone;
  });
  CLI::App *stripping = command->add_subcommand(
      "strip", "Leave out what others are not to have: the program's kernels, or its results");
  stripping->add_option("file", options->file, "the capsule")->required();
  stripping->add_flag("--no-images", options->noImages,
                      "without kernels: who has the program gives them at replay");
  stripping->add_flag("--hash-only", options->hashOnly,
                      "of what launches made of their memory, digests: a replay is equal or not");
  stripping->add_option("-o,--output", options->output, "the capsule to make")->required();
  stripping->callback([options, &status] {
    if (!options->noImages && !options->hashOnly) {
      status = fail("nothing to leave out: give --no-images or --hash-only");
      return;
    }
    Error error =
        stripCapsule(options->file, options->output, options->noImages, options->hashOnly);
    status = error ? fail(std::move(error)) : kDone;
  });
  CLI::App *extracting = command->add_subcommand("extract", "Write the PTX of its kernels");
  extracting->add_option("file", options->file, "the capsule")->required();
  extracting->add_option("-o,--output", options->output, "folder to write to")->required();
  extracting->callback([options, &status] {
    Error error = extract(*options);
    status = error ? fail(std::move(error)) : kDone;
  });
  CLI::App *packing = command->add_subcommand("pack", "Compress it");
  packing->add_option("file", options->file, "the capsule")->required();
  packing->add_option("-o,--output", options->output, "where to; default: in its place");
  packing->callback([options, &status] {
    Error error =
        packCapsule(options->file, options->output.empty() ? options->file : options->output);
    status = error ? fail(std::move(error)) : kDone;
  });
}

} // namespace rubia::tools
