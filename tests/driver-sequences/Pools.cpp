// SPDX-License-Identifier: Apache-2.0
// Memory pools: what they are made of, what they count, and how they refuse.
#include "tests/driver-sequences/Processes.h"

namespace sequences {
namespace {

constexpr PoolProperties kOfDevice{1, 0, 1, 0, kNone, 0, 0, {}};

Pointer makePool(int handleTypes = 0) {
  PoolProperties p = kOfDevice;
  p.handleTypes = handleTypes;
  Pointer pool = kNone;
  cu("cuMemPoolCreate", &pool, static_cast<const PoolProperties *>(&p));
  return pool;
}
Pointer allocate(Pointer pool, Pointer stream, size_t bytes) {
  Pointer memory = kNone;
  cu("cuMemAllocFromPoolAsync", &memory, bytes, pool, stream);
  return memory;
}
enum Attribute {
  kFollowEvents = 1,
  kOpportunistic,
  kInternal,
  kThreshold,
  kReserved,
  kReservedHigh,
  kUsed,
  kUsedHigh
};
uint64_t attribute(Pointer pool, int id) {
  uint64_t value = 77;
  const int code = quiet("cuMemPoolGetAttribute", pool, id, Pointer(&value));
  return code ? ~uint64_t(code) : value;
}
/// Bytes that are reserved depend on the driver; whether there are any does not.
void sayUse(const char *what, Pointer pool) {
  say("%s: used %llx, most %llx, reserved %s", what,
      static_cast<unsigned long long>(attribute(pool, kUsed)),
      static_cast<unsigned long long>(attribute(pool, kUsedHigh)),
      attribute(pool, kReserved) ? "some" : "none");
}

SEQUENCE(pools_made) {
  Plain s;
  auto make = [](const char *what, PoolProperties p) {
    Pointer pool = kNone;
    const int code = quiet("cuMemPoolCreate", &pool, static_cast<const PoolProperties *>(&p));
    say("%s: %d, %s", what, code, pool ? "set" : "null");
    if (!code)
      say("  destroy: %d", quiet("cuMemPoolDestroy", pool));
  };
  for (int type : {-1, 0, 1, 3, 99}) {
    PoolProperties p = kOfDevice;
    p.allocationType = type;
    say("type %d", type);
    make("  of the device", p);
  }
  for (int types : {1, 2, 4, 3, 16, -1}) {
    PoolProperties p = kOfDevice;
    p.handleTypes = types;
    say("handles %d", types);
    make("  of the device", p);
  }
  for (int id : {1, 99, -1}) {
    PoolProperties p = kOfDevice;
    p.locationId = id;
    say("device %d", id);
    make("  a pool", p);
  }
  for (int type : {-1, 0, 4, 5, 99}) {
    PoolProperties p = kOfDevice;
    p.locationType = type;
    say("place %d", type);
    make("  a pool", p);
  }
  PoolProperties p = kOfDevice;
  p.security = &p;
  make("with attributes of Windows", p);
  p = kOfDevice;
  p.maxSize = 1;
  make("of at most a byte", p);
  p.maxSize = size_t(1) << 60;
  make("of at most very much", p);
  p = kOfDevice;
  p.reserved[3] = 1;
  make("with what is reserved", p);
  cu("cuMemPoolCreate", static_cast<Pointer *>(nullptr), &kOfDevice);
  Pointer pool = kNone;
  cu("cuMemPoolCreate", &pool, static_cast<const PoolProperties *>(nullptr));
}

SEQUENCE(attributes_of_pools) {
  Plain s;
  Pointer pool = makePool();
  for (int id = 0; id <= 15; ++id) {
    uint64_t value = 77;
    const int code = quiet("cuMemPoolGetAttribute", pool, id, Pointer(&value));
    say("attribute %d: %d, %lld", id, code,
        code || id == kReserved || id == kReservedHigh ? 0ll : (long long)value);
  }
  for (int id = 0; id <= 9; ++id)
    for (uint64_t value : {uint64_t(0), uint64_t(1), uint64_t(1) << 20}) {
      const bool isInt = id >= kFollowEvents && id <= kInternal;
      int number = int(value);
      const int code =
          quiet("cuMemPoolSetAttribute", pool, id, isInt ? Pointer(&number) : Pointer(&value));
      uint64_t got = 0;
      quiet("cuMemPoolGetAttribute", pool, id, Pointer(&got));
      say("attribute %d set to %llx: %d", id, (unsigned long long)value, code);
      if (!code)
        say("  then %llx", (unsigned long long)got);
    }
  cu("cuMemPoolGetAttribute", pool, 1, kNone);
  cu("cuMemPoolSetAttribute", pool, 1, kNone);
}

SEQUENCE(pool_counts) {
  Plain s;
  Pointer pool = makePool();
  sayUse("at first", pool);
  Pointer a = allocate(pool, s.stream, 1000), b = allocate(pool, s.stream, 1 << 20);
  sayUse("two", pool);
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuStreamSynchronize", s.stream);
  sayUse("one", pool);
  cu("cuMemFreeAsync", b, s.stream);
  cu("cuStreamSynchronize", s.stream);
  sayUse("none", pool);
  uint64_t zero = 0;
  cu("cuMemPoolSetAttribute", pool, int(kUsedHigh), Pointer(&zero));
  sayUse("reset", pool);
  cu("cuMemPoolDestroy", pool);
}

SEQUENCE(pool_trimmed) {
  Plain s;
  Pointer pool = makePool();
  uint64_t all = ~uint64_t(0);
  cu("cuMemPoolSetAttribute", pool, int(kThreshold), Pointer(&all));
  Pointer a = allocate(pool, s.stream, 64 << 20);
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuStreamSynchronize", s.stream);
  sayUse("kept", pool);
  cu("cuMemPoolTrimTo", pool, size_t(64 << 20));
  sayUse("trimmed to as much", pool);
  cu("cuMemPoolTrimTo", pool, size_t(0));
  sayUse("trimmed", pool);
  Pointer b = allocate(pool, s.stream, 4096);
  cu("cuMemPoolTrimTo", pool, size_t(0));
  sayUse("in use", pool);
  cu("cuMemFreeAsync", b, s.stream);
  cu("cuMemPoolTrimTo", kNone, size_t(0));
}

SEQUENCE(pool_that_keeps_nothing) {
  Plain s;
  Pointer pool = makePool();
  Pointer a = allocate(pool, s.stream, 64 << 20);
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuStreamSynchronize", s.stream);
  sayUse("behind the stream", pool);
  cu("cuCtxSynchronize");
  sayUse("behind the context", pool);
}

SEQUENCE(pool_destroyed_with_memory) {
  Plain s;
  Pointer pool = makePool();
  Pointer a = allocate(pool, s.stream, 256);
  cu("cuMemPoolDestroy", pool);
  cu("cuMemsetD32Async", a, 7u, size_t(64), s.stream);
  sayMemory("memory", a);
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(pools_destroyed_wrongly) {
  Plain s;
  Pointer pool = kNone;
  quiet("cuDeviceGetDefaultMemPool", &pool, 0);
  cu("cuMemPoolDestroy", pool);
  cu("cuMemPoolDestroy", kNone);
  Pointer made = makePool();
  cu("cuDeviceSetMemPool", 0, made);
  cu("cuMemPoolDestroy", made);
  Pointer now = kNone;
  cu("cuDeviceGetMemPool", &now, 0);
  say("%s", now == pool ? "the device's" : "another");
  Pointer memory = kNone;
  cu("cuMemAllocAsync", &memory, size_t(256), s.stream);
  cu("cuMemFreeAsync", memory, s.stream);
}

SEQUENCE(pool_used_after_its_end) {
  Plain s;
  Pointer pool = makePool();
  cu("cuMemPoolDestroy", pool);
  Pointer memory = kNone;
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), pool, s.stream);
}

SEQUENCE(memory_of_pools_refused) {
  Plain s;
  Pointer pool = makePool(), memory = kNone;
  for (size_t bytes : {size_t(0), size_t(1), size_t(1) << 50, ~size_t(0)}) {
    memory = kNone;
    const int own = quiet("cuMemAllocFromPoolAsync", &memory, bytes, pool, s.stream);
    say("%zx bytes: %d, %s", bytes, own, memory ? "set" : "null");
    const int current = quiet("cuMemAllocAsync", &memory, bytes, s.stream);
    say("  of the current one: %d", current);
  }
  cu("cuMemAllocFromPoolAsync", static_cast<Pointer *>(nullptr), size_t(256), pool, s.stream);
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), kNone, s.stream);
  cu("cuMemAllocAsync", static_cast<Pointer *>(nullptr), size_t(256), s.stream);
}

SEQUENCE(memory_of_pools_freed_wrongly) {
  Plain s;
  Pointer managed = kNone;
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  Pointer pool = makePool(), memory = allocate(pool, s.stream, 4096);
  cu("cuMemFreeAsync", kNone, s.stream);
  cu("cuMemFreeAsync", at(memory, 256), s.stream);
  cu("cuMemFreeAsync", Pointer(s.host), s.stream);
  cu("cuMemFreeAsync", managed, s.stream);
  cu("cuMemFreeAsync", Pointer(&s), s.stream);
  cu("cuMemFreeHost", memory);
  cu("cuMemFreeAsync", memory, s.stream);
  cu("cuMemFreeAsync", memory, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(memory_freed_in_the_other_way) {
  Plain s;
  Pointer pool = makePool(), memory = allocate(pool, s.stream, 4096), plain = kNone;
  cu("cuMemAlloc_v2", &plain, size_t(4096));
  cu("cuMemFree_v2", memory);
  cu("cuMemFreeAsync", plain, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuMemFree_v2", plain);
  cu("cuMemFree_v2", memory);
}

SEQUENCE(memory_of_pools_on_two_streams) {
  Plain s;
  Pointer memory = kNone, event = kNone;
  cu("cuMemAllocAsync", &memory, size_t(256), s.stream);
  cu("cuMemsetD32Async", memory, 3u, size_t(64), s.stream);
  quiet("cuEventCreate", &event, 2u);
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamWaitEvent", s.other, event, 0u);
  cu("cuMemcpyDtoDAsync_v2", s.memory, memory, size_t(256), s.other);
  cu("cuMemFreeAsync", memory, s.other);
  cu("cuStreamSynchronize", s.other);
  sayMemory("memory", s.memory);
}

SEQUENCE(memory_of_pools_used_again) {
  Plain s;
  Pointer first = kNone, second = kNone;
  cu("cuMemAllocAsync", &first, size_t(4096), s.stream);
  cu("cuMemFreeAsync", first, s.stream);
  cu("cuMemAllocAsync", &second, size_t(4096), s.stream);
  say("the same %d", first == second);
  cu("cuMemFreeAsync", second, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(pools_exported_wrongly) {
  Plain s;
  Pointer plain = makePool(), shared = makePool(1), current = kNone;
  quiet("cuDeviceGetDefaultMemPool", &current, 0);
  int descriptor = -77;
  auto give = [&](const char *what, Pointer pool, int type, unsigned long long flags) {
    descriptor = -77;
    const int code =
        quiet("cuMemPoolExportToShareableHandle", Pointer(&descriptor), pool, type, flags);
    say("%s: %d, %s", what, code, descriptor == -77 ? "untouched" : "set");
  };
  give("without a type", plain, 1, 0);
  give("the device's", current, 1, 0);
  give("of type 0", shared, 0, 0);
  give("of type 2", shared, 2, 0);
  give("with flags", shared, 1, 1);
  cu("cuMemPoolExportToShareableHandle", kNone, shared, 1, 0ull);
  give("rightly", shared, 1, 0);
  IpcHandle data{};
  Pointer of = allocate(plain, s.stream, 256), ofShared = allocate(shared, s.stream, 256);
  cu("cuMemPoolExportPointer", &data, of);
  cu("cuMemPoolExportPointer", &data, ofShared);
  cu("cuMemPoolExportPointer", &data, at(ofShared, 16));
  cu("cuMemPoolExportPointer", &data, s.memory);
  cu("cuMemPoolExportPointer", &data, Pointer(s.host));
  cu("cuMemPoolExportPointer", &data, kNone);
  cu("cuMemPoolExportPointer", static_cast<IpcHandle *>(nullptr), ofShared);
  Pointer imported = kNone;
  cu("cuMemPoolExportPointer", &data, ofShared);
  cu("cuMemPoolImportPointer", &imported, shared, &data);
}

SEQUENCE(pools_imported_wrongly) {
  Plain s;
  Pointer pool = kNone;
  int ends[2];
  if (pipe(ends))
    say("no pipe");
  for (int descriptor : {-1, 1000, ends[0]})
    for (int type : {1, 0, 2}) {
      const int code = quiet("cuMemPoolImportFromShareableHandle", &pool,
                             Pointer(intptr_t(descriptor)), type, 0ull);
      say("%s, type %d: %d", descriptor == ends[0] ? "pipe" : "none", type, code);
    }
  cu("cuMemPoolImportFromShareableHandle", static_cast<Pointer *>(nullptr),
     Pointer(intptr_t(ends[0])), 1, 0ull);
}

SEQUENCE(pool_imported_by_its_own_process) {
  Plain s;
  Pointer pool = makePool(1), imported = kNone, memory = kNone;
  int descriptor = -1;
  cu("cuMemPoolExportToShareableHandle", Pointer(&descriptor), pool, 1, 0ull);
  cu("cuMemPoolImportFromShareableHandle", &imported, Pointer(intptr_t(descriptor)), 1, 0ull);
  close(descriptor);
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), imported, s.stream);
}

SEQUENCE(pool_with_a_limit) {
  Plain s;
  PoolProperties p = kOfDevice;
  p.maxSize = 64 << 20;
  Pointer pool = kNone;
  cu("cuMemPoolCreate", &pool, static_cast<const PoolProperties *>(&p));
  Pointer a = allocate(pool, s.stream, 40 << 20);
  Pointer b = allocate(pool, s.stream, 80 << 20);
  say("%s %s", a ? "set" : "null", b ? "set" : "null");
  cu("cuMemFreeAsync", a, s.stream);
  cu("cuStreamSynchronize", s.stream);
}

SEQUENCE(attributes_of_memory_of_pools) {
  Plain s;
  Pointer pool = makePool(), memory = allocate(pool, s.stream, 4096), current = kNone;
  cu("cuStreamSynchronize", s.stream);
  quiet("cuDeviceGetDefaultMemPool", &current, 0);
  for (Pointer pointer : {memory, at(memory, 100), s.memory, Pointer(s.host)}) {
    Pointer found = &s;
    const int code = quiet("cuPointerGetAttribute", Pointer(&found), 17, pointer);
    say("pool: %d, %s", code,
        found == pool      ? "the one"
        : found == current ? "the device's"
        : found == kNone   ? "null"
                           : "another");
  }
  for (int id : {1, 2, 5, 6, 8, 9, 10, 13, 14, 15, 16}) {
    uint64_t words[4] = {77, 0, 0, 0};
    const int code = quiet("cuPointerGetAttribute", Pointer(words), id, memory);
    say("attribute %d: %d, %d", id, code,
        id == 1 ? words[0] == uint64_t(s.context) : int(words[0]));
  }
  Pointer base = kNone;
  size_t bytes = 0;
  cu("cuMemGetAddressRange_v2", &base, &bytes, at(memory, 100));
  say("%d %zx", base == memory, bytes);
}

SEQUENCE(pools_of_devices_set_wrongly) {
  Plain s;
  Pointer pool = makePool(), got = kNone;
  cu("cuDeviceSetMemPool", 0, kNone);
  cu("cuDeviceSetMemPool", 99, pool);
  cu("cuDeviceSetMemPool", -1, pool);
  cu("cuDeviceGetMemPool", &got, 99);
  cu("cuDeviceGetMemPool", static_cast<Pointer *>(nullptr), 0);
  cu("cuDeviceGetDefaultMemPool", &got, 99);
  cu("cuDeviceGetDefaultMemPool", static_cast<Pointer *>(nullptr), 0);
  cu("cuDeviceSetMemPool", 0, pool);
  cu("cuDeviceGetMemPool", &got, 0);
  say("%d", got == pool);
}

} // namespace
} // namespace sequences
