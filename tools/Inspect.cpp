// SPDX-License-Identifier: Apache-2.0
// rubia inspect: the images of a file, and for every kernel whether it will work, and if not, why.
#include "codegen/Codegen.h"
#include "targets/Target.h"
#include "tools/CodeObjects.h"
#include "tools/Commands.h"
#include "tools/DriverCalls.h"
#include "tools/Sources.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
struct InspectOptions {
  std::vector<std::string> files;
  std::string arch = targets::byDefault().name.str();
  settings::Settings settings;
  bool json = false;
};

const char *nameOf(fatbin::ImageKind kind) {
  switch (kind) {
  case fatbin::ImageKind::Ptx:
    return "ptx";
  case fatbin::ImageKind::Cubin:
    return "cubin";
  case fatbin::ImageKind::LtoIr:
    return "lto-ir";
  case fatbin::ImageKind::Other:
    break;
  }
  return "other";
}

const char *nameOf(fatbin::Compression compression) {
  switch (compression) {
  case fatbin::Compression::Stored:
    return "stored";
  case fatbin::Compression::Lz4:
    return "lz4";
  case fatbin::Compression::Zstd:
    return "zstd";
  case fatbin::Compression::Unknown:
    break;
  }
  return "unknown";
}

ordered_json describe(const fatbin::FileImage &i) {
  return {{"kind", nameOf(i.image.kind)},
          {"target", i.image.target()},
          {"compression", nameOf(i.image.compression)},
          {"storedBytes", i.image.stored.size()},
          {"bytes", i.image.uncompressedSize},
          {"identifier", i.image.identifier.str()},
          {"options", i.image.options.str()}};
}

// Lowering says whether a kernel can be compiled; it takes milliseconds, compiling seconds.
// Whether code of the unit reads the workspace that only cooperative launches have.
bool hasGridBarrier(const lowering::Unit &unit) {
  auto reads = [](const ptx::Function *function) {
    for (const ptx::Instruction &instruction : function->body)
      for (const ptx::Operand &operand : instruction.operands)
        if (operand.kind == ptx::Operand::Kind::SpecialRegister &&
            (operand.special == ptx::SpecialRegister::EnvReg1 ||
             operand.special == ptx::SpecialRegister::EnvReg2))
          return true;
    return false;
  };
  return any_of(unit.kernels, reads) || any_of(unit.functions, reads);
}

// Which launches of a kernel are refused though it can be compiled. 0 threads: none but by the
// program's own directives.
struct ThreadLimit {
  uint64_t threads = 0;
  std::string text;
};

ThreadLimit threadLimitOf(const ptx::Function &kernel, const nlohmann::json &metadata) {
  constexpr uint64_t kMax = 1024;
  const uint32_t (&sizes)[3] = kernel.attributes.maxThreads;
  const uint64_t own = uint64_t(sizes[0]) * std::max(sizes[1], 1u) * std::max(sizes[2], 1u);
  for (const nlohmann::json &compiled : metadata["kernels"]) {
    const auto most = compiled["maxThreads"].get<uint64_t>();
    if (compiled["name"].get<std::string>() != kernel.name ||
        kernel.attributes.requiredThreads[0] || most >= std::min(kMax, own ? own : kMax))
      continue;
    return {most, "blocks of at most " + std::to_string(most) + " threads, one warp in a wave: " +
                      compiled["warpFormReason"].get<std::string>()};
  }
  return {};
}

ordered_json describeKernels(const runtime::PtxImage &image,
                             const runtime::PipelineOptions &options) {
  runtime::Manifest manifest = image.manifest();
  std::vector<std::string> unitErrors;
  std::vector<bool> gridBarriers;
  StringMap<ThreadLimit> limits; // by kernel
  std::vector<nlohmann::json> matrixRoutes, refused;
  for (const lowering::Unit &unit : image.units()) {
    Expected<std::string> metadata = image.metadata(unit, options);
    unitErrors.push_back(metadata ? "" : toString(metadata.takeError()));
    matrixRoutes.push_back(nlohmann::json::array());
    refused.push_back(nlohmann::json::array());
    if (unitErrors.back().empty()) {
      const nlohmann::json parsed = nlohmann::json::parse(*metadata);
      for (const ptx::Function *kernel : unit.kernels)
        limits[kernel->name] = threadLimitOf(*kernel, parsed);
      matrixRoutes.back() = parsed["matrixRoutes"];
      refused.back() = parsed["refused"];
    }
    gridBarriers.push_back(hasGridBarrier(unit));
  }
  ordered_json kernels = ordered_json::array();
  for (const runtime::Manifest::Kernel &k : manifest.kernels) {
    std::string error = k.error.empty() ? unitErrors[k.unit] : k.error;
    const ThreadLimit limit = limits.lookup(k.name);
    ordered_json kernel{{"name", k.name},
                        {"parameters", k.parameters.size()},
                        {"parameterBytes", k.parameterBytes},
                        {"sharedBytes", k.staticSharedBytes},
                        {"gridBarrier", bool(gridBarriers[k.unit])},
                        {"works", error.empty()}};
    if (!error.empty())
      kernel["reason"] = error;
    else if (limit.threads)
      kernel["limit"] = {{"threads", limit.threads}, {"text", limit.text}};
    if (error.empty() && !matrixRoutes[k.unit].empty())
      kernel["matrixRoutes"] = matrixRoutes[k.unit];
    if (error.empty() && !refused[k.unit].empty())
      kernel["refused"] = refused[k.unit];
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

ordered_json describe(const Source &source, const runtime::PipelineOptions &options,
                      unsigned capability) {
  ordered_json result{{"place", source.place}, {"images", ordered_json::array()}};
  for (const auto *images : {&source.images, &source.others})
    for (const fatbin::FileImage *image : *images)
      result["images"].push_back(describe(*image));
  if (!source.hasPtx() && !source.hasKernels()) {
    result["empty"] = "no kernels: what nvcc writes beside them";
    return result;
  }
  Expected<runtime::PtxImage> image = parse(source, capability);
  if (!image) {
    result["problem"] = toString(image.takeError());
    return result;
  }
  std::string problems; // of the module; those of functions are their kernels' reasons
  for (const ptx::Diagnostic &d : image->diagnostics())
    if (d.severity == ptx::Severity::Error && d.function.empty())
      problems += (problems.empty() ? "" : "\n") + image->format(d);
  if (!problems.empty())
    result["problem"] = problems;
  const ptx::Module &m = image->module();
  result["ptx"] = std::to_string(m.versionMajor) + "." + std::to_string(m.versionMinor);
  result["target"] =
      "sm_" + std::to_string(m.sm) + (m.smVariant ? std::string(1, m.smVariant) : "");
  result["kernels"] = describeKernels(*image, options);
  result["variables"] = image->manifest().variables.size();
  return result;
}

// What becomes of a program, as far as its file tells; docs/inspect.md has the words.
struct Verdict {
  std::string word, text;
  int status;
};

Verdict judge(const ordered_json &file) {
  unsigned working = 0, failing = 0, lost = unsigned(file["problems"].size());
  for (const ordered_json &module : file["modules"]) {
    lost += module.contains("problem");
    if (module.contains("kernels"))
      for (const ordered_json &kernel : module["kernels"])
        ++(kernel["works"].get<bool>() ? working : failing);
  }
  std::string missing;
  for (const ordered_json &call : file["missing"]) {
    const auto function = call["function"].get<std::string>(),
               driver = call["driver"].get<std::string>();
    missing += (missing.empty() ? "" : ", ") + function +
               (driver == function ? "" : " (that needs " + driver + ")");
  }
  const std::string calls = "the program calls what is missing: " + missing;
  const unsigned all = working + failing;
  if (!working && failing + lost)
    return {"no",
            failing ? "none of " + std::to_string(failing) + " kernels can be compiled"
                    : "none of its modules can be loaded",
            kFailed};
  if (failing + lost) {
    std::string text;
    if (failing)
      text = std::to_string(failing) + " of " + std::to_string(all) + " kernels cannot be compiled";
    if (lost)
      text +=
          (text.empty() ? "" : ", ") + std::to_string(lost) + " modules or images cannot be used";
    return {"partly", text + (missing.empty() ? "" : "; " + calls), kPartlyFailed};
  }
  if (!missing.empty())
    return {"calls-missing", (all ? "the kernels compile; " : "") + calls, kPartlyFailed};
  if (!all)
    return {"no-kernels", "there is nothing to compile", kDone};
  std::string text =
      all == 1 ? "its kernel compiles" : "its " + std::to_string(all) + " kernels compile";
  if (!file["callsAreKnown"].get<bool>())
    text += "; what it calls of the CUDA runtime cannot be told";
  return {"works", std::move(text), kDone};
}

void print(const ordered_json &file) {
  printed() << file["file"].get<std::string>() << ": " << file["summary"].get<std::string>()
            << "\n";
  for (const ordered_json &problem : file["problems"])
    printed() << "  problem: " << problem.get<std::string>() << "\n";
  for (const ordered_json &source : file["modules"]) {
    printed() << "  " << source["place"].get<std::string>() << "\n";
    for (const ordered_json &i : source["images"])
      printed() << "    " << i["kind"].get<std::string>() << " " << i["target"].get<std::string>()
                << ", " << i["compression"].get<std::string>() << ", " << i["bytes"].get<uint64_t>()
                << " bytes\n";
    if (source.contains("problem"))
      printed() << "    problem: " << source["problem"].get<std::string>() << "\n";
    if (source.contains("empty"))
      printed() << "    " << source["empty"].get<std::string>() << "\n";
    if (!source.contains("kernels"))
      continue;
    printed() << "    taken: PTX " << source["ptx"].get<std::string>() << " for "
              << source["target"].get<std::string>() << ", " << source["variables"].get<uint64_t>()
              << " variables\n";
    for (const ordered_json &k : source["kernels"]) {
      printed() << "    " << (k["works"].get<bool>() ? "works  " : "FAILS  ")
                << k["name"].get<std::string>() << " (" << k["parameters"].get<uint64_t>()
                << " parameters, " << k["sharedBytes"].get<uint64_t>() << " bytes shared"
                << (k["gridBarrier"].get<bool>() ? ", barrier of the grid: cooperative launch" : "")
                << ")\n";
      if (k.contains("limit"))
        printed() << "             " << k["limit"]["text"].get<std::string>() << "\n";
      if (k.contains("matrixRoutes"))
        printed() << "             products of matrices: "
                  << join(k["matrixRoutes"].get<std::vector<std::string>>(), ", ") << "\n";
      if (k.contains("refused"))
        for (const ordered_json &place : k["refused"])
          printed() << "             " << place.get<std::string>() << "\n";
      if (k.contains("reason")) {
        SmallVector<StringRef> lines;
        std::string reason = k["reason"].get<std::string>();
        StringRef(reason).split(lines, '\n');
        for (StringRef line : lines)
          printed() << "             " << line << "\n";
      }
    }
  }
  for (const ordered_json &note : file["notes"])
    printed() << "  note: " << note.get<std::string>() << "\n";
  printed() << "  verdict: " << file["verdict"].get<std::string>() << ": "
            << file["reason"].get<std::string>() << "\n";
}

// A code object works on the emulator if that can load it; only there can this be told.
ordered_json describe(const CodeObjectImage &image) {
  ordered_json result{{"place", image.place},
                      {"target", image.info.target},
                      {"version", image.info.version},
                      {"bytes", image.bytes.size()},
                      {"kernels", ordered_json::array()}};
  if (std::vector<std::string> notes = notesOf(image.bytes); !notes.empty())
    result["notes"] = std::move(notes);
  emulator::Memory memory;
  auto loaded = emulator::CodeObject::load(image.bytes, memory);
  result["emulated"] = bool(loaded);
  if (!loaded)
    result["problem"] = toString(loaded.takeError());
  for (const emulator::KernelInfo &k : image.info.kernels) {
    ordered_json parameters = ordered_json::array();
    for (const emulator::KernelArgument &a : k.arguments)
      if (!a.isHidden())
        parameters.push_back({{"offset", a.offset}, {"size", a.size}, {"kind", a.valueKind}});
    result["kernels"].push_back({{"name", k.name},
                                 {"parameters", std::move(parameters)},
                                 {"parameterBytes", k.explicitKernargSize},
                                 {"sharedBytes", k.ldsBytes},
                                 {"scratchBytes", k.scratchBytes},
                                 {"sgprs", k.sgprCount},
                                 {"vgprs", k.vgprCount},
                                 {"accumulators", k.agprCount},
                                 {"waveSize", k.waveSize},
                                 {"maxThreads", k.maxWorkgroupSize}});
  }
  return result;
}

void printCodeObjects(const ordered_json &file) {
  printed() << file["file"].get<std::string>() << ": " << file["summary"].get<std::string>()
            << "\n";
  for (const ordered_json &object : file["codeObjects"]) {
    printed() << "  " << object["place"].get<std::string>() << "\n    "
              << object["target"].get<std::string>() << ", version "
              << object["version"].get<unsigned>() << ", " << object["bytes"].get<uint64_t>()
              << " bytes, " << (object["emulated"].get<bool>() ? "runs" : "DOES NOT RUN")
              << " on the emulator\n";
    if (object.contains("problem"))
      printed() << "    problem: " << object["problem"].get<std::string>() << "\n";
    if (object.contains("notes"))
      for (const ordered_json &note : object["notes"])
        printed() << "    note: " << note.get<std::string>() << "\n";
    for (const ordered_json &k : object["kernels"]) {
      printed() << "    " << k["name"].get<std::string>() << " (" << k["parameters"].size()
                << " parameters, " << k["sharedBytes"].get<uint64_t>() << " bytes shared, "
                << k["scratchBytes"].get<uint64_t>() << " bytes scratch, "
                << k["vgprs"].get<uint64_t>() << " VGPRs, " << k["sgprs"].get<uint64_t>()
                << " SGPRs, wave" << k["waveSize"].get<unsigned>() << ")\n";
      for (const ordered_json &p : k["parameters"])
        printed() << "      at " << p["offset"].get<unsigned>() << ": " << p["size"].get<unsigned>()
                  << " bytes, " << p["kind"].get<std::string>() << "\n";
    }
  }
}

Expected<ordered_json> inspectCodeObjects(const std::string &path) {
  Expected<CodeObjectFile> file = openCodeObjects(path);
  if (!file)
    return file.takeError();
  ordered_json entry{
      {"file", path}, {"summary", file->description}, {"codeObjects", ordered_json::array()}};
  for (const CodeObjectImage &image : file->images)
    entry["codeObjects"].push_back(describe(image));
  return entry;
}

Expected<ordered_json> inspectSources(const std::string &path, const InspectOptions &options,
                                      unsigned capability, const DriverFunctions &driver) {
  Expected<SourceFile> file = openSources(path);
  if (!file)
    return file.takeError();
  ordered_json entry{{"file", path},
                     {"summary", file->file.description()},
                     {"problems", file->file.problems},
                     {"modules", ordered_json::array()},
                     {"missing", ordered_json::array()},
                     {"notes", ordered_json::array()}};
  const unsigned told = capabilityOf(*file, path, capability);
  runtime::PipelineOptions pipeline;
  pipeline.codegen.arch = options.arch;
  pipeline.code = options.settings.code();
  for (const Source &source : file->sources)
    entry["modules"].push_back(describe(source, pipeline, told));
  Expected<DriverCalls> calls = driverCallsOf(file->file.bytes(), driver);
  if (!calls)
    return createStringError(path + ": " + toString(calls.takeError()));
  for (const DriverCalls::Missing &m : calls->missing)
    entry["missing"].push_back({{"function", m.function}, {"driver", m.driver}});
  entry["notes"] = calls->notes;
  entry["callsAreKnown"] = !calls->isUncertain;
  return entry;
}

int inspect(const InspectOptions &options) {
  Expected<unsigned> capability = computeCapability();
  if (!capability)
    return fail(capability.takeError());
  if (Error error = codegen::validateArch(options.arch)) {
    fail(std::move(error));
    return kUsage;
  }
  Expected<DriverFunctions> driver = DriverFunctions::installed();
  if (!driver)
    return fail(driver.takeError());
  Outcome outcome;
  ordered_json all = ordered_json::array();
  auto take = [&](Expected<ordered_json> entry) -> ordered_json * {
    if (!entry) {
      fail(entry.takeError());
      ++outcome.failed;
      return nullptr;
    }
    all.push_back(std::move(*entry));
    return &all.back();
  };
  for (const std::string &path : options.files) {
    if (holdsCodeObjects(path)) {
      if (ordered_json *entry = take(inspectCodeObjects(path))) {
        ++outcome.worked;
        if (!options.json)
          printCodeObjects(*entry);
      }
      continue;
    }
    ordered_json *entry = take(inspectSources(path, options, *capability, *driver));
    if (!entry)
      continue;
    Verdict verdict = judge(*entry);
    (*entry)["verdict"] = verdict.word;
    (*entry)["reason"] = verdict.text;
    outcome.worked += verdict.status != kFailed;
    outcome.failed += verdict.status != kDone;
    if (!options.json)
      print(*entry);
  }
  if (options.json)
    outs() << all.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
  return outcome.status();
}
} // namespace

void addInspect(CLI::App &app, int &status) {
  auto options = std::make_shared<InspectOptions>();
  CLI::App *command =
      app.add_subcommand("inspect", "What is inside, what will work and what will not, and why");
  command->add_option("file", options->files, "whatever holds kernels")->required();
  command->add_option("--arch", options->arch, "the target to judge for")->capture_default_str();
  addCodeOptions(*command, options->settings);
  command->add_flag("--json", options->json, "machine-readable");
  command->callback([options, &status] { status = inspect(*options); });
}

} // namespace rubia::tools
