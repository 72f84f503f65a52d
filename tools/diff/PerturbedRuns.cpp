// SPDX-License-Identifier: Apache-2.0
#include "tools/diff/PerturbedRuns.h"
#include "diff/Images.h"
#include "tools/Commands.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace rubia::tools {

using capsule::Capsule;
using capsule::Launch;
using capsule::LaunchResult;
using capsule::Run;
using capsule::Verdict;

Expected<Replayed> ReferenceRuns::run(const ReplayWork &work, const Capsule &capsule) {
  const auto replay = [&] {
    return Replayed::run(work, capsule, ReplayTarget{"reference", {}, true});
  };
  if (work.ordinals.size() != 1) // of many launches, what they leave takes much room
    return replay();
  const auto now = std::tuple(work.ordinals[0], work.ptx, work.timeout);
  if (of != now)
    kept.clear();
  of = now;
  if (const auto found = kept.find(work.noise); found != kept.end())
    return found->second;
  Expected<Replayed> one = replay();
  if (one)
    kept.emplace(work.noise, *one);
  return one;
}

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

static Expected<capsule::PerturbedPtx>
perturbed(const Capsule &capsule, const Launch &launch, const ReplayWork &work,
          capsule::FilterMover mover = capsule::FilterMover::Text) {
  Expected<std::string> ptx = replayedPtx(capsule, launch, work);
  if (!ptx)
    return ptx.takeError();
  return capsule::perturb(*ptx, launch.kernel, launch.isFiltered(), mover);
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

namespace {

/// Of the same launches in one place.
struct ReplaySet {
  const Replayed &unmoved;
  std::vector<Replayed> moved;
  capsule::FilterMover mover = capsule::FilterMover::Text;
};

} // namespace

static Error decide(const Capsule &capsule, const PerturbedRuns &runs, const ReplaySet &replays,
                    LaunchResult &result) {
  const Launch &launch = *result.launch;
  Expected<capsule::PerturbedPtx> ptx = perturbed(capsule, launch, runs.work, replays.mover);
  if (!ptx)
    return ptx.takeError();
  const Replayed::Found expected = runs.expected ? runs.expected->find(launch.ordinal)
                                                 : Replayed::Found{&capsule, &launch},
                        got = runs.got.find(launch.ordinal),
                        unmoved = replays.unmoved.find(launch.ordinal);
  Expected<std::vector<Run>> moved = runsOf(replays.moved, launch);
  if (!moved)
    return moved.takeError();
  return capsule::decideByNoise(
      result, {*expected.capsule, *expected.launch}, {*got.capsule, *got.launch},
      {{*unmoved.capsule, *unmoved.launch}, std::move(*moved)}, ptx->still);
}

static ReplayWork workOf(const PerturbedRuns &runs, ArrayRef<LaunchResult *> results) {
  ReplayWork work = runs.work;
  work.ordinals.clear();
  for (const LaunchResult *result : results)
    work.ordinals.push_back(result->launch->ordinal);
  return work;
}

static Expected<std::vector<Replayed>>
replayPerturbed(ReplayWork work, unsigned count,
                function_ref<Expected<Replayed>(const ReplayWork &)> replay) {
  std::vector<Replayed> moved;
  for (unsigned run = 0; run < count; ++run) {
    work.noise = run;
    Expected<Replayed> one = replay(work);
    if (!one)
      return one.takeError();
    moved.push_back(std::move(*one));
  }
  return moved;
}

/// Those of the launches whose results depend on the order of threads, or the others; on the target
/// itself. Where the order counts, each run has another one.
static void decideSome(const Capsule &capsule, const PerturbedRuns &runs, bool isOfOrder,
                       ArrayRef<LaunchResult *> results) {
  Expected<std::vector<Replayed>> moved =
      replayPerturbed(workOf(runs, results), runs.count, [&](const ReplayWork &work) {
        return Replayed::run(work, capsule,
                             isOfOrder ? inOrder(runs.target, *work.noise + 1) : runs.target);
      });
  const std::string problem = moved ? "" : toString(moved.takeError());
  const ReplaySet replays{runs.got, moved ? std::move(*moved) : std::vector<Replayed>()};
  for (LaunchResult *result : results) {
    const LaunchResult before = *result;
    Error error =
        problem.empty() ? decide(capsule, runs, replays, *result) : createStringError(problem);
    if (!error)
      continue;
    *result = before;
    result->reason += "; there are no perturbed runs: " + toString(std::move(error));
  }
}

/// By the interpreter, since a mistake of the target may make its own runs go far apart. Leaves
/// those in `results` that it cannot run, or not soon.
static Error decideOnReference(const Capsule &capsule, const PerturbedRuns &runs,
                               std::vector<LaunchResult *> &results) {
  constexpr unsigned kSeconds = 20; // for a launch
  ReplayWork work = workOf(runs, results);
  work.timeout = work.timeout ? std::min(work.timeout, kSeconds) : kSeconds;
  work.isPlain = true; // as the runs that move results
  Expected<Replayed> unmoved = runs.reference.run(work, capsule);
  if (!unmoved)
    return unmoved.takeError();
  const auto ranIn = [](const Replayed &replay, const LaunchResult *result) {
    const Replayed::Found found = replay.find(result->launch->ordinal);
    return found.launch && found.launch->whyNotReplayable().empty() &&
           all_of(found.launch->regions(), [](const capsule::Region *r) { return r->after; });
  };
  std::vector<LaunchResult *> can;
  copy_if(results, std::back_inserter(can), [&](auto *result) { return ranIn(*unmoved, result); });
  if (can.empty())
    return Error::success();
  work.ordinals = workOf(runs, can).ordinals;
  Expected<std::vector<Replayed>> moved = replayPerturbed(
      work, runs.count, [&](const ReplayWork &one) { return runs.reference.run(one, capsule); });
  if (!moved)
    return moved.takeError();
  const ReplaySet replays{*unmoved, std::move(*moved), capsule::FilterMover::Interpreter};
  for (LaunchResult *result : can) {
    if (!all_of(replays.moved, [&](const Replayed &run) { return ranIn(run, result); }))
      continue;
    LaunchResult decided = *result;
    if (Error error = decide(capsule, runs, replays, decided))
      return error;
    *result = std::move(decided);
    erase(results, result);
  }
  return Error::success();
}

void decideByPerturbing(const Capsule &capsule, const PerturbedRuns &runs,
                        std::vector<LaunchResult> &results) {
  if (runs.count == 0)
    return;
  std::vector<LaunchResult *> ofOrder, others;
  const auto isOpen = [](const capsule::BufferResult &buffer) {
    return buffer.verdict == Verdict::Undecided;
  };
  for (LaunchResult &result : results) {
    if (result.verdict != Verdict::Undecided ||
        (!result.openMaps.empty() && none_of(result.buffers, isOpen)))
      continue;
    Expected<capsule::PerturbedPtx> ptx = perturbed(capsule, *result.launch, runs.work);
    if (!ptx) // which decide() tells
      consumeError(ptx.takeError());
    (ptx && ptx->isOfOrder && hasOrders(runs.target) ? ofOrder : others).push_back(&result);
  }
  if (!others.empty() && !runs.isOfReference)
    if (Error error = decideOnReference(capsule, runs, others))
      messages() << "rubia: the perturbed runs are those of " << runs.target.name
                 << ", since the interpreter has none: " << toString(std::move(error)) << "\n";
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
