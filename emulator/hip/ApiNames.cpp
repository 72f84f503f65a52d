// Small questions: names of kernels, streams' devices, functions by name; and what HIP 5.3 to 7
// have added under other names. HIP: "Runtime API", "Error Handling", "Device Management".
#include "emulator/hip/Registration.h"
#include <dlfcn.h>

using namespace rubia::emulator;

HIP_EXPORT const char *hipApiName(uint32_t) { return "unknown"; } // of a tracer's numbers

HIP_EXPORT const char *hipKernelNameRef(hipFunction_t handle) {
  Function *function = functionOf(handle);
  return function ? function->kernel->name.c_str() : nullptr;
}

HIP_EXPORT const char *hipKernelNameRefByPtr(const void *hostFunction, hipStream_t handle) {
  if (usable())
    return nullptr;
  Stream *stream = streamOf(handle);
  Function *function = stream ? registeredFunction(hostFunction, stream->device) : nullptr;
  return function ? function->kernel->name.c_str() : nullptr;
}

HIP_EXPORT int hipGetStreamDeviceId(hipStream_t handle) {
  Stream *stream = usable() ? nullptr : streamOf(handle);
  return stream ? int(stream->device.ordinal) : -1;
}

HIP_EXPORT hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w,
                                                     hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// ---------- Not in HIP 5.2's headers

// The functions are HIP's; only their declarations are not at hand.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  if (hipError_t error = usable())
    return result(error);
  if (!device)
    return result(hipErrorInvalidValue);
  Stream *stream = streamOf(handle);
  if (!stream)
    return result(hipErrorInvalidHandle);
  *device = int(stream->device.ordinal);
  return hipSuccess;
}

HIP_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t event, hipStream_t stream,
                                              unsigned flags) {
  constexpr unsigned kExternal = 1; // in a capture: a node of the graph
  if (flags == kExternal)
    return result(hipErrorNotSupported);
  return flags ? result(hipErrorInvalidValue) : hipEventRecord(event, stream);
}

HIP_EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char **name) {
  if (!name)
    return result(hipErrorInvalidValue);
  *name = hipGetErrorName(error);
  return hipSuccess;
}
HIP_EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
  if (!text)
    return result(hipErrorInvalidValue);
  *text = hipGetErrorString(error);
  return hipSuccess;
}
HIP_EXPORT hipError_t hipExtGetLastError() { return hipGetLastError(); }

HIP_EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t *handle, const void *hostFunction) {
  if (hipError_t error = usable())
    return result(error);
  if (!handle)
    return result(hipErrorInvalidValue);
  Function *function = registeredFunction(hostFunction, currentDevice());
  if (!function)
    return result(hipErrorInvalidDeviceFunction);
  *handle = reinterpret_cast<hipFunction_t>(function);
  return hipSuccess;
}

// The status is 0 for a function that is there and 1 for one that is not.
HIP_EXPORT hipError_t hipGetProcAddress(const char *name, void **function, int, uint64_t flags,
                                        int *status) {
  if (!name || !function || flags)
    return result(hipErrorInvalidValue);
  Dl_info self;
  void *library = dladdr(reinterpret_cast<void *>(&hipGetProcAddress), &self)
                      ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                      : nullptr;
  *function = library && llvm::StringRef(name).starts_with("hip") ? dlsym(library, name) : nullptr;
  if (library)
    dlclose(library);
  if (status)
    *status = *function ? 0 : 1;
  return *function ? hipSuccess : result(hipErrorInvalidValue);
}
