// SPDX-License-Identifier: Apache-2.0
// Loops with one header that are loops within each other (transform/NestedLoops.h): where all of a
// warp, or all of a CTA, take part in something in the outer one, but in nothing in the inner one.
// Else the branches back do not divide those who meet, or the inner `loop` is but a way round:
// `if (...) continue;`.
#pragma once

#include "lowering/Lowering.h"
#include "lowering/lib/analysis/ControlFlowGraph.h"
#include "lowering/lib/analysis/ThreadFacts.h"

namespace rubia::lowering {

struct SharedHeader {
  uint32_t header; // of the inner loop
  uint32_t outer;  // the block that was added to the graph: of the outer one
  llvm::SmallVector<uint32_t> innerLatches;
};

/// The largest group that may meet in a function of the unit, if any.
std::optional<Group> meetingInFunctions(const Unit &unit);

/// Gives each outer loop of a function a header of its own in the graph: whoever enters it, or goes
/// round in it, comes through there. In the order in which they were found. `called`: who may meet
/// in what the function calls.
std::vector<SharedHeader> splitSharedHeaders(const ptx::Function &function,
                                             std::optional<Group> called, ControlFlowGraph &graph);

} // namespace rubia::lowering
