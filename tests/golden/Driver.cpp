// SPDX-License-Identifier: Apache-2.0
#include "Driver.h"
#include <dlfcn.h>
#include <type_traits>

using namespace llvm;

namespace rubia::golden {

std::string Driver::nameOf(int status) const {
  const char *name = nullptr;
  cuGetErrorName(status, &name);
  return name ? name : std::to_string(status);
}

Expected<Driver> Driver::open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW);
  if (!library)
    return createStringError(Twine("no CUDA driver: ") + dlerror());
  Driver d;
  const char *missing = nullptr;
  auto load = [&](auto &function, const char *name) {
    function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
    if (!function)
      missing = name;
  };
#define LOAD(name) load(d.name, #name)
  LOAD(cuInit);
  LOAD(cuDriverGetVersion);
  LOAD(cuDeviceGet);
  LOAD(cuDeviceGetName);
  LOAD(cuDeviceGetAttribute);
  LOAD(cuDevicePrimaryCtxRetain);
  LOAD(cuCtxSetCurrent);
  LOAD(cuModuleLoadDataEx);
  LOAD(cuModuleGetFunction);
  LOAD(cuModuleUnload);
  LOAD(cuFuncSetAttribute);
  LOAD(cuMemAlloc_v2);
  LOAD(cuMemFree_v2);
  LOAD(cuMemcpyHtoD_v2);
  LOAD(cuMemcpyDtoH_v2);
  LOAD(cuMemsetD8_v2);
  LOAD(cuLaunchKernel);
  LOAD(cuLaunchCooperativeKernel);
  LOAD(cuCtxSynchronize);
  LOAD(cuGetErrorName);
  if (missing)
    return createStringError(Twine("the CUDA driver has no ") + missing);
  LOAD(cuTensorMapEncodeTiled);
  LOAD(cuTensorMapEncodeIm2col);
#undef LOAD
  int device = 0, version = 0, major = 0, minor = 0;
  void *context = nullptr;
  char name[256] = "";
  for (int status :
       {d.cuInit(0), d.cuDriverGetVersion(&version), d.cuDeviceGet(&device, 0),
        d.cuDeviceGetName(name, sizeof(name), device), d.cuDeviceGetAttribute(&major, 75, device),
        d.cuDeviceGetAttribute(&minor, 76, device), d.cuDevicePrimaryCtxRetain(&context, device),
        d.cuCtxSetCurrent(context)})
    if (status)
      return createStringError("the CUDA driver cannot be started: " + d.nameOf(status));
  d.device = std::string(name) + ", driver " + std::to_string(version);
  d.computeCapability = unsigned(major * 10 + minor);
  return d;
}

Expected<void *> Driver::loadModule(const std::string &text) const {
  char log[4096] = "";
  int options[] = {5, 6}; // CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES
  void *values[] = {log, reinterpret_cast<void *>(sizeof(log))};
  void *module = nullptr;
  if (int status = cuModuleLoadDataEx(&module, text.c_str(), 2, options, values))
    return createStringError(nameOf(status) + " " + log);
  return module;
}

} // namespace rubia::golden
