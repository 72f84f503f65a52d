// SPDX-License-Identifier: Apache-2.0
// Notices when nothing goes on for long: spinning workgroups look like working ones to a host
// thread.
#pragma once

#include "emulator/lib/run/Dispatch.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <chrono>

namespace rubia::emulator {

/// One for each host thread. What is progress: Dispatch::progress.
class Watchdog {
public:
  explicit Watchdog(Dispatch &dispatch);

  /// To be called after each turn of `waiting`, the workgroups of this host thread. Warns as
  /// Launch::warn says; returns whether the first of them has been made to fail
  /// (Launch::stallSeconds).
  bool failed(llvm::function_ref<std::vector<RunningGroup *>()> waiting);

  /// To be called when a workgroup has ended.
  void groupEnded();

private:
  using Clock = std::chrono::steady_clock;
  void restart();
  void tellIfLong();

  Dispatch &dispatch;
  const bool isOn;
  uint64_t seen = 0;
  Clock::time_point since;
  double nextWarning = 0;
};

} // namespace rubia::emulator
