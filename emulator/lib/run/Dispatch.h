// SPDX-License-Identifier: Apache-2.0
// The workgroups of one launch, handed out to host threads.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/machine/Program.h"
#include "emulator/lib/machine/WaveSync.h"
#include "emulator/lib/run/OperationCounts.h"
#include <atomic>
#include <chrono>
#include <mutex>

namespace rubia::emulator {

class RunningGroup;

class Dispatch {
public:
  Dispatch(const Launch &launch, Memory &memory, Bounds bounds, uint64_t kernarg, uint64_t packet,
           unsigned hostThreads);
  ~Dispatch();

  /// Runs workgroups until there are none left or one has failed. To be called once per host
  /// thread.
  void work(unsigned worker);

  std::unique_ptr<Fault> takeFault();
  Statistics statistics() const;

private:
  friend class RunningGroup;
  friend class ObservedRun;
  friend class OrderRun;
  friend class Watchdog;
  using Groups = std::vector<std::unique_ptr<RunningGroup>>;
  std::unique_ptr<Fault> describe(RunningGroup &group) const;
  void report(RunningGroup &group);
  void madeProgress() {
    if (isWatched)
      progress.fetch_add(1, std::memory_order_relaxed);
  }
  bool isLimited() const { return residentLimit != UINT64_MAX; }

  const Launch &launch;
  const Kernel &kernel;
  const Program &program;
  Memory &memory;
  const Bounds bounds;
  uint64_t kernarg, packet;
  uint64_t groupCount;
  uint64_t residentLimit;
  const std::chrono::steady_clock::time_point begun = std::chrono::steady_clock::now();
  bool isWatched; // whether anybody looks at `progress`
  /// Each on a cache line of its own: what one host thread writes, the others do not wait for.
  alignas(64) std::atomic<uint64_t> next{0};
  alignas(64) std::atomic<uint64_t> resident{0}; // counted if there is a limit
  alignas(64) std::atomic<uint64_t> progress{0}; // workgroups started and ended, barriers passed
  alignas(64) std::atomic<uint64_t> ended{0};    // workgroups
  WaveSync sync{progress};
  alignas(64) std::atomic<bool> failed{false};
  std::atomic<bool> toldProgress{false};
  std::atomic<uint64_t> instructions{0};
  std::mutex mutex;
  std::unique_ptr<Fault> fault;
  std::vector<uint64_t> counts; // per operation; empty unless launch.countOperations
  std::vector<uint64_t> lanes;  // the active ones, likewise
};

} // namespace rubia::emulator
