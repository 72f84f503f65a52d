// SPDX-License-Identifier: Apache-2.0
// Instructions on several ways of a branch at which the threads of a warp meet.
//
// A `.sync` instruction waits until the threads of its membermask have come to the same
// instruction: the same operation, qualifiers and membermask, wherever it stands. PTX ISA:
// data-movement-and-conversion-instructions-shfl-sync and its sisters. nvcc relies on that: it
// makes two loops of one that asks for the lane's number in each round, each with the shuffles.
//
// Lanes of AMD's waves do not wait for each other, so that those of one way would execute its
// instructions without those of the other. Where a branch may divide a warp, such instructions of
// its ways are therefore executed at one place (lib/frame/MeetingPlaces.h).
#pragma once

#include "lowering/lib/analysis/Uniformity.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace rubia::lowering {

/// Of functions: the instructions that are executed at one place, as indexes into the body,
/// ascending. They have the same spelling and membermask.
using WarpMeetings =
    llvm::DenseMap<const ptx::Function *, std::vector<llvm::SmallVector<uint32_t, 2>>>;

WarpMeetings findWarpMeetings(const Unit &unit, RowWarps &warps);

} // namespace rubia::lowering
