// SPDX-License-Identifier: Apache-2.0
// How LLVM looks for a phi that it could use again.
//
// LLVM's SSAUpdater compares what it wants with every phi of a block before it makes a new one. A
// loop unrolled over an array of registers gives blocks of hundreds of phis, which structurizing
// carries through hundreds of blocks: then the search takes four fifths of a compilation (NCCL).
// A phi that matches uses a value that is known, be it through phis of the blocks between, so here
// the users of one such value are compared. Other phis of the value are not followed: an array of
// registers has thousands.
//
// LLVM's archive has the search as a weak function that is called through its symbol
// (LlvmPrivate.h). The linker takes this one instead.
#pragma once

#include <cstdint>

namespace rubia::codegen {

/// Does nothing itself: who calls it has the search of here in his program.
void searchForPhisByUses();

/// How often the search of here was done in this process: not at all, if LLVM has another one.
uint64_t searchesForPhis();
/// How many phis they came to.
uint64_t phisOfSearches();

} // namespace rubia::codegen
