// SPDX-License-Identifier: Apache-2.0
#include "diff/lib/DriverApi.h"
#include "llvm/ADT/Twine.h"
#include <dlfcn.h>

using namespace llvm;

namespace rubia::capsule {

Expected<DriverApi> DriverApi::open(const std::string &path) {
  void *library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!library)
    return createStringError(dlerror());
  DriverApi api{};
  std::string missing;
#define FIND(Name)                                                                                 \
  if (void *address = dlsym(library, #Name))                                                       \
    api.Name = reinterpret_cast<decltype(api.Name)>(address);                                      \
  else                                                                                             \
    missing = #Name;
  FIND(cuInit)
  FIND(cuDriverGetVersion)
  FIND(cuDeviceGet)
  FIND(cuDeviceGetName)
  FIND(cuDeviceGetAttribute)
  FIND(cuDevicePrimaryCtxRetain)
  FIND(cuCtxSetCurrent)
  FIND(cuCtxSynchronize)
  FIND(cuModuleLoadData)
  FIND(cuModuleUnload)
  FIND(cuModuleGetFunction)
  FIND(cuModuleGetGlobal_v2)
  FIND(cuFuncSetAttribute)
  FIND(cuMemAlloc_v2)
  FIND(cuMemFree_v2)
  FIND(cuMemcpyHtoD_v2)
  FIND(cuMemcpyDtoH_v2)
  FIND(cuLaunchKernelEx)
  FIND(cuGetErrorName)
  if (!missing.empty())
    return createStringError(path + " has no " + missing);
  FIND(cuMemGetAllocationGranularity)
  FIND(cuMemAddressReserve)
  FIND(cuMemAddressFree)
  FIND(cuMemCreate)
  FIND(cuMemRelease)
  FIND(cuMemMap)
  FIND(cuMemUnmap)
  FIND(cuMemSetAccess)
  api.hasVirtualMemory = missing.empty();
  missing.clear();
  FIND(cuMemHostRegister_v2)
  FIND(cuMemHostGetDevicePointer_v2)
  FIND(cuFuncGetParamInfo)
  missing.clear();
  FIND(cuTensorMapEncodeTiled)
  FIND(cuTensorMapEncodeIm2col)
  api.hasTensorMaps = missing.empty();
  missing.clear();
  FIND(cuArray3DCreate_v2)
  FIND(cuArrayDestroy)
  FIND(cuMipmappedArrayCreate)
  FIND(cuMipmappedArrayGetLevel)
  FIND(cuMipmappedArrayDestroy)
  FIND(cuMemcpy3D_v2)
  FIND(cuTexObjectCreate)
  FIND(cuTexObjectDestroy)
  FIND(cuSurfObjectCreate)
  FIND(cuSurfObjectDestroy)
  FIND(cuModuleGetTexRef)
  FIND(cuModuleGetSurfRef)
  FIND(cuSurfRefSetArray)
  FIND(cuTexRefSetArray)
  FIND(cuTexRefSetMipmappedArray)
  FIND(cuTexRefSetAddress_v2)
  FIND(cuTexRefSetAddress2D_v3)
  FIND(cuTexRefSetFormat)
  FIND(cuTexRefSetAddressMode)
  FIND(cuTexRefSetFilterMode)
  FIND(cuTexRefSetFlags)
  FIND(cuTexRefSetBorderColor)
  FIND(cuTexRefSetMaxAnisotropy)
  FIND(cuTexRefSetMipmapFilterMode)
  FIND(cuTexRefSetMipmapLevelBias)
  FIND(cuTexRefSetMipmapLevelClamp)
  api.hasTextures = missing.empty();
#undef FIND
  int device = 0, major = 0, minor = 0;
  void *context = nullptr;
  char name[256] = "";
  int status = api.cuInit(0);
  if (!status)
    status = api.cuDeviceGet(&device, 0);
  if (!status)
    status = api.cuDevicePrimaryCtxRetain(&context, device);
  if (!status)
    status = api.cuCtxSetCurrent(context);
  if (!status)
    status = api.cuDriverGetVersion(&api.version);
  if (!status)
    status = api.cuDeviceGetName(name, sizeof(name), device);
  if (!status)
    status = api.cuDeviceGetAttribute(&major, 75, device);
  if (!status)
    status = api.cuDeviceGetAttribute(&minor, 76, device);
  if (!status)
    status = api.cuDeviceGetAttribute(&api.multiprocessors, 16, device);
  if (status)
    return createStringError(path + ": no device: " + api.nameOf(status));
  api.deviceName = name;
  api.capability = major * 10 + minor;
  return api;
}

std::string DriverApi::nameOf(int status) const {
  const char *name = nullptr;
  if (cuGetErrorName(status, &name) || !name)
    return ("status " + Twine(status)).str();
  return name;
}

} // namespace rubia::capsule
