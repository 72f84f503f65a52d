// SPDX-License-Identifier: Apache-2.0
// What a stream has to wait for that no work on a device does: loops of graphs, and comparisons
// that HIP does not have. The stream comes to a gate; a thread of the runtime's own works, and
// opens the gate. The call that puts the gate into the stream does not wait.
//
// Streams of HIP's share queues of the device, and a stream that waits at a gate may hold up others
// of its queue. So the thread works on streams of the lowest priority, which have queues of their
// own and which programs never have.
#pragma once

#include "runtime/cuda/Types.h"
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <vector>

namespace rubia::runtime {
class Hip;
}

namespace rubia::runtime::cuda {

struct Context;

/// The gates of a context.
class Gates {
public:
  /// `work` is called once the stream has come here; the stream goes on when it has returned.
  Result add(Context &context, void *hipStream, std::function<void()> work);
  /// Waits until all gates are open, or after a fault until no thread works. The context ends.
  void awaitAll(const Context &context);
  /// Frees its memory; `isLost`: it went with the device.
  void release(const Hip &hip, bool isLost);

private:
  /// A stream's gates open one after the other: a word has the number of the last that is open.
  struct Place {
    uint64_t *word = nullptr; // pinned
    void *device = nullptr;   // its address on the device
    uint64_t count = 0;       // gates that there were
  };
  struct Visit;
  static void begin(void *visit);
  static void work(Visit *visit);
  Result place(Context &context, void *hipStream, Place *&out);

  std::mutex mutex; // guards what follows; threads that work do not need it
  std::map<void *, Place> places;
  std::vector<void *> pages; // pinned
  size_t used = 0;           // words of the last page

  std::atomic<size_t> closed = 0, working = 0;
};

/// A stream of HIP's for threads that work at gates.
Result makeWorkStream(Context &context, void *&hipStream);

} // namespace rubia::runtime::cuda
