// SPDX-License-Identifier: Apache-2.0
// A kernel's text executed by the interpreter of reference/.
#pragma once

#include "Program.h"
#include "llvm/Support/Error.h"

namespace rubia::random_kernels {

/// What the buffer of results holds afterwards.
llvm::Expected<std::vector<uint8_t>> interpret(const Program &program);
inline llvm::Expected<std::vector<uint8_t>> interpret(const Kernel &kernel) {
  return interpret(programOf(kernel));
}

} // namespace rubia::random_kernels
