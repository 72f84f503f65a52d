// SPDX-License-Identifier: Apache-2.0
// The check `warps`: what lanes of one warp do to each other's memory with nothing between that
// orders them.
#pragma once

#include "emulator/lib/observe/Observer.h"

namespace rubia::emulator {

/// `warpLanes`: lanes of a wave that are one warp.
std::unique_ptr<Observer> makeWarpCheck(const Launch &launch, unsigned warpLanes);

} // namespace rubia::emulator
