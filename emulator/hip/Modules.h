// SPDX-License-Identifier: Apache-2.0
// Loaded code objects and launches of their kernels, as the module API, the API of registered
// kernels (`<<<>>>`) and graphs share them.
#pragma once

#include "emulator/hip/Api.h"

namespace rubia::emulator::hip {

/// Loads the code object for `device` out of what a program hands over: an ELF file or an offload
/// bundle, in readable memory of unknown length. Says on stderr what is wrong with it.
/// hipErrorInvalidImage; hipErrorNoBinaryForGpu if there is nothing for the device's processor.
hipError_t loadModule(Module *&module, const void *image, Device &device);

/// The handle of a kernel; null if the module has none of this name.
Function *functionNamed(Module &module, const char *name);

/// The function behind a hipFunction_t, or null.
Function *functionOf(hipFunction_t handle);

/// Which part of several grids that wait for each other a cooperative launch is.
struct GridShare {
  std::shared_ptr<const class DeviceMemory> meeting; // null: it is alone
  uint32_t grid = 0, grids = 1;
  uint64_t threadsBefore = 0, allThreads = 0; // of the grids before it, of all
};

/// A launch whose arguments have been copied.
struct KernelLaunch {
  std::shared_ptr<const Kernel> kernel; // with its code object
  Dim3 grid, block;
  uint32_t sharedBytes = 0;
  std::vector<uint8_t> kernarg;
  uint64_t residentLimit = 0; // workgroups that the device holds at once
  bool cooperative = false;
  GridShare gridShare;
};

/// Checks a launch on `device` and copies its arguments. hipErrorInvalidValue,
/// hipErrorInvalidConfiguration; hipErrorInvalidHandle for a kernel of another device's module.
hipError_t prepareLaunch(KernelLaunch &launch, const Function &function, const Device &device,
                         Dim3 grid, Dim3 block, size_t sharedBytes, void **parameters,
                         void **extra);

/// Makes a prepared launch one of workgroups that are all resident.
/// hipErrorCooperativeLaunchTooLarge.
hipError_t makeCooperative(KernelLaunch &launch);

/// Runs it to its end; a fault becomes the device's sticky error.
void execute(Device &device, const KernelLaunch &launch);

/// How many workgroups of `blockSize` threads a compute unit can hold. 0 if none.
int residentWorkgroups(const Kernel &kernel, const Device &device, int blockSize,
                       size_t sharedBytes);

/// The workgroup size, at most `limit` (0: none), that fills a compute unit best, and the grid that
/// fills the device.
void bestLaunch(const Kernel &kernel, const Device &device, size_t sharedBytes, int limit,
                int *gridSize, int *blockSize);

} // namespace rubia::emulator::hip
