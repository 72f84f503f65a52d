// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/PerturbedRuns.h"
#include "diff/Images.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;
using capsule::LaunchResult;
using capsule::Run;
using capsule::Verdict;

/// What the runs were made of.
static Expected<std::string> replayedPtx(const Capsule &capsule, const Launch &launch,
                                         const ReplayWork &work) {
  if (!work.ptx.empty()) {
    auto text = input::readFile(work.ptx, capsule::kMaxImageBytes);
    return text ? Expected<std::string>((*text)->getBuffer().str()) : text.takeError();
  }
  Expected<capsule::ReplayImage> image = capsule::replayImage(capsule, launch);
  return image ? Expected<std::string>(std::move(image->ptx)) : image.takeError();
}

static Error decide(const Capsule &capsule, const PerturbedRuns &runs,
                    const std::vector<Replayed> &moved, LaunchResult &result) {
  const Launch &launch = *result.launch;
  Expected<std::string> ptx = replayedPtx(capsule, launch, runs.work);
  if (!ptx)
    return ptx.takeError();
  Expected<capsule::PerturbedPtx> perturbed =
      capsule::perturb(*ptx, launch.kernel, launch.isFiltered());
  if (!perturbed)
    return perturbed.takeError();
  const Replayed::Found expected = runs.expected ? runs.expected->find(launch.ordinal)
                                                 : Replayed::Found{&capsule, &launch},
                        got = runs.got.find(launch.ordinal);
  std::vector<Run> all;
  for (const Replayed &one : moved) {
    const Replayed::Found found = one.find(launch.ordinal);
    if (!found.launch)
      return createStringError("a perturbed run lacks it");
    all.push_back({*found.capsule, *found.launch});
  }
  return capsule::decideByNoise(result, {*expected.capsule, *expected.launch},
                                {*got.capsule, *got.launch}, all, perturbed->still);
}

static Expected<std::vector<Replayed>> replayPerturbed(const Capsule &capsule, ReplayWork work,
                                                       const PerturbedRuns &runs) {
  std::vector<Replayed> moved;
  for (unsigned run = 0; run < runs.count; ++run) {
    work.noise = run;
    Expected<Replayed> one = Replayed::run(work, capsule, runs.target);
    if (!one)
      return one.takeError();
    moved.push_back(std::move(*one));
  }
  return moved;
}

void decideByPerturbing(const Capsule &capsule, const PerturbedRuns &runs,
                        std::vector<LaunchResult> &results) {
  ReplayWork work = runs.work;
  for (const LaunchResult &result : results)
    if (result.verdict == Verdict::Undecided)
      work.ordinals.push_back(result.launch->ordinal);
  if (work.ordinals.empty() || runs.count == 0)
    return;
  Expected<std::vector<Replayed>> moved = replayPerturbed(capsule, work, runs);
  const std::string problem = moved ? "" : toString(moved.takeError());
  for (LaunchResult &result : results) {
    if (result.verdict != Verdict::Undecided)
      continue;
    const LaunchResult before = result;
    Error error = moved ? decide(capsule, runs, *moved, result) : createStringError(problem);
    if (!error)
      continue;
    result = before;
    result.reason += "; there are no perturbed runs: " + toString(std::move(error));
  }
}

} // namespace rubia::tools
