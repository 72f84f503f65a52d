// SPDX-License-Identifier: Apache-2.0
// What all files of the HIP API share: HIP's own declarations, so that every definition is checked
// against AMD's signature, and the one place where errors are remembered.
#pragma once

#include "emulator/hip/Device.h"

#define __HIP_PLATFORM_AMD__ 1
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wunused-result"
#pragma clang diagnostic ignored "-Wdeprecated-declarations"
#pragma GCC visibility push(default)
#include <hip/hip_runtime_api.h>
#pragma GCC visibility pop
#pragma clang diagnostic pop

// Definitions take the visibility of their declarations above.
#define HIP_EXPORT extern "C" __attribute__((visibility("default")))

namespace rubia::emulator::hip {

/// Remembers an error for hipGetLastError and returns it.
hipError_t result(hipError_t error);

/// hipErrorNoDevice, with a sentence on stderr, once, that says why there is none.
hipError_t noDevice();
/// A line on stderr. What the program and its code objects say is written as terminals may show it.
void complain(const llvm::Twine &text);

/// hipSuccess, or why nothing can be done now: no device, or a fault of an earlier kernel.
hipError_t usable();

bool isDevice(int ordinal);
Device &deviceAt(int ordinal); // of one that is there

/// The stream behind a handle: null and hipStreamLegacy the current device's null stream,
/// hipStreamPerThread the thread's own there. Others know their device: it is where their work is
/// done, whichever device is current. Null if the handle is not valid.
StreamRef streamOf(hipStream_t handle);
/// The same where there is a device that is usable, else why not.
hipError_t findStream(hipStream_t handle, StreamRef &stream);

/// Settings that hardware trades something for, and that the emulator checks and forgets.
inline bool isKnown(hipFuncCache_t config) {
  return config >= hipFuncCachePreferNone && config <= hipFuncCachePreferEqual;
}
inline bool isKnown(hipSharedMemConfig config) {
  return config >= hipSharedMemBankSizeDefault && config <= hipSharedMemBankSizeEightByte;
}
/// Of hipSetDeviceFlags and hipCtxCreate: one way of waiting at most.
inline bool areDeviceFlags(unsigned flags) {
  // HIP 5's header gives hipDeviceLmemResizeToMax the bits of two ways of waiting besides its own.
  if ((flags & hipDeviceLmemResizeToMax) == hipDeviceLmemResizeToMax)
    flags &= ~unsigned(hipDeviceLmemResizeToMax);
  constexpr unsigned kLmemResizeToMax = 0x10; // as the bit is meant
  const unsigned schedule = flags & hipDeviceScheduleMask;
  return !(flags & ~unsigned(hipDeviceScheduleMask | hipDeviceMapHost | kLmemResizeToMax)) &&
         !(schedule & (schedule - 1));
}

/// hipErrorNotSupported, with a sentence on stderr that `what` are not supported.
hipError_t refuse(const char *function, const char *what);

/// Says on stderr what a launch did wrong and makes the device answer with the error from now on.
hipError_t reportFailure(Device &device, llvm::Error error);

} // namespace rubia::emulator::hip
