// SPDX-License-Identifier: Apache-2.0
#include "KernelCommands.h"
#include "KernelRecording.h"
#include "KernelRunner.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Chrono.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <memory>

using namespace llvm;

namespace rubia::golden {
namespace {

struct Options {
  std::string folder, file, from, arch, form = "auto", match = ".", rarely,
                                        library = "libcuda.so.1";
  unsigned every = 1, offset = 0, show = 1;
  unsigned timeoutMs = 60000;
  bool all = false, bounds = false, permitted = false;
  std::shared_ptr<KernelJudge> judge; // what --bounds asks
  RunWithoutDevice onReference = nullptr;
};

int fail(Error error) {
  errs() << "rubia-golden: " << toString(std::move(error)) << "\n";
  return 1;
}

Expected<std::vector<KernelCase>> chosenKernels(const Options &options) {
  Regex match(options.match);
  if (std::string error; !match.isValid(error))
    return createStringError("--match: " + error);
  Regex rarely(options.rarely.empty() ? "^$" : options.rarely);
  if (std::string error; !rarely.isValid(error))
    return createStringError("--rarely: " + error);
  size_t index = 0, rare = options.offset; // another third for each offset
  return readKernels(options.folder, [&](StringRef name) {
    return match.match(name) && index++ % options.every == options.offset % options.every &&
           (!rarely.match(name) || rare++ % 3 == 0);
  });
}

// What a file has recorded of the folder's kernels as they are now; none if it does not exist.
Expected<Recording> recordingOf(const std::string &folder, const std::string &file) {
  if (!sys::fs::exists(file))
    return Recording();
  auto recording = readRecording(file);
  if (!recording)
    return recording;
  std::map<std::string, uint64_t> digests;
  auto known = readKernels(folder);
  if (!known)
    return known.takeError();
  for (const KernelCase &kernel : *known)
    digests[kernel.name] = kernel.digest();
  erase_if(recording->kernels, [&](const auto &entry) {
    auto found = digests.find(entry.first);
    return found == digests.end() || found->second != entry.second.digest;
  });
  return recording;
}

// Adds another file's recordings to one, for recordings made in parts; what no longer exists goes.
int takeKernels(const Options &options) {
  auto recording = recordingOf(options.folder, options.file);
  if (!recording)
    return fail(recording.takeError());
  auto other = recordingOf(options.folder, options.from);
  if (!other)
    return fail(other.takeError());
  if (!recording->device.empty() && recording->device != other->device)
    return fail(
        createStringError("recorded on " + other->device + ", not on " + recording->device));
  recording->device = other->device;
  recording->date = std::max(recording->date, other->date);
  size_t before = recording->kernels.size();
  recording->kernels.merge(other->kernels);
  outs() << formatv("{0} kernels taken, {1} in the file\n", recording->kernels.size() - before,
                    recording->kernels.size());
  if (Error error = write(*recording, options.file))
    return fail(std::move(error));
  return 0;
}

// Runs what has no recording yet, or all, and adds it to the file; what no longer exists goes.
int recordKernels(const Options &options) {
  auto kernels = chosenKernels(options);
  if (!kernels)
    return fail(kernels.takeError());
  auto old = recordingOf(options.folder, options.file);
  if (!old)
    return fail(old.takeError());
  Recording recording = std::move(*old);
  erase_if(*kernels, [&](const KernelCase &kernel) {
    return !options.all && recording.kernels.contains(kernel.name);
  });
  unsigned recorded = 0;
  auto device =
      runKernels(*kernels, {options.library, /*repetitions=*/5, options.timeoutMs},
                 [&](size_t i, KernelResult &result) {
                   const KernelCase &kernel = (*kernels)[i];
                   if (!result.error.empty()) {
                     outs() << formatv("not recorded: {0}: {1}\n", kernel.name, result.error);
                     return;
                   }
                   ++recorded;
                   recording.kernels[kernel.name] = {kernel.digest(), std::move(result.outputs)};
                 });
  if (!device)
    return fail(device.takeError());
  outs() << formatv("{0} of {1} kernels recorded, {2} in the file\n", recorded, kernels->size(),
                    recording.kernels.size());
  if (!device->empty())
    recording.device = *device;
  recording.date =
      formatv("{0:%Y-%m-%d}", sys::TimePoint<>(std::chrono::system_clock::now())).str();
  if (Error error = write(recording, options.file))
    return fail(std::move(error));
  return recorded == kernels->size() ? 0 : 1;
}

// known-differences.tsv: expressions for names of kernels and for processors, and why Rubia gives
// another result than the recorded one, or none.
class KnownDifferences {
public:
  static Expected<KnownDifferences> read(const std::string &folder) {
    std::string path = folder + "/known-differences.tsv";
    auto buffer = MemoryBuffer::getFile(path);
    if (!buffer)
      return createStringError(buffer.getError(), "cannot read " + path);
    KnownDifferences known;
    for (StringRef line : split((*buffer)->getBuffer().rtrim('\n'), '\n')) {
      if (line.starts_with("#"))
        continue;
      SmallVector<StringRef> columns;
      line.split(columns, '\t');
      if (columns.size() != 3)
        return createStringError(path + ": not three columns: " + line);
      known.rows.push_back(
          {("^(" + columns[0] + ")$").str(), ("^(" + columns[1] + ")$").str(), columns[2].str()});
    }
    return known;
  }
  /// Empty: there is none.
  StringRef reason(StringRef kernel, StringRef arch) const {
    for (const Row &row : rows)
      if (Regex(row.kernels).match(kernel) && Regex(row.processors).match(arch))
        return row.reason;
    return {};
  }

private:
  struct Row {
    std::string kernels, processors, reason;
  };
  std::vector<Row> rows;
};

struct Tally {
  unsigned kernels = 0, equal = 0, different = 0, notRun = 0, notLegal = 0, known = 0;
};

std::string differenceOf(const KernelCase &kernel, ArrayRef<std::vector<uint8_t>> got,
                         ArrayRef<std::vector<uint8_t>> expected, unsigned show) {
  constexpr size_t kPiece = 8; // no element is larger
  std::string text;
  for (auto [n, output] : enumerate(expected)) {
    unsigned pieces = 0;
    for (size_t i = 0; i < output.size(); i += kPiece) {
      auto piece = [&](const std::vector<uint8_t> &of) {
        return std::vector<uint8_t>(of.begin() + i,
                                    of.begin() + std::min(i + kPiece, output.size()));
      };
      std::vector<uint8_t> mine = piece(got[n]), recorded = piece(output);
      if (!kernel.isRight(mine, recorded) && pieces++ < show)
        text += formatv("  result {0}, byte {1}: {2}, expected {3}\n", n, i, toHex(mine),
                        toHex(recorded));
    }
    if (pieces)
      text += formatv("  result {0}: {1} of {2} pieces of {3} bytes differ\n", n, pieces,
                      (output.size() + kPiece - 1) / kPiece, kPiece);
  }
  return text;
}

// Rubia's libcuda of the build or installation that this program is part of.
std::string ownLibrary() {
  static int anchor;
  SmallString<256> path(sys::path::parent_path(sys::fs::getMainExecutable("", &anchor)));
  sys::path::append(path, "..", "lib", "rubia", "libcuda.so.1");
  return path.str().str();
}

// A form is refused where it would be unsound, and for CTAs that are too large for it. The checked
// form ends these kernels: warps come to a barrier on other ways, or store what they have after
// others have passed one.
bool isRefusedForm(const Options &options, StringRef name, StringRef error) {
  const bool comesApart = name == "barrier.branches_of_warps" || name == "barrier.exited_warps";

  return (options.form == "packed" && (error.contains("the packed form is not legal") ||
                                       error.contains("the packed form is only legal for"))) ||
         (options.form == "checked" &&
          (error.contains("the checked form is not legal") ||
           (comesApart && error.contains("CUDA_ERROR_LAUNCH_FAILED")))) ||
         (options.form == "half-filled" &&
          error.contains("threads, at most 512 in the half-filled form"));
}

int compareKernels(Options options) {
  auto kernels = chosenKernels(options);
  if (!kernels)
    return fail(kernels.takeError());
  auto recording = readRecording(options.file);
  if (!recording)
    return fail(recording.takeError());
  const bool onReference = options.onReference && options.arch == "reference";
  if (!options.arch.empty() && !onReference) {
    setenv("RUBIA_DEVICE", "emulator", 1);
    setenv("RUBIA_ARCH", options.arch.c_str(), 1);
    options.library = ownLibrary();
  }
  setenv("RUBIA_WARP_FORM", options.form.c_str(), 1);
  setenv("RUBIA_NAN", "canonical", 1);
  MapVector<StringRef, Tally> tallies;
  Tally sum;
  unsigned missing = 0;
  erase_if(*kernels, [&](const KernelCase &kernel) {
    auto found = recording->kernels.find(kernel.name);
    if (found != recording->kernels.end() && found->second.digest == kernel.digest())
      return false;
    outs() << formatv("not recorded: {0}\n", kernel.name);
    ++missing;
    return true;
  });
  auto differences = KnownDifferences::read(options.folder);
  if (!differences)
    return fail(differences.takeError());
  auto expectedOf = [&](const KernelCase &kernel) -> const auto & {
    return recording->kernels[kernel.name].outputs;
  };
  auto judge = [&](size_t i, KernelResult &result) {
    const KernelCase &kernel = (*kernels)[i];
    Tally &tally = tallies[kernel.topic];
    auto count = [&](unsigned Tally::*field) { ++(tally.*field), ++(sum.*field); };
    count(&Tally::kernels);
    bool right = false;
    if (result.error.empty())
      right = all_of(zip_equal(result.outputs, expectedOf(kernel)), [&](const auto &pair) {
        return kernel.isRight(std::get<0>(pair), std::get<1>(pair));
      });
    std::string judgement;
    if (result.error.empty() && !right && options.bounds) {
      judgement = options.judge->judge(kernel, result.outputs, expectedOf(kernel));
      right = judgement.empty();
    }
    if (isRefusedForm(options, kernel.name, result.error)) {
      count(&Tally::notLegal);
      outs() << formatv("not legal: {0}: {1}\n", kernel.name, result.error);
    } else if (StringRef reason = differences->reason(kernel.name, options.arch); !reason.empty()) {
      count(right ? &Tally::different : &Tally::known);
      outs() << formatv("{0}: {1}: {2}{3}{4}\n", right ? "no longer differs" : "known to differ",
                        kernel.name, reason, result.error.empty() ? "" : ": ", result.error);
    } else if (!result.error.empty()) {
      count(&Tally::notRun);
      outs() << formatv("not run: {0}: {1}\n", kernel.name, result.error);
    } else if (right) {
      count(&Tally::equal);
    } else {
      count(&Tally::different);
      outs() << formatv("differs: {0}\n{1}{2}", kernel.name, judgement,
                        differenceOf(kernel, result.outputs, expectedOf(kernel), options.show));
    }
  };
  const auto recordedOf = [&](size_t i) -> const auto & { return expectedOf((*kernels)[i]); };
  auto device = onReference
                    ? options.onReference(*kernels, judge,
                                          options.permitted ? RecordedOutputs(recordedOf) : nullptr)
                    : runKernels(*kernels, {options.library, 1, options.timeoutMs}, judge);
  if (!device)
    return fail(device.takeError());
  auto print = [](StringRef name, const Tally &tally) {
    outs() << formatv("{0}: {1} kernels, {2} equal, {3} differ, {4} not run, {5} not legal, {6} "
                      "known to differ\n",
                      name, tally.kernels, tally.equal, tally.different, tally.notRun,
                      tally.notLegal, tally.known);
  };
  for (const auto &[topic, tally] : tallies)
    print(topic, tally);
  print(formatv("all on {0}, {1}", *device, options.form).str(), sum);
  if (options.bounds)
    outs() << "of what is not as recorded: " << options.judge->summary();
  return sum.equal + sum.notLegal + sum.known == sum.kernels && !missing ? 0 : 1;
}

int listKernels(const Options &options) {
  auto kernels = chosenKernels(options);
  if (!kernels)
    return fail(kernels.takeError());
  for (const KernelCase &kernel : *kernels) {
    outs() << kernel.topic << '\t' << kernel.name << '\n';
    if (options.file.empty())
      continue;
    std::error_code error;
    raw_fd_ostream file(options.file + "/" + kernel.entry + ".ptx", error);
    if (error)
      return fail(createStringError(error, "cannot write " + options.file));
    file << kernel.text;
  }
  return 0;
}

} // namespace

void addKernelCommands(CLI::App &app, int &status, std::shared_ptr<KernelJudge> judge,
                       RunWithoutDevice onReference) {
  auto options = std::make_shared<Options>();
  options->judge = judge;
  options->onReference = onReference;
  auto add = [&](const char *name, const char *what, int (*run)(const Options &)) {
    CLI::App *command = app.add_subcommand(name, what);
    command->add_option("FOLDER", options->folder, "with the kernels")
        ->required()
        ->check(CLI::ExistingDirectory);
    command->add_option("--match", options->match, "only kernels that match this expression");
    command->callback([=, &status] { status = run(*options); });
    return command;
  };
  auto *list = add("kernels", "print the names of the kernels", listKernels);
  list->add_option("--write", options->file, "write the PTX of each to this folder")
      ->check(CLI::ExistingDirectory);
  auto *record = add("record-kernels", "run kernels on the GPU at hand", recordKernels);
  record->add_option("FILE", options->file, "to add results to")->required();
  record->add_flag("--all", options->all, "also what is recorded already");
  auto *take = add("take-kernels", "add what another file has recorded", takeKernels);
  take->add_option("FILE", options->file, "to add results to")->required();
  take->add_option("FROM", options->from)->required()->check(CLI::ExistingFile);
  auto *compare = add("compare-kernels", "compare a device with a recording",
                      [](const Options &o) { return compareKernels(o); });
  compare->add_option("FILE", options->file)->required()->check(CLI::ExistingFile);
  compare->add_option("--arch", options->arch,
                      "compile and emulate for this processor, or `reference`: execute by "
                      "reference/; else what libcuda.so.1 gives");
  compare->add_option("--form", options->form, "of warps on wave64")
      ->check(CLI::IsMember({"auto", "half-filled", "packed", "checked"}));
  compare->add_option("--every", options->every, "only every N-th kernel")
      ->check(CLI::PositiveNumber);
  compare->add_option("--offset", options->offset, "begin with this one");
  compare->add_option("--rarely", options->rarely,
                      "of the chosen kernels that match this expression, only every third");
  compare->add_option("--show", options->show, "differences to print of each result");
  if (onReference)
    compare->add_flag("--permitted", options->permitted,
                      "with --arch reference: products and sums without a rounding may be fused, "
                      "as what is recorded shows");
  if (judge)
    compare->add_flag("--bounds", options->bounds,
                      "products of matrices need not have the bits that are recorded");
  for (CLI::App *command : {record, compare})
    command->add_option("--timeout", options->timeoutMs, "milliseconds for a kernel");
}

} // namespace rubia::golden
