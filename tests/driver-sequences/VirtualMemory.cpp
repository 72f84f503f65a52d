// SPDX-License-Identifier: Apache-2.0
// Ranges of addresses, memory that is mapped into them, and its handles.
#include "tests/driver-sequences/VirtualMemory.h"
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace sequences {
namespace {

SEQUENCE(granularity_of_mapped_memory) {
  Plain s;
  size_t bytes = 77;
  for (int option : {0, 1, 2, -1}) {
    const Properties p = pinned();
    cu("cuMemGetAllocationGranularity", &bytes, &p, option);
    say("%zu", bytes);
  }
  for (Place place : {Place{0, 0}, {1, 99}, {1, -1}, {2, 0}, {3, 0}, {3, 99}, {4, 0}, {9, 0}}) {
    const Properties p = pinned(place);
    bytes = 77;
    const int code = quiet("cuMemGetAllocationGranularity", &bytes, &p, 0);
    say("place %d %d: %d, %zu", place.type, place.id, code, bytes);
  }
  Properties p = pinned();
  for (int type : {0, 2, -1}) {
    p.type = type;
    say("type %d: %d", type,
        quiet("cuMemGetAllocationGranularity", &bytes, static_cast<const Properties *>(&p), 0));
  }
  cu("cuMemGetAllocationGranularity", &bytes, static_cast<const Properties *>(nullptr), 0);
  p = pinned();
  cu("cuMemGetAllocationGranularity", static_cast<size_t *>(nullptr),
     static_cast<const Properties *>(&p), 0);
}

SEQUENCE(addresses_reserved) {
  Plain s;
  const struct {
    size_t bytes, alignment;
    unsigned long long flags;
  } rows[] = {{kBlock, 0, 0},
              {2 * kBlock, kBlock, 0},
              {kBlock, 4 * kBlock, 0},
              {3 * kBlock, 0, 0},
              {0, 0, 0},
              {1, 0, 0},
              {4095, 0, 0},
              {4096, 0, 0},
              {65536, 0, 0},
              {kBlock + 4096, 0, 0},
              {kBlock, 3, 0},
              {kBlock, 4096, 0},
              {kBlock, 1, 0},
              {kBlock, kBlock + 1, 0},
              {kBlock, 0, 1},
              {kBlock, 0, 2},
              {size_t(1) << 40, 0, 0},
              {size_t(1) << 60, 0, 0},
              {~size_t(0), 0, 0},
              {kBlock, size_t(1) << 40, 0}};
  for (const auto &row : rows) {
    Pointer pointer = kNone;
    const int code =
        quiet("cuMemAddressReserve", &pointer, row.bytes, row.alignment, kNone, row.flags);
    const auto number = reinterpret_cast<uintptr_t>(pointer);
    say("%zx bytes at %zx, flags %llu: %d, aligned %d", row.bytes, row.alignment, row.flags, code,
        !code && number % (row.alignment > kBlock ? row.alignment : kBlock) == 0);
    if (!code)
      say("  free: %d", quiet("cuMemAddressFree", pointer, row.bytes));
  }
  cu("cuMemAddressReserve", static_cast<Pointer *>(nullptr), kBlock, size_t(0), kNone, 0ull);
}

SEQUENCE(addresses_reserved_where_asked) {
  Plain s;
  Pointer first = kNone, second = kNone;
  cu("cuMemAddressReserve", &first, 4 * kBlock, size_t(0), kNone, 0ull);
  cu("cuMemAddressReserve", &second, kBlock, size_t(0), first, 0ull);
  say("the same %d", first == second);
  cu("cuMemAddressFree", first, 4 * kBlock);
  Pointer third = kNone;
  cu("cuMemAddressReserve", &third, 2 * kBlock, size_t(0), at(first, kBlock), 0ull);
  say("where asked %d", third == at(first, kBlock));
  Pointer fourth = kNone;
  cu("cuMemAddressReserve", &fourth, kBlock, size_t(0), at(first, 1), 0ull);
  cu("cuMemAddressReserve", &fourth, kBlock, size_t(0), Pointer(uintptr_t(&s) | 1), 0ull);
}

SEQUENCE(addresses_freed_wrongly) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 4 * kBlock, size_t(0), kNone, 0ull);
  cu("cuMemAddressFree", range, kBlock);
  cu("cuMemAddressFree", range, 8 * kBlock);
  cu("cuMemAddressFree", range, size_t(0));
  cu("cuMemAddressFree", at(range, kBlock), kBlock);
  cu("cuMemAddressFree", at(range, kBlock), 3 * kBlock);
  cu("cuMemAddressFree", kNone, kBlock);
  cu("cuMemAddressFree", kNone, size_t(0));
  cu("cuMemAddressFree", s.memory, size_t(256));
  cu("cuMemAddressFree", Pointer(s.host), kBlock);
  cu("cuMemFree_v2", range);
  cu("cuMemAddressFree", range, 4 * kBlock);
  cu("cuMemAddressFree", range, 4 * kBlock);
}

SEQUENCE(addresses_freed_that_have_memory) {
  Plain s;
  Mapped m(2);
  cu("cuMemAddressFree", m.range, 2 * kBlock);
  m.saysWord();
  cu("cuMemUnmap", m.range, 2 * kBlock);
  cu("cuMemAddressFree", m.range, 2 * kBlock);
}

SEQUENCE(handles_made) {
  Plain s;
  const Properties p = pinned();
  for (size_t bytes : {size_t(0), size_t(1), size_t(4096), size_t(65536), kBlock, kBlock + 65536,
                       3 * kBlock, size_t(1) << 50, ~size_t(0)}) {
    uint64_t handle = 0;
    const int code = quiet("cuMemCreate", &handle, bytes, &p, 0ull);
    say("%zx bytes: %d, handle %s", bytes, code, handle ? "set" : "0");
    if (!code)
      say("  release: %d", quiet("cuMemRelease", handle));
  }
  uint64_t handle = 0;
  for (unsigned long long flags : {1ull, 2ull, 1ull << 63})
    cu("cuMemCreate", &handle, kBlock, &p, flags);
  cu("cuMemCreate", static_cast<uint64_t *>(nullptr), kBlock, &p, 0ull);
  cu("cuMemCreate", &handle, kBlock, static_cast<const Properties *>(nullptr), 0ull);
}

SEQUENCE(handles_of_places) {
  Plain s;
  for (Place place : {Place{1, 0},
                      {1, 1},
                      {1, 99},
                      {1, -1},
                      {0, 0},
                      {2, 0},
                      {2, 5},
                      {3, 0},
                      {3, 99},
                      {3, -1},
                      {4, 0},
                      {5, 0},
                      {-1, 0}}) {
    const Properties p = pinned(place);
    uint64_t handle = 0;
    say("place %d %d: %d", place.type, place.id, quiet("cuMemCreate", &handle, kBlock, &p, 0ull));
  }
}

SEQUENCE(handles_of_kinds) {
  Plain s;
  auto make = [](const char *what, Properties p) {
    uint64_t handle = 0;
    say("%s: %d", what,
        quiet("cuMemCreate", &handle, kBlock, static_cast<const Properties *>(&p), 0ull));
  };
  for (int type : {-1, 0, 1, 2, 3, 0x7fffffff}) {
    Properties p = pinned();
    p.type = type;
    say("type %d", type);
    make("  of the device", p);
  }
  for (int types : {1, 2, 4, 3, 16, -1}) {
    Properties p = pinned({1, 0}, types);
    say("handles %d", types);
    make("  of the device", p);
    p.place = {2, 0};
    make("  of the host", p);
    p.place = {3, 0};
    make("  of a node", p);
  }
  Properties p = pinned();
  p.windows = &p;
  make("with attributes of Windows", p);
  p = pinned();
  p.usage = 2;
  make("of usage 2", p);
  p = pinned();
  p.compression = 2;
  make("of compression 2", p);
}

SEQUENCE(handles_released_wrongly) {
  Plain s;
  uint64_t handle = makeHandle();
  cu("cuMemRelease", handle);
  cu("cuMemRelease", uint64_t(0));
  cu("cuMemRelease", reinterpret_cast<uint64_t>(s.memory));
}

SEQUENCE(handle_released_twice) {
  Plain s;
  uint64_t handle = makeHandle();
  cu("cuMemRelease", handle);
  cu("cuMemRelease", handle);
}

SEQUENCE(mapped_memory_used) {
  Plain s;
  Mapped m(2);
  cu("cuMemsetD32_v2", m.range, 7u, kBlock / 2);
  sayMemory("first", m.range);
  sayMemory("last", at(m.range, 2 * kBlock - 256));
  cu("cuMemcpyDtoD_v2", s.memory, at(m.range, kBlock - 128), size_t(256));
  sayMemory("memory", s.memory);
  cu("cuMemcpyHtoD_v2", at(m.range, kBlock - 128), static_cast<const void *>(s.host), size_t(256));
  sayMemory("across", at(m.range, kBlock - 128));
  cu("cuMemsetD32_v2", at(m.range, 4), 7u, kBlock / 2);
  cu("cuMemcpyDtoD_v2", s.memory, at(m.range, 2 * kBlock - 128), size_t(256));
  cu("cuMemcpyDtoD_v2", m.range, at(m.range, kBlock), kBlock);
}

SEQUENCE(mapped_wrongly) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 4 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle(2);
  auto map = [&](const char *what, Pointer where, size_t bytes, size_t offset, uint64_t which,
                 unsigned long long flags) {
    say("%s: %d", what, quiet("cuMemMap", where, bytes, offset, which, flags));
  };
  map("nothing", range, 0, 0, handle, 0);
  map("part of a block", range, 65536, 0, handle, 0);
  map("more than there is", range, 3 * kBlock, 0, handle, 0);
  map("from the second block", range, kBlock, kBlock, handle, 0);
  map("from the middle of a block", range, kBlock, 65536, handle, 0);
  map("of no handle", range, kBlock, 0, 0, 0);
  map("with flags", range, kBlock, 0, handle, 1);
  map("at null", kNone, kBlock, 0, handle, 0);
  map("inside a block", at(range, 65536), kBlock, 0, handle, 0);
  map("beyond the end", at(range, 3 * kBlock), 2 * kBlock, 0, handle, 0);
  map("behind the end", at(range, 4 * kBlock), kBlock, 0, handle, 0);
  map("where memory is", s.memory, kBlock, 0, handle, 0);
  map("rightly", range, 2 * kBlock, 0, handle, 0);
  map("again", range, 2 * kBlock, 0, handle, 0);
  map("over its end", at(range, kBlock), 2 * kBlock, 0, handle, 0);
  map("behind it", at(range, 2 * kBlock), 2 * kBlock, 0, handle, 0);
}

SEQUENCE(mapped_in_part) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 4 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle(2);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  setAccess(range, kBlock);
  cu("cuMemsetD32_v2", range, 3u, kBlock / 4);
  sayMemory("last", at(range, kBlock - 256));
  cu("cuMemcpyDtoD_v2", s.memory, at(range, kBlock), size_t(256));
  cu("cuMemUnmap", range, 2 * kBlock);
  cu("cuMemUnmap", range, kBlock);
}

SEQUENCE(mapped_at_two_places) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 2 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle();
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  cu("cuMemMap", at(range, kBlock), kBlock, size_t(0), handle, 0ull);
  setAccess(range, 2 * kBlock);
  cu("cuMemsetD32_v2", range, 9u, size_t(64));
  sayMemory("the other", at(range, kBlock));
  cu("cuMemUnmap", range, kBlock);
  sayMemory("the other", at(range, kBlock));
}

SEQUENCE(access_set_wrongly) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 4 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle(2);
  cu("cuMemMap", range, 2 * kBlock, size_t(0), handle, 0ull);
  auto set = [&](const char *what, Pointer where, size_t bytes, Access access, size_t count = 1) {
    const Access list[] = {access, {{1, 0}, 3}};
    say("%s: %d", what, quiet("cuMemSetAccess", where, bytes, &list[0], count));
  };
  const Access all{{1, 0}, 3};
  set("flags 2", range, 2 * kBlock, {{1, 0}, 2});
  set("flags 4", range, 2 * kBlock, {{1, 0}, 4});
  set("flags 7", range, 2 * kBlock, {{1, 0}, 7});
  set("device 99", range, 2 * kBlock, {{1, 99}, 3});
  set("no place", range, 2 * kBlock, {{0, 0}, 3});
  set("the host", range, 2 * kBlock, {{2, 0}, 3});
  set("a node", range, 2 * kBlock, {{3, 0}, 3});
  set("place 9", range, 2 * kBlock, {{9, 0}, 3});
  set("nobody", range, 2 * kBlock, all, 0);
  set("the same twice", range, 2 * kBlock, all, 2);
  set("no bytes", range, 0, all);
  set("part of a block", range, 65536, all);
  set("the first block", range, kBlock, all);
  set("the second block", at(range, kBlock), kBlock, all);
  set("more than is mapped", range, 3 * kBlock, all);
  set("null", kNone, kBlock, all);
  set("what is not mapped", at(range, 2 * kBlock), kBlock, all);
  set("other memory", s.memory, kBlock, all);
  cu("cuMemSetAccess", range, 2 * kBlock, static_cast<const Access *>(nullptr), size_t(1));
  set("rightly", range, 2 * kBlock, all);
}

SEQUENCE(access_asked) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 4 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle(2);
  cu("cuMemMap", range, 2 * kBlock, size_t(0), handle, 0ull);
  auto ask = [&](const char *what, Pointer where, Place place) {
    unsigned long long flags = 77;
    const int code = quiet("cuMemGetAccess", &flags, static_cast<const Place *>(&place), where);
    say("%s, place %d %d: %d, %llu", what, place.type, place.id, code, flags);
  };
  ask("before it is set", range, {1, 0});
  setAccess(range, 2 * kBlock);
  ask("when it is set", range, {1, 0});
  ask("inside", at(range, 100), {1, 0});
  for (Place place : {Place{0, 0}, {1, 99}, {2, 0}, {3, 0}, {4, 0}, {9, 0}})
    ask("mapped", range, place);
  setAccess(range, 2 * kBlock, 1);
  ask("only to read", range, {1, 0});
  setAccess(range, 2 * kBlock, 0);
  ask("taken away", range, {1, 0});
  ask("what is not mapped", at(range, 2 * kBlock), {1, 0});
  ask("null", kNone, {1, 0});
  ask("other memory", s.memory, {1, 0});
  ask("of the host", s.host, {1, 0});
  const Place place{1, 0};
  unsigned long long flags = 77;
  cu("cuMemGetAccess", static_cast<unsigned long long *>(nullptr), &place, range);
  cu("cuMemGetAccess", &flags, static_cast<const Place *>(nullptr), range);
}

SEQUENCE(mapped_memory_without_access) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 2 * kBlock, size_t(0), kNone, 0ull);
  cu("cuMemsetD32_v2", range, 1u, size_t(64));
  cu("cuMemcpyDtoD_v2", s.memory, range, size_t(256));
  const uint64_t handle = makeHandle();
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  cu("cuMemcpyDtoH_v2", Pointer(s.host), range, size_t(256));
  cu("cuCtxSynchronize");
}

SEQUENCE(mapped_memory_that_may_be_read) {
  Plain s;
  Mapped m(1);
  cu("cuMemsetD32_v2", m.range, 4u, size_t(64));
  cu("cuCtxSynchronize");
  setAccess(m.range, kBlock, 1);
  cu("cuMemcpyDtoD_v2", s.memory, m.range, size_t(256));
  sayMemory("memory", s.memory);
  setAccess(m.range, kBlock, 3);
  cu("cuMemsetD32_v2", m.range, 5u, size_t(64));
  sayMemory("again", m.range);
}

SEQUENCE(unmapped_wrongly) {
  Plain s;
  Mapped m(2);
  cu("cuMemUnmap", m.range, size_t(0));
  cu("cuMemUnmap", m.range, kBlock / 2);
  cu("cuMemUnmap", m.range, 3 * kBlock);
  cu("cuMemUnmap", at(m.range, 65536), kBlock);
  cu("cuMemUnmap", kNone, kBlock);
  cu("cuMemUnmap", s.memory, size_t(256));
  m.saysWord();
  cu("cuMemUnmap", m.range, 2 * kBlock);
  cu("cuMemUnmap", m.range, 2 * kBlock);
}

SEQUENCE(mappings_unmapped_one_by_one) {
  Plain s;
  Mapped m(3);
  cu("cuMemUnmap", at(m.range, kBlock), kBlock);
  m.saysWord();
  sayMemory("third", at(m.range, 2 * kBlock));
  cu("cuMemUnmap", m.range, 3 * kBlock);
  cu("cuMemUnmap", m.range, kBlock);
  cu("cuMemUnmap", at(m.range, 2 * kBlock), kBlock);
  cu("cuMemAddressFree", m.range, 3 * kBlock);
}

SEQUENCE(mapped_memory_copied_after_its_end) {
  Plain s;
  Mapped m(1);
  cu("cuMemUnmap", m.range, kBlock);
  cu("cuMemcpyDtoH_v2", Pointer(s.host), m.range, size_t(256));
}
SEQUENCE(mapped_memory_filled_after_its_end) {
  Plain s;
  Mapped m(1);
  cu("cuMemUnmap", m.range, kBlock);
  cu("cuMemsetD32_v2", m.range, 1u, size_t(64));
}

SEQUENCE(handle_that_mappings_keep) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle();
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  cu("cuMemRelease", handle);
  setAccess(range, kBlock);
  cu("cuMemsetD32_v2", range, 6u, size_t(64));
  sayMemory("mapped", range);
  uint64_t retained = 0;
  cu("cuMemRetainAllocationHandle", &retained, at(range, 100));
  say("the same %d", retained == handle);
  cu("cuMemUnmap", range, kBlock);
  cu("cuMemMap", range, kBlock, size_t(0), retained, 0ull);
  setAccess(range, kBlock);
  sayMemory("mapped again", range);
  cu("cuMemUnmap", range, kBlock);
  cu("cuMemRelease", retained);
}

SEQUENCE(handles_retained_wrongly) {
  Plain s;
  Pointer range = kNone, managed = kNone;
  quiet("cuMemAddressReserve", &range, 2 * kBlock, size_t(0), kNone, 0ull);
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  uint64_t handle = 0;
  cu("cuMemRetainAllocationHandle", &handle, range);
  cu("cuMemRetainAllocationHandle", &handle, s.memory);
  cu("cuMemRetainAllocationHandle", &handle, Pointer(s.host));
  cu("cuMemRetainAllocationHandle", &handle, managed);
  cu("cuMemRetainAllocationHandle", &handle, kNone);
  cu("cuMemRetainAllocationHandle", &handle, Pointer(&s));
  cu("cuMemRetainAllocationHandle", static_cast<uint64_t *>(nullptr), range);
}

SEQUENCE(properties_of_handles) {
  Plain s;
  for (int types : {0, 1}) {
    const uint64_t handle = makeHandle(1, types);
    Properties p;
    memset(&p, 0x55, sizeof(p));
    const int code = quiet("cuMemGetAllocationPropertiesFromHandle", &p, handle);
    say("%d: type %d, handles %d, place %d %d, windows %d, compression %d, rdma %d, usage %d", code,
        p.type, p.handleTypes, p.place.type, p.place.id, p.windows != nullptr, p.compression,
        p.directRdma, p.usage);
    cu("cuMemGetAllocationPropertiesFromHandle", static_cast<Properties *>(nullptr), handle);
  }
  Properties p;
  cu("cuMemGetAllocationPropertiesFromHandle", &p, uint64_t(0));
}

SEQUENCE(handles_exported_wrongly) {
  Plain s;
  const uint64_t plain = makeHandle(), shared = makeHandle(1, 1);
  int descriptor = -77;
  auto give = [&](const char *what, uint64_t handle, int type, unsigned long long flags) {
    descriptor = -77;
    const int code =
        quiet("cuMemExportToShareableHandle", Pointer(&descriptor), handle, type, flags);
    say("%s: %d, %s", what, code, descriptor == -77 ? "untouched" : "set");
  };
  give("without a type", plain, 1, 0);
  give("of type 0", shared, 0, 0);
  give("of type 2", shared, 2, 0);
  give("of type 4", shared, 4, 0);
  give("of type 3", shared, 3, 0);
  give("with flags", shared, 1, 1);
  give("of handle 0", 0, 1, 0);
  cu("cuMemExportToShareableHandle", kNone, shared, 1, 0ull);
  give("rightly", shared, 1, 0);
}

SEQUENCE(handle_imported_by_its_own_process) {
  Plain s;
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, 2 * kBlock, size_t(0), kNone, 0ull);
  const uint64_t handle = makeHandle(1, 1);
  int descriptor = -1;
  cu("cuMemExportToShareableHandle", Pointer(&descriptor), handle, 1, 0ull);
  uint64_t imported = 0, again = 0;
  cu("cuMemImportFromShareableHandle", &imported, Pointer(uintptr_t(descriptor)), 1);
  cu("cuMemImportFromShareableHandle", &again, Pointer(uintptr_t(descriptor)), 1);
  say("the descriptor is open %d", fcntl(descriptor, F_GETFD) >= 0);
  close(descriptor);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  cu("cuMemMap", at(range, kBlock), kBlock, size_t(0), imported, 0ull);
  setAccess(range, 2 * kBlock);
  cu("cuMemsetD32_v2", range, 12u, size_t(64));
  sayMemory("imported", at(range, kBlock));
  Properties p{};
  cu("cuMemGetAllocationPropertiesFromHandle", &p, imported);
  say("handles %d, place %d %d", p.handleTypes, p.place.type, p.place.id);
  cu("cuMemRelease", again);
  cu("cuMemRelease", imported);
}

SEQUENCE(handles_imported_wrongly) {
  Plain s;
  uint64_t handle = 0;
  int ends[2];
  if (pipe(ends))
    say("no pipe");
  const int null = open("/dev/null", O_RDWR);
  auto take = [&](const char *what, int descriptor, int type) {
    say("%s: %d", what,
        quiet("cuMemImportFromShareableHandle", &handle, Pointer(intptr_t(descriptor)), type));
  };
  take("no descriptor", -1, 1);
  take("one that is not open", 1000, 1);
  take("of a pipe", ends[0], 1);
  take("of /dev/null", null, 1);
  take("of type 0", ends[0], 0);
  take("of type 2", ends[0], 2);
  take("of type 9", ends[0], 9);
  cu("cuMemImportFromShareableHandle", static_cast<uint64_t *>(nullptr), Pointer(intptr_t(ends[0])),
     1);
}

SEQUENCE(attributes_of_mapped_memory) {
  Plain s;
  Mapped m(1, 2);
  auto ask = [&](const char *what, Pointer pointer) {
    say("%s", what);
    for (int id : {1, 2, 3, 5, 6, 8, 9, 10, 13, 14, 15, 16, 17, 20}) {
      uint64_t words[4] = {77, 0, 0, 0};
      const int code = quiet("cuPointerGetAttribute", Pointer(words), id, pointer);
      const bool isAddress = id == 1 || id == 3 || id == 17;
      say("  attribute %d: %d, %s", id, code,
          code        ? ""
          : id == 20  ? "some"
          : isAddress ? words[0] == uint64_t(pointer) ? "itself"
                        : words[0]                    ? "set"
                                                      : "0"
                      : std::to_string(int(words[0])).c_str());
    }
    Pointer start = kNone;
    size_t bytes = 77;
    int code = quiet("cuPointerGetAttribute", Pointer(&start), 11, pointer);
    say("  starts at %td: %d", start ? ptrdiff_t(pointer) - ptrdiff_t(start) : -1, code);
    code = quiet("cuPointerGetAttribute", Pointer(&bytes), 12, pointer);
    say("  has %zx: %d", bytes, code);
  };
  ask("mapped", m.range);
  ask("inside", at(m.range, 4096));
  ask("not mapped", at(m.range, kBlock));
}

SEQUENCE(range_of_mapped_memory) {
  Plain s;
  Mapped m(2, 4);
  auto ask = [&](const char *what, Pointer pointer) {
    Pointer base = kNone;
    size_t bytes = 77;
    const int code = quiet("cuMemGetAddressRange_v2", &base, &bytes, pointer);
    say("%s: %d, %td, %zx", what, code, base ? ptrdiff_t(base) - ptrdiff_t(m.range) : -1, bytes);
  };
  ask("first", m.range);
  ask("inside", at(m.range, 100));
  ask("second", at(m.range, kBlock + 100));
  ask("not mapped", at(m.range, 2 * kBlock));
}

SEQUENCE(mapped_memory_with_a_gap) {
  Plain s;
  Mapped m(3);
  cu("cuMemUnmap", at(m.range, kBlock), kBlock);
  cu("cuMemcpyDtoH_v2", Pointer(s.host), at(m.range, kBlock - 128), size_t(256));
}

SEQUENCE(mapped_memory_of_the_host) {
  Plain s;
  const Properties p = pinned({3, 0});
  size_t granularity = 0;
  cu("cuMemGetAllocationGranularity", &granularity, &p, 0);
  uint64_t handle = 0;
  cu("cuMemCreate", &handle, kBlock, &p, 0ull);
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  const Access list[] = {{{1, 0}, 3}, {{3, 0}, 3}};
  cu("cuMemSetAccess", range, kBlock, &list[0], size_t(2));
  cu("cuMemsetD32_v2", range, 8u, size_t(64));
  cu("cuCtxSynchronize");
  say("%d", *static_cast<int *>(range));
  static_cast<int *>(range)[0] = 9;
  sayMemory("range", range);
  int type = 77;
  cu("cuPointerGetAttribute", Pointer(&type), 2, range);
  say("type %d", type);
}

SEQUENCE(mapped_memory_freed_otherwise) {
  Plain s;
  Mapped m(1);
  cu("cuMemFree_v2", m.range);
  cu("cuMemFreeHost", m.range);
  cu("cuMemFreeAsync", m.range, s.stream);
  cu("cuMemHostUnregister", m.range);
  cu("cuIpcCloseMemHandle", m.range);
  m.saysWord();
}

SEQUENCE(virtual_memory_without_a_context) {
  cu("cuInit", 0u);
  Pointer range = kNone;
  uint64_t handle = 0;
  const Properties p = pinned();
  size_t bytes = 0;
  cu("cuMemGetAllocationGranularity", &bytes, &p, 0);
  cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
  cu("cuMemCreate", &handle, kBlock, &p, 0ull);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  setAccess(range, kBlock);
  cu("cuMemsetD32_v2", range, 8u, size_t(64));
  cu("cuMemUnmap", range, kBlock);
  cu("cuMemRelease", handle);
  cu("cuMemAddressFree", range, kBlock);
}

SEQUENCE(virtual_memory_in_a_capture) {
  Plain s;
  Mapped m(1, 2);
  quiet("cuStreamBeginCapture_v2", s.stream, 0);
  uint64_t handle = 0;
  const Properties p = pinned();
  Pointer other = kNone;
  cu("cuMemCreate", &handle, kBlock, &p, 0ull);
  cu("cuMemAddressReserve", &other, kBlock, size_t(0), kNone, 0ull);
  cu("cuMemMap", at(m.range, kBlock), kBlock, size_t(0), handle, 0ull);
  setAccess(at(m.range, kBlock), kBlock);
  cu("cuMemsetD32Async", m.range, 5u, size_t(64), s.stream);
  sayCapture(s.stream);
  cu("cuMemUnmap", at(m.range, kBlock), kBlock);
  cu("cuMemRelease", handle);
  sayCapture(s.stream);
  Pointer graph = kNone;
  cu("cuStreamEndCapture", s.stream, &graph);
}

} // namespace
} // namespace sequences
