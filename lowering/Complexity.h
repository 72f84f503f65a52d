// SPDX-License-Identifier: Apache-2.0
// What makes LLVM slow, counted before anything is compiled. Some passes take the square of the
// length of a chain or of the number of jumps to one place: a text of some thousand lines, which no
// compiler writes, would occupy a compile process for minutes. Such kernels are refused.
// docs/performance.md has the limits, what they cost, and how far shipped kernels are from them.
#pragma once

#include "ptx-frontend/Module.h"
#include <cstdint>
#include <string>

namespace rubia::lowering {

struct Complexity {
  uint64_t sideEntries = 0; // jumps backwards to a block that can be passed by: irreducible loops
  uint64_t joinedPairs = 0; // of jumps to one place, summed over all places
  uint64_t predicateDepth = 0; // of predicates that are computed from predicates
  uint64_t rewrites = 0;       // registers that several instructions write, times blocks
};

Complexity complexityOf(const ptx::Function &function);

/// Which limit is exceeded, as a sentence; empty if none is.
std::string excessOf(const Complexity &complexity);

} // namespace rubia::lowering
