// SPDX-License-Identifier: Apache-2.0
// Events, and what streams and graphs need of them.
#pragma once

#include "emulator/hip/Api.h"

namespace rubia::emulator::hip {

struct Capture;
struct GraphNode;
class SharedEvent;

struct EventState {
  unsigned flags = 0;
  Device *device = nullptr;
  std::mutex mutex;
  CompletionRef completion; // of the last record; null: never recorded
  /// Recorded on a stream that was being captured: what a stream that waits for it depends on.
  std::shared_ptr<Capture> capture;
  std::vector<GraphNode *> captured;
  std::shared_ptr<SharedEvent> shared; // with other processes: what counts then
};

/// The handle of an event that the program owns from now on.
hipEvent_t addEvent(std::shared_ptr<EventState> event);

/// The event behind a handle that the program still owns, or null.
std::shared_ptr<EventState> eventOf(hipEvent_t handle);
hipEvent_t handleOf(const std::shared_ptr<EventState> &event);

CompletionRef completionOf(EventState &event);
/// Records the event: it is complete when `completion` is.
void setCompletion(EventState &event, CompletionRef completion);

} // namespace rubia::emulator::hip
