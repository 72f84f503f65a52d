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
// Instructions at which the threads of several ways meet, or end the kernel if they had to
// (WarpMeetings.h), are not noted.
#pragma once

#include "lowering/lib/analysis/WarpMeetings.h"
#include <vector>

namespace rubia::lowering {

struct PartialWarp {
  const ptx::Function *function;
  const ptx::Instruction *instruction;
  const ptx::Function *dividingFunction; // itself, or one that calls it
  const ptx::Instruction *divides;       // the branch, or the guarded instruction
};

/// In the order of the unit. `meetings`: findWarpMeetings().
std::vector<PartialWarp> findPartialWarps(const Unit &unit, const WarpMeetings &meetings,
                                          RowWarps &warps);

} // namespace rubia::lowering
