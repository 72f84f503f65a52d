// SPDX-License-Identifier: Apache-2.0
// Streams and events: our handles around HIP's.
#pragma once

#include "runtime/cuda/Driver.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace rubia::runtime::cuda {

/// Priorities go from this one, an H100's, to 0.
inline constexpr int kHighestPriority = -5;

struct GreenContext;
struct ResourceList; // CUdevResourceDesc

struct Stream {
  void *hip;
  Context *context;
  unsigned flags;
  int priority;
  uint64_t id;
  GreenContext *green = nullptr;
};

/// In a context whose device is HIP's current one.
Result createStream(Context &context, Stream **out, unsigned flags, int priority,
                    GreenContext *green = nullptr);
/// Those that cuGreenCtxStreamCreate made.
void destroyStreamsOf(GreenContext &green, Context &context);

enum EventFlag : unsigned { kWithoutTiming = 2, kInterprocess = 4 }; // CUevent_flags

/// Kept by its handle until the program destroys it, and by nodes of graphs.
struct Event : std::enable_shared_from_this<Event> {
  Event(void *hip, Context &context, unsigned flags);
  ~Event();
  /// It died with a reset of the device, or dies as the process ends.
  bool isLost() const;
  bool isInterprocess() const { return flags & kInterprocess; }

  void *hip;
  Context *context;
  unsigned flags;
  unsigned resets;       // of the device, when it was made
  bool isOpened = false; // another process's
  std::atomic<bool> recorded = false;
  /// The capture that it was last recorded in, with what it stands for there; else 0.
  std::atomic<uint64_t> capture = 0;
  std::vector<GraphNode *> captured = {};
};

/// HIP's stream for a handle of the API: null and kLegacyStream are the legacy default stream (null
/// in HIP), kPerThreadStream is the calling thread's, anything else must be a live stream of ours.
/// Default streams belong to the current context, others to the one that they were made in.
struct HipStream {
  Result error = kSuccess;
  void *stream = nullptr;
  Context *owner = nullptr;
};
/// Null: a default stream, or not live.
Context *contextOf(Stream *stream);
Context *contextOf(Event *event);
HipStream hipStream(Context &current, Stream *stream);

/// Runs `body` with HIP's stream for `stream` and the context that it belongs to, whose device is
/// HIP's meanwhile: CUDA takes streams of any context. The call may leave work behind.
Result onStream(Context &current, Stream *stream,
                llvm::function_ref<Result(Context &context, void *hipStream)> body);

/// Flags, priority and identity of any handle of a stream.
Result describe(Context &context, Stream *handle, Stream &out);

bool isLive(Event *event);
int priorityOf(const Stream &stream); // that of its attribute, else that of its creation
/// An event of HIP's that the program has from now on.
Event *addEvent(void *hip, Context &context, unsigned flags);

/// Whether a stream of HIP's is ordered against the legacy default stream.
bool isBlocking(void *hipStream);

/// Records an event in a stream of HIP's, or in the capture of it.
Result record(Context &context, Event *event, void *hipStream);

} // namespace rubia::runtime::cuda
