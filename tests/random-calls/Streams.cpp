// SPDX-License-Identifier: Apache-2.0
// Streams and events. CUDA Driver API, "Stream Management" and "Event Management".
#include "tests/random-calls/Walk.h"
#include <atomic>

namespace walks {

static constexpr unsigned kNonBlocking = 1, kNoTiming = 2;

size_t Walk::anyStream() {
  std::vector<size_t> all = {kLegacy};
  for (size_t i = 0; i < streams.size(); ++i)
    if (streams[i])
      all.push_back(i);
  return all[random.below(all.size())];
}

void Walk::makeStream() {
  Pointer handle = nullptr;
  const unsigned flags = random.isOneIn(2) ? kNonBlocking : 0;
  if (random.isOneIn(3))
    expect(kSuccess, "cuStreamCreateWithPriority", &handle, flags, random.pick({-100, -1, 0, 7}));
  else
    expect(kSuccess, "cuStreamCreate", &handle, flags);
  if (handle)
    streams.push_back(std::make_unique<StreamOf>(StreamOf{handle, flags}));
}

void Walk::endStream() {
  const size_t stream = anyStream();
  if (stream == kLegacy)
    return;
  Pointer handle = handleOf(stream);
  // What is under way ends; who wants to know when must ask before.
  for (std::unique_ptr<MemoryOf> &memory : memories)
    if (memory && memory->stream == stream)
      order(*memory, kNobody);
  expect(kSuccess, "cuStreamDestroy_v2", handle);
  streams[stream].reset();
  if (world.isAlone && world.passesWildHandles)
    expect(kInvalidHandle, "cuStreamDestroy_v2", handle);
}

void Walk::askStream() {
  const size_t stream = anyStream();
  Pointer handle = handleOf(stream), context = nullptr;
  unsigned flags = 77;
  int priority = 77, status = 77;
  switch (random.below(6)) {
  case 0:
    expectMaybeReady("cuStreamQuery", handle);
    break;
  case 1:
    expect(kSuccess, "cuStreamGetFlags", handle, &flags);
    claim(flags == (stream == kLegacy ? 0 : streams[stream]->flags), "a stream has other flags");
    break;
  case 2:
    expect(kSuccess, "cuStreamGetPriority", handle, &priority);
    claim(priority <= 0, "a stream has a priority that there is not");
    break;
  case 3:
    expect(kSuccess, "cuStreamGetCtx", handle, &context);
    claim(context == world.context, "a stream is of another context");
    break;
  case 4:
    expect(kSuccess, "cuStreamIsCapturing", handle, &status);
    claim(status == 0, "a stream is captured");
    break;
  default:
    expect(kSuccess, "cuStreamSynchronize", handle);
    for (std::unique_ptr<MemoryOf> &memory : memories)
      if (memory && memory->stream == stream)
        memory->stream = kNobody;
  }
}

void Walk::makeEvent() {
  Pointer handle = nullptr;
  const unsigned flags = random.pick({0u, 1u, kNoTiming, kNoTiming | 1});
  expect(kSuccess, "cuEventCreate", &handle, flags);
  if (handle)
    events.push_back({handle, flags});
}

void Walk::endEvent() {
  if (events.empty())
    return;
  const size_t i = random.below(events.size());
  Pointer handle = events[i].handle;
  if (random.isOneIn(2))
    expect(kSuccess, "cuEventDestroy", handle);
  else
    expect(kSuccess, "cuEventDestroy_v2", handle);
  events.erase(events.begin() + ptrdiff_t(i));
  if (world.isAlone && world.passesWildHandles)
    expect(kInvalidHandle, "cuEventDestroy_v2", handle);
}

void Walk::recordEvent() {
  if (events.empty())
    return;
  EventOf &event = events[random.below(events.size())];
  Pointer stream = handleOf(anyStream());
  switch (random.below(4)) {
  case 0:
    expect(kSuccess, "cuStreamWaitEvent", stream, event.handle, 0u);
    break;
  case 1:
    expectMaybeReady("cuEventQuery", event.handle);
    break;
  case 2:
    expect(kSuccess, "cuEventSynchronize", event.handle);
    break;
  default:
    if (random.isOneIn(2))
      expect(kSuccess, "cuEventRecord", event.handle, stream);
    else
      expect(kSuccess, "cuEventRecordWithFlags", event.handle, stream, 0u);
    event.isRecorded = true;
  }
}

void Walk::elapsed() {
  if (events.empty())
    return;
  const EventOf &a = events[random.below(events.size())], &b = events[random.below(events.size())];
  float milliseconds = 0;
  const bool isKnown =
      a.isRecorded && b.isRecorded && !(a.flags & kNoTiming) && !(b.flags & kNoTiming);
  if (isKnown) {
    expect(kSuccess, "cuEventSynchronize", a.handle);
    expect(kSuccess, "cuEventSynchronize", b.handle);
  }
  expect(isKnown ? kSuccess : kInvalidHandle, "cuEventElapsedTime", &milliseconds, a.handle,
         b.handle);
}

void Walk::hostFunction() {
  const size_t stream = anyStream();
  std::atomic<int> calls = 0;
  auto *function = +[](void *data) { ++*static_cast<std::atomic<int> *>(data); };
  for (int i = 0; i < 3; ++i)
    expect(kSuccess, "cuLaunchHostFunc", handleOf(stream), function, static_cast<Pointer>(&calls));
  expect(kSuccess, "cuStreamSynchronize", handleOf(stream));
  claim(calls == 3, "host functions were not called");
}

void Walk::wrongStreams() {
  Pointer handle = nullptr, stream = handleOf(anyStream());
  unsigned flags = 0;
  switch (random.below(world.passesWildHandles ? 16 : 9)) {
  case 0:
    expect(kInvalidValue, "cuStreamCreate", &handle, random.pick({2u, 4u, 77u}));
    break;
  case 1:
    expect(kInvalidValue, "cuStreamCreate", static_cast<Pointer *>(nullptr), 0u);
    break;
  case 2:
    expect(kInvalidHandle, "cuStreamDestroy_v2", Pointer());
    break;
  case 3:
    expect(kInvalidValue, "cuEventCreate", &handle, random.pick({4u, 8u, 64u}));
    break;
  case 4:
    expect(kInvalidValue, "cuEventCreate", static_cast<Pointer *>(nullptr), 0u);
    break;
  case 5:
    expect(kInvalidHandle, "cuEventRecord", Pointer(), stream);
    break;
  case 6:
    expect(kInvalidHandle, "cuEventDestroy_v2", Pointer());
    break;
  case 7:
    expect(kInvalidValue, "cuStreamGetFlags", stream, static_cast<unsigned *>(nullptr));
    break;
  case 8:
    expect(kInvalidHandle, "cuEventQuery", Pointer());
    break;
  case 9:
    expect(kInvalidHandle, "cuStreamSynchronize", wild());
    break;
  case 10:
    expect(kInvalidHandle, "cuStreamQuery", wild());
    break;
  case 11:
    expect(kInvalidHandle, "cuEventSynchronize", wild());
    break;
  case 12:
    expect(kInvalidHandle, "cuEventRecord", wild(), stream);
    break;
  case 13:
    expect(kInvalidHandle, "cuStreamGetFlags", wild(), &flags);
    break;
  case 14:
    expect(kInvalidHandle, "cuEventDestroy_v2", wild());
    break;
  case 15:
    expect(kInvalidHandle, "cuStreamDestroy_v2", wild());
    break;
  }
}

} // namespace walks
