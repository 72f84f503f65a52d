// SPDX-License-Identifier: Apache-2.0
// How many workgroups fit. HIP: "Occupancy".
#include "emulator/hip/Registration.h"

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

int rubia::emulator::hip::residentWorkgroups(const Kernel &kernel, const Device &device,
                                             int blockSize, size_t sharedBytes) {
  if (sharedBytes > device.model.ldsBytes)
    return 0;
  return int(residentWorkgroups(kernel, uint32_t(blockSize), uint32_t(sharedBytes)));
}

void rubia::emulator::hip::bestLaunch(const Kernel &kernel, const Device &device,
                                      size_t sharedBytes, int limit, int *gridSize,
                                      int *blockSize) {
  int largest = int(kernel.maxWorkgroupSize);
  if (limit > 0)
    largest = std::min(largest, limit);
  int best = 0, bestThreads = -1;
  const int wave = int(kernel.waveSize);
  for (int size = largest / wave * wave; size > 0; size -= wave) {
    int threads = size * residentWorkgroups(kernel, device, size, sharedBytes);
    if (threads > bestThreads)
      best = size, bestThreads = threads;
  }
  if (!best) // less than a wave is asked for
    best = largest;
  *blockSize = best;
  *gridSize =
      residentWorkgroups(kernel, device, best, sharedBytes) * int(device.model.computeUnits);
}

// Default, or caching that is not to be overridden, which AMD's devices know nothing of.
static bool areOccupancyFlags(unsigned flags) { return flags <= 1; }

// ---------- Of a function of a module

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, hipFunction_t handle, int blockSize, size_t sharedBytes, unsigned flags) {
  Function *function = functionOf(handle);
  if (!blocks || !function || blockSize <= 0 || !areOccupancyFlags(flags))
    return result(hipErrorInvalidValue);
  *blocks = residentWorkgroups(*function->kernel, currentDevice(), blockSize, sharedBytes);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                         hipFunction_t handle,
                                                                         int blockSize,
                                                                         size_t sharedBytes) {
  return hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, handle, blockSize,
                                                                     sharedBytes, 0);
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int *gridSize,
                                                                       int *blockSize,
                                                                       hipFunction_t handle,
                                                                       size_t sharedBytes,
                                                                       int limit, unsigned flags) {
  Function *function = functionOf(handle);
  if (!gridSize || !blockSize || !function || limit < 0 || !areOccupancyFlags(flags))
    return result(hipErrorInvalidValue);
  bestLaunch(*function->kernel, currentDevice(), sharedBytes, limit, gridSize, blockSize);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipModuleOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize,
                                                              hipFunction_t handle,
                                                              size_t sharedBytes, int limit) {
  return hipModuleOccupancyMaxPotentialBlockSizeWithFlags(gridSize, blockSize, handle, sharedBytes,
                                                          limit, 0);
}

// ---------- Of a registered kernel

HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *function, int blockSize, size_t sharedBytes, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  Function *found = registeredFunction(function, currentDevice());
  if (!found)
    return result(hipErrorInvalidDeviceFunction);
  const Kernel *kernel = found->kernel;
  if (!blocks || blockSize <= 0 || !areOccupancyFlags(flags))
    return result(hipErrorInvalidValue);
  *blocks = residentWorkgroups(*kernel, currentDevice(), blockSize, sharedBytes);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                                   const void *function,
                                                                   int blockSize,
                                                                   size_t sharedBytes) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, function, blockSize,
                                                               sharedBytes, 0);
}

HIP_EXPORT hipError_t hipOccupancyMaxPotentialBlockSize(int *gridSize, int *blockSize,
                                                        const void *function, size_t sharedBytes,
                                                        int limit) {
  if (hipError_t error = usable())
    return result(error);
  Function *found = registeredFunction(function, currentDevice());
  if (!found)
    return result(hipErrorInvalidDeviceFunction);
  const Kernel *kernel = found->kernel;
  if (!gridSize || !blockSize || limit < 0)
    return result(hipErrorInvalidValue);
  bestLaunch(*kernel, currentDevice(), sharedBytes, limit, gridSize, blockSize);
  return result(hipSuccess);
}

// ---------- Since HIP 7.2, not in HIP 5.2's headers

#pragma clang diagnostic ignored "-Wmissing-prototypes"

// The most for which `blocks` workgroups still share a compute unit.
HIP_EXPORT hipError_t hipOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, const void *function,
                                                               int blocks, int blockSize) {
  if (hipError_t error = usable())
    return result(error);
  if (!bytes || blocks <= 0 || blockSize <= 0)
    return result(hipErrorInvalidValue);
  const Device &device = currentDevice();
  Function *registered = registeredFunction(function, currentDevice());
  if (!registered)
    return result(hipErrorInvalidDeviceFunction);
  size_t least = 0, most = device.model.ldsBytes;
  const Kernel &kernel = *registered->kernel;
  auto fits = [&](size_t shared) {
    return kernel.ldsBytes + shared <= device.model.ldsBytes &&
           residentWorkgroups(kernel, device, blockSize, shared) >= blocks;
  };
  while (least < most)
    if (const size_t middle = (least + most + 1) / 2; fits(middle))
      least = middle;
    else
      most = middle - 1;
  *bytes = least;
  return result(hipSuccess);
}
