// Code objects and launches. HIP: "Module Management".
#include "emulator/OffloadBundle.h"
#include "emulator/hip/Api.h"
#include "emulator/hip/StatisticsFile.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdio>
#include <cstring>
#include <fstream>

using namespace rubia::emulator;

// What may be read from `image` on, as hipModuleLoadData gets no size: the mappings of the process
// that follow each other without a gap. A wrong size in the image then is an error like any other.
static llvm::ArrayRef<uint8_t> readableFrom(const void *image) {
  const auto start = reinterpret_cast<uint64_t>(image);
  uint64_t end = start;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long long first, last; // "7f00-7f20 r--p ..."
    char mayRead;
    if (std::sscanf(line.c_str(), "%llx-%llx %c", &first, &last, &mayRead) != 3 || last <= end)
      continue;
    if (first > end || mayRead != 'r')
      break;
    end = last;
  }
  return {static_cast<const uint8_t *>(image), end - start};
}

static Module *moduleOf(hipModule_t handle) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto *module = reinterpret_cast<Module *>(handle);
  return machine.modules.count(module) ? module : nullptr;
}

static Function *functionOf(hipFunction_t handle) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto *function = reinterpret_cast<Function *>(handle);
  return machine.functions.count(function) ? function : nullptr;
}

HIP_EXPORT hipError_t hipModuleLoadData(hipModule_t *handle, const void *image) {
  if (hipError_t error = usable())
    return result(error);
  if (!handle || !image)
    return result(hipErrorInvalidValue);
  Machine &machine = Machine::instance();
  auto elf = selectCodeObject(readableFrom(image), currentDevice().model.arch);
  if (!elf) {
    llvm::errs() << "rubia emulator: " << llvm::toString(elf.takeError()) << "\n";
    return result(hipErrorInvalidImage);
  }
  auto code = CodeObject::load(*elf, machine.memory);
  if (!code) {
    llvm::errs() << "rubia emulator: " << llvm::toString(code.takeError()) << "\n";
    return result(hipErrorInvalidImage);
  }
  if (!runsOn((*code)->target(), currentDevice().model.arch)) {
    llvm::errs() << "rubia emulator: a code object for " << (*code)->target()
                 << " on a device that is " << currentDevice().model.arch << "\n";
    return result(hipErrorInvalidImage);
  }
  auto *module = new Module{std::move(*code)};
  std::lock_guard<std::mutex> lock(machine.mutex);
  machine.modules.insert(module);
  *handle = reinterpret_cast<hipModule_t>(module);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipModuleUnload(hipModule_t handle) {
  Module *module = moduleOf(handle);
  if (!module)
    return result(hipErrorInvalidHandle);
  Machine &machine = Machine::instance();
  for (auto &device : machine.devices)
    device->streams.synchronizeAll();
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
  return hipSuccess;
}

HIP_EXPORT hipError_t hipModuleGetFunction(hipFunction_t *handle, hipModule_t moduleHandle,
                                           const char *name) {
  if (!handle || !name)
    return result(hipErrorInvalidValue);
  Module *module = moduleOf(moduleHandle);
  if (!module)
    return result(hipErrorInvalidHandle);
  const Kernel *kernel = module->code->kernel(name);
  if (!kernel)
    return result(hipErrorNotFound);
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  Function *&function = machine.functionOf[{module, kernel}];
  if (!function) {
    function = new Function{module, kernel};
    machine.functions.insert(function);
  }
  *handle = reinterpret_cast<hipFunction_t>(function);
  return hipSuccess;
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
  return hipSuccess;
}

// The explicit arguments as one buffer, from `extra` or from pointers to each.
static bool packArguments(const Kernel &kernel, void **parameters, void **extra,
                          std::vector<uint8_t> &buffer) {
  buffer.assign(kernel.explicitKernargSize, 0);
  if (extra) {
    const void *data = nullptr;
    size_t size = 0;
    for (void **e = extra; *e != HIP_LAUNCH_PARAM_END; e += 2) {
      if (*e == HIP_LAUNCH_PARAM_BUFFER_POINTER)
        data = e[1];
      else if (*e == HIP_LAUNCH_PARAM_BUFFER_SIZE)
        size = *static_cast<size_t *>(e[1]);
      else
        return false;
    }
    if (size < buffer.size() || (!data && !buffer.empty()))
      return false; // a kernel without arguments needs no buffer
    std::copy_n(static_cast<const uint8_t *>(data), buffer.size(), buffer.begin());
    return true;
  }
  size_t i = 0;
  for (const KernelArgument &argument : kernel.arguments) {
    if (argument.isHidden())
      continue;
    if (!parameters || !parameters[i])
      return false;
    memcpy(buffer.data() + argument.offset, parameters[i++], argument.size);
  }
  return true;
}

HIP_EXPORT hipError_t hipModuleLaunchKernel(hipFunction_t handle, unsigned gridX, unsigned gridY,
                                            unsigned gridZ, unsigned blockX, unsigned blockY,
                                            unsigned blockZ, unsigned sharedBytes,
                                            hipStream_t streamHandle, void **parameters,
                                            void **extra) {
  if (hipError_t error = usable())
    return result(error);
  Function *function = functionOf(handle);
  Stream *stream = streamOf(streamHandle);
  if (!function || !stream)
    return result(hipErrorInvalidHandle);
  const Kernel &kernel = *function->kernel;
  Device &device = currentDevice();
  Dim3 grid{gridX, gridY, gridZ}, block{blockX, blockY, blockZ};
  auto tooLong = [](uint64_t groups, uint64_t threads) { return groups * threads >> 32 != 0; };
  if (tooLong(gridX, blockX) || tooLong(gridY, blockY) || tooLong(gridZ, blockZ))
    return result(hipErrorInvalidConfiguration); // a dispatch packet has 32 bits for each
  if (!gridX || !gridY || !gridZ || !block.count() || block.count() > kernel.maxWorkgroupSize ||
      uint64_t(kernel.ldsBytes) + sharedBytes > device.model.ldsBytes)
    return result(hipErrorInvalidValue);
  auto kernarg = std::make_shared<std::vector<uint8_t>>();
  if (!packArguments(kernel, parameters, extra, *kernarg))
    return result(hipErrorInvalidValue);
  device.streams.enqueue(*stream, [=, &device, &kernel] {
    if (device.stickyError.load())
      return;
    Launch launch;
    launch.kernel = &kernel;
    launch.grid = grid;
    launch.block = block;
    launch.dynamicLdsBytes = sharedBytes;
    launch.kernarg = *kernarg;
    launch.countOperations = statisticsAreWanted();
    auto statistics = rubia::emulator::run(launch, Machine::instance().memory);
    if (!statistics)
      (void)reportFailure(device, statistics.takeError()); // the next call tells the program
    else if (launch.countOperations)
      writeStatistics(kernel, *statistics);
  });
  return hipSuccess;
}

// Ends all streams and forgets a fault. Memory and modules stay until their owners free them: an
// address that is still in use elsewhere must not come back as another allocation.
HIP_EXPORT hipError_t hipDeviceReset() {
  Machine &machine = Machine::instance();
  if (machine.devices.empty())
    return result(hipErrorNoDevice);
  Device &device = currentDevice();
  device.streams.reset();
  device.stickyError = hipSuccess;
  return hipSuccess;
}

HIP_EXPORT hipError_t hipFuncGetAttribute(int *value, hipFunction_attribute attribute,
                                          hipFunction_t handle) {
  Function *function = functionOf(handle);
  if (!value || !function)
    return result(hipErrorInvalidValue);
  const Kernel &kernel = *function->kernel;
  switch (attribute) {
  case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = kernel.maxWorkgroupSize;
    return hipSuccess;
  case HIP_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = kernel.ldsBytes;
    return hipSuccess;
  case HIP_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = kernel.scratchBytes;
    return hipSuccess;
  case HIP_FUNC_ATTRIBUTE_NUM_REGS:
    *value = kernel.vgprCount;
    return hipSuccess;
  default:
    return result(hipErrorInvalidValue);
  }
}

// Limited by waves (32 a compute unit half) and LDS; the emulator runs one workgroup after another
// anyway.
HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                         hipFunction_t handle,
                                                                         int blockSize,
                                                                         size_t sharedBytes) {
  Function *function = functionOf(handle);
  if (!blocks || !function || blockSize <= 0)
    return result(hipErrorInvalidValue);
  const Kernel &kernel = *function->kernel;
  const DeviceModel &model = currentDevice().model;
  if (unsigned(blockSize) > kernel.maxWorkgroupSize) {
    *blocks = 0;
    return hipSuccess;
  }
  uint64_t byThreads = 2048 / blockSize;
  uint64_t lds = kernel.ldsBytes + sharedBytes;
  uint64_t byLds = lds ? model.ldsBytes / lds : byThreads;
  *blocks = std::min(byThreads, byLds);
  return hipSuccess;
}
