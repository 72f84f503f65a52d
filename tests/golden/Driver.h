// SPDX-License-Identifier: Apache-2.0
// The CUDA driver API as a test program uses it: NVIDIA's on an NVIDIA machine, Rubia's elsewhere.
// It is opened at run time, so that nothing is needed to build.
#pragma once

#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>
#include <string>

namespace rubia::golden {

/// Functions under the names that libcuda exports. All return 0 for success.
struct Driver {
  int (*cuInit)(unsigned);
  int (*cuDriverGetVersion)(int *);
  int (*cuDeviceGet)(int *, int);
  int (*cuDeviceGetName)(char *, int, int);
  int (*cuDeviceGetAttribute)(int *, int, int);
  int (*cuDevicePrimaryCtxRetain)(void **, int);
  int (*cuCtxSetCurrent)(void *);
  int (*cuModuleLoadDataEx)(void **, const void *, unsigned, int *, void **);
  int (*cuModuleGetFunction)(void **, void *, const char *);
  int (*cuModuleUnload)(void *);
  int (*cuFuncSetAttribute)(void *, int, int);
  int (*cuMemAlloc_v2)(uint64_t *, size_t);
  int (*cuMemFree_v2)(uint64_t);
  int (*cuMemcpyHtoD_v2)(uint64_t, const void *, size_t);
  int (*cuMemcpyDtoH_v2)(void *, uint64_t, size_t);
  int (*cuMemsetD8_v2)(uint64_t, unsigned char, size_t);
  int (*cuLaunchKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                        unsigned, void *, void **, void **);
  int (*cuLaunchCooperativeKernel)(void *, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   unsigned, unsigned, void *, void **);
  int (*cuCtxSynchronize)();
  int (*cuGetErrorName)(int, const char **);
  /// Null in drivers without them.
  int (*cuTensorMapEncodeTiled)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                const uint32_t *, const uint32_t *, int, int, int, int);
  int (*cuTensorMapEncodeIm2col)(void *, int, uint32_t, void *, const uint64_t *, const uint64_t *,
                                 const int *, const int *, uint32_t, uint32_t, const uint32_t *,
                                 int, int, int, int);

  std::string device; // "NVIDIA H100 80GB HBM3, driver 13000"
  unsigned computeCapability = 0;

  /// The first device of the library at `path`, its primary context current.
  static llvm::Expected<Driver> open(const std::string &path);
  std::string nameOf(int status) const; // "CUDA_ERROR_INVALID_PTX"

  /// Loads PTX text; the error has the compiler's messages.
  llvm::Expected<void *> loadModule(const std::string &text) const;
};

} // namespace rubia::golden
