// SPDX-License-Identifier: Apache-2.0
// The host threads that launches run on.
#pragma once

#include "emulator/HostProcessors.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace rubia::emulator {

/// Threads that are kept between launches, since to start one takes longer than many a launch.
class HostThreads {
public:
  /// Those of this process; a forked child has its own.
  static HostThreads &instance();

  /// Calls work(0) here, and work(1) to work(count - 1) on other threads if those come to it before
  /// work(0) returns. Returns when all calls have returned.
  void run(unsigned count, llvm::function_ref<void(unsigned)> work);

private:
  struct Job {
    llvm::function_ref<void(unsigned)> work;
    unsigned next = 1, count = 0; // calls that nobody has come to yet
    unsigned running = 0;
    std::condition_variable ended;
  };
  bool start(); // a thread
  void serve();

  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Job *> jobs; // with calls that nobody has come to yet
  unsigned free = 0;       // threads that are in no call
};

} // namespace rubia::emulator
