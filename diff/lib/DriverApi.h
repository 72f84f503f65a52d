// SPDX-License-Identifier: Apache-2.0
// The functions of a libcuda.so.1 that a replay calls, opened at run time.
#pragma once

#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace rubia::capsule {

/// CUlaunchAttribute and CUlaunchConfig.
struct DriverAttribute {
  int id;
  int padding;
  uint8_t value[64];
};
struct DriverLaunch {
  unsigned grid[3], block[3];
  unsigned sharedBytes;
  void *stream;
  DriverAttribute *attributes;
  unsigned attributeCount;
};
static_assert(sizeof(DriverAttribute) == 72 && sizeof(DriverLaunch) == 56);

/// CUmemLocation, CUmemAllocationProp and CUmemAccessDesc.
struct DriverLocation {
  int type, id;
};
struct DriverMemory {
  int type, handleTypes;
  DriverLocation location;
  void *ofWindows;
  uint8_t flags[8];
};
struct DriverAccess {
  DriverLocation location;
  int flags;
};
static_assert(sizeof(DriverMemory) == 32 && sizeof(DriverAccess) == 12);

/// CUDA_ARRAY_DESCRIPTOR, CUDA_ARRAY3D_DESCRIPTOR, CUDA_TEXTURE_DESC and CUDA_MEMCPY3D.
struct DriverPlane {
  size_t width, height;
  int format;
  unsigned channels;
};
struct DriverArray {
  size_t width, height, depth;
  int format;
  unsigned channels, flags;
};
struct DriverSampler {
  int addressModes[3], filter;
  unsigned flags, maxAnisotropy;
  int mipmapFilter;
  float levelBias, minLevel, maxLevel, border[4];
  int reserved[12];
};
struct DriverCopy {
  struct Side {
    size_t x, y, z, level;
    int type;
    void *host;
    uint64_t device;
    void *array, *reserved;
    size_t pitch, height;
  } from, to;
  size_t widthInBytes, height, depth;
};
static_assert(sizeof(DriverPlane) == 24 && sizeof(DriverArray) == 40 && sizeof(DriverCopy) == 200);

struct DriverApi {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int *);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuCtxSynchronize)();
  int (*cuModuleLoadData)(void **, const void *);
  int (*cuModuleUnload)(void *);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuModuleGetGlobal_v2)(uint64_t *, size_t *, void *, const char *);
  int (*cuFuncSetAttribute)(void *, int, int);
  int (*cuMemAlloc_v2)(uint64_t *, size_t);
  int (*cuMemFree_v2)(uint64_t);
  int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);
  int (*cuLaunchKernelEx)(const DriverLaunch *, void *, void **, void **);
  int (*cuGetErrorName)(int, const char **);
  /// Virtual memory; a driver may lack it.
  bool hasVirtualMemory;
  int (*cuMemGetAllocationGranularity)(size_t *, const DriverMemory *, int);
  int (*cuMemAddressReserve)(uint64_t *, size_t, size_t, uint64_t, unsigned long long);
  int (*cuMemAddressFree)(uint64_t, size_t);
  int (*cuMemCreate)(uint64_t *, size_t, const DriverMemory *, unsigned long long);
  int (*cuMemRelease)(uint64_t);
  int (*cuMemMap)(uint64_t, size_t, size_t, uint64_t, unsigned long long);
  int (*cuMemUnmap)(uint64_t, size_t);
  int (*cuMemSetAccess)(uint64_t, size_t, const DriverAccess *, size_t);
  /// Memory of the host that kernels can reach; null: the driver lacks it.
  int (*cuMemHostRegister_v2)(void *, size_t, unsigned);
  int (*cuMemHostGetDevicePointer_v2)(uint64_t *, void *, unsigned);
  /// Since CUDA 12.4; null: the driver is older.
  int (*cuFuncGetParamInfo)(void *, size_t, size_t *, size_t *);
  /// Tensor maps; a driver may lack them.
  bool hasTensorMaps;
  int (*cuTensorMapEncodeTiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                const uint32_t *, const uint32_t *, int, int, int, int);
  int (*cuTensorMapEncodeIm2col)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                 const int *, const int *, uint32_t, uint32_t, const uint32_t *,
                                 int, int, int, int);
  /// Textures; a driver may lack those that are by name.
  bool hasTextures;
  int (*cuArray3DCreate_v2)(void **, const DriverArray *);
  int (*cuArrayDestroy)(void *);
  int (*cuMipmappedArrayCreate)(void **, const DriverArray *, unsigned);
  int (*cuMipmappedArrayGetLevel)(void **, void *, unsigned);
  int (*cuMipmappedArrayDestroy)(void *);
  int (*cuMemcpy3D_v2)(const DriverCopy *);
  int (*cuTexObjectCreate)(uint64_t *, const void *, const void *, const void *);
  int (*cuTexObjectDestroy)(uint64_t);
  int (*cuSurfObjectCreate)(uint64_t *, const void *);
  int (*cuSurfObjectDestroy)(uint64_t);
  int (*cuModuleGetTexRef)(void **, void *, const char *);
  int (*cuModuleGetSurfRef)(void **, void *, const char *);
  int (*cuSurfRefSetArray)(void *, void *, unsigned);
  int (*cuTexRefSetArray)(void *, void *, unsigned);
  int (*cuTexRefSetMipmappedArray)(void *, void *, unsigned);
  int (*cuTexRefSetAddress_v2)(size_t *, void *, uint64_t, size_t);
  int (*cuTexRefSetAddress2D_v3)(void *, const DriverPlane *, uint64_t, size_t);
  int (*cuTexRefSetFormat)(void *, int, int);
  int (*cuTexRefSetAddressMode)(void *, int, int);
  int (*cuTexRefSetFilterMode)(void *, int);
  int (*cuTexRefSetFlags)(void *, unsigned);
  int (*cuTexRefSetBorderColor)(void *, float *);
  int (*cuTexRefSetMaxAnisotropy)(void *, unsigned);
  int (*cuTexRefSetMipmapFilterMode)(void *, int);
  int (*cuTexRefSetMipmapLevelBias)(void *, float);
  int (*cuTexRefSetMipmapLevelClamp)(void *, float, float);

  /// The first device, its primary context current.
  static llvm::Expected<DriverApi> open(const std::string &path);
  std::string nameOf(int status) const; // "CUDA_ERROR_INVALID_PTX"
  std::string deviceName;
  int version = 0, capability = 0, multiprocessors = 0;
};

} // namespace rubia::capsule
