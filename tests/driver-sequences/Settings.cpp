// SPDX-License-Identifier: Apache-2.0
// What programs set and ask: attributes of streams, pools of places, ranges of managed memory,
// notifications, logs, resources, events of contexts, atomic operations.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>

namespace sequences {
namespace {

struct Location { // CUmemLocation
  int type, id;
};
struct Access { // CUmemAccessDesc
  Location location;
  int flags;
};

union Value { // CUstreamAttrValue
  char bytes[64];
  int number;
  struct {
    Pointer base;
    size_t size;
    float ratio;
    int hit, miss;
  } window;
  unsigned char domains[2];
};

SEQUENCE(stream_attributes) {
  Setup s;
  for (int id : {0, 1, 2, 3, 4, 6, 8, 9, 10, 14, 16, 99}) {
    Value value;
    memset(&value, 0x55, sizeof(value));
    int code = quiet("cuStreamGetAttribute", s.stream, id, &value);
    say("attribute %d: %d, %x", id, code, id == 1 ? value.window.hit : value.number);
  }
  Value value{};
  auto set = [&](int id, int number) {
    value = {};
    value.number = number;
    int code = quiet("cuStreamSetAttribute", s.stream, id, static_cast<const Value *>(&value));
    memset(&value, 0, sizeof(value));
    int got = quiet("cuStreamGetAttribute", s.stream, id, &value);
    say("attribute %d set to %d: %d, %d %d", id, number, code, got, value.number);
  };
  for (int policy : {1, 2, 3, 4, 5, 0})
    set(3, policy);
  for (int priority : {-1, 0, -100, 1})
    set(8, priority);
  for (int domain : {1, 0, 2})
    set(10, domain);
  set(9, 0x0100);
  set(9, 0x0001);
  set(9, 0x0505);
  set(2, 1);
  set(99, 1);
  value = {};
  value.window = {s.memory, 128, 0.5f, 2, 1};
  cu("cuStreamSetAttribute", s.stream, 1, static_cast<const Value *>(&value));
  value = {};
  cu("cuStreamGetAttribute", s.stream, 1, &value);
  say("%s %zu %g %d %d", nameOf(value.window.base), value.window.size, value.window.ratio,
      value.window.hit, value.window.miss);
  cu("cuStreamGetAttribute", s.stream, 3, static_cast<Value *>(nullptr));
  cu("cuStreamSetAttribute", s.stream, 3, static_cast<const Value *>(nullptr));
}

SEQUENCE(stream_attributes_copied) {
  Setup s;
  Value value{};
  value.number = 2;
  cu("cuStreamSetAttribute", s.stream, 3, static_cast<const Value *>(&value));
  value.number = 1;
  cu("cuStreamSetAttribute", s.stream, 10, static_cast<const Value *>(&value));
  cu("cuStreamCopyAttributes", s.other, s.stream);
  for (int id : {3, 8, 10}) {
    value = {};
    int code = quiet("cuStreamGetAttribute", s.other, id, &value);
    say("attribute %d: %d, %d", id, code, value.number);
  }
  cu("cuStreamCopyAttributes", s.stream, s.stream);
  cu("cuStreamCopyAttributes", kNone, s.stream);
  cu("cuStreamCopyAttributes", s.stream, kNone);
  value = {};
  cu("cuStreamGetAttribute", kNone, 3, &value);
  say("%d", value.number);
  value.number = 2;
  cu("cuStreamSetAttribute", kNone, 3, static_cast<const Value *>(&value));
  cu("cuStreamGetAttribute_ptsz", kNone, 3, &value);
  say("%d", value.number);
  cu("cuStreamSetAttribute_ptsz", kNone, 3, static_cast<const Value *>(&value));
  cu("cuStreamCopyAttributes_ptsz", kNone, s.stream);
  cu("cuStreamGetAttribute_ptsz", kNone, 3, &value);
  say("%d", value.number);
  launchAdd(s, s.other, s.memory, 1);
  sayMemory("memory", s.memory);
}

SEQUENCE(pools_of_places) {
  Setup s;
  Location device{1, 0}, host{2, 0}, none{0, 0}, wrong{1, 99}, node{3, 0};
  Pointer pool = kNone, other = kNone;
  cu("cuDeviceGetDefaultMemPool", &pool, 0);
  named(pool, "the device's");
  for (Location *location : {&device, &host, &none, &wrong, &node})
    for (int type : {1, 2}) {
      other = kNone;
      int code = quiet("cuMemGetDefaultMemPool", &other, location, type);
      say("type %d %d, memory %d: %d, %s", location->type, location->id, type, code,
          code            ? ""
          : other == pool ? "the device's"
                          : "another");
      other = kNone;
      code = quiet("cuMemGetMemPool", &other, location, type);
      say("  current: %d, %s", code, code ? "" : other == pool ? "the device's" : "another");
    }
  struct { // CUmemPoolProps
    int allocationType, handleTypes;
    Location location;
    Pointer security;
    size_t maxSize;
    unsigned char reserved[56];
  } properties{1, 0, {1, 0}, kNone, 0, {}};
  Pointer made = kNone;
  cu("cuMemPoolCreate", &made, static_cast<const void *>(&properties));
  cu("cuMemSetMemPool", &device, 1, made);
  cu("cuMemGetMemPool", &other, &device, 1);
  say("%s", other == made ? "the one that was set" : "another");
  cu("cuDeviceGetMemPool", &other, 0);
  say("%s", other == made ? "the one that was set" : "another");
  cu("cuMemGetDefaultMemPool", &other, &device, 1);
  say("%s", other == pool ? "the device's" : "another");
  cu("cuMemSetMemPool", &device, 2, made);
  cu("cuMemSetMemPool", &host, 1, made);
  cu("cuMemSetMemPool", &device, 1, kNone);
  cu("cuMemGetDefaultMemPool", static_cast<Pointer *>(nullptr), &device, 1);
  cu("cuMemGetDefaultMemPool", &other, static_cast<Location *>(nullptr), 1);
}

SEQUENCE(pool_access) {
  Setup s;
  Pointer pool = kNone;
  quiet("cuDeviceGetDefaultMemPool", &pool, 0);
  Location device{1, 0}, host{2, 0}, wrong{1, 99};
  int flags = -1;
  for (Location *location : {&device, &host, &wrong}) {
    flags = -1;
    int code = quiet("cuMemPoolGetAccess", &flags, pool, location);
    say("type %d %d: %d, %d", location->type, location->id, code, flags);
  }
  for (Access access : {Access{device, 3}, {device, 0}, {device, 1}, {device, 7}, {wrong, 3}}) {
    const Access *list = &access;
    int code = quiet("cuMemPoolSetAccess", pool, list, size_t(1));
    quiet("cuMemPoolGetAccess", &flags, pool, &device);
    say("%d for %d %d: %d, then %d", access.flags, access.location.type, access.location.id, code,
        flags);
  }
  const Access *null = nullptr;
  cu("cuMemPoolSetAccess", pool, null, size_t(0));
  cu("cuMemPoolSetAccess", pool, null, size_t(1));
  cu("cuMemPoolGetAccess", static_cast<int *>(nullptr), pool, &device);
  cu("cuMemPoolGetAccess", &flags, pool, static_cast<Location *>(nullptr));
}

SEQUENCE(managed_ranges_asked) {
  Setup s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(4096), 1u);
  auto ask = [&](const char *what) {
    say("%s", what);
    for (int id = 1; id <= 8; ++id) {
      int value = -77;
      int code =
          quiet("cuMemRangeGetAttribute", Pointer(&value), size_t(4), id, managed, size_t(4096));
      say("  attribute %d: %d, %d", id, code, value);
    }
  };
  ask("at first");
  cu("cuMemAdvise_v2", managed, size_t(4096), 1, Location{1, 0}); // read mostly
  cu("cuMemAdvise_v2", managed, size_t(4096), 3, Location{1, 0}); // preferred location
  cu("cuMemAdvise_v2", managed, size_t(4096), 5, Location{1, 0}); // accessed by
  ask("after advice");
  cu("cuMemPrefetchAsync_v2", managed, size_t(4096), Location{2, 0}, 0u, s.stream);
  cu("cuStreamSynchronize", s.stream);
  ask("after it went to the host");
  cu("cuMemAdvise_v2", managed, size_t(4096), 2, Location{1, 0});
  cu("cuMemAdvise_v2", managed, size_t(4096), 4, Location{1, 0});
  cu("cuMemAdvise_v2", managed, size_t(4096), 6, Location{1, 0});
  ask("without advice");
  int first = 0, second = 0;
  Pointer values[] = {&first, &second};
  size_t sizes[] = {4, 4};
  int ids[] = {1, 2};
  cu("cuMemRangeGetAttributes", &values[0], &sizes[0], &ids[0], size_t(2), managed, size_t(4096));
  say("%d %d", first, second);
  cu("cuMemRangeGetAttributes", &values[0], &sizes[0], &ids[0], size_t(0), managed, size_t(4096));
  int list[3] = {7, 7, 7};
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(12), 3, managed, size_t(4096));
  say("%d %d %d", list[0], list[1], list[2]);
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(12), 1, managed, size_t(4096));
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(4), 9, managed, size_t(4096));
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(4), 1, managed, size_t(0));
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(4), 1, s.memory, size_t(4));
  cu("cuMemRangeGetAttribute", Pointer(&list), size_t(4), 1, kNone, size_t(4));
  cu("cuMemRangeGetAttribute", kNone, size_t(4), 1, managed, size_t(4096));
}

SEQUENCE(advice) {
  Setup s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(4096), 1u);
  for (int what : {0, 1, 2, 3, 4, 5, 6, 7}) {
    say("advice %d", what);
    cu("cuMemAdvise", managed, size_t(4096), what, 0);
    cu("cuMemAdvise", managed, size_t(4096), what, -1);
    cu("cuMemAdvise", managed, size_t(4096), what, 99);
    cu("cuMemAdvise_v2", managed, size_t(4096), what, Location{0, 0});
  }
  cu("cuMemAdvise", managed, size_t(0), 1, 0);
  cu("cuMemAdvise", managed, size_t(8192), 1, 0);
  cu("cuMemAdvise", s.memory, size_t(64), 1, 0);
  cu("cuMemAdvise", Pointer(s.host), size_t(64), 1, 0);
  cu("cuMemAdvise", kNone, size_t(64), 1, 0);
  cu("cuMemPrefetchAsync", managed, size_t(4096), 99, s.stream);
  cu("cuMemPrefetchAsync", managed, size_t(0), 0, s.stream);
  cu("cuMemPrefetchAsync", managed, size_t(8192), 0, s.stream);
  cu("cuMemPrefetchAsync", s.memory, size_t(64), 0, s.stream);
  cu("cuMemPrefetchAsync_v2", managed, size_t(64), Location{0, 0}, 0u, s.stream);
  cu("cuMemPrefetchAsync_v2", managed, size_t(64), Location{1, 0}, 1u, s.stream);
}

SEQUENCE(events_of_contexts) {
  Setup s;
  Pointer event = kNone, timed = kNone;
  quiet("cuEventCreate", &event, 2u);
  quiet("cuEventCreate", &timed, 0u);
  cu("cuCtxRecordEvent", s.context, event);
  cu("cuEventSynchronize", event);
  cu("cuEventQuery", event);
  launchAdd(s, s.stream, s.memory, 1);
  cu("cuCtxRecordEvent", s.context, timed);
  cu("cuEventSynchronize", timed);
  cu("cuCtxWaitEvent", s.context, event);
  cu("cuCtxRecordEvent", kNone, event);
  cu("cuCtxWaitEvent", kNone, event);
  cu("cuCtxRecordEvent", s.context, kNone);
  cu("cuCtxWaitEvent", s.context, kNone);
  quiet("cuStreamBeginCapture_v2", s.stream, 0);
  cu("cuCtxRecordEvent", s.context, event);
  sayCapture(s.stream);
  cu("cuCtxWaitEvent", s.context, event);
  sayCapture(s.stream);
  Pointer graph = kNone;
  cu("cuStreamEndCapture", s.stream, &graph);
  sayMemory("memory", s.memory);
}

void notified(void *, void *, Pointer) {}

SEQUENCE(notifications) {
  Setup s;
  Pointer handle = kNone, other = kNone;
  cu("cuDeviceRegisterAsyncNotification", 0, notified, kNone, &handle);
  say("handle %s", handle ? "set" : "null");
  cu("cuDeviceRegisterAsyncNotification", 0, notified, kNone, &other);
  cu("cuDeviceRegisterAsyncNotification", 99, notified, kNone, &other);
  cu("cuDeviceRegisterAsyncNotification", 0, kNone, kNone, &other);
  cu("cuDeviceRegisterAsyncNotification", 0, notified, kNone, static_cast<Pointer *>(nullptr));
  cu("cuDeviceUnregisterAsyncNotification", 99, handle);
  cu("cuDeviceUnregisterAsyncNotification", 0, handle);
  cu("cuDeviceUnregisterAsyncNotification", 0, kNone);
}

int messages = 0;
void logged(Pointer, int, char *, size_t) { ++messages; }

SEQUENCE(logs_of_errors) {
  Setup s;
  unsigned iterator = 77, *null = nullptr;
  Pointer handle = kNone;
  cu("cuLogsCurrent", &iterator, 0u);
  cu("cuLogsCurrent", &iterator, 1u);
  cu("cuLogsCurrent", null, 0u);
  cu("cuLogsRegisterCallback", logged, kNone, &handle);
  say("handle %s", handle ? "set" : "null");
  cu("cuLogsRegisterCallback", kNone, kNone, &handle);
  cu("cuLogsRegisterCallback", logged, kNone, static_cast<Pointer *>(nullptr));
  char buffer[4096];
  memset(buffer, 'x', sizeof(buffer));
  size_t size = sizeof(buffer);
  cu("cuLogsDumpToMemory", &iterator, &buffer[0], &size, 0u);
  say("%s", size <= sizeof(buffer) && !buffer[size ? size - 1 : 0] ? "ends in null" : "does not");
  cu("cuLogsDumpToMemory", &iterator, &buffer[0], &size, 1u);
  cu("cuLogsDumpToMemory", &iterator, static_cast<char *>(nullptr), &size, 0u);
  cu("cuLogsDumpToMemory", &iterator, &buffer[0], static_cast<size_t *>(nullptr), 0u);
  size = 3;
  cu("cuLogsDumpToMemory", null, &buffer[0], &size, 0u);
  cu("cuLogsDumpToFile", null, "/nonexistent/folder/log", 0u);
  cu("cuLogsDumpToFile", null, static_cast<const char *>(nullptr), 0u);
  cu("cuLogsDumpToFile", null, "/dev/null", 0u);
  cu("cuLogsDumpToFile", null, "/dev/null", 1u);
  cu("cuLogsUnregisterCallback", handle);
  cu("cuLogsUnregisterCallback", kNone);
}

SEQUENCE(resources_asked) {
  Setup s;
  struct { // CUdevResource
    int type;
    unsigned char padding[92];
    unsigned count, others[11];
    unsigned char rest[64];
  } resource{};
  int multiprocessors = 0;
  quiet("cuDeviceGetAttribute", &multiprocessors, 16, 0);
  for (int type : {1, 0, 99}) {
    memset(&resource, 0, sizeof(resource));
    int code = quiet("cuDeviceGetDevResource", 0, Pointer(&resource), type);
    say("of the device, type %d: %d, %d %s", type, code, resource.type,
        int(resource.count) == multiprocessors ? "all" : "other");
    memset(&resource, 0, sizeof(resource));
    code = quiet("cuCtxGetDevResource", s.context, Pointer(&resource), type);
    say("of the context, type %d: %d, %d %s", type, code, resource.type,
        int(resource.count) == multiprocessors ? "all" : "other");
  }
  cu("cuDeviceGetDevResource", 99, Pointer(&resource), 1);
  cu("cuDeviceGetDevResource", 0, kNone, 1);
  cu("cuCtxGetDevResource", kNone, Pointer(&resource), 1);
  cu("cuCtxGetDevResource", s.context, kNone, 1);
  struct {
    int type;
    unsigned count;
  } affinity{-1, 0};
  for (int type : {0, 1}) {
    int code = quiet("cuCtxGetExecAffinity", &affinity, type);
    say("affinity of type %d: %d, %d %s", type, code, affinity.type,
        int(affinity.count) == multiprocessors ? "all" : "other");
  }
  cu("cuCtxGetExecAffinity", kNone, 0);
  int supported = -1;
  cu("cuDeviceGetExecAffinitySupport", &supported, 0, 0);
  say("%d", supported);
}

SEQUENCE(atomic_operations_asked) {
  Setup s;
  int operations[13];
  unsigned capabilities[13] = {};
  for (int i = 0; i < 13; ++i)
    operations[i] = i;
  const int *list = operations, *null = nullptr;
  cu("cuDeviceGetHostAtomicCapabilities", &capabilities[0], list, 13u, 0);
  for (int i = 0; i < 13; ++i)
    say("operation %d: %x", i, capabilities[i]);
  cu("cuDeviceGetHostAtomicCapabilities", &capabilities[0], list, 0u, 0);
  cu("cuDeviceGetHostAtomicCapabilities", &capabilities[0], null, 1u, 0);
  cu("cuDeviceGetHostAtomicCapabilities", static_cast<unsigned *>(nullptr), list, 1u, 0);
  cu("cuDeviceGetHostAtomicCapabilities", &capabilities[0], list, 1u, 99);
  operations[0] = 13;
  cu("cuDeviceGetHostAtomicCapabilities", &capabilities[0], list, 1u, 0);
  operations[0] = 0;
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 1u, 0, 0);
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 1u, 0, 99);
}

} // namespace
} // namespace sequences
