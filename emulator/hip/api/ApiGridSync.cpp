// SPDX-License-Identifier: Apache-2.0
// Launches whose workgroups wait for each other, over one device or several. HIP: "Launch API",
// hipLaunchCooperativeKernel and its kin.
#include "emulator/hip/DeviceMemory.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/Registration.h"
#include "settings/Settings.h"
#include <hip/hip_ext.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

HIP_EXPORT hipError_t hipLaunchCooperativeKernel(const void *function, dim3 grid, dim3 block,
                                                 void **parameters, unsigned sharedBytes,
                                                 hipStream_t handle) {
  KernelLaunch launch;
  StreamRef stream;
  if (hipError_t error = prepareRegistered(launch, stream, function, grid, block, sharedBytes,
                                           handle, parameters, nullptr))
    return result(error);
  if (hipError_t error = makeCooperative(launch))
    return result(error);
  return result(submit(*stream, std::move(launch)));
}

namespace {

struct Part {
  KernelLaunch launch;
  StreamRef stream;
};

hipError_t prepare(Part &part, const hipLaunchParams &one) {
  return prepareRegistered(part.launch, part.stream, one.func, one.gridDim, one.blockDim,
                           one.sharedMem, one.stream, one.args, nullptr);
}

// The same with functions of modules: hipFunctionLaunchParams, which HIP 5.2's headers lack.
struct FunctionLaunch {
  hipFunction_t function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  hipStream_t stream;
  void **parameters;
};
hipError_t prepare(Part &part, const FunctionLaunch &one) {
  Function *function = functionOf(one.function);
  part.stream = streamOf(one.stream);
  if (!function || !part.stream)
    return hipErrorInvalidHandle;
  return prepareLaunch(part.launch, *function, part.stream->device,
                       {one.gridX, one.gridY, one.gridZ}, {one.blockX, one.blockY, one.blockZ},
                       one.sharedBytes, one.parameters, nullptr);
}

// One launch for each device. HIP wants streams of their own for them.
template <typename OneLaunch>
hipError_t prepareParts(const OneLaunch *list, int count, std::vector<Part> &parts) {
  if (hipError_t error = usable())
    return error;
  if (!list || count <= 0 || size_t(count) > Machine::instance().devices.size())
    return hipErrorInvalidValue;
  std::set<Device *> devices;
  for (const OneLaunch &one : llvm::ArrayRef(list, size_t(count))) {
    Part &part = parts.emplace_back();
    if (!one.stream)
      return hipErrorInvalidHandle;
    if (hipError_t error = prepare(part, one))
      return error;
    if (!devices.insert(&part.stream->device).second)
      return hipErrorInvalidDevice;
    if (isCapturing(*part.stream))
      return hipErrorStreamCaptureUnsupported;
  }
  return hipSuccess;
}

hipError_t joinGrids(std::vector<Part> &parts) {
  auto memory = DeviceMemory::zeroed(2 * sizeof(uint32_t));
  if (!memory) {
    llvm::consumeError(memory.takeError());
    return hipErrorOutOfMemory;
  }
  auto meeting = std::make_shared<const DeviceMemory>(std::move(*memory));
  GridShare share = {meeting, 0, uint32_t(parts.size()), 0, 0};
  auto threadsOf = [](const Part &part) {
    return part.launch.grid.count() * part.launch.block.count();
  };
  for (Part &part : parts) {
    if (hipError_t error = makeCooperative(part.launch))
      return error;
    share.allThreads += threadsOf(part);
  }
  for (Part &part : parts) {
    part.launch.gridShare = share;
    ++share.grid;
    share.threadsBefore += threadsOf(part);
  }
  return hipSuccess;
}

// Unless the flags say otherwise, all launches wait for what all the streams did before, and what
// they do next waits for all launches.
hipError_t launchParts(std::vector<Part> parts, unsigned flags) {
  std::vector<CompletionRef> before, done;
  auto mark = [](Part &part, std::vector<CompletionRef> after) {
    return part.stream->device.streams.enqueue(*part.stream, [] {}, std::move(after));
  };
  if (!(flags & hipCooperativeLaunchMultiDeviceNoPreSync))
    for (Part &part : parts)
      before.push_back(mark(part, {}));
  for (Part &part : parts) {
    Device *device = &part.stream->device;
    auto launch = std::make_shared<Operation>(std::move(part.launch));
    done.push_back(device->streams.enqueue(
        *part.stream, [device, launch] { execute(*device, *launch); }, before));
  }
  if (!(flags & hipCooperativeLaunchMultiDeviceNoPostSync))
    for (Part &part : parts)
      mark(part, done);
  return hipSuccess;
}

template <typename OneLaunch>
hipError_t launchOnSeveral(const OneLaunch *list, int count, unsigned flags, bool cooperative) {
  constexpr unsigned kKnown =
      hipCooperativeLaunchMultiDeviceNoPreSync | hipCooperativeLaunchMultiDeviceNoPostSync;
  if (flags & ~kKnown)
    return hipErrorInvalidValue;
  std::vector<Part> parts;
  if (hipError_t error = prepareParts(list, count, parts))
    return error;
  if (cooperative) {
    llvm::Expected<Checks> checks = checksOf(hostSettings());
    if (!checks)
      return reportFailure(parts.front().stream->device, checks.takeError());
    // That runs one launch after the other.
    if (checks->order && parts.size() > 1)
      return refuse("a cooperative launch on several devices",
                    "grids that wait for each other under the check order");
    if (hipError_t error = joinGrids(parts))
      return error;
  }
  return launchParts(std::move(parts), flags);
}

} // namespace

HIP_EXPORT hipError_t hipLaunchCooperativeKernelMultiDevice(hipLaunchParams *list, int count,
                                                            unsigned flags) {
  return result(launchOnSeveral(list, count, flags, /*cooperative=*/true));
}

// Threads for the grid, not workgroups; in order is one of the orders that the flag asks for.
hipError_t hipExtModuleLaunchKernel(hipFunction_t function, uint32_t threadsX, uint32_t threadsY,
                                    uint32_t threadsZ, uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, size_t sharedBytes, hipStream_t stream,
                                    void **parameters, void **extra, hipEvent_t start,
                                    hipEvent_t stop, uint32_t flags) {
  if ((flags & ~hipExtAnyOrderLaunch) || !blockX || !blockY || !blockZ || threadsX % blockX ||
      threadsY % blockY || threadsZ % blockZ)
    return result(hipErrorInvalidValue);
  if (start)
    if (hipError_t error = hipEventRecord(start, stream))
      return error;
  if (hipError_t error = hipModuleLaunchKernel(function, threadsX / blockX, threadsY / blockY,
                                               threadsZ / blockZ, blockX, blockY, blockZ,
                                               unsigned(sharedBytes), stream, parameters, extra))
    return error;
  return stop ? hipEventRecord(stop, stream) : hipSuccess;
}

hipError_t hipHccModuleLaunchKernel(hipFunction_t function, uint32_t threadsX, uint32_t threadsY,
                                    uint32_t threadsZ, uint32_t blockX, uint32_t blockY,
                                    uint32_t blockZ, size_t sharedBytes, hipStream_t stream,
                                    void **parameters, void **extra, hipEvent_t start,
                                    hipEvent_t stop) {
  return hipExtModuleLaunchKernel(function, threadsX, threadsY, threadsZ, blockX, blockY, blockZ,
                                  sharedBytes, stream, parameters, extra, start, stop, 0);
}

HIP_EXPORT hipError_t hipExtLaunchMultiKernelMultiDevice(hipLaunchParams *list, int count,
                                                         unsigned flags) {
  return result(launchOnSeveral(list, count, flags, /*cooperative=*/false));
}

#pragma clang diagnostic ignored "-Wmissing-prototypes" // it is not in HIP 5.2's headers

HIP_EXPORT hipError_t hipModuleLaunchCooperativeKernelMultiDevice(FunctionLaunch *list,
                                                                  unsigned count, unsigned flags) {
  return result(launchOnSeveral(list, int(count), flags, /*cooperative=*/true));
}
