// SPDX-License-Identifier: Apache-2.0
// A kernel's text executed by the interpreter of reference/.
#pragma once

#include "Kernel.h"
#include "llvm/Support/Error.h"

namespace rubia::random_kernels {

/// What the buffer of results holds afterwards.
llvm::Expected<std::vector<uint8_t>> interpret(const Kernel &kernel);

} // namespace rubia::random_kernels
