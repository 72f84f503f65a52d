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
#include <memory>
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
  /// Nobody waits for its error, which becomes the context's; `what` is its name then.
  Result add(Context &context, void *hipStream, const char *what, std::function<Result()> work);
  /// The stream is destroyed. Its word is another's once all its gates are open.
  void forget(void *hipStream);
  /// The context ends: waits until all gates are open, or after a fault until no thread works.
  /// Gates that streams come to later open at once.
  void awaitAll(const Context &context);
  /// Frees its memory; `isLost`: it went with the device. Streams may come to gates even later.
  void release(const Hip &hip, bool isLost);

private:
  /// A stream's gates open one after the other: a word has the number of the last that is open.
  struct Place {
    uint64_t *word = nullptr; // pinned
    void *device = nullptr;   // its address on the device
    uint64_t count = 0;       // gates that there were
  };
  /// What gates share from one end of the context to the next. Threads that are late keep it.
  struct Life {
    std::mutex mutex; // guards what follows
    bool isEnding = false, hasWords = true;
    std::atomic<size_t> closed = 0, working = 0;
  };
  struct Visit;
  static void begin(void *visit);
  static void work(Visit *visit);
  static void refuse(Visit *visit, const char *why);
  Result place(Context &context, void *hipStream, Place *&out);

  std::mutex mutex; // guards what follows; threads that work do not need it
  std::map<void *, Place> places;
  std::vector<void *> pages; // pinned
  size_t used = 0;           // words of the last page
  std::vector<Place> left;   // of streams that are no more; their numbers go on
  std::shared_ptr<Life> life = std::make_shared<Life>();
};

/// A stream of HIP's for threads that work at gates.
Result makeWorkStream(Context &context, void *&hipStream);

} // namespace rubia::runtime::cuda
