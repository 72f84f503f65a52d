// SPDX-License-Identifier: Apache-2.0
// The modules whose kernels may still run, so that a trap is looked for until the last of them is
// done. A stream that is done says nothing about others: each launch stays until its own stream, or
// the device, was waited for. Launches are numbered, since another thread may launch more while one
// waits; only what was launched before the wait began is over after it.
#pragma once

#include "runtime/device/LoadedModule.h"
#include <map>

namespace rubia::runtime::cuda {

/// A stream that the program waits for. Threads of the runtime launch for it later, when it may be
/// destroyed, and its number another stream's: `since` is how many had been destroyed before.
struct AwaitedStream {
  void *hipStream;
  uint64_t since = ~uint64_t(0); // of a launch that is noted at once
};

class PendingLaunches {
public:
  /// Keeps the module until the launch is over.
  void add(std::shared_ptr<LoadedModule> module, const AwaitedStream &stream);
  /// For launches that come later.
  AwaitedStream awaited(void *hipStream) const;
  /// The number of the last launch: to be taken before a wait begins.
  uint64_t last() const;
  /// The modules, kept alive for the caller.
  std::vector<std::shared_ptr<LoadedModule>> modules() const;
  /// Everything up to launch `number` is over: of one stream, or of the device.
  void endStream(void *hipStream, uint64_t number);
  void endDevice(uint64_t number);
  /// The stream is destroyed, and its number may be given to another one. Its launches go on.
  void detach(void *hipStream);
  void clear();

private:
  template <typename IsOver> void removeIf(IsOver isOver);

  mutable std::mutex mutex;
  /// The last launch of each module on each HIP stream.
  std::map<std::shared_ptr<LoadedModule>, std::map<void *, uint64_t>> launches;
  std::map<void *, uint64_t> ends; // when a stream of this number was destroyed last
  uint64_t count = 0, detached = 0;
};

} // namespace rubia::runtime::cuda
