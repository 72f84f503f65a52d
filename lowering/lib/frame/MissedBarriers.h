// SPDX-License-Identifier: Apache-2.0
// Who comes late: to a barrier that others have passed without him, or with a write that they may
// have wanted to read behind it. The kernel ends with a report.
//
// On NVIDIA the threads of a warp may come to a barrier that is not .aligned by several ways: the
// warp arrives when the last has come or ended. Here the first to come have passed it alone by
// then, and what they did since may be wrong. In the checked form (analysis/WarpForm.h) the same
// holds of the two warps of a wave. Each wave has a word of LDS (BarrierWords) with its lanes, or
// warps, that have missed a barrier. Those that have ended miss all, and nobody minds.
//
// In the checked form a loop may have a barrier in each round, and end by what the other warp of
// the wave writes, who has left it. Nobody is late then, since that warp never goes on. So the
// barriers that a warp passes without the other are counted, and the kernel ends at
// Options::mostRounds().
#pragma once

#include "ptx-frontend/Module.h"
#include <string>

namespace rubia::lowering {

class FunctionLowering;

/// At the barrier, for FunctionLowering's builder. Nothing if the plan says that nobody is late.
void refuseLateAtBarrier(FunctionLowering &fn, const ptx::Instruction &barrier);

/// In the checked form, before what writes memory: others may read that behind the barrier.
void refuseLateWrite(FunctionLowering &fn, const ptx::Instruction &write);

/// What the report says.
std::string whyLate(FunctionLowering &fn, const ptx::Instruction &instruction);

} // namespace rubia::lowering
