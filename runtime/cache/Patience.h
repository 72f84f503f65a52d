// SPDX-License-Identifier: Apache-2.0
// How long a process waits for another one that compiles the same and is not heard of. It may be
// stopped, or the machine is so full that neither of them gets to run.
#pragma once

#include <algorithm>
#include <chrono>
#include <utility>

namespace rubia::runtime {

class Patience {
public:
  using Clock = std::chrono::steady_clock;

  Patience(Clock::duration least, Clock::time_point now)
      : least(least), begin(now), lastHeard(now), lastAsked(now) {}

  /// Whether to go on without the other one. Asked every few milliseconds, as often as the machine
  /// lets us; `isHeard`: it has given a sign of life since the last time.
  bool isOver(Clock::time_point now, bool isHeard) {
    // While we did not get to run, it may not have got to run either.
    silence += std::min<Clock::duration>(now - std::exchange(lastAsked, now), kLongestPause);
    if (isHeard) {
      lastHeard = now;
      silence = {};
    }
    // The longer it has worked, the more would be done twice.
    return silence >= std::max(least, (lastHeard - begin) / 4);
  }

private:
  static constexpr std::chrono::milliseconds kLongestPause{100};

  Clock::duration least, silence{};
  Clock::time_point begin, lastHeard, lastAsked;
};

} // namespace rubia::runtime
