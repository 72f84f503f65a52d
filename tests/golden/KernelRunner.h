// SPDX-License-Identifier: Apache-2.0
// Running kernels through the CUDA driver API, in a child process: one that hangs, crashes or
// leaves the device unusable costs no other.
#pragma once

#include "KernelText.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::golden {

struct KernelResult {
  std::vector<std::vector<uint8_t>> outputs; // of the parameters that are results, in their order
  std::string error;                         // empty: it ran
};

struct KernelRunOptions {
  std::string library = "libcuda.so.1";
  unsigned repetitions = 1; // results that are not the same each time are an error
  unsigned timeoutMs = 30000;
};

/// Runs kernels in turn; `done` gets the index and the result of each. Returns the device, as
/// Driver::device.
llvm::Expected<std::string> runKernels(llvm::ArrayRef<KernelCase> kernels,
                                       const KernelRunOptions &options,
                                       llvm::function_ref<void(size_t, KernelResult &)> done);

} // namespace rubia::golden
