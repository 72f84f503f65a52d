// SPDX-License-Identifier: Apache-2.0
// Does a loop wait for somebody?
//
// Here for another warp, asked before two warps share a wave, which cannot wait for each other: an
// exit depends on a value that the loop itself reads with a volatile or atomic access, so that
// another warp may have to write it first. What it reads may go through functions and memory, and a
// plain load counts too where the loop has a fence or an atomic operation: when in doubt, it waits.
// A loop in which the whole CTA meets at a barrier each round hands on through memory what it
// likes: at a barrier no warp of a wave waits for the other alone.
//
// For a thread of the own warp it is asked in waits/OwnWarpWaits.h, which wants another strength.
//
// Neither takes it for waiting that a compare-and-swap is repeated until the old value is what it
// was computed from, and the second not that a count comes to its end, `i < *end` (LoopValues.h).
#pragma once

#include "lowering/Lowering.h"
#include "llvm/ADT/DenseSet.h"
#include <optional>

namespace rubia::lowering {

struct WaitingLoop {
  const ptx::Function *function;
  const ptx::Instruction *exit; // leaves the loop
  const ptx::Instruction *read; // what it depends on
};

/// The first one in a unit. `addressTaken`: functions that calls through an address may reach.
std::optional<WaitingLoop>
findWaitingLoop(const Unit &unit, const llvm::DenseSet<const ptx::Function *> &addressTaken);

} // namespace rubia::lowering
