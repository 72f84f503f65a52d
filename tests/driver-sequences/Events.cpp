// SPDX-License-Identifier: Apache-2.0
// Events and streams: their flags, what they wait for, and how they refuse.
#include "tests/driver-sequences/Sequence.h"
#include <atomic>
#include <chrono>
#include <thread>

namespace sequences {
namespace {

Pointer makeEvent(unsigned flags = 0) {
  Pointer event = kNone;
  cu("cuEventCreate", &event, flags);
  return event;
}

/// Holds a stream up until it is opened.
struct Barrier {
  std::atomic<bool> isOpen = false;
  explicit Barrier(Pointer stream) { cu("cuLaunchHostFunc", stream, wait, Pointer(this)); }
  static void wait(void *barrier) {
    while (!static_cast<Barrier *>(barrier)->isOpen)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
};

SEQUENCE(flags_of_events) {
  Plain s;
  for (unsigned flags = 0; flags <= 17; ++flags) {
    Pointer event = kNone;
    const int code = quiet("cuEventCreate", &event, flags);
    say("flags %u: %d, %s", flags, code, event ? "set" : "null");
  }
  cu("cuEventCreate", static_cast<Pointer *>(nullptr), 0u);
}

SEQUENCE(events_that_were_not_recorded) {
  Plain s;
  Pointer event = makeEvent(), other = makeEvent();
  float time = -1;
  cu("cuEventQuery", event);
  cu("cuEventSynchronize", event);
  cu("cuStreamWaitEvent", s.stream, event, 0u);
  cu("cuEventElapsedTime", &time, event, other);
  cu("cuEventRecord", event, s.stream);
  cu("cuEventSynchronize", event);
  cu("cuEventElapsedTime", &time, event, other);
  cu("cuEventElapsedTime", &time, other, event);
}

SEQUENCE(time_between_events) {
  Plain s;
  Pointer a = makeEvent(), b = makeEvent(1), silent = makeEvent(2);
  float time = -1;
  cu("cuEventRecord", a, s.stream);
  cu("cuEventRecord", b, s.stream);
  cu("cuEventRecord", silent, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuEventElapsedTime", &time, a, b);
  say("not below 0: %d", time >= 0);
  cu("cuEventElapsedTime", &time, b, a);
  say("not above 0: %d", time <= 0);
  cu("cuEventElapsedTime", &time, a, a);
  say("%g", time);
  cu("cuEventElapsedTime", &time, a, silent);
  cu("cuEventElapsedTime", &time, silent, a);
  cu("cuEventElapsedTime", static_cast<float *>(nullptr), a, b);
  cu("cuEventElapsedTime_v2", &time, a, b);
  cu("cuEventElapsedTime_v2", &time, a, silent);
  cu("cuEventElapsedTime_v2", &time, a, kNone);
}

SEQUENCE(time_of_events_that_are_not_done) {
  Plain s;
  Pointer a = makeEvent(), b = makeEvent();
  cu("cuEventRecord", a, s.stream);
  Barrier barrier(s.stream);
  cu("cuEventRecord", b, s.stream);
  float time = -1;
  cu("cuEventQuery", b);
  cu("cuEventElapsedTime", &time, a, b);
  cu("cuEventElapsedTime", &time, b, a);
  cu("cuStreamQuery", s.stream);
  barrier.isOpen = true;
  cu("cuEventSynchronize", b);
  cu("cuEventQuery", b);
  cu("cuEventElapsedTime", &time, a, b);
}

SEQUENCE(events_recorded_with_flags) {
  Plain s;
  Pointer event = makeEvent();
  for (unsigned flags : {0u, 1u, 2u, 3u, 0x80000000u})
    say("flags %u: %d %d", flags, quiet("cuEventRecordWithFlags", event, s.stream, flags),
        quiet("cuEventRecordWithFlags_ptsz", event, kNone, flags));
  for (unsigned flags : {1u, 2u, 3u, 0x80000000u})
    say("wait with flags %u: %d", flags, quiet("cuStreamWaitEvent", s.stream, event, flags));
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(event_recorded_again) {
  Plain s;
  Pointer event = makeEvent(2);
  cu("cuEventRecord", event, s.stream);
  cu("cuEventSynchronize", event);
  Barrier barrier(s.stream);
  cu("cuEventRecord", event, s.stream);
  cu("cuEventQuery", event);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  cu("cuMemsetD32Async", s.memory, 3u, size_t(64), s.other);
  cu("cuStreamQuery", s.other);
  barrier.isOpen = true;
  cu("cuStreamSynchronize", s.other);
  sayMemory("memory", s.memory);
}

SEQUENCE(event_destroyed_before_it_is_done) {
  Plain s;
  Pointer event = makeEvent(2);
  Barrier barrier(s.stream);
  cu("cuMemsetD32Async", s.memory, 1u, size_t(64), s.stream);
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  cu("cuEventDestroy_v2", event);
  cu("cuMemcpyDtoDAsync_v2", s.memory2, s.memory, size_t(256), s.other);
  barrier.isOpen = true;
  cu("cuStreamSynchronize", s.other);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(stream_destroyed_before_it_is_done) {
  Plain s;
  Pointer event = makeEvent(2);
  Barrier barrier(s.stream);
  cu("cuMemsetD32Async", s.memory, 1u, size_t(64), s.stream);
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamDestroy_v2", s.stream);
  cu("cuEventQuery", event);
  barrier.isOpen = true;
  cu("cuEventSynchronize", event);
  sayMemory("memory", s.memory);
}

SEQUENCE(streams_made) {
  Plain s;
  for (unsigned flags : {0u, 1u, 2u, 3u, 0x80000000u}) {
    Pointer stream = kNone;
    unsigned got = 77;
    const int code = quiet("cuStreamCreate", &stream, flags);
    const int asked = code ? -1 : quiet("cuStreamGetFlags", stream, &got);
    say("flags %x: %d, asked %d %x", flags, code, asked, got);
  }
  for (int wanted : {-100, -6, -5, -3, -1, 0, 1, 100}) {
    Pointer stream = kNone;
    int got = 77;
    const int code = quiet("cuStreamCreateWithPriority", &stream, 1u, wanted);
    const int asked = code ? -1 : quiet("cuStreamGetPriority", stream, &got);
    say("priority %d: %d, asked %d %d", wanted, code, asked, got);
  }
  cu("cuStreamCreate", static_cast<Pointer *>(nullptr), 0u);
  cu("cuStreamCreateWithPriority", static_cast<Pointer *>(nullptr), 0u, 0);
  Pointer stream = kNone;
  cu("cuStreamCreateWithPriority", &stream, 2u, 0);
}

SEQUENCE(default_streams_destroyed) {
  Plain s;
  cu("cuStreamDestroy_v2", kNone);
  cu("cuStreamDestroy_v2", Pointer(1));
  cu("cuStreamDestroy_v2", Pointer(2));
  for (uintptr_t stream : {0, 1, 2}) {
    unsigned flags = 77;
    int priority = 77;
    const Pointer handle = Pointer(stream);
    const int code = quiet("cuStreamGetFlags", handle, &flags);
    const int asked = quiet("cuStreamGetPriority", handle, &priority);
    say("stream %zu: %d %x, %d %d", size_t(stream), code, flags, asked, priority);
  }
}

SEQUENCE(legacy_stream_waits) {
  Plain s;
  Pointer blocking = kNone;
  cu("cuStreamCreate", &blocking, 0u);
  Barrier barrier(blocking);
  cu("cuMemsetD32Async", s.memory, 1u, size_t(64), kNone);
  cu("cuStreamQuery", kNone);
  cu("cuStreamQuery", s.stream);
  cu("cuMemsetD32Async", s.memory2, 2u, size_t(64), s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuStreamQuery", Pointer(1));
  barrier.isOpen = true;
  cu("cuStreamSynchronize", kNone);
  cu("cuStreamQuery", blocking);
  sayMemory("memory", s.memory);
  sayMemory("memory2", s.memory2);
}

struct Order {
  int list[8], count = 0;
  void add(int value) { list[count++] = value; }
};
Order order;
void first(void *) { order.add(1); }
void called(void *stream, int status, void *data) { order.add(stream == data ? 20 + status : 30); }

SEQUENCE(host_functions_in_order) {
  Plain s;
  cu("cuLaunchHostFunc", s.stream, first, kNone);
  cu("cuStreamAddCallback", s.stream, called, s.stream, 0u);
  cu("cuLaunchHostFunc", s.stream, first, kNone);
  cu("cuStreamSynchronize", s.stream);
  say("%d: %d %d %d", order.count, order.list[0], order.list[1], order.list[2]);
  cu("cuStreamAddCallback", s.stream, called, s.stream, 1u);
  cu("cuStreamAddCallback", s.stream, kNone, s.stream, 0u);
  cu("cuLaunchHostFunc", s.stream, kNone, kNone);
  cu("cuLaunchHostFunc", kNone, first, kNone);
  cu("cuCtxSynchronize");
  say("%d", order.count);
}

struct Calls {
  int codes[8];
  Plain *s;
};
void callsTheDriver(void *data) {
  auto *calls = static_cast<Calls *>(data);
  Pointer memory = kNone;
  calls->codes[0] = quiet("cuMemAlloc_v2", &memory, size_t(64));
  calls->codes[1] = quiet("cuCtxSynchronize");
  calls->codes[2] = quiet("cuStreamQuery", calls->s->other);
  calls->codes[3] = quiet("cuEventCreate", &memory, 0u);
  calls->codes[4] = quiet("cuDeviceGetCount", &calls->codes[7]);
  calls->codes[5] = quiet("cuCtxGetCurrent", &memory);
}

SEQUENCE(host_function_that_calls_the_driver) {
  Plain s;
  Calls calls{{}, &s};
  cu("cuLaunchHostFunc", s.stream, callsTheDriver, Pointer(&calls));
  cu("cuStreamSynchronize", s.stream);
  for (int i = 0; i < 6; ++i)
    say("call %d: %d", i, calls.codes[i]);
}

SEQUENCE(memory_attached_to_streams) {
  Plain s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(4096), 2u);
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u, 8u}) {
    const int whole = quiet("cuStreamAttachMemAsync", s.stream, managed, size_t(0), flags);
    const int part = quiet("cuStreamAttachMemAsync", s.stream, managed, size_t(64), flags);
    say("flags %u: %d, of a part %d", flags, whole, part);
  }
  cu("cuStreamAttachMemAsync", kNone, managed, size_t(0), 4u);
  cu("cuStreamAttachMemAsync", s.stream, s.memory, size_t(0), 4u);
  cu("cuStreamAttachMemAsync", s.stream, Pointer(s.host), size_t(0), 4u);
  cu("cuStreamAttachMemAsync", s.stream, kNone, size_t(0), 4u);
  cu("cuStreamSynchronize", s.stream);
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u}) {
    Pointer made = kNone;
    say("flags %u: %d", flags, quiet("cuMemAllocManaged", &made, size_t(64), flags));
  }
}

SEQUENCE(words_of_every_memory) {
  Plain s;
  Pointer managed = kNone, pooled = kNone, mapped = kNone;
  static int page[2048], pageable[64];
  Pointer registered = Pointer((uintptr_t(page) + 4095) & ~uintptr_t(4095));
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  quiet("cuMemAllocAsync", &pooled, size_t(4096), s.stream);
  quiet("cuMemHostRegister", registered, size_t(4096), 0u);
  quiet("cuMemHostAlloc", &mapped, size_t(4096), 4u);
  const struct {
    const char *name;
    Pointer pointer;
  } kinds[] = {{"device", s.memory},   {"pinned", s.host},         {"managed", managed},
               {"of a pool", pooled},  {"registered", registered}, {"write-combined", mapped},
               {"pageable", pageable}, {"end", at(s.memory, 256)}};
  for (const auto &kind : kinds) {
    say("%s", kind.name);
    cu("cuStreamWriteValue32_v2", s.stream, kind.pointer, 3u, 0u);
    cu("cuStreamWriteValue64_v2", s.stream, at(kind.pointer, 8), 4ull, 0u);
    cu("cuStreamSynchronize", s.stream);
  }
}

} // namespace
} // namespace sequences
