// SPDX-License-Identifier: Apache-2.0
// With library-capability NVIDIA's libraries are told the compute capability that Rubia tells them.
// They choose their kernels by it: so those are recorded that they launch on Rubia.
#include "diff/forward/Recorder.h"
#include "runtime/device/ClosedLibraries.h"
#include <dlfcn.h>

asm(".symver dladdr, dladdr@GLIBC_2.2.5\n");

using namespace rubia::forward;

namespace {

constexpr int kMajor = 75, kMinor = 76;

/// Null: it is in no file.
const char *fileOf(const void *address, const void **base = nullptr) {
  Dl_info info;
  if (!dladdr(address, &info))
    return nullptr;
  if (base)
    *base = info.dli_fbase;
  return info.dli_fname;
}

/// Who called the hook with this frame. A call that is logged comes by way of rubia_log_call, which
/// keeps the caller's frame behind its own.
const void *callerOf(void **frame) {
  const void *ours = nullptr, *theirs = nullptr;
  (void)fileOf(reinterpret_cast<const void *>(&callerOf), &ours);
  (void)fileOf(frame[1], &theirs);
  return ours == theirs ? static_cast<void **>(frame[0])[1] : frame[1];
}

/// 0: what the driver says.
int toldTo(const void *caller) {
  const char *file = fileOf(caller);
  return file ? int(rubia::runtime::capabilityForLibrary(file).value_or(0)) : 0;
}

} // namespace

extern "C" {

int hook_cuDeviceGetAttribute(int *value, int attribute, int device) {
  const int result = DRIVER(cuDeviceGetAttribute, int *, int, int)(value, attribute, device);
  if (result || (attribute != kMajor && attribute != kMinor) ||
      !Recorder::get().wanted().libraryCapability)
    return result;
  if (const int told = toldTo(callerOf(static_cast<void **>(__builtin_frame_address(0)))))
    *value = attribute == kMajor ? told / 10 : told % 10;
  return result;
}

int hook_cuDeviceComputeCapability(int *major, int *minor, int device) {
  const int result = DRIVER(cuDeviceComputeCapability, int *, int *, int)(major, minor, device);
  if (result || !Recorder::get().wanted().libraryCapability)
    return result;
  if (const int told = toldTo(callerOf(static_cast<void **>(__builtin_frame_address(0))))) {
    *major = told / 10;
    *minor = told % 10;
  }
  return result;
}

} // extern "C"
