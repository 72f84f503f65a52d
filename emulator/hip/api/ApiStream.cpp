// SPDX-License-Identifier: Apache-2.0
// Streams and events. HIP: "Stream Management", "Event Management".
#include "emulator/hip/Events.h"
#include "emulator/hip/Graph.h"
#include "emulator/hip/ProcessSharing.h"

using namespace rubia::emulator::hip;
using namespace rubia::emulator;

namespace rubia::emulator::hip {
namespace {

// Ends a thread's own streams with it.
struct ThreadEnd {
  bool used = false;
  ~ThreadEnd() {
    if (!used)
      return;
    for (auto &device : Machine::instance().devices)
      if (StreamRef stream = device->streams.ofThread(false)) {
        forgetCapture(*stream);
        device->streams.destroy(*stream);
      }
  }
};

} // namespace

// In a capture: a node of the graph, which records the event or waits for it at each launch.
constexpr unsigned kExternal = 1; // hipEventRecordExternal, hipEventWaitExternal

StreamRef streamOf(hipStream_t handle) {
  StreamSet &streams = currentDevice().streams;
  auto number = reinterpret_cast<uintptr_t>(handle);
  if (number == 0 || number == 1) // hipStreamLegacy
    return streams.null();
  if (number == 2) { // hipStreamPerThread
    static thread_local ThreadEnd end;
    end.used = true;
    return streams.ofThread();
  }
  for (auto &device : Machine::instance().devices)
    if (StreamRef stream = device->streams.find(reinterpret_cast<Stream *>(handle)))
      return stream;
  return nullptr;
}

hipError_t findStream(hipStream_t handle, StreamRef &stream) {
  if (hipError_t error = usable())
    return error;
  stream = streamOf(handle);
  return stream ? hipSuccess : hipErrorInvalidHandle;
}

// Handles that programs still own, so that a stale one is an error and not a crash.
struct EventHandles {
  std::mutex mutex;
  std::map<EventState *, EventRef> live;
};
static EventHandles &events() {
  static auto *all = new EventHandles;
  return *all;
}

EventRef eventOf(hipEvent_t handle) {
  std::lock_guard<std::mutex> lock(events().mutex);
  auto place = events().live.find(reinterpret_cast<EventState *>(handle));
  return place == events().live.end() ? nullptr : place->second;
}

hipEvent_t addEvent(EventRef event) {
  std::lock_guard<std::mutex> lock(events().mutex);
  const hipEvent_t handle = handleOf(event);
  events().live.emplace(event.get(), std::move(event));
  return handle;
}

hipEvent_t handleOf(const EventRef &event) { return reinterpret_cast<hipEvent_t>(event.get()); }

CompletionRef completionOf(EventState &event) {
  std::lock_guard<std::mutex> lock(event.mutex);
  return event.completion;
}

void setCompletion(EventState &event, CompletionRef completion) {
  std::lock_guard<std::mutex> lock(event.mutex);
  event.completion = std::move(completion);
}

} // namespace rubia::emulator::hip

HIP_EXPORT hipError_t hipStreamCreateWithFlags(hipStream_t *stream, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  if (!stream || (flags & ~unsigned(hipStreamNonBlocking)))
    return result(hipErrorInvalidValue);
  *stream = reinterpret_cast<hipStream_t>(
      currentDevice().streams.create(!(flags & hipStreamNonBlocking)).get());
  return result(hipSuccess);
}

// All streams share the host's cores evenly: priorities are accepted and have no effect, as HIP
// allows.
HIP_EXPORT hipError_t hipStreamCreateWithPriority(hipStream_t *stream, unsigned flags, int) {
  return hipStreamCreateWithFlags(stream, flags);
}

// Compute units stand for host threads, which all streams share: the mask is kept and told.
HIP_EXPORT hipError_t hipExtStreamCreateWithCUMask(hipStream_t *stream, uint32_t words,
                                                   const uint32_t *mask) {
  if (!words || !mask)
    return result(hipErrorInvalidValue);
  if (hipError_t error = hipStreamCreateWithFlags(stream, hipStreamDefault))
    return error;
  reinterpret_cast<Stream *>(*stream)->computeUnits.assign(mask, mask + words);
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipExtStreamGetCUMask(hipStream_t handle, uint32_t words, uint32_t *mask) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!words || !mask)
    return result(hipErrorInvalidValue);
  for (uint32_t i = 0; i < words; ++i)
    mask[i] = stream->computeUnits.empty()      ? ~0u
              : i < stream->computeUnits.size() ? stream->computeUnits[i]
                                                : 0;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipDeviceGetStreamPriorityRange(int *least, int *greatest) {
  if (hipError_t error = usable())
    return result(error);
  if (least)
    *least = 0;
  if (greatest)
    *greatest = 0;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamGetPriority(hipStream_t handle, int *priority) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!priority)
    return result(hipErrorInvalidValue);
  *priority = 0;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamGetFlags(hipStream_t handle, unsigned *flags) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!flags)
    return result(hipErrorInvalidValue);
  *flags = stream->blocking ? hipStreamDefault : hipStreamNonBlocking;
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamCreate(hipStream_t *stream) {
  return hipStreamCreateWithFlags(stream, hipStreamDefault);
}

HIP_EXPORT hipError_t hipStreamDestroy(hipStream_t handle) {
  if (Machine::instance().devices.empty())
    return result(hipErrorNoDevice);
  const StreamRef stream = reinterpret_cast<uintptr_t>(handle) <= 2 ? nullptr : streamOf(handle);
  if (!stream)
    return result(hipErrorInvalidHandle);
  forgetCapture(*stream);
  stream->device.streams.destroy(*stream);
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamSynchronize(hipStream_t handle) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (hipError_t error = captureConflict(*stream, true))
    return result(error);
  // Work on the null stream is ordered against all blocking streams.
  if (stream == stream->device.streams.null())
    stream->device.streams.enqueue(*stream, [] {})->wait();
  else
    stream->synchronize();
  return result(hipError_t(stream->device.stickyError.load()));
}

HIP_EXPORT hipError_t hipStreamQuery(hipStream_t handle) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (isCapturing(*stream))
    return result(captureConflict(*stream, true));
  return result(stream->isIdle() ? hipSuccess : hipErrorNotReady);
}

// What was recorded until now, perhaps by another process, whose end is an error of the device.
static std::function<void()> waitFor(const std::shared_ptr<SharedEvent> &event, Device &device) {
  return [event, &device, number = event->last()] {
    if (!event->wait(number))
      (void)reportFailure(device,
                          llvm::createStringError("the process that recorded an event has ended"));
  };
}

HIP_EXPORT hipError_t hipStreamWaitEvent(hipStream_t handle, hipEvent_t eventHandle,
                                         unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  const StreamRef stream = streamOf(handle);
  EventRef event = eventOf(eventHandle);
  if (!stream || !event)
    return result(hipErrorInvalidHandle);
  if (flags & ~kExternal)
    return result(hipErrorInvalidValue);
  if ((flags & kExternal) && isCapturing(*stream))
    return result(event->shared ? refuseInCapture("hipStreamWaitEvent")
                                : capture(*stream, WaitOperation{event}));
  bool joined;
  if (hipError_t error = joinCapture(*stream, *event, joined))
    return result(error);
  if (joined)
    return result(hipSuccess);
  if (event->shared)
    stream->device.streams.enqueue(*stream, waitFor(event->shared, stream->device));
  else if (CompletionRef completion = completionOf(*event))
    stream->device.streams.enqueue(*stream, [] {}, {completion});
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipStreamAddCallback(hipStream_t handle, hipStreamCallback_t callback,
                                           void *data, unsigned flags) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!callback || flags)
    return result(hipErrorInvalidValue);
  Device *device = &stream->device;
  return result(submit(*stream, HostOperation{[=] {
    callback(handle, hipError_t(device->stickyError.load()), data);
  }}));
}

HIP_EXPORT hipError_t hipLaunchHostFunc(hipStream_t handle, hipHostFn_t function, void *data) {
  StreamRef stream;
  if (hipError_t error = findStream(handle, stream))
    return result(error);
  if (!function)
    return result(hipErrorInvalidValue);
  return result(submit(*stream, HostOperation{[=] { function(data); }, {function, data}}));
}

HIP_EXPORT hipError_t hipEventCreateWithFlags(hipEvent_t *handle, unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  // Whether recording makes memory visible to the host or to the device: all of it always is.
  constexpr unsigned kFences = hipEventReleaseToDevice | hipEventReleaseToSystem | 0x20000000;
  constexpr unsigned kKnown =
      hipEventBlockingSync | hipEventDisableTiming | hipEventInterprocess | kFences;
  if (!handle || (flags & ~kKnown) ||
      (flags & (hipEventReleaseToDevice | hipEventReleaseToSystem)) ==
          (hipEventReleaseToDevice | hipEventReleaseToSystem) ||
      ((flags & hipEventInterprocess) && !(flags & hipEventDisableTiming)))
    return result(hipErrorInvalidValue);
  auto event = std::make_shared<EventState>();
  event->flags = flags;
  event->device = &currentDevice();
  if (flags & hipEventInterprocess) {
    event->shared = SharedEvent::create(event->device->ordinal);
    if (!event->shared)
      return result(hipErrorOutOfMemory);
  }
  *handle = addEvent(std::move(event));
  return result(hipSuccess);
}

HIP_EXPORT hipError_t hipEventCreate(hipEvent_t *handle) {
  return hipEventCreateWithFlags(handle, hipEventDefault);
}

HIP_EXPORT hipError_t hipEventDestroy(hipEvent_t handle) {
  std::lock_guard<std::mutex> lock(events().mutex);
  if (!events().live.erase(reinterpret_cast<EventState *>(handle)))
    return result(hipErrorInvalidHandle);
  return result(hipSuccess);
}

// Since HIP 6.4, not in HIP 5.2's headers.
#pragma clang diagnostic ignored "-Wmissing-prototypes"
HIP_EXPORT hipError_t hipEventRecordWithFlags(hipEvent_t handle, hipStream_t streamHandle,
                                              unsigned flags) {
  if (hipError_t error = usable())
    return result(error);
  EventRef event = eventOf(handle);
  const StreamRef stream = streamOf(streamHandle);
  if (!event || !stream || event->device != &stream->device)
    return result(hipErrorInvalidHandle);
  if (flags & ~kExternal)
    return result(hipErrorInvalidValue);
  if (hipError_t error = captureConflict(*stream, false))
    return result(error);
  if ((flags & kExternal) && isCapturing(*stream))
    return result(event->shared ? refuseInCapture("hipEventRecordWithFlags")
                                : capture(*stream, RecordOperation{event}));
  if (recordInCapture(*stream, *event))
    return result(hipSuccess);
  std::function<void()> finish = [] {};
  if (event->shared)
    finish = [shared = event->shared, number = event->shared->begin()] { shared->finish(number); };
  setCompletion(*event, stream->device.streams.enqueue(*stream, std::move(finish)));
  return result(hipSuccess);
}
HIP_EXPORT hipError_t hipEventRecord(hipEvent_t event, hipStream_t stream) {
  return hipEventRecordWithFlags(event, stream, 0);
}

// An event that stands for nodes of a capture that goes on happens at each launch, and not now.
static hipError_t ofCapture(const EventState &event) {
  std::lock_guard lock(graphMutex());
  if (!event.capture || !event.capture->graph)
    return hipSuccess;
  event.capture->invalid = true;
  return hipErrorCapturedEvent;
}

HIP_EXPORT hipError_t hipEventSynchronize(hipEvent_t handle) {
  EventRef event = eventOf(handle);
  if (!event)
    return result(hipErrorInvalidHandle);
  if (hipError_t error = ofCapture(*event))
    return result(error);
  if (event->shared) {
    if (!event->shared->wait(event->shared->last()))
      return result(hipErrorLaunchFailure); // its process has ended
  } else if (CompletionRef completion = completionOf(*event)) {
    completion->wait();
  }
  return result(hipError_t(event->device->stickyError.load()));
}

HIP_EXPORT hipError_t hipEventQuery(hipEvent_t handle) {
  EventRef event = eventOf(handle);
  if (!event)
    return result(hipErrorInvalidHandle);
  if (hipError_t error = ofCapture(*event))
    return result(error);
  CompletionRef completion = completionOf(*event);
  const bool isDone = event->shared ? event->shared->isDone(event->shared->last())
                                    : !completion || completion->isDone();
  if (!isDone)
    return result(hipErrorNotReady);
  return result(hipError_t(event->device->stickyError.load()));
}

HIP_EXPORT hipError_t hipEventElapsedTime(float *ms, hipEvent_t start, hipEvent_t stop) {
  EventRef a = eventOf(start), b = eventOf(stop);
  if (!ms || !a || !b || ((a->flags | b->flags) & hipEventDisableTiming))
    return result(hipErrorInvalidHandle);
  CompletionRef first = completionOf(*a), second = completionOf(*b);
  if (!first || !second)
    return result(hipErrorInvalidHandle);
  if (!first->isDone() || !second->isDone())
    return result(hipErrorNotReady);
  *ms = std::chrono::duration<float, std::milli>(second->time() - first->time()).count();
  return result(hipSuccess);
}
