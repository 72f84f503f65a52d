// SPDX-License-Identifier: Apache-2.0
// Differences that PTX permits: of the bits of NaNs, and of products and sums without a rounding,
// which a compiler may fuse.
#pragma once

#include "diff/Compare.h"
#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// Launches that are different are replayed once more with another such choice of the target. Those
/// that are equal then become undecided, and the reason is told. `isOfUndecided`: also of those
/// that are undecided already.
llvm::Error checkPermitted(const capsule::Capsule &capsule, const ReplayTarget &on,
                           const ReplayWork &work, const capsule::Bounds &bounds,
                           bool isOfUndecided, std::vector<capsule::LaunchResult> &results);

} // namespace rubia::tools
