// The workgroups of one launch, handed out to host threads.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/Program.h"
#include "emulator/lib/WaveSync.h"
#include <atomic>
#include <mutex>

namespace rubia::emulator {

class RunningGroup;

class Dispatch {
public:
  Dispatch(const Launch &launch, Memory &memory, uint64_t kernarg, uint64_t packet,
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
  friend class StallWatch;
  using Groups = std::vector<std::unique_ptr<RunningGroup>>;
  void report(RunningGroup &group);

  const Launch &launch;
  const Kernel &kernel;
  const Program &program;
  Memory &memory;
  uint64_t kernarg, packet;
  uint64_t groupCount;
  uint64_t residentLimit;
  std::atomic<uint64_t> next{0};
  std::atomic<uint64_t> resident{0};
  std::atomic<uint64_t> progress{0}; // workgroups started and ended, barriers passed
  WaveSync sync{progress};
  std::atomic<bool> failed{false};
  std::atomic<uint64_t> instructions{0};
  std::mutex mutex;
  std::unique_ptr<Fault> fault;
  std::vector<uint64_t> counts; // per operation; empty unless launch.countOperations
};

} // namespace rubia::emulator
