// SPDX-License-Identifier: Apache-2.0
// Code objects and launches. HIP: "Module Management".
#include "emulator/OffloadBundle.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/TextureReferences.h"
#include "input/File.h"
#include "targets/Target.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

// What may be read from `image` on, as hipModuleLoadData gets no size: the mappings of the process
// that follow each other without a gap. A wrong size in the image then is an error like any other.
static llvm::ArrayRef<uint8_t> readableFrom(const void *image) {
  const auto start = reinterpret_cast<uint64_t>(image);
  uint64_t end = start;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    llvm::StringRef rest(line); // "7f00-7f20 r--p ..."
    uint64_t first, last;
    if (rest.consumeInteger(16, first) || !rest.consume_front("-") ||
        rest.consumeInteger(16, last) || last <= end)
      continue;
    if (first > end || !rest.starts_with(" r"))
      break;
    end = last;
  }
  return {static_cast<const uint8_t *>(image), end - start};
}

static Module *moduleOf(hipModule_t handle) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto *module = reinterpret_cast<Module *>(handle);
  return machine.modules.contains(module) ? module : nullptr;
}

namespace rubia::emulator::hip {

Function *functionOf(hipFunction_t handle) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto *function = reinterpret_cast<Function *>(handle);
  return machine.functions.contains(function) ? function : nullptr;
}

hipError_t loadModule(Module *&module, const void *image, Device &device) {
  Machine &machine = Machine::instance();
  const std::string &arch = device.model.arch;
  auto refuse = [](const std::string &why, hipError_t error) {
    complain(why);
    return error;
  };
  const std::string hint = " (RUBIA_ARCH names the devices to emulate)";
  auto elf = selectCodeObject(readableFrom(image), arch);
  if (llvm::Error error = elf.takeError()) {
    bool isForOthers = false;
    llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
      isForOthers |= info.convertToErrorCode() == std::errc::not_supported;
    });
    return refuse(llvm::toString(std::move(error)) + (isForOthers ? hint : ""),
                  isForOthers ? hipErrorNoBinaryForGpu : hipErrorInvalidImage);
  }
  auto code = CodeObject::load(*elf, machine.memory);
  if (!code)
    return refuse(llvm::toString(code.takeError()), hipErrorInvalidImage);
  if (!targets::runsOn((*code)->target(), arch))
    return refuse(
        ("a code object for " + (*code)->target() + " on a device that is " + arch + hint).str(),
        hipErrorNoBinaryForGpu);
  module = new Module{std::move(*code), device.ordinal};
  std::lock_guard<std::mutex> lock(machine.mutex);
  machine.modules.insert(module);
  return hipSuccess;
}

Function *functionNamed(Module &module, const char *name) {
  const Kernel *kernel = module.code->kernel(name);
  if (!kernel)
    return nullptr;
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  Function *&function = machine.functionOf[{&module, kernel}];
  if (!function) {
    function = new Function{&module, kernel};
    machine.functions.insert(function);
  }
  return function;
}

} // namespace rubia::emulator::hip

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *handle, const void *image) {
  if (hipError_t error = usable())
    return result(error);
  if (!handle || !image)
    return result(hipErrorInvalidValue);
  Module *module;
  if (hipError_t error = loadModule(module, image, currentDevice()))
    return result(error);
  *handle = reinterpret_cast<hipModule_t>(module);
  return result(hipSuccess);
}

// The options are for a compiler, which code objects do not need.
HIP_EXPORT hipError_t hipModuleLoadDataEx(hipModule_t *handle, const void *image, unsigned count,
                                          hipJitOption *options, void **values) {
  if (count && (!options || !values))
    return result(hipErrorInvalidValue);
  for (unsigned i = 0; i < count; ++i)
    if (options[i] < hipJitOptionMaxRegisters || options[i] >= hipJitOptionNumOptions)
      return result(hipErrorInvalidValue);
  return hipModuleLoadData(handle, image);
}

HIP_EXPORT hipError_t hipModuleLoad(hipModule_t *handle, const char *path) {
  if (!path)
    return result(hipErrorInvalidValue);
  constexpr uint64_t kMaxBytes = uint64_t(1) << 30; // no code object is near it
  auto file = rubia::input::readFile(path, kMaxBytes);
  if (!file) {
    complain(llvm::toString(file.takeError()));
    return result(hipErrorFileNotFound);
  }
  return hipModuleLoadData(handle, (*file)->getBufferStart());
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t handle) {
  Module *module = moduleOf(handle);
  if (!module)
    return result(hipErrorInvalidHandle);
  Machine &machine = Machine::instance();
  for (auto &device : machine.devices)
    device->streams.synchronizeAll();
  forgetReferences(handle);
  {
    std::lock_guard<std::mutex> lock(machine.mutex);
    machine.modules.erase(module);
    for (const Kernel &kernel : module->code->kernels()) {
      auto place = machine.functionOf.find({module, &kernel});
      if (place == machine.functionOf.end())
        continue;
      machine.functions.erase(place->second);
      delete place->second;
      machine.functionOf.erase(place);
    }
  }
  delete module;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *handle, hipModule_t moduleHandle,
                                           const char *name) {
  if (!handle || !name)
    return result(hipErrorInvalidValue);
  Module *module = moduleOf(moduleHandle);
  if (!module)
    return result(hipErrorInvalidHandle);
  Function *function = functionNamed(*module, name);
  if (!function)
    return result(hipErrorNotFound);
  *handle = reinterpret_cast<hipFunction_t>(function);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipModuleGetGlobal(hipDeviceptr_t *address, size_t *bytes,
                                         hipModule_t moduleHandle, const char *name) {
  Module *module = moduleOf(moduleHandle);
  if (!module)
    return result(hipErrorInvalidHandle);
  if (!name)
    return result(hipErrorInvalidValue);
  auto symbol = module->code->symbol(name);
  if (!symbol)
    return result(hipErrorNotFound);
  if (address)
    *address = reinterpret_cast<void *>(symbol->address);
  if (bytes)
    *bytes = symbol->size;
  return result(hipSuccess);
}

static hipError_t launchFunction(hipFunction_t handle, Dim3 grid, Dim3 block, unsigned sharedBytes,
                                 hipStream_t streamHandle, void **parameters, void **extra,
                                 bool cooperative) {
  if (hipError_t error = usable())
    return error;
  Function *function = functionOf(handle);
  const StreamRef stream = streamOf(streamHandle);
  if (!function || !stream)
    return hipErrorInvalidHandle;
  KernelLaunch launch;
  if (hipError_t error = prepareLaunch(launch, *function, stream->device, grid, block, sharedBytes,
                                       parameters, extra))
    return error;
  if (cooperative)
    if (hipError_t error = makeCooperative(launch))
      return error;
  return submit(*stream, std::move(launch));
}

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t function, unsigned gridX, unsigned gridY,
                                            unsigned gridZ, unsigned blockX, unsigned blockY,
                                            unsigned blockZ, unsigned sharedBytes,
                                            hipStream_t stream, void **parameters, void **extra) {
  return result(launchFunction(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ},
                               sharedBytes, stream, parameters, extra, /*cooperative=*/false));
}

HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernel(hipFunction_t function, unsigned gridX,
                                                       unsigned gridY, unsigned gridZ,
                                                       unsigned blockX, unsigned blockY,
                                                       unsigned blockZ, unsigned sharedBytes,
                                                       hipStream_t stream, void **parameters) {
  return result(launchFunction(function, {gridX, gridY, gridZ}, {blockX, blockY, blockZ},
                               sharedBytes, stream, parameters, /*extra=*/nullptr,
                               /*cooperative=*/true));
}

constexpr size_t kMaxStackBytes = 2 << 20; // of a lane

// Ends all streams and forgets a fault. Memory and modules stay until their owners free them: an
// address that is still in use elsewhere must not come back as another allocation.
HIP_EXPORT hipError_t hipDeviceReset() {
  Machine &machine = Machine::instance();
  if (machine.devices.empty())
    return result(hipErrorNoDevice);
  Device &device = currentDevice();
  forgetCaptures(device);
  device.streams.reset();
  device.stickyError = hipSuccess;
  return result(hipSuccess);
}

// The stack's limit alone has an effect: recursive kernels get so much scratch at least. The heap
// of kernels' malloc grows as it must, and what they print is never kept.
constexpr int kLimitStackSize = 0; // hipLimitStackSize, which headers have since HIP 5.3

HIP_EXPORT hipError_t hipDeviceSetLimit(hipLimit_t limit, size_t value) {
  if (Machine::instance().devices.empty())
    return result(hipErrorNoDevice);
  if (limit == hipLimitPrintfFifoSize || limit == hipLimitMallocHeapSize)
    return result(hipErrorUnsupportedLimit);
  if (int(limit) != kLimitStackSize)
    return result(hipErrorInvalidValue);
  if (value > kMaxStackBytes)
    return result(hipErrorInvalidValue);
  currentDevice().stackBytes = std::max(uint32_t(value), 64u << 10);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetLimit(size_t *value, hipLimit_t limit) {
  if (Machine::instance().devices.empty())
    return result(hipErrorNoDevice);
  if (!value)
    return result(hipErrorInvalidValue);
  if (int(limit) == kLimitStackSize)
    *value = currentDevice().stackBytes;
  else if (limit == hipLimitMallocHeapSize)
    *value = currentDevice().model.memoryBytes;
  else
    return result(limit == hipLimitPrintfFifoSize ? hipErrorUnsupportedLimit
                                                  : hipErrorInvalidValue);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute,
                                          hipFunction_t handle) {
  Function *function = functionOf(handle);
  if (!value || !function)
    return result(hipErrorInvalidValue);
  const Kernel &kernel = *function->kernel;
  switch (attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = int(kernel.maxWorkgroupSize);
    return result(hipSuccess);
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = int(kernel.ldsBytes);
    return result(hipSuccess);
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = int(kernel.scratchBytes);
    return result(hipSuccess);
  case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    *value = int(kernel.vgprCount);
    return result(hipSuccess);
  case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = int(deviceAt(int(function->module->device)).model.ldsBytes - kernel.ldsBytes);
    return result(hipSuccess);
  case HIP_FUNC_ATTRIBUTE_CONST_SIZE_BYTES: // as hipFuncGetAttributes has them
  case HIP_FUNC_ATTRIBUTE_PTX_VERSION:
  case HIP_FUNC_ATTRIBUTE_BINARY_VERSION:
  case HIP_FUNC_ATTRIBUTE_CACHE_MODE_CA:
  case HIP_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = 0;
    return result(hipSuccess);
  default:
    return result(hipErrorInvalidValue);
  }
}

// ---------- Since HIP 7.1, not in HIP 5.2's headers

#pragma clang diagnostic ignored "-Wmissing-prototypes"

HIP_EXPORT hipError_t hipModuleLoadFatBinary(hipModule_t *handle, const void *fatBinary) {
  return hipModuleLoadData(handle, fatBinary);
}

HIP_EXPORT hipError_t hipModuleGetFunctionCount(unsigned *count, hipModule_t handle) {
  Module *module = moduleOf(handle);
  if (!module)
    return result(hipErrorInvalidHandle);
  if (!count)
    return result(hipErrorInvalidValue);
  *count = unsigned(module->code->kernels().size());
  return result(hipSuccess);
}
