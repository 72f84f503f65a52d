// SPDX-License-Identifier: Apache-2.0
// Loops that wait for another warp: an exit depends on a value that the loop itself reads with a
// volatile or atomic access, so that another warp may have to write it first. Two warps that share
// a wave cannot wait for each other so.
//
// What it reads may go through functions and memory, and a plain load counts too where the loop has
// a fence or an atomic operation: when in doubt, it waits. A loop in which the whole CTA meets at a
// barrier each round hands on through memory what it likes: at a barrier no warp of a wave waits
// for the other alone.
//
// A loop that repeats a compare-and-swap until the old value is what it was computed from waits for
// nobody: it goes round only after somebody else has got through.
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
