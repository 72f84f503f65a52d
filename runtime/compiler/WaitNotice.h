// SPDX-License-Identifier: Apache-2.0
// A program that waits for the compiler looks hung. After two seconds of waiting it says so, once,
// if stderr is a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace rubia::runtime {

/// Not safe to use from several threads at a time.
class WaitNotice {
public:
  using Clock = std::chrono::steady_clock;

  /// Units that the program may ask for: those of a module that it has loaded.
  void loaded(uint64_t units) { known += units; }
  /// One of them has been asked for for the first time.
  void asked() { ++taken; }
  void compiled() { ++made; }

  /// Around each time that a thread of the program waits. Waits of several threads at the same time
  /// count once.
  void begin(Clock::time_point now = Clock::now());
  void end(Clock::time_point now = Clock::now());

  /// What is to be said now; empty: nothing, or it has been said.
  std::string due(bool isCached, Clock::time_point now = Clock::now());

private:
  Clock::duration waited(Clock::time_point now) const;

  uint64_t known = 0, taken = 0, made = 0;
  unsigned waiting = 0; // threads
  Clock::time_point since;
  Clock::duration before{}; // of waits that are over
  bool said = false;
};

} // namespace rubia::runtime
