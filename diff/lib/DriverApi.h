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

  /// The first device, its primary context current.
  static llvm::Expected<DriverApi> open(const std::string &path);
  std::string nameOf(int status) const; // "CUDA_ERROR_INVALID_PTX"
  std::string deviceName;
  int version = 0, capability = 0, multiprocessors = 0;
};

} // namespace rubia::capsule
