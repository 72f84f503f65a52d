// SPDX-License-Identifier: Apache-2.0
// Who is wrong where a target differs from what was recorded, and the first instruction whose
// result does: the interpreter of reference/ has the third vote.
#pragma once

#include "diff/Compare.h"
#include "tools/diff/Bisect.h"

namespace rubia::tools {

/// Who has the votes: what was recorded, a target that differs from that, and a third one.
struct Voters {
  const ReplayTarget &target;
  const ReplayTarget &third; // the reference; where that is the target, a processor
  /// Of the two, what is compiled and what is interpreted.
  const ReplayTarget &compiled() const { return target.isReference ? third : target; }
  const ReplayTarget &interpreted() const { return target.isReference ? target : third; }
};

/// What follows from two comparisons: of the recording with the third one, and of that with the
/// target.
struct Vote {
  capsule::Party wrong = capsule::Party::Unknown;
  std::string text;
};
Vote voteOf(const capsule::LaunchResult &recordedAndThird,
            const capsule::LaunchResult &thirdAndTarget, const Voters &voters);

/// Looks for the first instruction whose result differs, in threads that wrote what differs or in
/// which the launch fails, and adds to the result's explanation. Where no thread shows any, the
/// compiler's steps are looked at; `differs`: whether it still differs.
llvm::Error explain(const capsule::Capsule &capsule, const ReplayWork &work, const Voters &voters,
                    const DiffersOn &differs, capsule::LaunchResult &result);

} // namespace rubia::tools
