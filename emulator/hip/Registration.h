// SPDX-License-Identifier: Apache-2.0
// Kernels and variables that programs name by the address of something on the host, as `<<<>>>` and
// hipMemcpyToSymbol do: clang's start-up code registers the fat binary that they are in, and its
// code object for a device is loaded when something in it is first needed there.
#pragma once

#include "emulator/hip/Modules.h"

namespace rubia::emulator::hip {

/// The kernel on `device` behind the address of its host function; null if there is none.
Function *registeredFunction(const void *hostFunction, Device &device);

/// A launch of the kernel on the stream's device, and which stream that is. hipErrorInvalidHandle,
/// hipErrorInvalidDeviceFunction, and what prepareLaunch says.
hipError_t prepareRegistered(KernelLaunch &launch, StreamRef &stream, const void *hostFunction,
                             dim3 grid, dim3 block, size_t sharedBytes, hipStream_t handle,
                             void **parameters, void **extra);

/// Where `bytes` bytes from `offset` on of a variable lie on `device`. hipErrorInvalidSymbol,
/// hipErrorInvalidValue.
hipError_t symbolPlace(const void *symbol, size_t offset, size_t bytes, Device &device,
                       void *&place);

} // namespace rubia::emulator::hip
