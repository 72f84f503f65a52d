// SPDX-License-Identifier: Apache-2.0
// RUBIA_TIMELINE=FILE: what a program and the runtime did when, for https://ui.perfetto.dev and
// Chrome's about:tracing. docs/timeline.md.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <cstdint>

namespace rubia::runtime {

/// The file of this process, which is whole once the process has ended; null: nobody wants one.
class Timeline {
public:
  using Clock = std::chrono::steady_clock;
  static Timeline *wanted();

  /// Something that a thread did, or a stream of the device: `track`, else the calling thread.
  void add(llvm::StringRef category, llvm::StringRef name, Clock::time_point begin,
           Clock::time_point end, uint64_t track = 0);
  /// A track for what is not a thread.
  uint64_t addTrack(llvm::StringRef name);

private:
  friend struct TimelineFile;
  Timeline() = default;
};

/// From its making to its end, in the calling thread. The texts outlive it.
class TimelineSpan {
public:
  TimelineSpan(llvm::StringRef category, llvm::StringRef name)
      : timeline(Timeline::wanted()), category(category), name(name) {
    if (timeline)
      begin = Timeline::Clock::now();
  }
  TimelineSpan(const TimelineSpan &) = delete;
  TimelineSpan &operator=(const TimelineSpan &) = delete;
  ~TimelineSpan() {
    if (timeline)
      timeline->add(category, name, begin, Timeline::Clock::now());
  }

private:
  Timeline *timeline;
  llvm::StringRef category, name;
  Timeline::Clock::time_point begin;
};

} // namespace rubia::runtime
