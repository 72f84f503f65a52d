// SPDX-License-Identifier: Apache-2.0
// Locks that a loop takes with an atomic operation, and where they are released.
#pragma once

#include "lowering/lib/analysis/LoopValues.h"
#include "lowering/lib/waits/OwnWarpWaits.h"

namespace rubia::lowering {

/// Whether the loop itself releases what it takes with an instruction.
bool releasesInside(const LoopValues &loop, uint32_t take);

/// The instruction that releases what the loop takes, if whoever leaves the loop comes there
/// without doing anything that the others have to take part in.
std::optional<uint32_t> releaseOf(const LoopValues &loop, uint32_t take, const CallFacts &calls);

} // namespace rubia::lowering
