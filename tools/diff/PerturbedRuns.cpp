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

static Expected<capsule::PerturbedPtx> perturbed(const Capsule &capsule, const Launch &launch,
                                                 const ReplayWork &work) {
  Expected<std::string> ptx = replayedPtx(capsule, launch, work);
  if (!ptx)
    return ptx.takeError();
  return capsule::perturb(*ptx, launch.kernel, launch.isFiltered());
}

static Expected<std::vector<Run>> runsOf(const std::vector<Replayed> &all, const Launch &launch) {
  std::vector<Run> runs;
  for (const Replayed &one : all) {
    const Replayed::Found found = one.find(launch.ordinal);
    if (!found.launch)
      return createStringError("a run lacks it");
    runs.push_back({*found.capsule, *found.launch});
  }
  return runs;
}

static Error decide(const Capsule &capsule, const PerturbedRuns &runs,
                    const std::vector<Replayed> &moved, LaunchResult &result) {
  const Launch &launch = *result.launch;
  Expected<capsule::PerturbedPtx> ptx = perturbed(capsule, launch, runs.work);
  if (!ptx)
    return ptx.takeError();
  const Replayed::Found expected = runs.expected ? runs.expected->find(launch.ordinal)
                                                 : Replayed::Found{&capsule, &launch},
                        got = runs.got.find(launch.ordinal);
  Expected<std::vector<Run>> all = runsOf(moved, launch);
  if (!all)
    return all.takeError();
  return capsule::decideByNoise(result, {*expected.capsule, *expected.launch},
                                {*got.capsule, *got.launch}, *all, ptx->still);
}

/// Where the order of threads counts, each run has another one.
static Expected<std::vector<Replayed>> replayPerturbed(const Capsule &capsule, ReplayWork work,
                                                       const PerturbedRuns &runs, bool isOfOrder) {
  std::vector<Replayed> moved;
  for (unsigned run = 0; run < runs.count; ++run) {
    work.noise = run;
    Expected<Replayed> one =
        Replayed::run(work, capsule, isOfOrder ? inOrder(runs.target, run + 1) : runs.target);
    if (!one)
      return one.takeError();
    moved.push_back(std::move(*one));
  }
  return moved;
}

/// Those of the launches whose results depend on the order of threads, or the others.
static void decideSome(const Capsule &capsule, const PerturbedRuns &runs, bool isOfOrder,
                       MutableArrayRef<LaunchResult *> results) {
  ReplayWork work = runs.work;
  for (const LaunchResult *result : results)
    work.ordinals.push_back(result->launch->ordinal);
  Expected<std::vector<Replayed>> moved = replayPerturbed(capsule, work, runs, isOfOrder);
  const std::string problem = moved ? "" : toString(moved.takeError());
  for (LaunchResult *result : results) {
    const LaunchResult before = *result;
    Error error = moved ? decide(capsule, runs, *moved, *result) : createStringError(problem);
    if (!error)
      continue;
    *result = before;
    result->reason += "; there are no perturbed runs: " + toString(std::move(error));
  }
}

void decideByPerturbing(const Capsule &capsule, const PerturbedRuns &runs,
                        std::vector<LaunchResult> &results) {
  if (runs.count == 0)
    return;
  std::vector<LaunchResult *> ofOrder, others;
  for (LaunchResult &result : results) {
    if (result.verdict != Verdict::Undecided)
      continue;
    Expected<capsule::PerturbedPtx> ptx = perturbed(capsule, *result.launch, runs.work);
    if (!ptx) // which decide() tells
      consumeError(ptx.takeError());
    (ptx && ptx->isOfOrder && hasOrders(runs.target) ? ofOrder : others).push_back(&result);
  }
  for (auto *some : {&ofOrder, &others})
    if (!some->empty())
      decideSome(capsule, runs, some == &ofOrder, *some);
}

void decideByRecordings(const Capsule &capsule, const Replayed &got,
                        const std::vector<Replayed> &recordings,
                        std::vector<LaunchResult> &results) {
  for (LaunchResult &result : results) {
    if (result.verdict != Verdict::Undecided)
      continue;
    const Launch &launch = *result.launch;
    const Replayed::Found here = got.find(launch.ordinal);
    Expected<std::vector<Run>> others = runsOf(recordings, launch);
    Error error = others ? capsule::decideByRecordings(result, {capsule, launch},
                                                       {*here.capsule, *here.launch}, *others)
                         : others.takeError();
    if (error)
      result.reason += "; recordings are not compared: " + toString(std::move(error));
  }
}

} // namespace rubia::tools
