// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Registration.h"
#include "emulator/hip/Events.h"
#include "emulator/hip/Operation.h"
#include "emulator/hip/TextureReferences.h"
#include <cstring>

using namespace llvm;

namespace rubia::emulator::hip {
namespace {

// What clang hands to __hipRegisterFatBinary: its "HIPF" wrapper.
struct FatBinaryWrapper {
  uint32_t magic, version;
  const void *image;
  const void *unused;
};
constexpr uint32_t kWrapperMagic = 0x48495046;

struct ManagedVariable {
  std::string name; // of the pointer to it in device code
  void *memory;
};

struct FatBinary {
  const void *image = nullptr;
  std::vector<ManagedVariable> managed;
  std::map<unsigned, Module *> modules; // by ordinal of the device; null: cannot be loaded
};

struct Registered {
  FatBinary *binary;
  std::string name;
};

struct Registry {
  std::recursive_mutex mutex;
  std::map<const void *, Registered> functions, variables;
};

Registry &registry() {
  static auto *all = new Registry;
  return *all;
}

Module *moduleFor(FatBinary &binary, Device &device) {
  auto [place, isNew] = binary.modules.try_emplace(device.ordinal, nullptr);
  if (!isNew)
    return place->second;
  Module *module = nullptr;
  if (loadModule(module, binary.image, device))
    return nullptr; // it has said why
  for (const ManagedVariable &variable : binary.managed)
    if (auto symbol = module->code->symbol(variable.name))
      memcpy(reinterpret_cast<void *>(symbol->address), &variable.memory, sizeof(void *));
  return place->second = module;
}

struct CallConfiguration {
  dim3 grid, block;
  size_t sharedBytes;
  hipStream_t stream;
  std::vector<uint8_t> arguments; // of hipSetupArgument
};
thread_local std::vector<CallConfiguration> configurations;

} // namespace

Function *registeredFunction(const void *hostFunction, Device &device) {
  std::lock_guard lock(registry().mutex);
  auto place = registry().functions.find(hostFunction);
  if (place == registry().functions.end())
    return nullptr;
  Module *module = moduleFor(*place->second.binary, device);
  return module ? functionNamed(*module, place->second.name.c_str()) : nullptr;
}

static hipError_t findSymbol(const void *symbol, Device &device, Symbol &found) {
  std::lock_guard lock(registry().mutex);
  auto place = registry().variables.find(symbol);
  if (place == registry().variables.end())
    return hipErrorInvalidSymbol;
  Module *module = moduleFor(*place->second.binary, device);
  auto known = module ? module->code->symbol(place->second.name) : std::nullopt;
  if (!known)
    return hipErrorInvalidSymbol;
  found = *known;
  return hipSuccess;
}

hipError_t symbolPlace(const void *symbol, size_t offset, size_t bytes, Device &device,
                       void *&place) {
  Symbol found;
  if (hipError_t error = findSymbol(symbol, device, found))
    return error;
  if (offset > found.size || bytes > found.size - offset)
    return hipErrorInvalidValue;
  place = reinterpret_cast<void *>(found.address + offset);
  return hipSuccess;
}

} // namespace rubia::emulator::hip

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

// ---------- What clang's start-up code calls. The types are LLVM's (clang's CGCUDANV.cpp)

extern "C" {
__attribute__((visibility("default"))) void **__hipRegisterFatBinary(const void *data);
__attribute__((visibility("default"))) void
__hipRegisterFunction(void **handle, const void *hostFunction, char *deviceFunction,
                      const char *deviceName, unsigned threadLimit, void *tid, void *bid,
                      dim3 *blockDim, dim3 *gridDim, int *warpSize);
__attribute__((visibility("default"))) void __hipRegisterVar(void **handle, void *variable,
                                                             char *hostName, char *deviceName,
                                                             int isExtern, size_t bytes,
                                                             int isConstant, int isGlobal);
__attribute__((visibility("default"))) void __hipRegisterManagedVar(void **handle, void **pointer,
                                                                    void *initialValue,
                                                                    const char *name, size_t bytes,
                                                                    unsigned alignment);
__attribute__((visibility("default"))) void __hipRegisterTexture(void **handle, void *variable,
                                                                 char *hostName, char *deviceName,
                                                                 int type, int isNormalized,
                                                                 int isExtern);
__attribute__((visibility("default"))) void __hipRegisterSurface(void **handle, void *variable,
                                                                 char *hostName, char *deviceName,
                                                                 int type, int isExtern);
__attribute__((visibility("default"))) void __hipUnregisterFatBinary(void **handle);
}

void **__hipRegisterFatBinary(const void *data) {
  const auto *wrapper = static_cast<const FatBinaryWrapper *>(data);
  auto *binary = new FatBinary;
  if (wrapper && wrapper->magic == kWrapperMagic && wrapper->version == 1)
    binary->image = wrapper->image;
  else
    complain("a fat binary of an unknown kind was registered");
  return reinterpret_cast<void **>(binary);
}

void __hipRegisterFunction(void **handle, const void *hostFunction, char *, const char *deviceName,
                           unsigned, void *, void *, dim3 *, dim3 *, int *) {
  std::lock_guard lock(registry().mutex);
  registry().functions[hostFunction] = {reinterpret_cast<FatBinary *>(handle), deviceName};
}

void __hipRegisterVar(void **handle, void *variable, char *, char *deviceName, int, size_t, int,
                      int) {
  std::lock_guard lock(registry().mutex);
  registry().variables[variable] = {reinterpret_cast<FatBinary *>(handle), deviceName};
}

// All devices share the one copy in managed memory; host code reaches it through *pointer, device
// code through a pointer of the variable's name.
void __hipRegisterManagedVar(void **handle, void **pointer, void *initialValue, const char *name,
                             size_t bytes, unsigned alignment) {
  auto memory = Machine::instance().memory.allocate(bytes, MemoryKind::Managed,
                                                    std::max<uint64_t>(alignment, 256));
  if (!memory) {
    complain("managed variable '" + Twine(name) + "': " + toString(memory.takeError()));
    return;
  }
  memcpy(*memory, initialValue, bytes);
  *pointer = *memory;
  std::lock_guard lock(registry().mutex);
  reinterpret_cast<FatBinary *>(handle)->managed.push_back({name, *memory});
}

void __hipRegisterTexture(void **handle, void *variable, char *hostName, char *deviceName, int, int,
                          int) {
  __hipRegisterVar(handle, variable, hostName, deviceName, 0, sizeof(textureReference), 0, 0);
  registerReference(static_cast<textureReference *>(variable));
}
// Nothing of HIP binds these.
void __hipRegisterSurface(void **, void *, char *, char *deviceName, int, int) {
  complain("'" + Twine(deviceName) + "' is a surface reference: not supported");
}

// Programs unregister when they exit, other threads may still launch: the binary stays.
void __hipUnregisterFatBinary(void **handle) {
  std::lock_guard lock(registry().mutex);
  auto of = [&](const auto &entry) {
    return entry.second.binary == reinterpret_cast<FatBinary *>(handle);
  };
  std::erase_if(registry().functions, of);
  std::erase_if(registry().variables, of);
}

// ---------- Launches

HIP_EXPORT hipError_t __hipPushCallConfiguration(dim3 grid, dim3 block, size_t sharedBytes,
                                                 hipStream_t stream) {
  configurations.push_back({grid, block, sharedBytes, stream, {}});
  return result(hipSuccess);
}

HIP_EXPORT hipError_t __hipPopCallConfiguration(dim3 *grid, dim3 *block, size_t *sharedBytes,
                                                hipStream_t *stream) {
  if (configurations.empty())
    return result(hipErrorMissingConfiguration);
  CallConfiguration &last = configurations.back();
  *grid = last.grid;
  *block = last.block;
  *sharedBytes = last.sharedBytes;
  *stream = last.stream;
  configurations.pop_back();
  return result(hipSuccess);
}

hipError_t rubia::emulator::hip::prepareRegistered(KernelLaunch &launch, StreamRef &stream,
                                                   const void *hostFunction, dim3 grid, dim3 block,
                                                   size_t sharedBytes, hipStream_t handle,
                                                   void **parameters, void **extra) {
  if (hipError_t error = findStream(handle, stream))
    return error;
  Function *function = registeredFunction(hostFunction, stream->device);
  if (!function)
    return hipErrorInvalidDeviceFunction;
  return prepareLaunch(launch, *function, stream->device, {grid.x, grid.y, grid.z},
                       {block.x, block.y, block.z}, sharedBytes, parameters, extra);
}

static hipError_t launch(const void *hostFunction, dim3 grid, dim3 block, size_t sharedBytes,
                         hipStream_t handle, void **parameters, void **extra) {
  KernelLaunch made;
  StreamRef stream;
  if (hipError_t error = prepareRegistered(made, stream, hostFunction, grid, block, sharedBytes,
                                           handle, parameters, extra))
    return result(error);
  return result(submit(*stream, std::move(made)));
}

HIP_EXPORT hipError_t hipLaunchKernel(const void *function, dim3 grid, dim3 block,
                                      void **parameters, size_t sharedBytes, hipStream_t stream) {
  return launch(function, grid, block, sharedBytes, stream, parameters, nullptr);
}

HIP_EXPORT hipError_t hipExtLaunchKernel(const void *function, dim3 grid, dim3 block,
                                         void **parameters, size_t sharedBytes, hipStream_t stream,
                                         hipEvent_t start, hipEvent_t stop, int flags) {
  if (flags & ~hipExtAnyOrderLaunch) // in order is one of the orders
    return result(hipErrorInvalidValue);
  if (start)
    if (hipError_t error = hipEventRecord(start, stream))
      return error;
  if (hipError_t error = launch(function, grid, block, sharedBytes, stream, parameters, nullptr))
    return error;
  return stop ? hipEventRecord(stop, stream) : hipSuccess;
}

// ---------- Launches of programs of HIP 3 and before

HIP_EXPORT hipError_t hipConfigureCall(dim3 grid, dim3 block, size_t sharedBytes,
                                       hipStream_t stream) {
  return __hipPushCallConfiguration(grid, block, sharedBytes, stream);
}

HIP_EXPORT hipError_t hipSetupArgument(const void *argument, size_t bytes, size_t offset) {
  if (configurations.empty())
    return result(hipErrorMissingConfiguration);
  std::vector<uint8_t> &all = configurations.back().arguments;
  if (!argument || bytes > 4096 || offset > 4096)
    return result(hipErrorInvalidValue);
  all.resize(std::max(all.size(), offset + bytes));
  memcpy(all.data() + offset, argument, bytes);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipLaunchByPtr(const void *function) {
  if (configurations.empty())
    return result(hipErrorMissingConfiguration);
  CallConfiguration last = std::move(configurations.back());
  configurations.pop_back();
  size_t bytes = last.arguments.size();
  void *extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, last.arguments.data(),
                   HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
  return launch(function, last.grid, last.block, last.sharedBytes, last.stream, nullptr, extra);
}

// ---------- Kernels by host address

static const Kernel *kernelOf(const void *hostFunction) {
  Function *function = registeredFunction(hostFunction, currentDevice());
  return function ? function->kernel : nullptr;
}

HIP_EXPORT hipError_t hipFuncGetAttributes(hipFuncAttributes *attributes, const void *function) {
  if (hipError_t error = usable())
    return result(error);
  const Kernel *kernel = kernelOf(function);
  if (!attributes)
    return result(hipErrorInvalidValue);
  if (!kernel)
    return result(hipErrorInvalidDeviceFunction);
  *attributes = {};
  attributes->localSizeBytes = kernel->scratchBytes;
  attributes->sharedSizeBytes = kernel->ldsBytes;
  attributes->maxDynamicSharedSizeBytes = int(currentDevice().model.ldsBytes - kernel->ldsBytes);
  attributes->maxThreadsPerBlock = int(kernel->maxWorkgroupSize);
  attributes->numRegs = int(kernel->vgprCount);
  return result(hipSuccess);
}

// Every launch may use all of LDS and no cache can be traded for it: accepted, without effect.
static hipError_t acceptFor(const void *function) {
  if (hipError_t error = usable())
    return error;
  return kernelOf(function) ? hipSuccess : hipErrorInvalidDeviceFunction;
}
HIP_EXPORT hipError_t hipFuncSetAttribute(const void *function, hipFuncAttribute attribute,
                                          int value) {
  if (hipError_t error = acceptFor(function))
    return result(error);
  const Kernel &kernel = *kernelOf(function);
  switch (attribute) {
  case hipFuncAttributeMaxDynamicSharedMemorySize:
    return result(value >= 0 && uint64_t(value) + kernel.ldsBytes <= currentDevice().model.ldsBytes
                      ? hipSuccess
                      : hipErrorInvalidValue);
  case hipFuncAttributePreferredSharedMemoryCarveout:
    return result(value >= -1 && value <= 100 ? hipSuccess : hipErrorInvalidValue);
  default:
    return result(hipErrorInvalidValue);
  }
}
HIP_EXPORT hipError_t hipFuncSetCacheConfig(const void *function, hipFuncCache_t config) {
  if (!isKnown(config))
    return result(hipErrorInvalidValue);
  return result(acceptFor(function));
}
HIP_EXPORT hipError_t hipFuncSetSharedMemConfig(const void *function, hipSharedMemConfig config) {
  if (!isKnown(config))
    return result(hipErrorInvalidValue);
  return result(acceptFor(function));
}

// ---------- Variables

HIP_EXPORT hipError_t hipGetSymbolAddress(void **address, const void *symbol) {
  if (hipError_t error = usable())
    return result(error);
  if (!address)
    return result(hipErrorInvalidValue);
  return result(symbolPlace(symbol, 0, 0, currentDevice(), *address));
}

HIP_EXPORT hipError_t hipGetSymbolSize(size_t *bytes, const void *symbol) {
  if (hipError_t error = usable())
    return result(error);
  if (!bytes)
    return result(hipErrorInvalidValue);
  Symbol found;
  if (hipError_t error = findSymbol(symbol, currentDevice(), found))
    return result(error);
  *bytes = found.size;
  return result(hipSuccess);
}

static hipError_t copySymbol(bool toSymbol, const void *symbol, void *other, size_t bytes,
                             size_t offset, hipMemcpyKind kind, hipStream_t stream, bool wait) {
  if (hipError_t error = usable())
    return result(error);
  void *place;
  if (hipError_t error = symbolPlace(symbol, offset, bytes, currentDevice(), place))
    return result(error);
  void *to = toSymbol ? place : other;
  void *from = toSymbol ? other : place;
  return wait ? hipMemcpy(to, from, bytes, kind) : hipMemcpyAsync(to, from, bytes, kind, stream);
}

HIP_EXPORT hipError_t hipMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
                                        size_t offset, hipMemcpyKind kind) {
  return copySymbol(true, symbol, const_cast<void *>(from), bytes, offset, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpyToSymbolAsync(const void *symbol, const void *from, size_t bytes,
                                             size_t offset, hipMemcpyKind kind,
                                             hipStream_t stream) {
  return copySymbol(true, symbol, const_cast<void *>(from), bytes, offset, kind, stream, false);
}
HIP_EXPORT hipError_t hipMemcpyFromSymbol(void *to, const void *symbol, size_t bytes, size_t offset,
                                          hipMemcpyKind kind) {
  return copySymbol(false, symbol, to, bytes, offset, kind, nullptr, true);
}
HIP_EXPORT hipError_t hipMemcpyFromSymbolAsync(void *to, const void *symbol, size_t bytes,
                                               size_t offset, hipMemcpyKind kind,
                                               hipStream_t stream) {
  return copySymbol(false, symbol, to, bytes, offset, kind, stream, false);
}
