// SPDX-License-Identifier: Apache-2.0
// The kernels of a FILE as `rubia launch` sees them, whether they come from PTX (through the cache,
// the compile worker and module loading, as for a CUDA program) or from an AMDGPU code object.
#pragma once

#include "runtime/device/LoadedModule.h"
#include "settings/Settings.h"
#include <functional>

namespace rubia::tools {

struct LaunchableKernel {
  struct Parameter {
    uint32_t offset = 0, size = 0;
  };
  std::string name;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  /// Asynchronous on the null stream; `bytes` are parameterBytes many.
  std::function<llvm::Error(const runtime::LaunchShape &, llvm::ArrayRef<uint8_t> bytes)> launch;
  /// Once the launch is done: prints what it printed; the error is what it left behind (a trap, a
  /// failed assertion).
  std::function<llvm::Error()> finish;
};

/// The kernel named `entry`, or the only one if `entry` is empty. The error lists those that there
/// are.
using KernelFinder = std::function<llvm::Expected<LaunchableKernel>(const std::string &entry)>;

/// The one of `names` that `entry` means, or the only one if `entry` is empty. The error lists
/// them.
llvm::Expected<std::string> oneKernel(const std::string &path, const std::string &entry,
                                      llvm::ArrayRef<std::string> names);

/// PTX in whatever holds it. Modules are loaded when a kernel of theirs is first asked for.
llvm::Expected<KernelFinder> openPtxKernels(const runtime::Hip &hip, const std::string &path,
                                            const settings::Settings &settings);

/// The code object for the device's processor. One that `rubia compile` has made takes the
/// parameters of its PTX.
llvm::Expected<KernelFinder> openCodeObjectKernels(const runtime::Hip &hip, const std::string &path,
                                                   const settings::Settings &settings);

} // namespace rubia::tools
