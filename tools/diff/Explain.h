// SPDX-License-Identifier: Apache-2.0
// Who is wrong where a target differs from what was recorded, and the first instruction whose
// result does: the interpreter of reference/ has the third vote.
#pragma once

#include "diff/Compare.h"
#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// What follows from two comparisons: of the recording with the reference, and of that with the
/// target, which differs from the recording.
std::string textOfVotes(const capsule::LaunchResult &recordedAndReference,
                        const capsule::LaunchResult &referenceAndTarget, llvm::StringRef target);

/// The first result of the thread that differs between the target and the reference. If it is
/// loaded, the threads that wrote it are followed, back to an instruction that is no load.
/// Products and sums are not fused meanwhile, and NaNs have NVIDIA's bits. Open results
/// (diff/Trace.h) are the target's on both sides. An error: the thread cannot be followed.
struct FirstDifference {
  std::vector<std::string> lines;              // of text
  std::optional<capsule::StoreSite> site = {}; // the instruction
};
llvm::Expected<FirstDifference> firstDifference(const capsule::Capsule &capsule,
                                                const capsule::Launch &launch,
                                                const capsule::Writer &writer,
                                                const ReplayWork &work, const ReplayTarget &target,
                                                const ReplayTarget &reference);

} // namespace rubia::tools
