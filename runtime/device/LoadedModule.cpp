// SPDX-License-Identifier: Apache-2.0
// Module state and launches. State is one allocation: the trap record, then every variable at its
// alignment.
#include "runtime/device/LoadedModule.h"
#include "lowering/Abi.h"
#include "runtime/base/Log.h"
#include "runtime/base/RunSummary.h"
#include "runtime/base/Timeline.h"
#include "runtime/cache/CodeObjectMetadata.h"
#include "runtime/device/AssertionReport.h"
#include "runtime/device/AtomicLocks.h"
#include "runtime/device/ClusterLaunches.h"
#include "runtime/device/Clusters.h"
#include "runtime/device/DeviceTimeline.h"
#include "runtime/device/KernelRecord.h"
#include "runtime/device/TrapText.h"
#include "settings/Settings.h"
#include "targets/Target.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <atomic>
#include <cstring>

using namespace llvm;

namespace rubia::runtime {
int hipMallocManaged(void **pointer, size_t bytes, unsigned flags);
int hipModuleLoadData(void **module, const void *image);
int hipModuleUnload(void *module);
int hipModuleGetFunction(void **function, void *module, const char *name);
int hipModuleGetGlobal(void **address, size_t *bytes, void *module, const char *name);
int hipModuleLaunchKernel(void *function, unsigned gridX, unsigned gridY, unsigned gridZ,
                          unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                          void *stream, void **parameters, void **extra);
int hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *function, int blockSize,
                                                       size_t sharedBytes);
int hipFuncGetAttribute(int *value, int attribute, void *function);
} // namespace rubia::runtime

namespace rubia::settings::EmulatorCheck {
extern const Word Order;
} // namespace rubia::settings::EmulatorCheck
namespace rubia::settings::WarpFormChoice {
extern const Word Packed;
} // namespace rubia::settings::WarpFormChoice
namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes;
} // namespace rubia::targets::Fact

namespace rubia::runtime {

char LaunchError::ID = 0;
void LaunchError::log(raw_ostream &os) const { os << message; }
std::error_code LaunchError::convertToErrorCode() const { return inconvertibleErrorCode(); }

using Kind = LaunchError::Kind;

static Error launchError(Kind kind, const Twine &message, int hipError = 0) {
  return make_error<LaunchError>(kind, message.str(), hipError);
}

struct LoadedModule::Unit {
  std::shared_ptr<const std::vector<uint8_t>> code;
  CodeObjectMetadata metadata;
  void *module = nullptr;
  std::string error;
};

static Error hipFailure(const Hip &hip, const Twine &what, int error) {
  Kind kind = error == kHipErrorOutOfMemory ? Kind::OutOfResources : Kind::Hip;
  return launchError(kind, what + ": " + hip.hipGetErrorString(error), error);
}

// Errors of HIP while something goes away are logged: the caller has no use for them.
static void release(const Hip &hip, const char *what, int error) {
  if (error)
    runtime::log(LogLevel::Warning, Twine(what) + ": " + hip.hipGetErrorString(error));
}

Expected<std::unique_ptr<LoadedModule>>
LoadedModule::onDevice(const Hip &hip, DeviceServices &services, Compiler &compiler) {
  std::unique_ptr<LoadedModule> m(new LoadedModule);
  m->hip = &hip;
  m->compiler = &compiler;
  m->services = &services;
  int device = 0;
  if (int error = hip.call<hipGetDevice>(&device))
    return hipFailure(hip, "hipGetDevice", error);
  Expected<std::string> arch = hip.archName(device);
  if (!arch)
    return arch.takeError();
  m->arch = std::move(*arch);
  return m;
}

Expected<std::unique_ptr<LoadedModule>> LoadedModule::load(const Hip &hip, ModuleImage image,
                                                           DeviceServices &services,
                                                           Compiler &compiler) {
  Expected<std::unique_ptr<LoadedModule>> loaded = onDevice(hip, services, compiler);
  if (!loaded)
    return loaded.takeError();
  LoadedModule &m = **loaded;
  m.image = std::move(image);
  auto manifest = compiler.manifest(m.image);
  if (!manifest)
    return manifest.takeError();
  m.contents = std::move(*manifest);
  m.units.resize(size_t(UnitVariant::kCount) * m.contents->unitCount);
  compiler.compileAhead(m.image, *m.contents, m.arch);
  return loaded;
}

Expected<std::unique_ptr<LoadedModule>>
LoadedModule::loadCodeObject(const Hip &hip, std::shared_ptr<const std::vector<uint8_t>> code,
                             DeviceServices &services, Compiler &compiler) {
  Expected<CodeObjectMetadata> metadata = CodeObjectMetadata::read(*code);
  if (!metadata)
    return metadata.takeError();
  for (uint32_t slot : metadata->slots)
    if (slot >= abi::kFirstVariableSlot)
      return launchError(Kind::CannotCompile, "the code reads variables of its module, which a "
                                              "code object does not hold: take the PTX");
  Expected<std::unique_ptr<LoadedModule>> loaded = onDevice(hip, services, compiler);
  if (!loaded)
    return loaded.takeError();
  LoadedModule &m = **loaded;
  m.ownCode = std::move(code);
  m.contents = std::make_shared<const Manifest>(metadata->manifest());
  m.units.resize(UnitVariant::kCount);
  return loaded;
}

LoadedModule::~LoadedModule() {
  for (std::unique_ptr<Unit> &unit : units)
    if (unit && unit->module)
      release(*hip, "hipModuleUnload", hip->call<hipModuleUnload>(unit->module));
  releaseState();
}

// A launch that is not cooperative has a workspace for grid.sync() too, as on NVIDIA's GPUs:
// grid_group::is_valid() asks for one. It lies before the variables.
static constexpr uint64_t kGridWorkspaceBytes = 64;

void LoadedModule::releaseState() {
  for (void *pointer : managed)
    release(*hip, "hipFree", hip->call<hipFree>(pointer));
  managed.clear();
  if (state)
    release(*hip, "hipFree", hip->call<hipFree>(state));
  if (trapRecord)
    release(*hip, "hipHostFree", hip->call<hipHostFree>(trapRecord));
  state = trapRecord = nullptr;
}

static void relocate(const Manifest::Variable &variable, ArrayRef<void *> addresses,
                     MutableArrayRef<uint8_t> contents) {
  for (const Manifest::Relocation &r : variable.relocations) {
    if (r.isFunction)
      continue; // writeFunctionAddresses
    uint64_t address = reinterpret_cast<uint64_t>(addresses[r.variable]) + r.addend;
    memcpy(contents.data() + r.offset, &address, r.width);
  }
}

Error LoadedModule::initializeState() {
  if (initialized)
    return Error::success();
  if (Error error = makeState()) {
    releaseState();
    return error;
  }
  initialized = true;
  return Error::success();
}

// The addresses of functions are known once the unit that has them is loaded, and a program may
// read them from a variable, or by a kernel of another unit, before it launches anything of that
// one.
void LoadedModule::provideFunctionAddresses() {
  if (contents->functions.empty())
    return;
  {
    std::lock_guard<std::mutex> lock(mutex);
    if (functionsWritten || functionsRefused)
      return;
  }
  Expected<Unit *> unit = loadUnit(contents->functionUnit, UnitVariant());
  if (unit)
    return;
  // Its kernels say so themselves; all others do without the addresses. Trouble passes.
  Error error = handleErrors(unit.takeError(), [&](std::unique_ptr<LaunchError> e) -> Error {
    std::lock_guard<std::mutex> lock(mutex);
    functionsRefused = e->kind == Kind::CannotCompile;
    return Error(std::move(e));
  });
  runtime::log(LogLevel::Error, toString(std::move(error)));
}

// `unit` is the one that has the functions.
Error LoadedModule::writeFunctionAddresses(const Unit &unit) {
  std::vector<uint64_t> table(contents->functions.size());
  void *address = nullptr;
  size_t size = 0;
  if (int error = hip->call<hipModuleGetGlobal>(&address, &size, unit.module, abi::kFunctionTable))
    return hipFailure(*hip, abi::kFunctionTable, error);
  if (size != table.size() * 8)
    return launchError(Kind::CannotCompile, "the code object has " + Twine(size / 8) +
                                                " addresses of functions, expected " +
                                                Twine(table.size()));
  if (int error =
          services->stream().copy(*hip, table.data(), address, size, kHipMemcpyDeviceToHost))
    return hipFailure(*hip, abi::kFunctionTable, error);
  for (size_t i = 0; i < addresses.size(); ++i)
    for (const Manifest::Relocation &r : contents->variables[i].relocations) {
      if (!r.isFunction)
        continue;
      uint64_t value = table[r.variable] + uint64_t(r.addend);
      if (int error = services->stream().copy(*hip, static_cast<char *>(addresses[i]) + r.offset,
                                              &value, r.width, kHipMemcpyHostToDevice))
        return hipFailure(*hip, "hipMemcpyAsync to variable '" + contents->variables[i].name + "'",
                          error);
    }
  functionsWritten = true;
  return Error::success();
}

Error LoadedModule::makeState() {
  if (int error = hip->call<hipHostMalloc>(&trapRecord, sizeof(abi::TrapRecord), 0)) {
    trapRecord = nullptr;
    return hipFailure(*hip, "trap record", error);
  }
  ownedByRuntime(*hip, trapRecord);
  memset(trapRecord, 0, sizeof(abi::TrapRecord));
  if (int error = hip->call<hipHostGetDevicePointer>(&trapRecordOnDevice, trapRecord, 0))
    return hipFailure(*hip, "hipHostGetDevicePointer", error);

  uint64_t size = kGridWorkspaceBytes;
  std::vector<uint64_t> offsets;
  for (const Manifest::Variable &v : contents->variables) {
    size = alignTo(size, std::max<uint64_t>(v.alignment, 16));
    offsets.push_back(size);
    if (!v.managed)
      size += v.size;
  }
  if (int error = hip->call<hipMalloc>(&state, size)) {
    state = nullptr;
    return hipFailure(*hip, "module variables (" + Twine(size) + " bytes)", error);
  }
  ownedByRuntime(*hip, state);
  if (int error = services->stream().fill(*hip, state, 0, size))
    return hipFailure(*hip, "hipMemsetD8Async", error);

  addresses.assign(contents->variables.size(), nullptr);
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Manifest::Variable &v = contents->variables[i];
    if (!v.managed) {
      addresses[i] = static_cast<char *>(state) + offsets[i];
      continue;
    }
    if (int error = hip->call<hipMallocManaged>(&addresses[i], std::max<uint64_t>(v.size, 1), 1))
      return hipFailure(*hip, "managed variable '" + v.name + "'", error);
    ownedByRuntime(*hip, addresses[i]);
    managed.push_back(addresses[i]);
    DeviceServices::shareHostMemory();
    if (int error = services->stream().fill(*hip, addresses[i], 0, v.size))
      return hipFailure(*hip, "hipMemsetD8Async", error);
  }
  for (size_t i = 0; i < addresses.size(); ++i) {
    const Manifest::Variable &v = contents->variables[i];
    if (v.reference != Manifest::Reference::None) {
      const abi::Texture unbound = abi::unboundTexture(reinterpret_cast<uint64_t>(addresses[i]));
      if (int error = services->stream().copy(*hip, addresses[i], &unbound, sizeof(unbound),
                                              kHipMemcpyHostToDevice))
        return hipFailure(*hip, "hipMemcpyAsync to reference '" + v.name + "'", error);
      continue;
    }
    if (!v.initialized)
      continue;
    auto initial = ArrayRef(contents->blob).slice(v.blobOffset, v.size);
    std::vector<uint8_t> bytes(initial.begin(), initial.end());
    relocate(v, addresses, bytes);
    if (int error = services->stream().copy(*hip, addresses[i], bytes.data(), bytes.size(),
                                            kHipMemcpyHostToDevice))
      return hipFailure(*hip, "hipMemcpyAsync to variable '" + v.name + "'", error);
  }
  return Error::success();
}

Expected<LoadedModule::Global> LoadedModule::global(StringRef name) {
  provideFunctionAddresses();
  std::lock_guard<std::mutex> lock(mutex);
  const Manifest::Variable *v = contents->variable(name);
  if (!v)
    return launchError(Kind::NotFound, "the module has no variable '" + name + "'");
  if (Error error = initializeState())
    return std::move(error);
  return Global{addresses[v - contents->variables.data()], v->size};
}

// Fills the module table of a code object that has just been loaded.
Error LoadedModule::fillModuleTable(const Unit &unit) {
  if (unit.metadata.slots.empty())
    return Error::success();
  void *table = nullptr;
  size_t tableSize = 0;
  if (int error = hip->call<hipModuleGetGlobal>(&table, &tableSize, unit.module, abi::kModuleTable))
    return hipFailure(*hip, abi::kModuleTable, error);
  std::vector<uint64_t> entries(tableSize / 8, 0);
  auto entryOf = [&](uint32_t slot) -> Expected<void *> {
    if (slot == abi::kTrapRecordSlot)
      return trapRecordOnDevice;
    if (slot == abi::kPrintfRingSlot)
      return services->ring(*hip);
    if (slot == abi::kDeviceHeapSlot)
      return services->heap(*hip);
    if (slot == abi::kAtomicLocksSlot) {
      if (!atomicLocks)
        if (Error error =
                AtomicLocks::ofCurrentDevice(*hip, services->stream()).moveInto(atomicLocks))
          return std::move(error);
      return atomicLocks->address();
    }
    if (slot == abi::kSharedPoolSlot)
      return services->sharedPool(*hip);
    if (slot == abi::kClusterPoolSlot)
      return services->clusterPool(*hip);
    if (slot < abi::kFirstVariableSlot)
      return launchError(Kind::CannotCompile,
                         "code object reads reserved slot " + Twine(slot) + " of the module table");
    return addresses[slot - abi::kFirstVariableSlot];
  };
  for (uint32_t slot : unit.metadata.slots) {
    if (slot >= entries.size() ||
        (slot >= abi::kFirstVariableSlot && slot - abi::kFirstVariableSlot >= addresses.size()))
      return launchError(Kind::CannotCompile,
                         "code object reads slot " + Twine(slot) + " of a smaller module table");
    Expected<void *> entry = entryOf(slot);
    if (!entry)
      return entry.takeError();
    entries[slot] = reinterpret_cast<uint64_t>(*entry);
  }
  if (int error = services->stream().copy(*hip, table, entries.data(), entries.size() * 8,
                                          kHipMemcpyHostToDevice))
    return hipFailure(*hip, abi::kModuleTable, error);
  return Error::success();
}

// The first of its kernels: units have one, mostly.
StringRef LoadedModule::nameOfUnit(uint32_t number) const {
  for (const Manifest::Kernel &kernel : contents->kernels)
    if (kernel.unit == number)
      return kernel.name;
  return "";
}

Expected<std::shared_ptr<const std::vector<uint8_t>>>
LoadedModule::codeOf(uint32_t number, const UnitVariant &variant) const {
  if (!ownCode)
    return compiler->codeObject(image, number, arch, variant.applyTo(compiler->code()));
  if (variant.index() == 0)
    return ownCode;
  return createStringError(
      Twine("the launch needs another form of the code than the code object has (") +
      (variant.clusters       ? "for clusters of several CTAs"
       : variant.halfFilled   ? "for blocks of another size"
       : variant.checked      ? "for blocks that are too large for the half-filled form"
       : variant.deviceShared ? "with shared memory in device memory"
                              : "with safe atomics") +
      "): take the PTX");
}

Expected<std::unique_ptr<LoadedModule::Unit>>
LoadedModule::compileUnit(uint32_t number, const UnitVariant &variant) {
  const TimelineSpan span("compile", nameOfUnit(number));
  auto code = codeOf(number, variant);
  if (!code) {
    Kind kind = code.errorIsA<CompilerProblem>() ? Kind::System : Kind::CannotCompile;
    std::string text = toString(code.takeError());
    const std::string quoted = ("'" + nameOfUnit(number) + "'").str();
    const bool isNamed = nameOfUnit(number).empty() || StringRef(text).contains(quoted);
    return launchError(kind, isNamed ? text : "kernel " + quoted + ": " + text);
  }
  auto metadata = CodeObjectMetadata::read(**code);
  if (!metadata)
    return launchError(Kind::CannotCompile, toString(metadata.takeError()));
  auto unit = std::make_unique<Unit>();
  unit->code = std::move(*code);
  unit->metadata = std::move(*metadata);
  return unit;
}

static void warnOfDeviceShared(const Manifest &manifest, uint32_t unit, StringRef arch) {
  for (const Manifest::Kernel &kernel : manifest.kernels)
    if (kernel.unit == unit)
      runtime::log(LogLevel::Warning,
                   "kernel '" + kernel.name +
                       "' is launched with more shared memory than the LDS "
                       "of " +
                       arch +
                       " holds: all of its shared memory lies in device memory, which "
                       "is several times slower");
}

// Compiles and loads a unit if that is not done yet.
Expected<LoadedModule::Unit *> LoadedModule::loadUnit(uint32_t number, const UnitVariant &variant) {
  std::unique_lock<std::mutex> lock(mutex);
  std::unique_ptr<Unit> &slot = units[number + size_t(variant.index()) * contents->unitCount];
  if (slot)
    return slot.get();
  // Compiling takes long: others may launch meanwhile. Compiler compiles what two ask for once.
  lock.unlock();
  Expected<std::unique_ptr<Unit>> unit = compileUnit(number, variant);
  if (!unit)
    return unit.takeError();
  lock.lock();
  if (Error error = initializeState())
    return std::move(error);
  if (slot)
    return slot.get();
  if (int error = hip->call<hipModuleLoadData>(&(*unit)->module, (*unit)->code->data()))
    return hipFailure(*hip, "hipModuleLoadData", error);
  Error error = fillModuleTable(**unit);
  if (!error && !functionsWritten && !contents->functions.empty() &&
      number == contents->functionUnit)
    error = writeFunctionAddresses(**unit);
  if (error) {
    release(*hip, "hipModuleUnload", hip->call<hipModuleUnload>((*unit)->module));
    return std::move(error);
  }
  for (const std::string &note : (*unit)->metadata.partialWarps)
    runtime::log(LogLevel::Info, note);
  if (!ownCode)
    recordUnit(image, *contents, number, compiler->code());
  if (variant.deviceShared)
    warnOfDeviceShared(*contents, number, arch);
  slot = std::move(*unit);
  return slot.get();
}

struct LoadedModule::Compiled {
  void *hipFunction;
  const CodeObjectMetadata::Kernel *code;
  uint32_t ldsBytes; // that a launch asks for beside what the code has
  bool isForClusters;
};

// Whether a launch needs more shared memory than this code can give it. `function` is HIP's.
Expected<bool> LoadedModule::exceedsLds(const Unit &unit, const Manifest::Kernel &kernel,
                                        void *function, uint32_t dynamicSharedBytes) {
  const targets::Target *target = targets::find(arch);
  int ldsBytes = 0; // static
  if (!dynamicSharedBytes || !target)
    return false;
  if (int error = hip->call<hipFuncGetAttribute>(&ldsBytes, kHipSharedSizeBytes, function))
    return hipFailure(*hip, "hipFuncGetAttribute of '" + kernel.name + "'", error);
  if (uint64_t(ldsBytes) + dynamicSharedBytes <= targets::Fact::maxLdsBytes(*target))
    return false;
  if (unit.metadata.functionAddresses)
    return launchError(Kind::CannotCompile,
                       "kernel '" + kernel.name + "': " + Twine(dynamicSharedBytes) +
                           " bytes of dynamic shared memory, where " + arch + " has " +
                           Twine(targets::Fact::maxLdsBytes(*target)) +
                           " bytes of LDS, and functions whose addresses are taken exist in one "
                           "form only: RUBIA_SHARED_MEMORY=device");
  return true;
}

// A launch in the form that has shared memory in device memory: static and dynamic must fit into a
// slot.
static Error checkSlot(const Manifest::Kernel &kernel, const CodeObjectMetadata &metadata,
                       uint32_t dynamicSharedBytes) {
  if (metadata.sharedStart + dynamicSharedBytes <= abi::kSharedSlotBytes)
    return Error::success();
  return launchError(Kind::InvalidShape,
                     "kernel '" + kernel.name + "': " + Twine(dynamicSharedBytes) +
                         " bytes of dynamic shared memory behind " + Twine(metadata.sharedStart) +
                         " bytes of static, at most " + Twine(abi::kSharedSlotBytes) + " in all");
}

// For CTAs of a size, and for the memory that the program has. 0 threads: of the size that the code
// is for, if it is for one.
Expected<LoadedModule::Compiled>
LoadedModule::compiled(const Manifest::Kernel &kernel, uint64_t threads,
                       uint32_t dynamicSharedBytes, bool inClusters, ArrayRef<uint8_t> parameters) {
  if (!kernel.error.empty())
    return launchError(Kind::CannotCompile, kernel.error);
  if (kernel.unit != contents->functionUnit)
    provideFunctionAddresses();
  for (UnitVariant variant;;) {
    Expected<Unit *> unit = loadUnit(kernel.unit, variant);
    if (!unit)
      return unit.takeError();
    const CodeObjectMetadata &metadata = (*unit)->metadata;
    const CodeObjectMetadata::Kernel *code = metadata.kernel(kernel.name);
    if (!code)
      return launchError(Kind::CannotCompile, "the code object lacks kernel '" + kernel.name + "'");
    UnitVariant wanted = variant;
    wanted.safeAtomics |=
        metadata.fastAtomics && (DeviceServices::sharesHostMemory() ||
                                 (services->pointsToHost && services->pointsToHost(parameters)));
    wanted.halfFilled |=
        code->exactThreads && threads && llvm::alignTo(threads, 32) != code->exactThreads;
    wanted.checked |= code->mayBeChecked && threads > code->maxThreads;
    if (wanted.halfFilled && compiler->code().is(settings::WarpFormChoice::Packed))
      return launchError(Kind::InvalidShape, "kernel '" + kernel.name +
                                                 "': the packed form is only legal for CTAs of " +
                                                 Twine(code->exactThreads) + " threads");
    void *function = nullptr;
    if (int error =
            hip->call<hipModuleGetFunction>(&function, (*unit)->module, kernel.name.c_str()))
      return hipFailure(*hip, "hipModuleGetFunction of '" + kernel.name + "'", error);
    const bool isForClusters = metadata.isForClusters();
    wanted.clusters |= inClusters && metadata.namesClusters && !isForClusters;
    if (wanted.clusters && metadata.functionAddresses)
      return launchError(Kind::CannotCompile,
                         "kernel '" + kernel.name +
                             "': clusters of several CTAs, and functions whose addresses are taken "
                             "exist in one form only: RUBIA_SHARED_MEMORY=cluster");
    const bool inMemory =
        isForClusters || is_contained(metadata.slots, uint32_t(abi::kSharedPoolSlot));
    if (inMemory) {
      if (Error error = checkSlot(kernel, metadata, dynamicSharedBytes))
        return std::move(error);
    } else if (!wanted.clusters) {
      Expected<bool> exceeds = exceedsLds(**unit, kernel, function, dynamicSharedBytes);
      if (!exceeds)
        return exceeds.takeError();
      wanted.deviceShared |= *exceeds;
    }
    if (wanted.index() == variant.index()) {
      // Without a slot in that form, the code has no use for shared memory, whatever it is given.
      const uint32_t ldsBytes = inMemory               ? abi::kSharedPoolLdsBytes
                                : variant.deviceShared ? 0
                                                       : dynamicSharedBytes;
      return Compiled{function, code, ldsBytes, isForClusters};
    }
    variant = wanted;
  }
}

Expected<void *> LoadedModule::function(const Manifest::Kernel &kernel) {
  Expected<Compiled> ready = compiled(kernel, 0);
  if (!ready)
    return ready.takeError();
  return ready->hipFunction;
}

// The limits that PTX and the device set. PTX ISA: performance-tuning-directives-maxntid, -reqntid.
static Error checkShape(const Manifest::Kernel &kernel, const CodeObjectMetadata::Kernel &code,
                        const LaunchShape &shape) {
  uint64_t threads = uint64_t(shape.block[0]) * shape.block[1] * shape.block[2];
  const uint64_t maxThreads = kernel.mostThreads();
  auto refuse = [&](const Twine &why, Kind kind = Kind::InvalidShape) {
    return launchError(kind, "kernel '" + kernel.name + "': " + why);
  };
  if (!threads || !shape.grid[0] || !shape.grid[1] || !shape.grid[2])
    return refuse("an empty grid or block");
  if (threads > maxThreads)
    return refuse("a block of " + Twine(threads) + " threads, at most " + Twine(maxThreads));
  if (threads > code.maxThreads)
    return refuse("a block of " + Twine(threads) + " threads, at most " + Twine(code.maxThreads) +
                      (code.warpForm == abi::WarpForm::HalfFilled
                           ? " in the half-filled form, which it has because " + code.warpFormReason
                           : " fit in the registers"),
                  Kind::TooManyThreads);
  if (kernel.requiredThreads[0])
    for (int i = 0; i < 3; ++i)
      if (shape.block[i] != std::max(1u, kernel.requiredThreads[i]))
        return refuse("the block differs from .reqntid");
  return Error::success();
}

Expected<uint32_t> LoadedModule::maxThreads(const Manifest::Kernel &kernel) {
  Expected<Compiled> ready = compiled(kernel, 0);
  if (!ready)
    return ready.takeError();
  const bool hasLargerForm = ready->code->mayBeChecked;
  return uint32_t(std::min<uint64_t>(kernel.mostThreads(),
                                     hasLargerForm ? abi::kMostThreads : ready->code->maxThreads));
}

std::array<uint32_t, 3> clusterOf(const Manifest::Kernel &kernel, const LaunchShape &shape) {
  std::array<uint32_t, 3> result;
  for (unsigned i = 0; i < 3; ++i)
    result[i] =
        std::max(kernel.requiredCluster[0] ? kernel.requiredCluster[i] : shape.cluster[i], 1u);
  return result;
}

uint64_t ctasOf(const std::array<uint32_t, 3> &cluster) {
  return llvm::SaturatingMultiply<uint64_t>(uint64_t(cluster[0]) * cluster[1], cluster[2]);
}

Error LoadedModule::checkCluster(const Manifest::Kernel &kernel, const LaunchShape &shape) {
  const std::string why = whyNoClusters(kernel, shape, abi::kMaxClusterCtas);
  if (why.empty())
    return Error::success();
  const std::array<uint32_t, 3> cluster = clusterOf(kernel, shape);
  return launchError(Kind::InvalidCluster, "kernel '" + kernel.name + "': clusters of " +
                                               Twine(cluster[0]) + " x " + Twine(cluster[1]) +
                                               " x " + Twine(cluster[2]) + " CTAs: " + why);
}

static Expected<int> residentOf(const Hip &hip, const Manifest::Kernel &kernel, void *hipFunction,
                                const CodeObjectMetadata::Kernel &code, uint32_t threads,
                                uint32_t ldsBytes) {
  const uint32_t workgroup =
      code.warpForm == abi::WarpForm::HalfFilled ? abi::halfFilledWorkgroupSize(threads) : threads;
  int ctas = 0;
  if (int error = hip.call<hipModuleOccupancyMaxActiveBlocksPerMultiprocessor>(
          &ctas, hipFunction, int(workgroup), ldsBytes))
    return hipFailure(hip, "occupancy of '" + kernel.name + "'", error);
  return ctas;
}

// `resident`: CTAs of a multiprocessor.
static Error checkRoom(const Hip &hip, const Manifest::Kernel &kernel, uint64_t ctas,
                       int resident) {
  int device = 0;
  if (int error = hip.call<hipGetDevice>(&device))
    return hipFailure(hip, "hipGetDevice", error);
  const uint64_t room = uint64_t(std::max(resident, 0)) *
                        uint64_t(hip.attribute(HipAttribute::MultiprocessorCount, device));
  Expected<uint64_t> clusters = DeviceServices::clustersAtOnce(hip, ctas, room);
  if (!clusters)
    return clusters.takeError();
  if (*clusters)
    return Error::success();
  return launchError(Kind::InvalidCluster, "kernel '" + kernel.name + "': clusters of " +
                                               Twine(ctas) + " CTAs: the device has room for " +
                                               Twine(room) + " CTAs of this size");
}

Expected<int> LoadedModule::residentCtas(const Manifest::Kernel &kernel, uint32_t threads,
                                         uint32_t dynamicSharedBytes, bool inClusters) {
  Expected<Compiled> ready = compiled(kernel, threads, dynamicSharedBytes, inClusters);
  if (!ready)
    return ready.takeError();
  if (threads > ready->code->maxThreads)
    return 0;
  return residentOf(*hip, kernel, ready->hipFunction, *ready->code, threads, ready->ldsBytes);
}

// Launches with clusters run in the order in which they are made, and those of a body are made
// while others that may have been made before wait for it.
static Error checkTurn(const Manifest::Kernel &kernel, const LaunchShape &shape,
                       bool isForClusters) {
  if (!isForClusters || !shape.isInBody)
    return Error::success();
  return launchError(Kind::ClusterInBody,
                     "kernel '" + kernel.name +
                         "': clusters of several CTAs in the body of a conditional graph node "
                         "are not supported");
}

Error LoadedModule::prepare(const Manifest::Kernel &kernel, const LaunchShape &shape,
                            ArrayRef<uint8_t> parameters) {
  Expected<Compiled> ready =
      compiled(kernel, uint64_t(shape.block[0]) * shape.block[1] * shape.block[2],
               shape.dynamicSharedBytes, ctasOf(clusterOf(kernel, shape)) > 1, parameters);
  if (!ready)
    return ready.takeError();
  if (Error error = checkTurn(kernel, shape, ready->isForClusters))
    return error;
  return checkShape(kernel, *ready->code, shape);
}

// The emulator begins workgroups in order, but promises it only without its check `order`: under
// that, launches with clusters take the path that they have on GPUs.
static bool beginsInOrder(const Hip &hip) {
  static const bool isChecked = settings::Settings().has(settings::EmulatorCheck::Order);
  return hip.isEmulator && !isChecked;
}

Error LoadedModule::launch(const Manifest::Kernel &kernel, const LaunchShape &shape,
                           ArrayRef<uint8_t> parameters, void *stream) {
  if (parameters.size() != kernel.parameterBytes)
    return launchError(Kind::InvalidShape,
                       "kernel '" + kernel.name + "' takes " + Twine(kernel.parameterBytes) +
                           " bytes of parameters, got " + Twine(parameters.size()));
  const std::array<uint32_t, 3> cluster = clusterOf(kernel, shape);
  Expected<Compiled> ready =
      compiled(kernel, uint64_t(shape.block[0]) * shape.block[1] * shape.block[2],
               shape.dynamicSharedBytes, ctasOf(cluster) > 1, parameters);
  if (!ready)
    return ready.takeError();
  const CodeObjectMetadata::Kernel *code = ready->code;
  if (Error error = checkShape(kernel, *code, shape))
    return error;
  if (Error error = checkCluster(kernel, shape))
    return error;
  if (const uint64_t ctas = ctasOf(cluster); ctas > 1) {
    Expected<int> resident =
        residentOf(*hip, kernel, ready->hipFunction, *code,
                   shape.block[0] * shape.block[1] * shape.block[2], ready->ldsBytes);
    if (!resident)
      return resident.takeError();
    if (Error error = checkRoom(*hip, kernel, ctas, *resident))
      return error;
  }
  if (Error error = checkTurn(kernel, shape, ready->isForClusters))
    return error;

  std::vector<uint8_t> arguments(
      abi::launchArgumentsOffset(parameters.size()) + sizeof(abi::LaunchArguments), 0);
  llvm::copy(parameters, arguments.begin());
  abi::LaunchArguments trailing{};
  memcpy(trailing.ntid, shape.block, sizeof(trailing.ntid));
  memcpy(trailing.nctaid, shape.grid, sizeof(trailing.nctaid));
  trailing.dynamicSharedBytes = shape.dynamicSharedBytes;
  trailing.totalSharedBytes =
      abi::totalSharedBytes(kernel.staticSharedBytes, shape.dynamicSharedBytes);
  static std::atomic<uint64_t> launches{0};
  trailing.gridId = launches.fetch_add(1, std::memory_order_relaxed) + 1;
  trailing.gridWorkspace =
      shape.gridWorkspace ? shape.gridWorkspace : reinterpret_cast<uint64_t>(state);
  trailing.cluster = cluster[0] | cluster[1] << 8 | cluster[2] << 16;
  trailing.flags = (shape.cluster[0] ? abi::kExplicitCluster : 0) |
                   (beginsInOrder(*hip) ? abi::kWorkgroupsInOrder : 0) |
                   abi::sharedRounding(kernel.staticSharedBytes, shape.dynamicSharedBytes) |
                   abi::parameterSize(parameters.size());
  memcpy(arguments.data() + arguments.size() - sizeof(trailing), &trailing, sizeof(trailing));

  summary::kernelLaunched(kernel.name);
  uint32_t block[3] = {shape.block[0], shape.block[1], shape.block[2]};
  if (code->warpForm == abi::WarpForm::HalfFilled) {
    block[0] = abi::halfFilledWorkgroupSize(block[0] * block[1] * block[2]);
    block[1] = block[2] = 1;
  }
  const uint32_t (&grid)[3] = shape.grid;
  DeviceSpan span(*hip, stream);
  auto launchKernel = [&] {
    if (shape.gridWorkspace) {
      void *only[] = {arguments.data()}; // the code object's metadata has one argument
      return hip->call<hipModuleLaunchCooperativeKernel>(ready->hipFunction, grid[0], grid[1],
                                                         grid[2], block[0], block[1], block[2],
                                                         ready->ldsBytes, stream, only);
    }
    size_t size = arguments.size();
    void *extra[] = {kHipLaunchParamBufferPointer, arguments.data(), kHipLaunchParamBufferSize,
                     &size, kHipLaunchParamEnd};
    return hip->call<hipModuleLaunchKernel>(ready->hipFunction, grid[0], grid[1], grid[2], block[0],
                                            block[1], block[2], ready->ldsBytes, stream, nullptr,
                                            extra);
  };
  if (int error = ready->isForClusters ? launchInTurn(*hip, stream, launchKernel) : launchKernel())
    return hipFailure(*hip, "launch of '" + kernel.name + "'", error);
  span.end(kernel.name);
  return Error::success();
}

std::vector<uint8_t> LoadedModule::pack(const Manifest::Kernel &kernel, void *const *values) {
  std::vector<uint8_t> buffer(kernel.parameterBytes, 0);
  for (size_t i = 0; i < kernel.parameters.size(); ++i)
    memcpy(buffer.data() + kernel.parameters[i].offset, values[i], kernel.parameters[i].size);
  return buffer;
}

std::optional<LoadedModule::Trap> LoadedModule::takeTrap() {
  std::lock_guard<std::mutex> lock(mutex);
  auto *record = static_cast<abi::TrapRecord *>(trapRecord);
  if (!record || !__atomic_load_n(&record->claimed, __ATOMIC_ACQUIRE))
    return std::nullopt;
  abi::TrapRecord taken = *record;
  memset(record, 0, sizeof(*record));
  std::vector<std::string> places;
  for (const std::unique_ptr<Unit> &unit : units)
    if (unit && taken.place < unit->metadata.traps.size())
      places.push_back(unit->metadata.traps[taken.place]);
  Trap trap{abi::TrapReason(taken.reason), textOf(taken, places)};
  if (trap.reason == abi::TrapReason::Assertion && hip->isEmulator)
    reportAssertion(taken, trap.text);
  return trap;
}

} // namespace rubia::runtime
