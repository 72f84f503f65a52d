// What the compile worker may take: set by whoever starts it, through the environment that it
// inherits.
#pragma once

#include <cstdint>

namespace rubia::runtime {

struct WorkerLimits {
  unsigned processes = 0; // compile processes at the same time; 0: one per core, at most 16
  unsigned secondsPerUnit = 300;
  uint64_t bytesPerProcess = uint64_t(16) << 30; // address space

  unsigned processCount() const;

  // RUBIA_WORKER_PROCESSES, RUBIA_WORKER_SECONDS and RUBIA_WORKER_BYTES; the default where one is
  // missing, or makes no sense. The log is told if `tell`: one process does for all.
  static WorkerLimits fromEnvironment(bool tell = false);
  // For a worker that is started from now on.
  void toEnvironment() const;
};

} // namespace rubia::runtime
