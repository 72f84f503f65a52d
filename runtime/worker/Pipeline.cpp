// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Pipeline.h"
#include "fatbin/Container.h"
#include "lowering/SharedMemory.h"
#include "ptx-frontend/Fusing.h"
#include "ptx-frontend/Linker.h"
#include "ptx-frontend/RegisterLimit.h"
#include "runtime/base/Log.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include <set>
#include <tuple>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting optimise;
} // namespace rubia::settings::Id

namespace rubia::runtime {

static Error failure(const Twine &message) {
  return createStringError(inconvertibleErrorCode(), message);
}

Expected<PtxImage> PtxImage::fromText(Text text) {
  PtxImage image(ptx::parse(std::move(text.name), std::move(text.text)));
  image.isLinked = text.isLinked;
  image.origin = std::move(text.origin);
  if (!image.parsed.usable) {
    std::string all;
    for (const ptx::Diagnostic &d : image.parsed.diagnostics)
      all += (all.empty() ? "" : "\n") + image.format(d);
    return failure(all.empty() ? "malformed PTX" : all);
  }
  image.unitList = lowering::partition(image.parsed.module);
  return image;
}

// The PTX of each part that has some.
static Expected<PtxImage::Text> linked(ArrayRef<uint8_t> bytes, unsigned computeCapability) {
  Expected<std::vector<fatbin::BundlePart>> parts = fatbin::readBundle(bytes);
  if (!parts)
    return parts.takeError();
  std::vector<ptx::LinkInput> inputs;
  for (const fatbin::BundlePart &part : *parts) {
    if (fatbin::startsWithBundle(part.bytes))
      return failure("a bundle inside of a bundle");
    Expected<PtxImage::Text> text = PtxImage::textOf(part.bytes, computeCapability);
    if (!text)
      return text.takeError();
    inputs.push_back({part.name.empty() ? text->name : part.name.str(),
                      ptx::limitRegisters(std::move(text->text), part.registerLimit),
                      part.isLibrary});
  }
  if (inputs.size() == 1 && !inputs.front().isLibrary) // nothing to link it with
    return PtxImage::Text{inputs.front().name, std::move(inputs.front().text), /*isLinked=*/true};
  Expected<ptx::Linked> all = ptx::linkUnits(inputs);
  if (!all) {
    // Names of inputs are the program's: none may begin the text, by whose beginning libcuda knows
    // what cannot be linked.
    Error rest = all.takeError();
    return rest.isA<ptx::LinkError>() ? std::move(rest)
                                      : failure("malformed input: " + toString(std::move(rest)));
  }
  std::string text = std::move(all->text);
  return PtxImage::Text{"<linked>", std::move(text), /*isLinked=*/true, std::move(*all)};
}

Expected<PtxImage::Text> PtxImage::textOf(ArrayRef<uint8_t> bytes, unsigned computeCapability) {
  if (fatbin::startsWithBundle(bytes))
    return linked(bytes, computeCapability);
  Expected<std::vector<fatbin::Image>> images = fatbin::readImages(bytes);
  if (!images)
    return images.takeError();
  const fatbin::Image *chosen = fatbin::selectPtx(*images, computeCapability);
  if (!chosen)
    return failure(fatbin::describe(*images));
  Expected<std::string> text = fatbin::payload(*chosen);
  if (!text)
    return text.takeError();
  std::string name = chosen->identifier.empty() ? "<image>" : chosen->identifier.str();
  if (!ptx::mayFuse(chosen->options))
    *text = ptx::withoutFusing(std::move(*text));
  return Text{std::move(name),
              ptx::limitRegisters(std::move(*text), ptx::registerLimitOf(chosen->options))};
}

std::string PtxImage::format(const ptx::Diagnostic &diagnostic) const {
  const ptx::Module &m = parsed.module;
  const StringRef text = m.text ? StringRef(*m.text) : StringRef();
  if (auto own = origin.origin(diagnostic))
    return ptx::format(own->second, origin.inputs[own->first], text);
  return ptx::format(diagnostic, m.name, text);
}

std::string PtxImage::errorsOf(const ptx::Function &function) const {
  std::string all;
  for (const ptx::Diagnostic &d : parsed.diagnostics)
    if (d.severity == ptx::Severity::Error && d.function == function.name)
      all += (all.empty() ? "" : "\n") + format(d);
  return all;
}

// What initialisers hold the addresses of.
struct AddressTargets {
  std::vector<const ptx::Variable *> variables;
  ArrayRef<const ptx::Function *> functions;

  // The index of a relocation's target; nullopt: the loader cannot write it.
  std::optional<uint32_t> find(const ptx::Relocation &r) const {
    if (r.mask != ~0ull || (r.width != 8 && (r.width != 4 || r.function)))
      return std::nullopt;
    auto indexIn = [](const auto &all, const auto *wanted) -> std::optional<uint32_t> {
      auto found = llvm::find(all, wanted);
      return found == all.end() ? std::nullopt : std::optional(uint32_t(found - all.begin()));
    };
    if (r.function)
      return indexIn(functions, r.function->aliasOf ? r.function->aliasOf : r.function);
    return indexIn(variables, r.variable);
  }
};

static Manifest::Variable describe(const ptx::Variable &v, const AddressTargets &targets,
                                   std::vector<uint8_t> &blob) {
  Manifest::Variable result;
  result.name = v.name.str();
  result.constant = v.space == ptx::StateSpace::Const;
  result.managed = v.managed;
  result.visible = v.linkage != ptx::Linkage::Internal;
  result.size = v.sizeInBytes;
  result.alignment = std::max(v.alignment, 1u);
  if (v.type == ptx::Type::TexRef || v.type == ptx::Type::SurfRef) {
    result.reference =
        v.type == ptx::Type::TexRef ? Manifest::Reference::Texture : Manifest::Reference::Surface;
    result.size = sizeof(abi::Texture) * v.elementCount;
    result.alignment = std::max<uint32_t>(result.alignment, sizeof(abi::Texture));
    return result; // what its initialiser says is for OpenCL
  }
  result.initialized = v.initialized;
  if (v.initialized) {
    result.blobOffset = blob.size();
    blob.insert(blob.end(), v.initializer.begin(), v.initializer.end());
    blob.resize(result.blobOffset + v.sizeInBytes, 0);
  }
  // Those that the loader cannot write cost the kernels that use the variable
  // (unsupportedRelocation).
  for (const ptx::Relocation &r : v.relocations)
    if (std::optional<uint32_t> target = targets.find(r))
      result.relocations.push_back({r.offset, r.width, *target, r.addend, r.function != nullptr});
  return result;
}

// An initialiser that the loader cannot write: the address of a kernel, of a function without a
// body or of a variable that is not in module state, or a part of an address.
static std::string unsupportedRelocation(const ptx::Variable &v, const AddressTargets &targets) {
  for (const ptx::Relocation &r : v.relocations)
    if (!targets.find(r))
      return ("unsupported: the initialiser of '" + v.name + "' holds " +
              (r.function ? "the address of function '" + r.function->name + "'"
                          : Twine("a part of an address")))
          .str();
  return "";
}

// A variable that units declare and none of them defines. In a single text, which is not linked, it
// is memory of zeros, as with CUDA; a linked one computes with what another unit has.
static std::string undefinedVariable(const lowering::Unit &unit,
                                     ArrayRef<const ptx::Variable *> variables) {
  for (uint32_t index : unit.variables)
    if (const ptx::Variable &v = *variables[index]; v.linkage == ptx::Linkage::Extern)
      return ("no translation unit that has PTX defines the variable '" + v.name + "'").str();
  return "";
}

// PTX ISA: kernel-function-parameters. ptxas refuses more.
static constexpr uint32_t kMostParameterBytes = 32764;

static void refuseTooManyParameters(Manifest::Kernel &kernel, Manifest &manifest) {
  if (kernel.parameterBytes <= kMostParameterBytes)
    return;
  const std::string text = "error: kernel '" + kernel.name + "' has " +
                           std::to_string(kernel.parameterBytes) +
                           " bytes of parameters, at most " + std::to_string(kMostParameterBytes);
  manifest.invalid.push_back(text);
  manifest.diagnostics.push_back(text);
  if (kernel.error.empty())
    kernel.error = text;
  kernel.parameters.clear();
  kernel.parameterBytes = 0;
}

// Those of the text, then those of single units that are right once they are linked: CUDA compiles
// each unit alone.
void PtxImage::describeDiagnostics(Manifest &manifest) const {
  std::set<std::tuple<unsigned, unsigned, std::string>> known;
  auto add = [&](const ptx::Diagnostic &d, std::string text) {
    if (d.severity == ptx::Severity::Error && !d.unsupported)
      manifest.invalid.push_back(text);
    manifest.diagnostics.push_back(std::move(text));
  };
  for (const ptx::Diagnostic &d : parsed.diagnostics) {
    if (auto own = origin.origin(d))
      known.insert({own->first, own->second.line, d.message});
    add(d, format(d));
  }
  for (const auto &[input, d, text] : origin.diagnostics)
    if (!known.contains({input, d.line, d.message}))
      add(d, text);
}

Manifest PtxImage::manifest() const {
  const ptx::Module &m = parsed.module;
  Manifest result;
  result.ptxMajor = m.versionMajor;
  result.ptxMinor = m.versionMinor;
  result.sm = m.sm;
  result.unitCount = unitList.size();
  AddressTargets targets{lowering::moduleVariables(m), {}};
  for (uint32_t unit = 0; unit < unitList.size(); ++unit)
    if (!unitList[unit].inInitializers.empty()) {
      targets.functions = unitList[unit].inInitializers;
      result.functionUnit = unit;
    }
  for (const ptx::Function *function : targets.functions)
    result.functions.push_back(function->name.str());
  for (const ptx::Variable *v : targets.variables)
    result.variables.push_back(describe(*v, targets, result.blob));
  for (uint32_t unit = 0; unit < unitList.size(); ++unit) {
    std::string unitError;
    for (uint32_t v : unitList[unit].variables)
      if (std::string error = unsupportedRelocation(*targets.variables[v], targets); !error.empty())
        unitError = error;
    if (isLinked && unitError.empty())
      unitError = undefinedVariable(unitList[unit], targets.variables);
    const std::vector<uint64_t> sharedBytes = lowering::staticSharedBytes(unitList[unit]);
    for (const auto [index, kernel] : llvm::enumerate(unitList[unit].kernels)) {
      Manifest::Kernel k;
      k.name = kernel->name.str();
      k.unit = unit;
      lowering::ParameterLayout layout = lowering::layoutOf(*kernel);
      for (const auto &p : layout.parameters)
        k.parameters.push_back({p.offset, p.size, p.alignment});
      k.parameterBytes = layout.sizeInBytes;
      std::copy_n(kernel->attributes.maxThreads, 3, k.maxThreads);
      std::copy_n(kernel->attributes.requiredThreads, 3, k.requiredThreads);
      std::copy_n(kernel->attributes.requiredCluster, 3, k.requiredCluster);
      k.maxClusterRank = kernel->attributes.maxClusterRank;
      k.explicitCluster = kernel->attributes.explicitCluster;
      k.staticSharedBytes = sharedBytes[index];
      k.error = errorsOf(*kernel);
      if (k.error.empty() && !unitError.empty())
        k.error = "kernel '" + k.name + "': " + unitError;
      result.kernels.push_back(std::move(k));
    }
  }
  describeDiagnostics(result);
  for (Manifest::Kernel &kernel : result.kernels)
    refuseTooManyParameters(kernel, result);
  result.unresolved = ptx::unresolved(m);
  return result;
}

// Diagnostics of lowering as text.
Error PtxImage::withPlaces(Error error) const {
  std::string text;
  Error rest = handleErrors(std::move(error), [&](const lowering::LoweringError &error) {
    for (const ptx::Diagnostic &d : error.diagnostics)
      text += (text.empty() ? "" : "\n") + format(d);
  });
  return rest ? std::move(rest) : failure(text);
}

static lowering::Options loweringOptions(const PipelineOptions &options, lowering::Fit fit) {
  lowering::Options result;
  result.fit = fit;
  result.arch = options.codegen.arch;
  result.code = options.code;
  return result;
}

Expected<std::unique_ptr<Module>> PtxImage::lower(const lowering::Unit &unit,
                                                  const PipelineOptions &options, lowering::Fit fit,
                                                  LLVMContext &context,
                                                  lowering::LaterBodies &later) const {
  auto module = lowering::lower(parsed.module, unit, loweringOptions(options, fit), context, later);
  if (!module)
    return withPlaces(module.takeError());
  return module;
}

Expected<lowering::Judgement> PtxImage::judge(const lowering::Unit &unit,
                                              const PipelineOptions &options,
                                              lowering::Experience &experience) const {
  auto judgement = lowering::judge(parsed.module, unit,
                                   loweringOptions(options, lowering::Fit::Fast), experience);
  if (!judgement)
    return withPlaces(judgement.takeError());
  return judgement;
}

/// Of all that is the user's choice, code generation knows the level alone.
static codegen::Options codegenOptions(const PipelineOptions &options,
                                       lowering::LaterBodies &later) {
  codegen::Options own = options.codegen;
  own.optLevel = options.code.wordOf(settings::Id::optimise).index;
  own.giveBody = [&later](Function &function) { return later.give(function); };
  return own;
}

template <typename Made, typename Generate>
Expected<Made> PtxImage::fitted(const lowering::Unit &unit, const PipelineOptions &options,
                                const Generate &generate) const {
  using lowering::Fit;
  const bool hasBounds = all_of(unit.kernels, [](const ptx::Function *kernel) {
    return kernel->attributes.maxThreads[0] || kernel->attributes.requiredThreads[0];
  });
  for (Fit fit = Fit::Fast;;) {
    LLVMContext context;
    lowering::LaterBodies later;
    Expected<std::unique_ptr<Module>> module = lower(unit, options, fit, context, later);
    if (!module)
      return module.takeError();
    Expected<Made> made = generate(std::move(*module), codegenOptions(options, later));
    if (made || fit == Fit::WithoutMatrixUnit)
      return made;
    bool isTooLarge = false;
    Error error = handleErrors(made.takeError(), [&](std::unique_ptr<codegen::CodegenError> e) {
      isTooLarge = e->fault == codegen::Fault::Registers;
      return Error(std::move(e));
    });
    if (!isTooLarge)
      return std::move(error);
    fit = fit == Fit::Fast && !hasBounds ? Fit::FewThreads : Fit::WithoutMatrixUnit;
    log(LogLevel::Info, toString(std::move(error)) + "; compiled again " +
                            (fit == Fit::FewThreads ? "for half as many threads in a block"
                                                    : "without matrix units"));
  }
}

Expected<codegen::CodeObject> PtxImage::compile(const lowering::Unit &unit,
                                                const PipelineOptions &options) const {
  return fitted<codegen::CodeObject>(
      unit, options, [](std::unique_ptr<Module> module, const codegen::Options &own) {
        return codegen::compile(std::move(module), own);
      });
}

Expected<std::string> PtxImage::emit(const lowering::Unit &unit, const PipelineOptions &options,
                                     codegen::EmitKind kind) const {
  return fitted<std::string>(unit, options,
                             [&](std::unique_ptr<Module> module, const codegen::Options &own) {
                               return codegen::emit(std::move(module), own, kind);
                             });
}

} // namespace rubia::runtime
