// SPDX-License-Identifier: Apache-2.0
// A kernel executed by the reference evaluator: statement by statement, all threads together.
// Slow, and it shares no code with what it judges.
#pragma once

#include "Kernel.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/raw_ostream.h"

namespace rubia::random_kernels {

/// What the buffer of results holds afterwards. An error if an instruction has no reference.
/// `trace`: where to write each statement with its results in thread `traced`.
llvm::Expected<std::vector<uint8_t>>
evaluate(const Kernel &kernel, llvm::raw_ostream *trace = nullptr, unsigned traced = 0);

} // namespace rubia::random_kernels
