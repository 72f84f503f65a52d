// SPDX-License-Identifier: Apache-2.0
// Golden kernels executed by reference/, in this process.
#pragma once

#include "KernelCommands.h"
#include "KernelRunner.h"

namespace rubia::golden {

/// As runKernels, but on no device. With `recorded`, products and sums without a rounding are fused
/// where that is nearer to what is recorded.
llvm::Expected<std::string>
runKernelsOnReference(llvm::ArrayRef<KernelCase> kernels,
                      llvm::function_ref<void(size_t, KernelResult &)> done,
                      RecordedOutputs recorded);

} // namespace rubia::golden
