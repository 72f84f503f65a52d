// SPDX-License-Identifier: Apache-2.0
// The state of global wave sync of a launch; see WaveSync.cpp.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

namespace rubia::emulator {

struct WaveSync {
  static constexpr unsigned kCounters = 64;
  struct Counter {
    uint32_t left = 0;  // waves to come before the one that completes the barrier
    uint32_t phase = 0; // how often it has completed
  };
  explicit WaveSync(std::atomic<uint64_t> &progress) : progress(progress) {}
  std::mutex mutex; // for the counters
  Counter counters[kCounters];
  std::atomic<uint64_t> &progress; // of the launch
};

} // namespace rubia::emulator
