// SPDX-License-Identifier: Apache-2.0
// What is in a file: images, modules, kernels, what they call.
#include "tools/inspect/Inspection.h"
#include "ptx-frontend/SpecialRegisters.h"
#include "runtime/cache/CacheKey.h"
#include "tools/inspect/KernelNames.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Parallel.h"
#include <optional>

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

// Which launches of a kernel are refused, or may end with an error, though it can be compiled. 0
// threads: none but by the program's own directives.
struct ThreadLimit {
  uint64_t threads = 0;
  std::string text;
};

ThreadLimit threadLimitOf(const ptx::Function &kernel, uint64_t most,
                          const lowering::Judgement &judgement) {
  constexpr uint64_t kMax = 1024;
  const uint32_t (&sizes)[3] = kernel.attributes.maxThreads;
  const uint64_t own = uint64_t(sizes[0]) * std::max(sizes[1], 1u) * std::max(sizes[2], 1u);
  if (kernel.attributes.requiredThreads[0] || most >= std::min(kMax, own ? own : kMax))
    return {};
  const std::string threads = std::to_string(most) + " threads", &why = judgement.warpFormReason;
  if (judgement.mayBeChecked)
    return {most, "blocks of more than " + threads +
                      " end with an error if two warps of a wave come to a barrier apart: " + why};
  return {most, "blocks of at most " + threads + ", one warp in a wave: " + why};
}

// What lowering says of a unit.
struct UnitFacts {
  std::string error; // why it cannot be compiled; empty: it can
  lowering::Judgement judgement;
  bool hasGridBarrier = false;
};

UnitFacts factsOf(const runtime::PtxImage &image, const lowering::Unit &unit,
                  const runtime::PipelineOptions &options, lowering::Experience &experience) {
  UnitFacts facts;
  if (Expected<lowering::Judgement> judgement = image.judge(unit, options, experience))
    facts.judgement = std::move(*judgement);
  else
    facts.error = toString(judgement.takeError());
  facts.hasGridBarrier = hasGridBarrier(unit);
  return facts;
}

// A source with its PTX.
struct ReadModule {
  const Source *source = nullptr;
  std::optional<runtime::PtxImage> image; // none: why, or there are no kernels
  std::string problem;
  std::vector<UnitFacts> units;
};

void read(ReadModule &module, const Source &source, unsigned capability) {
  module.source = &source;
  if (!source.hasPtx() && !source.hasKernels())
    return;
  if (Expected<runtime::PtxImage> image = parse(source, capability))
    module.image.emplace(std::move(*image));
  else
    module.problem = toString(image.takeError());
}

ordered_json describeKernels(const ReadModule &module, const runtime::Manifest &manifest) {
  StringMap<ThreadLimit> limits; // by kernel
  for (const auto &[unit, facts] : zip(module.image->units(), module.units))
    if (facts.error.empty())
      for (const auto &[kernel, most] : zip_equal(unit.kernels, facts.judgement.maxThreads))
        limits[kernel->name] = threadLimitOf(*kernel, most, facts.judgement);
  ordered_json kernels = ordered_json::array();
  for (const runtime::Manifest::Kernel &k : manifest.kernels) {
    const UnitFacts &facts = module.units[k.unit];
    const std::string &error = k.error.empty() ? facts.error : k.error;
    const ThreadLimit limit = limits.lookup(k.name);
    ordered_json kernel{{"name", k.name},
                        {"demangled", demangled(k.name)},
                        {"unit", k.unit},
                        {"parameters", k.parameters.size()},
                        {"parameter_bytes", k.parameterBytes},
                        {"shared_bytes", k.staticSharedBytes},
                        {"grid_barrier", facts.hasGridBarrier},
                        {"works", error.empty()}};
    if (!error.empty())
      kernel["reason"] = error;
    else if (limit.threads)
      kernel["limit"] = {{"threads", limit.threads}, {"text", limit.text}};
    for (const auto &[key, list] : {std::pair("matrix_routes", &facts.judgement.matrixRoutes),
                                    {"refused", &facts.judgement.refused}})
      if (error.empty() && !list->empty())
        kernel[key] = *list;
    kernels.push_back(std::move(kernel));
  }
  return kernels;
}

ordered_json describe(const ReadModule &module) {
  const Source &source = *module.source;
  ordered_json result{{"place", source.place}, {"images", ordered_json::array()}};
  for (const auto *images : {&source.images, &source.others})
    for (const fatbin::FileImage *image : *images)
      result["images"].push_back(describe(*image));
  if (source.hasPtx()) // as keys of the cache have it
    result["image"] = toHex(runtime::digestOf(source.bytes), /*LowerCase=*/true);
  if (!module.problem.empty())
    result["problem"] = module.problem;
  else if (!module.image)
    result["empty"] = "no kernels: what nvcc writes beside them";
  if (!module.image)
    return result;
  std::string problems; // of the module; those of functions are their kernels' reasons
  for (const ptx::Diagnostic &d : module.image->diagnostics())
    if (d.severity == ptx::Severity::Error && d.function.empty())
      problems += (problems.empty() ? "" : "\n") + module.image->format(d);
  if (!problems.empty())
    result["problem"] = problems;
  const ptx::Module &m = module.image->module();
  const runtime::Manifest manifest = module.image->manifest();
  result["ptx"] = std::to_string(m.versionMajor) + "." + std::to_string(m.versionMinor);
  result["target"] =
      "sm_" + std::to_string(m.sm) + (m.smVariant ? std::string(1, m.smVariant) : "");
  result["kernels"] = describeKernels(module, manifest);
  result["variables"] = manifest.variables.size();
  return result;
}

// Some sources of a file, on all cores. Most of the time goes into lowering units, of which a
// module has one or thousands: all units of all modules are one list of work.
void describeModules(ArrayRef<Source> sources, unsigned capability,
                     const InspectionOptions &options, ordered_json &into) {
  std::vector<ReadModule> modules(sources.size());
  parallelFor(0, sources.size(), [&](size_t i) { read(modules[i], sources[i], capability); });
  std::vector<std::pair<ReadModule *, size_t>> work;
  for (ReadModule &module : modules) {
    module.units.resize(module.image ? module.image->units().size() : 0);
    for (size_t unit = 0; unit < module.units.size(); ++unit)
      work.emplace_back(&module, unit);
  }
  parallelFor(0, work.size(), [&](size_t i) {
    const auto [module, unit] = work[i];
    module->units[unit] = factsOf(*module->image, module->image->units()[unit], options.pipeline,
                                  *options.experience);
  });
  std::vector<ordered_json> described(modules.size());
  parallelFor(0, modules.size(), [&](size_t i) { described[i] = describe(modules[i]); });
  llvm::move(described, std::back_inserter(into.get_ref<ordered_json::array_t &>()));
}

// As many sources as may be in memory at the same time, at least one.
size_t batchOf(ArrayRef<Source> sources) {
  constexpr uint64_t kMaxBytes = uint64_t(64) << 20; // of images, PTX and machine code
  uint64_t bytes = 0;
  size_t count = 0;
  while (count < sources.size() && (!count || bytes < kMaxBytes))
    for (const fatbin::FileImage *image : sources[count++].images)
      bytes += image->image.uncompressedSize;
  return count;
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
  entry["compute_capability"] = told;
  for (ArrayRef<Source> left = file.sources; !left.empty();) {
    const size_t count = batchOf(left);
    describeModules(left.take_front(count), told, options, entry["modules"]);
    left = left.drop_front(count);
  }
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
