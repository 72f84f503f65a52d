// Streams and events: our handles around HIP's.
#pragma once

#include "runtime/cuda/Driver.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::runtime::cuda {

struct Stream {
  void *hip;
  Context *context;
  unsigned flags;
  int priority;
  uint64_t id;
};

struct Event {
  void *hip;
  Context *context;
  unsigned flags;
  std::atomic<bool> recorded = false;
};

// HIP's stream for a handle of the API: null and kLegacyStream are the legacy default stream (null
// in HIP), kPerThreadStream is the calling thread's, anything else must be a live stream of ours.
struct HipStream {
  Result error;
  void *stream;
};
HipStream hipStream(Context &context, Stream *stream);

// Runs `body` with HIP's stream for `stream`; the call may leave work behind.
inline Result onStream(Context &context, Stream *stream,
                       llvm::function_ref<Result(void *hipStream)> body) {
  auto [error, hip] = hipStream(context, stream);
  return error ? error : body(hip);
}

Event *liveEvent(Event *event); // null: not one of ours

} // namespace rubia::runtime::cuda
