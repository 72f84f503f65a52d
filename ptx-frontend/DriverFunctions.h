// SPDX-License-Identifier: Apache-2.0
// The functions that device code declares and CUDA's driver defines.
#pragma once

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringRef.h"

namespace rubia::ptx {

/// Those that Rubia defines too.
inline constexpr llvm::StringLiteral kDriverFunctions[] = {
    "vprintf", "malloc", "free", "__assertfail", "cudaGraphSetConditional"};

/// No unit of a program defines these, and none lacks them.
inline bool isDriverFunction(llvm::StringRef name) {
  return llvm::is_contained(kDriverFunctions, name);
}

/// Those of launches from the device, without the reserved beginning that the others have.
inline constexpr llvm::StringLiteral kLaunchFunctions[] = {
    "cnpDeviceGetAttribute", "cnpEventCreate",        "cnpEventDestroy",
    "cnpEventRecord",        "cnpFuncGetAttribute",   "cnpGetCacheConfig",
    "cnpGetDevice",          "cnpGetDeviceCount",     "cnpGetLastError",
    "cnpGetLimit",           "cnpGetParameterBuffer", "cnpGetParameterBufferV2",
    "cnpGetSharedMemConfig", "cnpLaunchDevice",       "cnpLaunchDeviceV2",
    "cnpSetLastError",       "cnpStreamCreate",       "cnpStreamDestroy",
    "cnpStreamWaitEvent"};

/// True for what CUDA's driver defines for launches from the device, and whatever else libcudadevrt
/// is built on: it is not supported.
inline bool isUnsupportedDriverFunction(llvm::StringRef name) {
  return name.starts_with("__cuda_syscall_") || llvm::is_contained(kLaunchFunctions, name);
}

} // namespace rubia::ptx
