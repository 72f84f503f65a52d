// SPDX-License-Identifier: Apache-2.0
// Launches with clusters of several CTAs (lowering/lib/frame/ClusterSlots.h) run one after the
// other on a device: the CTAs of a cluster wait for each other, and two launches that have each
// begun a part of a cluster could keep each other from the places that the rest needs.
#pragma once

#include "runtime/device/Hip.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::runtime {

/// Calls `launch`, which launches on `stream` and returns HIP's error, so that it runs behind all
/// earlier ones on HIP's current device. Returns HIP's error.
int launchInTurn(const Hip &hip, void *stream, llvm::function_ref<int()> launch);

/// The device was reset: nothing runs there.
void forgetClusterLaunches(int device);

} // namespace rubia::runtime
