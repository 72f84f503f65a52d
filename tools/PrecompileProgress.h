// SPDX-License-Identifier: Apache-2.0
// What `rubia precompile` shows while it works: a bar with rate and time left where somebody
// watches, else one line of JSON for each event.
#pragma once

#include "tools/PrecompileReport.h"
#include <chrono>

namespace rubia::tools {

class PrecompileProgress {
public:
  enum class Kind { Bar, Lines, Off };
  /// Bar if stdout is a terminal.
  static Kind automatic();

  PrecompileProgress(Kind kind, const char *what) : kind(kind), what(what) {}

  void start(size_t total);
  /// One piece of work is done; `cached`: it took no time, and does not count for the time left.
  /// Not to be called by two threads at once.
  void step(bool cached);
  void kernel(const KernelReport &kernel, const PrecompileImage &image);
  void finish();
  /// The last line of JSON.
  void summary(const PrecompileReport &report);

private:
  using Clock = std::chrono::steady_clock;
  void draw();

  Kind kind;
  const char *what;
  size_t total = 0, done = 0, cached = 0;
  Clock::time_point begin, drawn;
};

} // namespace rubia::tools
