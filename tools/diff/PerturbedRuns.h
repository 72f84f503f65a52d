// SPDX-License-Identifier: Apache-2.0
// Differences of inexact kernels, decided by replays in which their inexact instructions move their
// results (diff/Perturbation.h).
#pragma once

#include "diff/Compare.h"
#include "tools/diff/ReplayTargets.h"

namespace rubia::tools {

/// The interpreter's runs of a launch. They do not depend on what a target gave, and a search for
/// what makes a target differ needs them for each of its settings. Those of the last launch are
/// kept.
class ReferenceRuns {
public:
  llvm::Expected<Replayed> run(const ReplayWork &work, const capsule::Capsule &capsule);

private:
  std::tuple<uint64_t, std::string, unsigned> of;   // launch, file with PTX, timeout
  std::map<std::optional<unsigned>, Replayed> kept; // by noise
};

struct PerturbedRuns {
  const Replayed *expected; // null: what was recorded
  const Replayed &got;
  const ReplayWork &work;
  const ReplayTarget &target; // that `got` ran on, or one in the place of the interpreter
  unsigned count;
  bool isOfReference; // `got` or `expected`
  ReferenceRuns &reference;
};

/// For each launch that is undecided so far: several replays. The interpreter makes them where it
/// can: a mistake of the target may make its own runs go far apart. Of its own results the target
/// makes them, since it fuses products and sums as NVIDIA does, and the interpreter fuses none. If
/// one fails, the launches stay undecided, and the reason is added to theirs.
void decideByPerturbing(const capsule::Capsule &capsule, const PerturbedRuns &runs,
                        std::vector<capsule::LaunchResult> &results);

/// The same by other recordings of these launches, three at least.
void decideByRecordings(const capsule::Capsule &capsule, const Replayed &got,
                        const std::vector<Replayed> &recordings,
                        std::vector<capsule::LaunchResult> &results);

} // namespace rubia::tools
