// SPDX-License-Identifier: Apache-2.0
// What is in a file: images, modules, kernels, what they call.
#include "tools/inspect/Inspection.h"
#include "tools/inspect/KernelNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
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
          {"stored_bytes", i.image.stored.size()},
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
  std::vector<bool> grid_barriers;
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
    grid_barriers.push_back(hasGridBarrier(unit));
  }
  ordered_json kernels = ordered_json::array();
  for (const runtime::Manifest::Kernel &k : manifest.kernels) {
    std::string error = k.error.empty() ? unitErrors[k.unit] : k.error;
    const ThreadLimit limit = limits.lookup(k.name);
    ordered_json kernel{{"name", k.name},
                        {"demangled", demangled(k.name)},
                        {"parameters", k.parameters.size()},
                        {"parameter_bytes", k.parameterBytes},
                        {"shared_bytes", k.staticSharedBytes},
                        {"grid_barrier", bool(grid_barriers[k.unit])},
                        {"works", error.empty()}};
    if (!error.empty())
      kernel["reason"] = error;
    else if (limit.threads)
      kernel["limit"] = {{"threads", limit.threads}, {"text", limit.text}};
    if (error.empty() && !matrixRoutes[k.unit].empty())
      kernel["matrix_routes"] = matrixRoutes[k.unit];
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
                                 {"demangled", demangled(k.name)},
                                 {"parameters", std::move(parameters)},
                                 {"parameter_bytes", k.explicitKernargSize},
                                 {"shared_bytes", k.ldsBytes},
                                 {"scratch_bytes", k.scratchBytes},
                                 {"sgprs", k.sgprCount},
                                 {"vgprs", k.vgprCount},
                                 {"accumulators", k.agprCount},
                                 {"wave_size", k.waveSize},
                                 {"max_threads", k.maxWorkgroupSize}});
  }
  return result;
}

} // namespace

Expected<ordered_json> inspectSources(const SourceFile &file, StringRef name,
                                      const InspectionOptions &options,
                                      const DriverFunctions &driver) {
  const std::string path = file.file.name().str();
  ordered_json entry{{"file", path},
                     {"summary", file.file.description()},
                     {"problems", file.file.problems},
                     {"modules", ordered_json::array()},
                     {"missing", ordered_json::array()},
                     {"libraries", ordered_json::array()},
                     {"notes", ordered_json::array()}};
  const unsigned told = capabilityOf(file, name, options.capability);
  for (const Source &source : file.sources)
    entry["modules"].push_back(describe(source, options.pipeline, told));
  Expected<DriverCalls> calls = driverCallsOf(file.file.bytes(), driver);
  if (!calls)
    return createStringError(path + ": " + toString(calls.takeError()));
  for (const DriverCalls::Missing &m : calls->missing)
    entry["missing"].push_back({{"function", m.function}, {"driver", m.driver}});
  entry["libraries"] = calls->libraries;
  entry["notes"] = calls->notes;
  entry["calls_are_known"] = !calls->isUncertain;
  return entry;
}

ordered_json inspectCodeObjects(const std::string &path, const CodeObjectFile &file) {
  ordered_json entry{
      {"file", path}, {"summary", file.description}, {"code_objects", ordered_json::array()}};
  for (const CodeObjectImage &image : file.images)
    entry["code_objects"].push_back(describe(image));
  return entry;
}

// Every list of kernels in the entries.
static void forKernels(ordered_json &files, function_ref<void(ordered_json &)> visit) {
  for (ordered_json &file : files)
    for (const char *list : {"modules", "code_objects"})
      if (file.contains(list))
        for (ordered_json &module : file[list])
          if (module.contains("kernels"))
            visit(module["kernels"]);
}

Expected<bool> keepKernel(ordered_json &files, StringRef wanted) {
  std::vector<std::string> names;
  forKernels(files, [&](const ordered_json &kernels) {
    for (const ordered_json &kernel : kernels)
      names.push_back(kernel["name"].get<std::string>());
  });
  Expected<std::string> found = findKernel(wanted, names);
  if (!found)
    return found.takeError();
  forKernels(files, [&](ordered_json &kernels) {
    ordered_json kept = ordered_json::array();
    for (ordered_json &kernel : kernels)
      if (kernel["name"].get<std::string>() == *found)
        kept.push_back(std::move(kernel));
    kernels = std::move(kept);
  });
  return !found->empty();
}

} // namespace rubia::tools
