// SPDX-License-Identifier: Apache-2.0
// rubia precompile: everything that the given files hold, compiled for the given targets into a
// cache. It asks for what `rubia run` would ask for, by the same way: so the entries are those that
// programs look up, a unit that kills the compiler costs itself only, and what is in the cache
// already is not compiled again.
#include "input/Printable.h"
#include "runtime/cache/UnitVariants.h"
#include "runtime/compiler/WorkerLimits.h"
#include "targets/Target.h"
#include "tools/Commands.h"
#include "tools/EndingSignals.h"
#include "tools/OutputFile.h"
#include "tools/PrecompileMerge.h"
#include "tools/PrecompileProgress.h"
#include "tools/cache/CacheCommands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting compile, sandbox, workerBytes, workerProcesses, workerSeconds;
} // namespace rubia::settings::Id

namespace rubia::tools {

namespace {
using Clock = std::chrono::steady_clock;

struct PrecompileOptions {
  std::vector<std::string> paths, records, merged, archs{targets::byDefault().name.str()}, reports;
  std::string output, signer, shard, progress = "auto";
  settings::Settings settings;
  unsigned jobs = std::max(1u, std::thread::hardware_concurrency());
  unsigned timeout = 300, capability = 0;
  uint64_t memory = uint64_t(6) << 30;
};

struct Shard {
  unsigned index = 0, count = 1; // index from 0
};

// "2/8". Counted from 1: who counts from 0 would do the last part twice, or not at all.
Expected<Shard> parseShard(StringRef text) {
  Shard shard;
  auto [index, count] = text.split('/');
  if (text.empty())
    return shard;
  if (index.getAsInteger(10, shard.index) || count.getAsInteger(10, shard.count) || !shard.index ||
      shard.index > shard.count)
    return createStringError("--shard is '" + text + "', expected I/N with I from 1 to N");
  --shard.index;
  return shard;
}

bool isPack(StringRef output) { return output.ends_with(".pack"); }

struct Unit {
  size_t image = 0;
  uint32_t number = 0;
  std::string arch;
  settings::Code code;
  std::vector<const runtime::Manifest::Kernel *> kernels;
  std::vector<KernelReport> reports; // one per kernel
};

class Precompilation {
public:
  Precompilation(const PrecompileOptions &options, Shard shard, PrecompileProgress::Kind progress,
                 runtime::Compiler &compiler, const PrecompileInputs &inputs)
      : options(options), shard(shard), progress(progress), compiler(compiler), inputs(inputs) {}

  PrecompileReport run();
  // What is done so far; nullopt: run() has given its report. Whoever calls this holds the lock
  // until the process ends: nothing is done or printed any more.
  std::optional<PrecompileReport> interrupted(std::unique_lock<std::mutex> &lock);

private:
  void readManifests();
  using WantedUnit = std::pair<uint32_t, settings::Code>;
  std::vector<WantedUnit> wantedUnits(size_t image);
  void listUnits();
  void compileUnits();
  void compile(Unit &unit);
  void compileOtherForms(Unit &unit, ArrayRef<uint8_t> plain);
  bool isMine(const Unit &unit) const;
  template <class Work> void locked(Work work) {
    std::lock_guard<std::mutex> lock(mutex);
    work();
  }
  // Calls work(i) for every i below count, by as many threads as there are jobs.
  template <class Work> void inParallel(size_t count, Work work);

  const PrecompileOptions &options;
  Shard shard;
  PrecompileProgress::Kind progress;
  runtime::Compiler &compiler;
  const PrecompileInputs &inputs;
  std::vector<std::shared_ptr<const runtime::Manifest>> manifests; // null: none
  std::vector<Unit> units;
  std::mutex mutex; // of what follows, and of stdout
  PrecompileReport report;
  std::vector<size_t> unitsDone;
  bool finished = false;
};

template <class Work> void Precompilation::inParallel(size_t count, Work work) {
  std::atomic<size_t> next = 0;
  std::vector<std::thread> threads;
  for (size_t t = 0; t < std::min<size_t>(options.jobs, count); ++t)
    threads.emplace_back([&] {
      for (size_t i; (i = next++) < count;)
        work(i);
    });
  for (std::thread &thread : threads)
    thread.join();
}

void Precompilation::readManifests() {
  const ArrayRef<PrecompileImage> images = inputs.images();
  manifests.resize(images.size());
  std::vector<std::string> errors(images.size());
  PrecompileProgress shown(progress, "images");
  locked([&] { shown.start(images.size()); });
  inParallel(images.size(), [&](size_t i) {
    if (auto manifest = compiler.manifest(images[i].raw))
      manifests[i] = std::move(*manifest);
    else
      errors[i] = toString(manifest.takeError());
    std::lock_guard<std::mutex> lock(mutex);
    shown.step(false);
  });
  locked([&] {
    shown.finish();
    for (size_t i = 0; i < images.size(); ++i)
      if (!manifests[i])
        report.problems.push_back({images[i].place, errors[i]});
  });
}

// By content, so that machines that see different files still agree on who does what.
bool Precompilation::isMine(const Unit &unit) const {
  const runtime::ModuleImage &raw = inputs.images()[unit.image].raw;
  std::string text = toHex(raw.digest, true) + "/" + std::to_string(raw.computeCapability) + "/" +
                     std::to_string(unit.number) + "/" + unit.arch;
  const runtime::Digest digest = runtime::digestOf(arrayRefFromStringRef(text));
  return support::endian::read32le(digest.data()) % shard.count == shard.index;
}

void Precompilation::listUnits() {
  for (size_t image = 0; image < manifests.size(); ++image) {
    if (!manifests[image])
      continue;
    std::vector<std::vector<const runtime::Manifest::Kernel *>> kernels(
        manifests[image]->unitCount);
    for (const runtime::Manifest::Kernel &kernel : manifests[image]->kernels)
      kernels[kernel.unit].push_back(&kernel);
    const std::vector<WantedUnit> wanted = wantedUnits(image);
    for (const std::string &arch : options.archs)
      for (const auto &[number, code] : wanted) {
        Unit unit{image, number, arch, code, kernels[number], {}};
        if (!unit.kernels.empty() && isMine(unit))
          units.push_back(std::move(unit));
      }
  }
}

// The units of an image that are to be compiled, each once for a code. Records name kernels: which
// of them are one unit is another version's own affair.
std::vector<Precompilation::WantedUnit> Precompilation::wantedUnits(size_t image) {
  const PrecompileImage &input = inputs.images()[image];
  const runtime::Manifest &manifest = *manifests[image];
  std::vector<WantedUnit> wanted;
  for (uint32_t number = 0; input.isWhole && number < manifest.unitCount; ++number)
    wanted.emplace_back(number, compiler.code());
  for (const RecordedKernels &kernels : input.recorded)
    for (const std::string &name : kernels.names) {
      const runtime::Manifest::Kernel *kernel = manifest.kernel(name);
      if (!kernel)
        report.problems.push_back({input.place, "no kernel '" + name + "' is in it"});
      else if (const WantedUnit unit(kernel->unit, kernels.code); !is_contained(wanted, unit))
        wanted.push_back(unit);
    }
  return wanted;
}

void Precompilation::compile(Unit &unit) {
  for (const runtime::Manifest::Kernel *kernel : unit.kernels) {
    KernelReport &report = unit.reports.emplace_back();
    report.name = kernel->name;
    report.image = unit.image;
    report.unit = unit.number;
    report.arch = unit.arch;
    report.reason = kernel->error;
  }
  // Kernels with errors are never asked for by programs.
  if (all_of(unit.reports, [](const KernelReport &k) { return !k.reason.empty(); }))
    return;
  runtime::CompileCost cost;
  const Clock::time_point begin = Clock::now();
  auto code = compiler.codeObject(inputs.images()[unit.image].raw, unit.number, unit.arch,
                                  unit.code, &cost);
  const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  const std::string error = code ? "" : toString(code.takeError());
  for (KernelReport &report : unit.reports) {
    if (cost.compiled) {
      report.seconds = seconds;
      report.memoryBytes = cost.peakBytes;
    }
    if (!report.reason.empty())
      continue;
    report.reason = error;
    if (!error.empty())
      continue;
    if (Error wrong = describeCode(report, **code))
      report.reason = toString(std::move(wrong));
    else
      report.status = cost.compiled ? KernelReport::Status::Compiled : KernelReport::Status::Cached;
  }
  if (error.empty())
    compileOtherForms(unit, **code);
}

// What launches may want beside the plain code: which one it is, they decide.
void Precompilation::compileOtherForms(Unit &unit, ArrayRef<uint8_t> plain) {
  auto failed = [&](const Twine &reason) {
    for (KernelReport &report : unit.reports) {
      report.status = KernelReport::Status::Failed;
      report.reason = reason.str();
    }
  };
  auto variants = runtime::furtherVariants(plain, unit.code);
  if (!variants)
    return failed(toString(variants.takeError()));
  for (const runtime::UnitVariant &variant : *variants) {
    auto code = compiler.codeObject(inputs.images()[unit.image].raw, unit.number, unit.arch,
                                    variant.applyTo(unit.code), nullptr);
    if (!code)
      return failed(Twine(variant.halfFilled ? "half-filled form"
                          : variant.checked  ? "checked form"
                                             : "form") +
                    (variant.safeAtomics ? " with safe atomics" : "") +
                    (variant.deviceShared ? " with shared memory in device memory: " : ": ") +
                    toString(code.takeError()));
  }
}

void Precompilation::compileUnits() {
  PrecompileProgress shown(progress, "units");
  locked([&] { shown.start(units.size()); });
  inParallel(units.size(), [&](size_t i) {
    compile(units[i]);
    std::lock_guard<std::mutex> lock(mutex);
    unitsDone.push_back(i);
    shown.step(units[i].reports.front().status == KernelReport::Status::Cached);
    for (const KernelReport &kernel : units[i].reports)
      shown.kernel(kernel, inputs.images()[kernel.image]);
  });
  locked([&] { shown.finish(); });
}

PrecompileReport Precompilation::run() {
  locked([&] {
    report.archs = options.archs;
    report.shard = options.shard;
    report.files = inputs.files();
    report.images.assign(inputs.images().begin(), inputs.images().end());
    report.problems.assign(inputs.problems().begin(), inputs.problems().end());
  });
  readManifests();
  locked([&] { listUnits(); });
  compileUnits();
  std::lock_guard<std::mutex> lock(mutex);
  finished = true;
  for (Unit &unit : units)
    llvm::append_range(report.kernels, unit.reports);
  return report;
}

std::optional<PrecompileReport> Precompilation::interrupted(std::unique_lock<std::mutex> &lock) {
  lock = std::unique_lock<std::mutex>(mutex);
  if (finished)
    return std::nullopt;
  PrecompileReport now = report;
  now.kernels.clear();
  llvm::sort(unitsDone);
  for (size_t i : unitsDone)
    llvm::append_range(now.kernels, units[i].reports);
  now.pending = units.size() - unitsDone.size();
  return now;
}

Error writeReport(const std::string &path, const PrecompileReport &report) {
  return writeFile(path, [&](raw_ostream &os) {
    if (StringRef(path).ends_with(".json")) {
      os << dump(report.json(), 2) << "\n";
    } else {
      input::PrintableStream table(os);
      report.printTable(table);
    }
  });
}

// The entries of `folder` as one file; what failed is not in it, so that it is tried again.
Error writePack(const std::string &folder, const std::string &path,
                const std::optional<runtime::SigningKey> &signer) {
  runtime::CacheDirectory directory(folder);
  runtime::CachePackWriter pack;
  for (const runtime::CacheDirectory::File &file : directory.files()) {
    Expected<runtime::CacheEntry> entry = runtime::CacheDirectory::readFile(file.path);
    if (!entry)
      return entry.takeError();
    pack.add(*entry);
  }
  return pack.write(path, signer ? &*signer : nullptr);
}

// Where entries go, without an upper bound where the user named the place: nothing of what was just
// made may be evicted.
Expected<runtime::CacheDirectory> openOutput(const std::string &output) {
  if (output.empty()) {
    std::optional<std::string> folder = runtime::cacheDirectory();
    if (!folder)
      return createStringError("the cache is off or has no folder: name one with -o");
    return runtime::CacheDirectory(*folder);
  }
  const std::string folder = isPack(output) ? output + ".parts" : output;
  if (std::error_code error = sys::fs::create_directories(folder, true, sys::fs::all_all))
    return createStringError(error, folder + ": " + error.message());
  runtime::CacheDirectory directory(folder, UINT64_MAX);
  if (std::string why = directory.refusal(); !why.empty())
    return createStringError(folder + ": " + why);
  return directory;
}

// Of shards that have run: nothing is compiled.
int merge(const PrecompileOptions &options) {
  if (!options.paths.empty() || !options.records.empty() || options.reports.empty()) {
    fail("--merge takes reports alone, and --report for the one that is made of them");
    return kUsage;
  }
  Expected<nlohmann::ordered_json> merged = mergeReports(options.merged);
  if (!merged)
    return fail(merged.takeError());
  const nlohmann::ordered_json &summary = (*merged)["summary"];
  int status = summary["exit_status"].get<int>();
  for (const std::string &path : options.reports)
    if (Error error = writeFile(path, dump(*merged, 2) + "\n"))
      status = fail(std::move(error));
  notices() << "rubia: " << summary["kernels"].dump() << " kernels of " << options.merged.size()
            << " reports: " << summary["compiled"].dump() << " compiled, "
            << summary["cached"].dump() << " in the cache, " << summary["failed"].dump()
            << " failed\n";
  return status;
}

int precompile(const PrecompileOptions &options) {
  if (!options.merged.empty())
    return merge(options);
  if (options.paths.empty() && options.records.empty()) {
    fail("a path is needed, or --kernels");
    return kUsage;
  }
  Expected<unsigned> forPrograms = computeCapability();
  if (!forPrograms)
    return fail(forPrograms.takeError());
  for (const std::string &arch : options.archs)
    if (Error error = codegen::validateArch(arch)) {
      fail(std::move(error));
      return kUsage;
    }
  Expected<Shard> shard = parseShard(options.shard);
  if (!shard) {
    fail(shard.takeError());
    return kUsage;
  }
  if (!options.signer.empty() && !isPack(options.output)) {
    fail("--sign is for packs: name one with -o FILE.pack");
    return kUsage;
  }
  Expected<std::optional<runtime::SigningKey>> signer = signingKey(options.signer);
  if (!signer)
    return fail(signer.takeError());
  const Clock::time_point begin = Clock::now();
  const auto progress = options.progress == "auto"   ? PrecompileProgress::automatic()
                        : options.progress == "bar"  ? PrecompileProgress::Kind::Bar
                        : options.progress == "json" ? PrecompileProgress::Kind::Lines
                                                     : PrecompileProgress::Kind::Off;
  Expected<runtime::CacheDirectory> cache = openOutput(options.output);
  if (!cache)
    return fail(cache.takeError());
  const std::string folder = cache->folder();
  settings::Settings settings = options.settings;
  settings
      .set(settings::Id::compile, "lazy") // that programs may not compile does not bind us
      .set(settings::Id::workerProcesses, std::to_string(options.jobs))
      .set(settings::Id::workerSeconds, std::to_string(options.timeout))
      .set(settings::Id::workerBytes, std::to_string(options.memory));
  auto &compiler = runtime::Compiler::create({std::move(*cache), {}}, settings);

  auto finish = [&options, progress, begin](PrecompileReport &report) {
    report.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    PrecompileProgress(progress, "").summary(report);
    report.printSummary(notices());
    int status = kDone;
    for (const std::string &path : options.reports)
      if (Error error = writeReport(path, report))
        status = fail(std::move(error));
    return status;
  };
  // On the heap for good: threads may be at work when a signal ends the process.
  auto &inputs = *new PrecompileInputs(
      *forPrograms,
      options.capability ? std::optional<unsigned>(options.capability) : std::nullopt);
  auto &precompilation = *new Precompilation(options, *shard, progress, compiler, inputs);
  reportOnSignals([&precompilation, finish, folder](const char *signal) {
    std::unique_lock<std::mutex> lock;
    std::optional<PrecompileReport> report = precompilation.interrupted(lock);
    if (!report)
      return;
    report->interrupted = signal;
    finish(*report);
    messages() << "rubia: ended by " << signal
               << "; start the same command again to go on: what is in " << folder
               << " is not compiled again\n";
    outs().flush();
    errs().flush();
  });
  for (const std::string &path : options.paths)
    inputs.addPath(path);
  for (const std::string &path : options.records)
    inputs.addRecord(path);
  PrecompileReport report = precompilation.run();
  int status = report.exitStatus();
  if (!inputs.anyCode() && report.problems.empty())
    status = fail("no CUDA code in what was given");
  status = std::max(status, finish(report));
  if (isPack(options.output)) {
    if (Error error = writePack(folder, options.output, *signer))
      return fail(std::move(error));
    if (!runtime::CacheDirectory(folder).removeWithFolder())
      messages() << "rubia: " << folder << " holds files of others and stays\n";
  }
  return status;
}
} // namespace

void addPrecompile(CLI::App &app, int &status) {
  auto options = std::make_shared<PrecompileOptions>();
  CLI::App *command = app.add_subcommand("precompile", "Fill or ship a cache, without a GPU");
  command->add_option("path", options->paths, "directories, archives, whatever holds kernels");
  command
      ->add_option("--kernels", options->records,
                   "what `rubia run --record-kernels` has written: only the kernels in it")
      ->allow_extra_args(false);
  command->add_option("--arch", options->archs, "targets, such as gfx1100,gfx942")
      ->delimiter(',')
      ->capture_default_str();
  command->add_option("--jobs,-j", options->jobs, "compile processes")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  command->add_option("--shard", options->shard, "I/N: the I-th of N parts of the work");
  command->add_option("-o,--output", options->output,
                      "cache folder, or a pack if it ends in .pack; default: the user's cache");
  command->add_option("--sign", options->signer,
                      "sign the pack with this secret key (rubia cache keygen)");
  addCodeOptions(*command, options->settings);
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->add_option("--timeout", options->timeout, "seconds that a unit may take")
      ->check(CLI::Range(1, 1000000))
      ->capture_default_str();
  command->add_option("--memory", options->memory, "address space of a compile process, such as 6G")
      ->transform(CLI::AsSizeValue(false));
  command->add_option("--capability", options->capability,
                      "what programs are told, such as 89; default: as `rubia run` tells them");
  command
      ->add_option("--merge", options->merged,
                   "compile nothing: make one report of those of all shards")
      ->check(CLI::ExistingFile);
  command->add_option("--report", options->reports,
                      "write what became of each kernel: .json, else a table");
  command
      ->add_option("--progress", options->progress,
                   "bar, json (one line an event) or off; auto: bar on a terminal, else json")
      ->check(CLI::IsMember({"auto", "bar", "json", "off"}))
      ->capture_default_str();
  command->callback([options, &status] { status = precompile(*options); });
}

} // namespace rubia::tools
