// SPDX-License-Identifier: Apache-2.0
// Golden kernels executed by reference/, in this process.
#pragma once

#include "KernelRunner.h"

namespace rubia::golden {

/// As runKernels, but on no device.
llvm::Expected<std::string>
runKernelsOnReference(llvm::ArrayRef<KernelCase> kernels,
                      llvm::function_ref<void(size_t, KernelResult &)> done);

} // namespace rubia::golden
