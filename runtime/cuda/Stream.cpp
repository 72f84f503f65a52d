// SPDX-License-Identifier: Apache-2.0
// Streams. A thread's default stream (handle 2, and handle 0 of the _ptds and _ptsz entry points)
// is a blocking HIP stream that is made when the thread first uses it: like the legacy default
// stream's other partners it waits for that one, and that one for it.
#include "runtime/cuda/Context.h"
#include "runtime/cuda/HandleTable.h"
#include "runtime/cuda/Memory.h"
#include "runtime/cuda/graph/Capture.h"

namespace rubia::runtime {
int hipStreamCreateWithFlags(void **stream, unsigned flags);
int hipStreamCreateWithPriority(void **stream, unsigned flags, int priority);
int hipStreamQuery(void *stream);
int hipEventSynchronize(void *event);
int hipEventElapsedTime(float *ms, void *start, void *stop);
int hipStreamAddCallback(void *stream, void (*callback)(void *stream, int status, void *data),
                         void *data, unsigned flags);
int hipLaunchHostFunc(void *stream, void (*function)(void *data), void *data);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {

static HandleTable<Stream> &streams = HandleTable<Stream>::leaked();
static HandleTable<Event> &events = HandleTable<Event>::leaked();

static uint64_t nextStreamId() {
  static std::atomic<uint64_t> last = 2; // 1 and 2: the default streams
  return ++last;
}

Context *contextOf(Stream *stream) { return streams.contains(stream) ? stream->context : nullptr; }

Context *contextOf(Event *event) { return isLive(event) ? event->context : nullptr; }

bool isLive(Event *event) { return events.contains(event); }

Event::Event(void *hip, Context &context, unsigned flags)
    : hip(hip), context(&context), flags(flags), resets(context.device.resets) {}

bool Event::isLost() const { return isExiting() || resets != context->device.resets; }

Event::~Event() {
  if (!isLost())
    (void)cuda::hip().call<hipEventDestroy>(hip); // whatever it says: nobody has it any more
}

static HipStream perThreadStream(Context &context) {
  ThreadStream &stream = thread().streams[&context];
  if (stream.hip && stream.resets == context.resets)
    return {kSuccess, stream.hip, &context};
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  stream = {nullptr, context.resets};
  if (!context.idleThreadStreams.empty()) {
    stream.hip = context.idleThreadStreams.back();
    context.idleThreadStreams.pop_back();
    return {kSuccess, stream.hip, &context};
  }
  return {context.check(hip().call<hipStreamCreateWithFlags>(&stream.hip, 0)), stream.hip,
          &context};
}

HipStream hipStream(Context &current, Stream *stream) {
  if (!stream || stream == kLegacyStream)
    return {kSuccess, nullptr, &current};
  if (stream == kPerThreadStream)
    return perThreadStream(current);
  if (!streams.contains(stream))
    return {kInvalidHandle};
  return {kSuccess, stream->hip, stream->context};
}

Result createStream(Context &context, Stream **out, unsigned flags, int priority,
                    GreenContext *green) {
  if (!out || flags > 1) // CU_STREAM_DEFAULT, CU_STREAM_NON_BLOCKING
    return kInvalidValue;
  priority = std::clamp(priority, kHighestPriority, 0);
  void *created = nullptr;
  int error = priority ? hip().call<hipStreamCreateWithPriority>(&created, flags, -1)
                       : hip().call<hipStreamCreateWithFlags>(&created, flags);
  if (Result result = context.check(error))
    return result;
  {
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    if (context.awaited)
      if (Result result =
              context.check(hip().call<hipStreamWaitEvent>(created, context.awaited, 0))) {
        (void)hip().call<hipStreamDestroy>(created);
        return result;
      }
  }
  *out = streams.add(
      std::make_shared<Stream>(Stream{created, &context, flags, priority, nextStreamId(), green}));
  return kSuccess;
}

// Those of the table are few, and who asks captures.
bool isBlocking(void *hipStream) {
  bool isNonBlocking = false;
  streams.forEach(
      [&](Stream *stream) { isNonBlocking |= stream->hip == hipStream && (stream->flags & 1); });
  return !isNonBlocking;
}

void freeWorkspace(Context &context, Stream *stream) {
  void *workspace;
  {
    std::lock_guard<std::recursive_mutex> lock(context.mutex);
    auto found = context.workspaces.find(stream);
    if (found == context.workspaces.end())
      return;
    workspace = found->second;
    context.workspaces.erase(found);
  }
  context.check(hip().call<hipFree>(workspace)); // which waits
}

Result onStream(Context &current, Stream *stream,
                llvm::function_ref<Result(Context &context, void *hipStream)> body) {
  HipStream found = hipStream(current, stream);
  if (found.error)
    return found.error;
  return runIn(*found.owner, current, [&] { return body(*found.owner, found.stream); });
}

// Runs `body`, which ends a handle of `owner`, with the owner's device as HIP's current one.
static Result onDeviceOf(Context &owner, Context &current, llvm::function_ref<Result()> body) {
  if (owner.hasLostDevice())
    return kSuccess;
  if (&owner.device == &current.device)
    return body();
  if (Result result = owner.check(hip().call<hipSetDevice>(owner.device.hipDevice)))
    return result;
  Result result = body();
  Result back = current.check(hip().call<hipSetDevice>(current.device.hipDevice));
  return result ? result : back;
}

static Result destroyStream(Context &context, Stream *stream) {
  const std::shared_ptr<Stream> removed = streams.remove(stream);
  if (!removed)
    return kInvalidHandle;
  Context &owner = *stream->context;
  forgetCapturedStream(stream->hip);
  return onDeviceOf(owner, context, [&] {
    freeWorkspace(owner, stream);
    owner.pending.detach(stream->hip);
    owner.gates.forget(stream->hip);
    forgetPooledStream(stream->hip);
    return owner.check(hip().call<hipStreamDestroy>(stream->hip));
  });
}

void destroyStreamsOf(GreenContext &green, Context &context) {
  std::vector<Stream *> found;
  streams.forEach([&](Stream *stream) {
    if (stream->green == &green)
      found.push_back(stream);
  });
  for (Stream *stream : found)
    (void)destroyStream(context, stream); // what is wrong with the device its next call tells
}

// Also of the default streams of threads: they make new ones. Threads that still run keep a dead
// entry in their table, so the streams are kept and reused, not destroyed.
void destroyStreamsAndEvents(Context &context) {
  const bool isLost = context.hasLostDevice();
  if (context.collector && !isLost) {
    (void)hip().call<hipStreamDestroy>(context.collector); // whatever it says: the context ends
    if (context.awaited)
      (void)hip().call<hipEventDestroy>(context.awaited);
  }
  context.collector = context.awaited = nullptr;
  for (const auto &stream :
       streams.removeIf([&](const Stream &stream) { return stream.context == &context; }))
    if (!isLost)
      context.check(hip().call<hipStreamDestroy>(stream->hip));
  events.removeIf([&](const Event &event) { return event.context == &context; });
}

// Another process may record what this one has not.
Event *addEvent(void *hip, Context &context, unsigned flags) {
  auto event = std::make_shared<Event>(hip, context, flags);
  event->recorded = event->isInterprocess();
  return events.add(std::move(event));
}

Result describe(Context &context, Stream *handle, Stream &out) {
  if (!handle || handle == kLegacyStream || handle == kPerThreadStream) {
    out = {nullptr, &context, 0, 0, handle == kPerThreadStream ? 2u : 1u};
    return kSuccess;
  }
  if (!streams.contains(handle))
    return kInvalidHandle;
  out = *handle;
  return kSuccess;
}

struct Callback {
  HostOperation operation;
  Context *context;
};

// The status of HIP's callback, or what else the context knows. A function that is not told the
// status does not run after a fault. It may not call the API.
static void runCallback(Callback *pointer, int hipError) {
  std::unique_ptr<Callback> callback(pointer);
  const HostOperation &operation = callback->operation;
  Result status = fromHip(hipError);
  if (!status)
    status = callback->context->sticky;
  thread().isInHostFunction = true;
  if (operation.withStatus)
    operation.withStatus(operation.stream, status, operation.host.data);
  else if (!status)
    operation.host.function(operation.host.data);
  thread().isInHostFunction = false;
}

// The function runs on a thread of HIP's, after all work before it and before all work after it.
Result executeHost(Context &context, const HostOperation &operation, void *hipStream) {
  auto owned = std::make_unique<Callback>(Callback{operation, &context});
  Result result = kSuccess;
  const bool wantsStatus = operation.withStatus && hip().has<hipStreamAddCallback>();
  if (hip().has<hipLaunchHostFunc>() && !wantsStatus)
    result = context.check(hip().call<hipLaunchHostFunc>(
        hipStream, [](void *data) { runCallback(static_cast<Callback *>(data), 0); }, owned.get()));
  else if (hip().has<hipStreamAddCallback>())
    result = context.check(hip().call<hipStreamAddCallback>(
        hipStream,
        [](void *, int status, void *data) { runCallback(static_cast<Callback *>(data), status); },
        owned.get(), 0));
  else
    return fail(kNotSupported, hip().path + " has neither hipLaunchHostFunc nor "
                                            "hipStreamAddCallback");
  if (!result)
    (void)owned.release(); // the callback's
  return result;
}

static Result addCallback(Context &context, Stream *stream, const HostOperation &operation) {
  return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
    if (operation.withStatus && isCaptured(hipStream))
      return refuseCapture(hipStream);
    return submit(context, operation, stream, hipStream);
  });
}

Result record(Context &context, Event *event, void *hipStream) {
  if (isCaptured(hipStream))
    return captureRecord(context, event, hipStream, false);
  if (Result result = checkLegacyStream(context, hipStream))
    return result;
  Result result = context.check(hip().call<hipEventRecord>(event->hip, hipStream));
  if (!result) {
    forgetEvent(event);
    event->recorded = true;
  }
  return result;
}

// The streams of a context: the legacy one, which blocking streams wait for and which waits for
// them, and the others.
static std::vector<void *> streamsOf(Context &context) {
  std::vector<void *> found = {nullptr};
  streams.forEach([&](Stream *stream) {
    if (stream->context == &context && (stream->flags & 1))
      found.push_back(stream->hip);
  });
  return found;
}

static Result openCollector(Context &context) {
  return context.collector
             ? kSuccess
             : context.check(hip().call<hipStreamCreateWithFlags>(&context.collector, 1));
}

// The collector waits for what all streams have; the event comes behind it.
static Result recordAll(Context &context, Event *event) {
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  if (Result result = openCollector(context))
    return result;
  for (void *stream : streamsOf(context)) {
    void *end = nullptr;
    if (Result result = context.check(hip().call<hipEventCreateWithFlags>(&end, 2))) // no timing
      return result;
    Result result = context.check(hip().call<hipEventRecord>(end, stream));
    if (!result)
      result = context.check(hip().call<hipStreamWaitEvent>(context.collector, end, 0));
    (void)hip().call<hipEventDestroy>(end); // HIP keeps it until it is over
    if (result)
      return result;
  }
  Result result = context.check(hip().call<hipEventRecord>(event->hip, context.collector));
  if (!result) {
    forgetEvent(event);
    event->recorded = true;
  }
  return result;
}

// All streams wait, and those that are made later wait for what the collector has waited for.
static Result waitAll(Context &context, Event *event) {
  std::lock_guard<std::recursive_mutex> lock(context.mutex);
  if (!event->recorded)
    return kSuccess;
  if (Result result = openCollector(context))
    return result;
  if (!context.awaited)
    if (Result result = context.check(hip().call<hipEventCreateWithFlags>(&context.awaited, 2)))
      return result;
  if (Result result =
          context.check(hip().call<hipStreamWaitEvent>(context.collector, event->hip, 0)))
    return result;
  if (Result result = context.check(hip().call<hipEventRecord>(context.awaited, context.collector)))
    return result;
  for (void *stream : streamsOf(context))
    if (Result result = context.check(hip().call<hipStreamWaitEvent>(stream, event->hip, 0)))
      return result;
  return kSuccess;
}

// Runs `body` for an event and a context of which no stream is captured.
static Result ofContext(const TracedCall &entry, Context *handle, Event *event,
                        Result (*body)(Context &context, Event *event)) {
  return callIn(entry, [&](Context &current) -> Result {
    Context *context = contextNamed(handle);
    if (!context)
      return kInvalidContext;
    if (!isLive(event) || event->context != context)
      return kInvalidHandle;
    if (Result result = checkWaitForAll(*context))
      return result;
    return onDeviceOf(*context, current, [&] { return body(*context, event); });
  });
}

static Result wait(Context &context, Event *event, void *hipStream, bool isExternal) {
  bool isDone = false;
  if (Result result = captureWait(context, hipStream, event, isExternal, isDone); result || isDone)
    return result;
  if (isExternal)
    return kIllegalState;
  if (Result result = checkLegacyStream(context, hipStream))
    return result;
  // Of an event that was never recorded nothing is awaited.
  return event->recorded ? context.check(hip().call<hipStreamWaitEvent>(hipStream, event->hip, 0))
                         : kSuccess;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

// Gives what `value` takes of the stream.
template <typename T>
static Result tell(const TracedCall &function, Stream *stream, T *out, T (*value)(const Stream &)) {
  return callOn(function, stream, [&](Context &context) {
    Stream found;
    if (Result result = describe(context, stream, found))
      return result;
    return out ? (*out = value(found), kSuccess) : kInvalidValue;
  });
}

// What is behind the legacy default stream waits for all blocking streams: that one is done when
// they are. Of threads' own streams, that of the calling one counts.
static bool areBlockingStreamsBusy(Context &context) {
  bool isBusy = false;
  auto ask = [&](void *hipStream) {
    isBusy = isBusy || hip().call<hipStreamQuery>(hipStream) == kNotReady;
  };
  streams.forEach([&](Stream *stream) {
    if (stream->context == &context && !(stream->flags & 1))
      ask(stream->hip);
  });
  const auto own = thread().streams.find(&context);
  if (own != thread().streams.end() && own->second.hip && own->second.resets == context.resets)
    ask(own->second.hip);
  return isBusy;
}

extern "C" {

Result cuStreamCreate(Stream **stream, unsigned flags) {
  return callIn(RUBIA_CALL(stream, flags),
                [&](Context &context) { return createStream(context, stream, flags, 0); });
}

Result cuStreamCreateWithPriority(Stream **stream, unsigned flags, int priority) {
  return callIn(RUBIA_CALL(stream, flags, priority),
                [&](Context &context) { return createStream(context, stream, flags, priority); });
}

Result cuStreamDestroy_v2(Stream *stream) {
  return callToRelease(RUBIA_CALL(stream), stream,
                       [&](Context &context) { return destroyStream(context, stream); });
}
Result cuStreamDestroy(Stream *stream) { return cuStreamDestroy_v2(stream); }

Result cuStreamSynchronize(Stream *stream) {
  return callOn(RUBIA_CALL(stream), stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (Result result = checkWait(context, hipStream))
        return result;
      return context.synchronizeStream(hipStream);
    });
  });
}

// The one call that functions of a stream may make.
Result cuStreamQuery(Stream *stream) {
  return callAnywhere(RUBIA_CALL(stream), [&]() -> Result {
    Context *current = currentContext() ? currentContext() : contextOf(stream);
    if (!current)
      return kInvalidContext;
    if (Result result = enter(*current))
      return result;
    return onStream(*current, stream, [&](Context &context, void *hipStream) -> Result {
      if (Result result = checkWait(context, hipStream))
        return result;
      const Result result = context.queryStream(hipStream);
      return !result && !hipStream && areBlockingStreamsBusy(context) ? kNotReady : result;
    });
  });
}

Result cuStreamWaitEvent(Stream *stream, Event *event, unsigned flags) {
  return callOn(RUBIA_CALL(stream, event, flags), stream, [&](Context &context) {
    if (!isLive(event))
      return kInvalidHandle;
    if (flags & ~1u)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) {
      return wait(context, event, hipStream, flags); // CU_EVENT_WAIT_EXTERNAL
    });
  });
}

Result cuStreamAddCallback(Stream *stream, void (*function)(Stream *, Result, void *), void *data,
                           unsigned flags) {
  return callOn(RUBIA_CALL(stream, function, data, flags), stream, [&](Context &context) {
    if (!function || flags)
      return kInvalidValue;
    return addCallback(context, stream, {{nullptr, data}, function, stream});
  });
}

Result cuLaunchHostFunc(Stream *stream, void (*function)(void *), void *data) {
  return callOn(RUBIA_CALL(stream, function, data), stream, [&](Context &context) {
    if (!function)
      return kInvalidValue;
    return addCallback(context, stream, {{function, data}});
  });
}

Result cuStreamGetFlags(Stream *stream, unsigned *flags) {
  return tell<unsigned>(RUBIA_CALL(stream, flags), stream, flags,
                        [](const Stream &found) { return found.flags; });
}
Result cuStreamGetPriority(Stream *stream, int *priority) {
  return tell<int>(RUBIA_CALL(stream, priority), stream, priority,
                   [](const Stream &found) { return priorityOf(found); });
}
Result cuStreamGetId(Stream *stream, uint64_t *id) {
  return tell<uint64_t>(RUBIA_CALL(stream, id), stream, id,
                        [](const Stream &found) { return found.id; });
}
Result cuStreamGetCtx(Stream *stream, Context **out) {
  return tell<Context *>(RUBIA_CALL(stream, out), stream, out,
                         [](const Stream &found) { return found.context; });
}
// Null for most; cuBLAS 13.10 asks for every stream.
Result cuStreamGetGreenCtx(Stream *stream, void **greenContext) {
  return tell<void *>(RUBIA_CALL(stream, greenContext), stream, greenContext,
                      [](const Stream &found) -> void * { return found.green; });
}
Result cuStreamGetCtx_v2(Stream *stream, Context **out, void **greenContext) {
  if (greenContext || !out)
    if (Result result = cuStreamGetGreenCtx(stream, greenContext))
      return result;
  return out ? cuStreamGetCtx(stream, out) : kSuccess;
}
Result cuStreamGetDevice(Stream *stream, int *device) {
  return tell<int>(RUBIA_CALL(stream, device), stream, device,
                   [](const Stream &found) { return found.context->device.ordinal; });
}

// Memory attached to a stream is only ever less visible than ours is: nothing to do. It is attached
// as a whole, and to the default stream by its name only.
Result cuStreamAttachMemAsync(Stream *stream, void *pointer, size_t bytes, unsigned flags) {
  return callOn(RUBIA_CALL(stream, pointer, bytes, flags), stream, [&](Context &context) {
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (Result result = refuseCapture(hipStream))
        return result;
      constexpr unsigned kGlobal = 1, kHost = 2, kSingle = 4; // CU_MEM_ATTACH_*
      if ((flags != kGlobal && flags != kHost && flags != kSingle) || (flags == kSingle && !stream))
        return kInvalidValue;
      if (Result result = checkLegacyStream(context, hipStream))
        return result;
      if (Result result = checkUnsafe())
        return result;
      std::optional<Allocation> found = findAllocation(pointer); // none: managed variables
      if (!pointer)
        return kInvalidValue;
      return !found || (found->kind == AllocationKind::Managed && found->base == pointer &&
                        (!bytes || bytes == found->size))
                 ? kSuccess
                 : kInvalidValue;
    });
  });
}

Result cuEventCreate(Event **event, unsigned flags) {
  return callIn(RUBIA_CALL(event, flags), [&](Context &context) {
    // BLOCKING_SYNC, DISABLE_TIMING, INTERPROCESS, which has no times: as in HIP.
    if (!event || (flags & ~7u) || (flags & (kInterprocess | kWithoutTiming)) == kInterprocess)
      return kInvalidValue;
    void *created = nullptr;
    if (Result result = context.check(hip().call<hipEventCreateWithFlags>(&created, flags)))
      return result;
    *event = addEvent(created, context, flags);
    return kSuccess;
  });
}

Result cuEventDestroy_v2(Event *event) {
  return callToRelease(RUBIA_CALL(event), event, [&](Context &context) {
    std::shared_ptr<Event> removed = events.remove(event);
    if (!removed)
      return kInvalidHandle;
    forgetEvent(event);
    return onDeviceOf(*event->context, context, [&] {
      removed.reset(); // nodes may still have it
      return kSuccess;
    });
  });
}
Result cuEventDestroy(Event *event) { return cuEventDestroy_v2(event); }

Result cuEventRecordWithFlags(Event *event, Stream *stream, unsigned flags) {
  return callOn(RUBIA_CALL(event, stream, flags), stream, [&](Context &context) {
    if (!isLive(event))
      return kInvalidHandle;
    if (flags & ~1u)
      return kInvalidValue;
    return onStream(context, stream, [&](Context &context, void *hipStream) -> Result {
      if (event->context != &context)
        return kInvalidHandle;
      if (!flags)
        return record(context, event, hipStream);
      if (!isCaptured(hipStream)) // CU_EVENT_RECORD_EXTERNAL
        return kIllegalState;
      return captureRecord(context, event, hipStream, true);
    });
  });
}
Result cuEventRecord(Event *event, Stream *stream) {
  return cuEventRecordWithFlags(event, stream, 0);
}

Result cuCtxRecordEvent(Context *context, Event *event) {
  return ofContext(RUBIA_CALL(context, event), context, event, recordAll);
}
Result cuCtxWaitEvent(Context *context, Event *event) {
  return ofContext(RUBIA_CALL(context, event), context, event, waitAll);
}

Result cuEventSynchronize(Event *event) {
  return callOn(RUBIA_CALL(event), event, [&](Context &context) {
    if (!isLive(event))
      return kInvalidHandle;
    if (Result result = checkEvent(event, true))
      return result;
    if (Result result = checkUnsafe())
      return result;
    return event->recorded ? context.checkSynchronized(hip().call<hipEventSynchronize>(event->hip))
                           : kSuccess;
  });
}

Result cuEventQuery(Event *event) {
  return callOn(RUBIA_CALL(event), event, [&](Context &context) {
    if (!isLive(event))
      return kInvalidHandle;
    if (Result result = checkEvent(event, true))
      return result;
    if (Result result = checkUnsafe())
      return result;
    return event->recorded ? context.checkCompleted(hip().call<hipEventQuery>(event->hip))
                           : kSuccess;
  });
}

Result cuEventElapsedTime_v2(float *ms, Event *start, Event *stop) {
  return callOn(RUBIA_CALL(ms, start, stop), start, [&](Context &context) {
    if (!ms)
      return kInvalidValue;
    if (!isLive(start) || !isLive(stop) || !start->recorded || !stop->recorded ||
        start->context != stop->context || ((start->flags | stop->flags) & 2)) // without timing
      return kInvalidHandle;
    for (Event *event : {start, stop})
      if (Result result = checkEvent(event, false))
        return result;
    return context.check(hip().call<hipEventElapsedTime>(ms, start->hip, stop->hip));
  });
}
// Of this version NVIDIA's driver blames a handle for a null result.
Result cuEventElapsedTime(float *ms, Event *start, Event *stop) {
  Result result = cuEventElapsedTime_v2(ms, start, stop);
  return result == kInvalidValue && !ms ? kInvalidHandle : result;
}

} // extern "C"
