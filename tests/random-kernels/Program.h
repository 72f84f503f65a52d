// SPDX-License-Identifier: Apache-2.0
// A kernel's text with all that a launch of it needs: what Rubia and the interpreter execute.
#pragma once

#include "Kernel.h"

namespace rubia::random_kernels {

/// Parameters: pointers to the input and to the results, and kParamBytes of values.
struct Program {
  std::string name, text; ///< the text of the module, with its head
  unsigned grid = 1, block = 32;
  std::vector<uint8_t> input, param;
  std::vector<uint8_t> results; ///< before the launch
};

Program programOf(const Kernel &kernel);

} // namespace rubia::random_kernels
