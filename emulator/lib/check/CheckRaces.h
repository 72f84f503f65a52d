// SPDX-License-Identifier: Apache-2.0
// The check `races`: two accesses to the same bytes by different waves, one of them a write, with
// nothing that orders them.
#pragma once

#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

/// `warpLanes`: threads that are taken to run together, which no check can tell apart: those of a
/// wave, or of half of one where two warps share it.
std::unique_ptr<Observer> makeRaceCheck(const SteppedProgram &code, const Launch &launch,
                                        unsigned warpLanes);

} // namespace rubia::emulator
