// SPDX-License-Identifier: Apache-2.0
// Instructions that are for all threads of a warp, in branches that may divide the warp.
//
// On NVIDIA such an instruction brings the threads together, also from two branches; on AMD the
// lanes that are active carry it out, and the others count as missing (docs/synchronization.md,
// "Warps"). Where a program has it so, nobody can tell whether it relies on that: these are notes
// for people, not errors. Noted are `.sync` instructions whose constant membermask names all lanes,
// and barriers that PTX wants to be executed by whole warps. Threads that do not come to any such
// instruction before they end are no members on NVIDIA either.
//
// Where both ways of the branch have such an instruction, the program relies on it if the branch
// ever divides a warp: each way waits for the threads of the other there. nvcc makes that of a loop
// that asks for the lane's number in each round.
#pragma once

#include "lowering/lib/analysis/Definitions.h"
#include "lowering/lib/analysis/Uniformity.h"
#include <vector>

namespace rubia::lowering {

struct PartialWarp {
  const ptx::Function *function;
  const ptx::Instruction *instruction;
  const ptx::Function *dividingFunction; // itself, or one that calls it
  const ptx::Instruction *divides;       // the branch, or the guarded instruction
  bool isOnBothWays = false;             // the other way of the branch has such an instruction, too
};

/// In the order of the unit.
std::vector<PartialWarp> findPartialWarps(const Unit &unit);

} // namespace rubia::lowering
