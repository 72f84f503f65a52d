// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/run/Watchdog.h"
#include "emulator/lib/run/RunningGroup.h"

using namespace llvm;

namespace rubia::emulator {

static constexpr size_t kDescribed = 4; // workgroups in a message

Watchdog::Watchdog(Dispatch &dispatch)
    : dispatch(dispatch), isOn(dispatch.launch.stallSeconds > 0 || dispatch.launch.warn) {
  restart();
}

void Watchdog::restart() {
  seen = dispatch.progress.load(std::memory_order_relaxed);
  since = Clock::now();
  nextWarning = dispatch.launch.warnSeconds;
}

static std::string describe(ArrayRef<RunningGroup *> groups) {
  std::string text;
  for (const RunningGroup *group : groups.take_front(kDescribed))
    text += (text.empty() ? "" : "; ") + group->describe();
  if (groups.size() > kDescribed)
    text += "; and " + std::to_string(groups.size() - kDescribed) + " more";
  return text;
}

void Watchdog::groupEnded() {
  dispatch.madeProgress();
  dispatch.ended.fetch_add(1, std::memory_order_relaxed);
  tellIfLong();
}

// Launch::tellProgress.
void Watchdog::tellIfLong() {
  const Launch &launch = dispatch.launch;
  if (!launch.tellProgress || dispatch.toldProgress.load(std::memory_order_relaxed))
    return;
  const double seconds = std::chrono::duration<double>(Clock::now() - dispatch.begun).count();
  if (seconds >= launch.longSeconds && !dispatch.toldProgress.exchange(true))
    launch.tellProgress({dispatch.ended.load(), dispatch.groupCount, seconds});
}

bool Watchdog::failed(function_ref<std::vector<RunningGroup *>()> waiting) {
  tellIfLong();
  if (!isOn)
    return false;
  if (seen != dispatch.progress.load(std::memory_order_relaxed)) {
    restart();
    return false;
  }
  const Launch &launch = dispatch.launch;
  const double seconds = std::chrono::duration<double>(Clock::now() - since).count();
  if (launch.stallSeconds > 0 && seconds > launch.stallSeconds) {
    const std::vector<RunningGroup *> groups = waiting();
    groups.front()->fail(FaultKind::Deadlock);
    groups.front()->faultDetail = describe(groups);
    return true;
  }
  if (launch.warn && seconds > nextWarning) {
    nextWarning *= 2;
    launch.warn(
        "kernel " + launch.kernel->name + ": for " + std::to_string(unsigned(seconds)) +
        " seconds no workgroup has started, ended or passed a barrier: " + describe(waiting()));
  }
  return false;
}

} // namespace rubia::emulator
