// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/PerturbedRuns.h"
#include "diff/Images.h"

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;
using capsule::LaunchResult;
using capsule::Run;
using capsule::Verdict;

static Error decide(const Capsule &capsule, const PerturbedRuns &runs,
                    const std::vector<Replayed> &moved, LaunchResult &result) {
  const Launch &launch = *result.launch;
  Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
  if (!image)
    return image.takeError();
  Expected<capsule::PerturbedPtx> perturbed = capsule::perturb(image->ptx, launch.kernel);
  if (!perturbed) {
    result.reason += "; " + toString(perturbed.takeError());
    return Error::success();
  }
  const Replayed::Found expected = runs.expected ? runs.expected->find(launch.ordinal)
                                                 : Replayed::Found{&capsule, &launch},
                        got = runs.got.find(launch.ordinal);
  std::vector<Run> all;
  for (const Replayed &one : moved) {
    const Replayed::Found found = one.find(launch.ordinal);
    if (!found.launch)
      return createStringError("a perturbed run lacks launch " + Twine(launch.ordinal));
    all.push_back({*found.capsule, *found.launch});
  }
  return capsule::decideByNoise(result, {*expected.capsule, *expected.launch},
                                {*got.capsule, *got.launch}, all, perturbed->still);
}

Error decideByPerturbing(const Capsule &capsule, const PerturbedRuns &runs,
                         std::vector<LaunchResult> &results) {
  ReplayWork work = runs.work;
  for (const LaunchResult &result : results)
    if (result.verdict == Verdict::Undecided)
      work.ordinals.push_back(result.launch->ordinal);
  if (work.ordinals.empty() || runs.count == 0)
    return Error::success();
  std::vector<Replayed> moved;
  for (unsigned run = 0; run < runs.count; ++run) {
    work.noise = run;
    Expected<Replayed> one = Replayed::run(work, capsule, runs.target);
    if (!one)
      return one.takeError();
    moved.push_back(std::move(*one));
  }
  for (LaunchResult &result : results)
    if (result.verdict == Verdict::Undecided)
      if (Error error = decide(capsule, runs, moved, result))
        return error;
  return Error::success();
}

} // namespace rubia::tools
