// SPDX-License-Identifier: Apache-2.0
// Small questions: names of kernels, streams' devices, functions by name; and what HIP 5.3 to 7
// have added under other names. HIP: "Runtime API", "Error Handling", "Device Management".
#include "emulator/hip/Registration.h"
#include "emulator/hip/api/Version.h"
#include "llvm/ADT/APFloat.h"
#include <dlfcn.h>

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

HIP_EXPORT const char *hipApiName(uint32_t) { return "unknown"; } // of a tracer's numbers

HIP_EXPORT const char *hipKernelNameRef(hipFunction_t handle) {
  Function *function = functionOf(handle);
  return function ? function->kernel->name.c_str() : nullptr;
}

HIP_EXPORT const char *hipKernelNameRefByPtr(const void *hostFunction, hipStream_t handle) {
  if (usable())
    return nullptr;
  const StreamRef stream = streamOf(handle);
  Function *function = stream ? registeredFunction(hostFunction, stream->device) : nullptr;
  return function ? function->kernel->name.c_str() : nullptr;
}

HIP_EXPORT int hipGetStreamDeviceId(hipStream_t handle) {
  const StreamRef stream = usable() ? nullptr : streamOf(handle);
  return stream ? int(stream->device.ordinal) : -1;
}

HIP_EXPORT hipChannelFormatDesc hipCreateChannelDesc(int x, int y, int z, int w,
                                                     hipChannelFormatKind kind) {
  return {x, y, z, w, kind};
}

// ---------- Not in HIP 5.2's headers

// The functions are HIP's; only their declarations are not at hand.
#pragma clang diagnostic ignored "-Wmissing-prototypes"

// What compilers call for halves on the host: AMD's library has them, and programs take them there.
HIP_EXPORT float __gnu_h2f_ieee(unsigned short half) {
  llvm::APFloat value(llvm::APFloat::IEEEhalf(), llvm::APInt(16, half));
  bool exact;
  value.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return value.convertToFloat();
}
HIP_EXPORT unsigned short __gnu_f2h_ieee(float single) {
  llvm::APFloat value(single);
  bool exact;
  value.convert(llvm::APFloat::IEEEhalf(), llvm::APFloat::rmNearestTiesToEven, &exact);
  return static_cast<unsigned short>(value.bitcastToAPInt().getZExtValue());
}

HIP_EXPORT hipError_t hipStreamGetDevice(hipStream_t handle, hipDevice_t *device) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!device)
    return result(hipErrorInvalidValue);
  *device = int(stream->device.ordinal);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDrvGetErrorName(hipError_t error, const char **name) {
  if (!name)
    return result(hipErrorInvalidValue);
  *name = hipGetErrorName(error);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipDrvGetErrorString(hipError_t error, const char **text) {
  if (!text)
    return result(hipErrorInvalidValue);
  *text = hipGetErrorString(error);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipGetFuncBySymbol(hipFunction_t *handle, const void *hostFunction) {
  if (hipError_t error = usable())
    return result(error);
  if (!handle)
    return result(hipErrorInvalidValue);
  Function *function = registeredFunction(hostFunction, currentDevice());
  if (!function)
    return result(hipErrorInvalidDeviceFunction);
  *handle = reinterpret_cast<hipFunction_t>(function);
  return result(hipSuccess);
}

// What HIP 6 has changed are other functions here, with the names that its headers give them.
static std::string nameIn(int version, llvm::StringRef name) {
  const bool renamed = name == "hipGetDeviceProperties" || name == "hipChooseDevice";
  return (name + (renamed && version >= 600 ? "R0600" : "")).str();
}

// Null if there is no such function.
static void *entryNamed(const std::string &name) {
  Dl_info self;
  void *library = llvm::StringRef(name).starts_with("hip") &&
                          dladdr(reinterpret_cast<void *>(&entryNamed), &self)
                      ? dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD)
                      : nullptr;
  void *function = library ? dlsym(library, name.c_str()) : nullptr;
  if (library)
    dlclose(library);
  return function;
}

// The version is 100 * major + minor of the caller's headers. The status is 0 for a function that
// is there and 1 for one that is not.
HIP_EXPORT hipError_t hipGetProcAddress(const char *name, void **function, int version,
                                        uint64_t flags, int *status) {
  if (!name || !*name || !function || flags)
    return result(hipErrorInvalidValue);
  *function = entryNamed(nameIn(version, name));
  if (status)
    *status = *function ? 0 : 1;
  return result(*function ? hipSuccess : hipErrorInvalidValue);
}

// The flags choose among functions with and without `_spt`: 0 and 1 those of the legacy stream.
static hipError_t entryPoint(const char *name, void **function, unsigned long long flags,
                             int *status, bool perThread) {
  constexpr unsigned kLegacy = 1, kPerThread = 2;
  if (!name || !*name || !function || flags > kPerThread)
    return hipErrorInvalidValue;
  perThread = flags == kPerThread || (perThread && flags != kLegacy);
  const std::string wanted = nameIn(int(hipMajorVersion()) * 100, name);
  *function = perThread ? entryNamed(wanted + "_spt") : nullptr;
  if (!*function)
    *function = entryNamed(wanted);
  if (status)
    *status = *function ? 0 : 1;
  return *function ? hipSuccess : hipErrorInvalidValue;
}
HIP_EXPORT hipError_t hipGetDriverEntryPoint(const char *name, void **function,
                                             unsigned long long flags, int *status) {
  return result(entryPoint(name, function, flags, status, false));
}
HIP_EXPORT hipError_t hipGetDriverEntryPoint_spt(const char *name, void **function,
                                                 unsigned long long flags, int *status) {
  return result(entryPoint(name, function, flags, status, true));
}

HIP_EXPORT hipError_t hipGetDevicePropertiesR0000(hipDeviceProp_t *properties, int device) {
  return hipGetDeviceProperties(properties, device);
}
HIP_EXPORT hipError_t hipChooseDeviceR0000(int *device, const hipDeviceProp_t *properties) {
  return hipChooseDevice(device, properties);
}
HIP_EXPORT hipError_t hipExtHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}

// No two streams that live have one address.
HIP_EXPORT hipError_t hipStreamGetId(hipStream_t handle, unsigned long long *id) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!id)
    return result(hipErrorInvalidValue);
  *id = reinterpret_cast<unsigned long long>(stream.get());
  return result(hipSuccess);
}

// What HIP 7.1 says of places as structures: the host, whichever part of it, or a device.
static int deviceOf(hipMemLocation place) {
  constexpr int kLastOfHost = 4; // Host, HostNuma, HostNumaCurrent follow Device
  return place.type > hipMemLocationTypeDevice && int(place.type) <= kLastOfHost ? hipCpuDeviceId
         : place.type == hipMemLocationTypeDevice ? place.id
                                                  : Placement::kNowhere;
}
HIP_EXPORT hipError_t hipMemAdvise_v2(const void *pointer, size_t bytes, hipMemoryAdvise advice,
                                      hipMemLocation place) {
  return hipMemAdvise(pointer, bytes, advice, deviceOf(place));
}
HIP_EXPORT hipError_t hipMemPrefetchAsync_v2(const void *pointer, size_t bytes,
                                             hipMemLocation place, unsigned flags,
                                             hipStream_t stream) {
  return flags ? result(hipErrorInvalidValue)
               : hipMemPrefetchAsync(pointer, bytes, deviceOf(place), stream);
}
