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
//
// One place for ways that are long makes one loop of all loops on them, and whatever is alive on
// one way is so on all. Functions that divide a CTA's warps among their tasks have such ways (NCCL:
// 46,000 instructions, whose compilation took more than a hundred times as long). There each way
// keeps its own instructions, and a kernel ends if the branch has divided a warp that comes to them
// (lib/frame/DividedWarps.h).
#pragma once

#include "lowering/lib/analysis/Uniformity.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace rubia::lowering {

/// Of a function. Instructions are indexes into its body, ascending.
struct Meetings {
  /// What is executed at one place: instructions of the same spelling and membermask.
  std::vector<llvm::SmallVector<uint32_t, 2>> places;

  /// A branch whose ways are too long for that.
  struct LongWays {
    uint32_t branch;
    llvm::SmallVector<uint32_t> instructions; // that are also on another of its ways
  };
  std::vector<LongWays> longWays;

  bool empty() const { return places.empty() && longWays.empty(); }
};

using WarpMeetings = llvm::DenseMap<const ptx::Function *, Meetings>;

/// Ways have one place if those of a branch have at most so many instructions, of each those that
/// are on no other. nvcc makes ways of at most some hundreds of one loop.
constexpr uint32_t kMostOnWays = 2000;

WarpMeetings findWarpMeetings(const Unit &unit, RowWarps &warps);

} // namespace rubia::lowering
