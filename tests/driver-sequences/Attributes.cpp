// SPDX-License-Identifier: Apache-2.0
// What is asked of pointers, of memory of the host and of devices.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <sys/types.h>

namespace sequences {
namespace {

int pageable[4096];
Pointer page() { return Pointer((uintptr_t(pageable) + 4095) & ~uintptr_t(4095)); }

/// A value that may differ from machine to machine is written by what it is.
std::string textOf(int id, const uint64_t *words, Pointer pointer, Pointer context) {
  const auto number = reinterpret_cast<uint64_t>(pointer);
  switch (id) {
  case 1:
    return words[0] == uint64_t(context) ? "the context" : words[0] ? "another" : "none";
  case 3:
  case 4:
  case 11:
    return words[0] == number ? "itself" : words[0] ? "another" : "null";
  case 7:
  case 17:
  case 19:
    return words[0] ? "set" : "null";
  case 20: // the block's number
    return words[0] ? "some" : "0";
  case 12:
    return std::to_string(words[0]);
  case 6:
  case 10:
  case 13:
  case 15:
  case 18:
    return std::to_string(words[0] & 0xff);
  default:
    return std::to_string(int(words[0]));
  }
}

void sayAttributes(const char *what, const Plain &s, Pointer pointer) {
  say("%s", what);
  for (int id = 0; id <= 22; ++id) {
    uint64_t words[8] = {77};
    const int code = quiet("cuPointerGetAttribute", Pointer(words), id, pointer);
    say("  %d: %d %s", id, code, code ? "" : textOf(id, words, pointer, s.context).c_str());
  }
}

SEQUENCE(attributes_of_device_memory) {
  Plain s;
  Pointer memory = kNone;
  quiet("cuMemAlloc_v2", &memory, size_t(4 << 20));
  sayAttributes("first", s, memory);
  sayAttributes("inside", s, at(memory, 1000));
}
SEQUENCE(attributes_of_pinned_memory) {
  Plain s;
  sayAttributes("pinned", s, s.host);
}
SEQUENCE(attributes_of_registered_memory) {
  Plain s;
  cu("cuMemHostRegister", page(), size_t(4096), 2u);
  sayAttributes("registered", s, page());
  cu("cuMemHostUnregister", page());
}
SEQUENCE(attributes_of_managed_memory) {
  Plain s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(65536), 1u);
  sayAttributes("managed", s, managed);
}
SEQUENCE(attributes_of_no_memory) {
  Plain s;
  sayAttributes("null", s, kNone);
  sayAttributes("wild", s, Pointer(uintptr_t(0x10000)));
}
SEQUENCE(attributes_of_freed_memory) {
  Plain s;
  Pointer memory = kNone;
  quiet("cuMemAlloc_v2", &memory, size_t(64 << 20));
  quiet("cuMemFree_v2", memory);
  sayAttributes("freed", s, memory);
}

SEQUENCE(lists_of_attributes) {
  Plain s;
  int ids[] = {2, 9, 8, 1};
  int type = 77, ordinal = 77, isManaged = 77;
  Pointer context = kNone;
  void *values[] = {&type, &ordinal, &isManaged, &context};
  auto ask = [&](const char *what, unsigned count, Pointer pointer) {
    type = ordinal = isManaged = 77;
    context = &s;
    const int code = quiet("cuPointerGetAttributes", count, &ids[0], &values[0], pointer);
    say("%s: %d, type %d, device %d, managed %d, context %s", what, code, type, ordinal,
        isManaged & 0xff, nameOf(context));
  };
  ask("device", 4, s.memory);
  ask("pinned", 4, s.host);
  ask("pageable", 4, pageable);
  ask("null", 4, kNone);
  ask("nothing", 0, s.memory);
  ids[1] = 99;
  ask("one that there is not", 4, s.memory);
  ids[1] = 9;
  values[1] = nullptr;
  ask("into null", 4, s.memory);
  cu("cuPointerGetAttributes", 1u, static_cast<int *>(nullptr), &values[0], s.memory);
  cu("cuPointerGetAttributes", 1u, &ids[0], static_cast<void **>(nullptr), s.memory);
}

SEQUENCE(attributes_of_pointers_set) {
  Plain s;
  Pointer managed = kNone;
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  for (int id : {0, 1, 2, 6, 9, 17, 99})
    for (Pointer pointer : {s.memory, Pointer(s.host), managed, kNone}) {
      uint64_t value = 1;
      say("attribute %d: %d", id,
          quiet("cuPointerSetAttribute", static_cast<const void *>(&value), id, pointer));
    }
  cu("cuPointerSetAttribute", static_cast<const void *>(nullptr), 6, s.memory);
  unsigned value = 0;
  cu("cuPointerSetAttribute", static_cast<const void *>(&value), 6, s.memory);
  value = 77;
  cu("cuPointerGetAttribute", Pointer(&value), 6, s.memory);
  say("%u", value & 0xff);
  cu("cuPointerGetAttribute", kNone, 2, s.memory);
}

SEQUENCE(memory_registered_wrongly) {
  Plain s;
  auto add = [](const char *what, Pointer where, size_t bytes, unsigned flags) {
    const int code = quiet("cuMemHostRegister", where, bytes, flags);
    say("%s: %d", what, code);
    if (!code)
      say("  unregister: %d", quiet("cuMemHostUnregister", where));
  };
  add("null", kNone, 4096, 0);
  add("no bytes", page(), 0, 0);
  add("part of a page", at(page(), 100), 1000, 0);
  for (unsigned flags : {1u, 2u, 3u, 4u, 8u, 16u, 0x80000000u}) {
    say("flags %x", flags);
    add("  a page", page(), 4096, flags);
  }
  add("device memory", s.memory, 256, 0);
  add("pinned memory", s.host, 256, 0);
  cu("cuMemHostRegister", page(), size_t(8192), 0u);
  cu("cuMemHostRegister", page(), size_t(8192), 0u);
  cu("cuMemHostRegister", page(), size_t(4096), 0u);
  cu("cuMemHostRegister", at(page(), 4096), size_t(4096), 0u);
  cu("cuMemHostUnregister", at(page(), 4096));
  cu("cuMemFreeHost", page());
  cu("cuMemHostUnregister", page());
  cu("cuMemHostUnregister", page());
  cu("cuMemHostUnregister", Pointer(s.host));
  cu("cuMemHostUnregister", s.memory);
  cu("cuMemHostUnregister", kNone);
}

SEQUENCE(memory_of_the_host) {
  Plain s;
  for (unsigned flags : {0u, 1u, 2u, 4u, 7u, 8u, 16u, 0x80000000u}) {
    Pointer memory = kNone, device = kNone;
    unsigned got = 77;
    const int code = quiet("cuMemHostAlloc", &memory, size_t(4096), flags);
    say("flags %x: %d", flags, code);
    if (code)
      continue;
    const int asked = quiet("cuMemHostGetFlags", &got, memory);
    const int found = quiet("cuMemHostGetDevicePointer_v2", &device, memory, 0u);
    say("  flags %d %x, pointer %d %s", asked, got, found, device == memory ? "itself" : "another");
    say("  free: %d", quiet("cuMemFreeHost", memory));
  }
  Pointer memory = kNone;
  cu("cuMemHostAlloc", &memory, size_t(0), 0u);
  cu("cuMemHostAlloc", &memory, size_t(1) << 60, 0u);
  cu("cuMemHostAlloc", static_cast<Pointer *>(nullptr), size_t(64), 0u);
  cu("cuMemAllocHost_v2", &memory, size_t(0));
  cu("cuMemAllocHost_v2", static_cast<Pointer *>(nullptr), size_t(64));
  cu("cuMemFreeHost", kNone);
  cu("cuMemFreeHost", Pointer(s.host + 1));
  cu("cuMemFreeHost", s.memory);
  cu("cuMemFreeHost", Pointer(pageable));
  cu("cuMemFreeHost", Pointer(s.host));
  cu("cuMemFreeHost", Pointer(s.host));
}

SEQUENCE(memory_of_the_host_asked_wrongly) {
  Plain s;
  Pointer device = kNone;
  unsigned flags = 77;
  cu("cuMemHostGetDevicePointer_v2", &device, Pointer(s.host + 1), 0u);
  say("%td", device ? ptrdiff_t(device) - ptrdiff_t(s.host) : -1);
  cu("cuMemHostGetDevicePointer_v2", &device, Pointer(s.host), 1u);
  cu("cuMemHostGetDevicePointer_v2", &device, Pointer(pageable), 0u);
  cu("cuMemHostGetDevicePointer_v2", &device, s.memory, 0u);
  cu("cuMemHostGetDevicePointer_v2", &device, kNone, 0u);
  cu("cuMemHostGetDevicePointer_v2", static_cast<Pointer *>(nullptr), Pointer(s.host), 0u);
  cu("cuMemHostGetFlags", &flags, Pointer(s.host + 1));
  cu("cuMemHostGetFlags", &flags, Pointer(pageable));
  cu("cuMemHostGetFlags", &flags, s.memory);
  cu("cuMemHostGetFlags", &flags, kNone);
  cu("cuMemHostGetFlags", static_cast<unsigned *>(nullptr), Pointer(s.host));
}

SEQUENCE(ranges_of_memory) {
  Plain s;
  Pointer memory = kNone, managed = kNone;
  quiet("cuMemAlloc_v2", &memory, size_t(1000));
  quiet("cuMemAllocManaged", &managed, size_t(1000), 1u);
  auto ask = [](const char *what, Pointer pointer) {
    Pointer base = kNone;
    size_t bytes = 77;
    const int code = quiet("cuMemGetAddressRange_v2", &base, &bytes, pointer);
    say("%s: %d, %td, %zu", what, code, base ? ptrdiff_t(pointer) - ptrdiff_t(base) : -1, bytes);
  };
  ask("first", memory);
  ask("inside", at(memory, 999));
  ask("pinned", s.host + 1);
  ask("managed", at(managed, 8));
  ask("pageable", pageable);
  ask("null", kNone);
  Pointer base = kNone;
  size_t bytes = 0;
  cu("cuMemGetAddressRange_v2", &base, static_cast<size_t *>(nullptr), memory);
  cu("cuMemGetAddressRange_v2", static_cast<Pointer *>(nullptr), &bytes, memory);
  cu("cuMemGetAddressRange_v2", static_cast<Pointer *>(nullptr), static_cast<size_t *>(nullptr),
     memory);
}

SEQUENCE(memory_with_pitch) {
  Plain s;
  for (unsigned element : {0u, 1u, 2u, 4u, 8u, 16u, 32u}) {
    Pointer memory = kNone;
    size_t pitch = 0;
    const int code = quiet("cuMemAllocPitch_v2", &memory, &pitch, size_t(100), size_t(4), element);
    say("elements of %u: %d, %zu", element, code, pitch);
  }
  Pointer memory = kNone;
  size_t pitch = 0;
  cu("cuMemAllocPitch_v2", &memory, &pitch, size_t(0), size_t(4), 4u);
  cu("cuMemAllocPitch_v2", &memory, &pitch, size_t(100), size_t(0), 4u);
  cu("cuMemAllocPitch_v2", &memory, &pitch, size_t(513), size_t(1), 4u);
  say("%zu", pitch);
  cu("cuMemAllocPitch_v2", static_cast<Pointer *>(nullptr), &pitch, size_t(100), size_t(4), 4u);
  cu("cuMemAllocPitch_v2", &memory, static_cast<size_t *>(nullptr), size_t(100), size_t(4), 4u);
}

SEQUENCE(memory_counted) {
  Plain s;
  size_t free = 0, total = 0;
  Pointer memory = kNone;
  cu("cuMemGetInfo_v2", &free, &total);
  say("some %d", free && free <= total);
  cu("cuMemAlloc_v2", &memory, size_t(256 << 20));
  cu("cuMemFree_v2", memory);
  cu("cuMemGetInfo_v2", static_cast<size_t *>(nullptr), &total);
  cu("cuMemGetInfo_v2", &free, static_cast<size_t *>(nullptr));
  size_t bytes = 0;
  cu("cuDeviceTotalMem_v2", &bytes, 0);
  say("the same %d", bytes == total);
  cu("cuDeviceTotalMem_v2", &bytes, 99);
  cu("cuDeviceTotalMem_v2", static_cast<size_t *>(nullptr), 0);
}

SEQUENCE(addresses_of_devices_asked_wrongly) {
  cu("cuInit", 0u);
  char text[64] = "";
  int number = 77;
  cu("cuDeviceGetPCIBusId", &text[0], 64, 99);
  cu("cuDeviceGetPCIBusId", static_cast<char *>(nullptr), 64, 0);
  cu("cuDeviceGetPCIBusId", &text[0], 0, 0);
  cu("cuDeviceGetPCIBusId", &text[0], 5, 0);
  cu("cuDeviceGetPCIBusId", &text[0], -1, 0);
  cu("cuDeviceGetPCIBusId", &text[0], 13, 0);
  say("%zu", strlen(text));
  for (const char *id : {"", "nothing", "0000:00:00.0", "ffff:ff:1f.7"})
    say("'%s': %d", id, quiet("cuDeviceGetByPCIBusId", &number, id));
  cu("cuDeviceGetByPCIBusId", &number, static_cast<const char *>(nullptr));
  cu("cuDeviceGetByPCIBusId", static_cast<int *>(nullptr), "0000:00:00.0");
  for (int id : {-1, 0, 1, 200, 10000}) {
    const int code = quiet("cuDeviceGetAttribute", &number, id, 0);
    say("attribute %d: %d", id, code);
  }
  cu("cuDeviceGetAttribute", static_cast<int *>(nullptr), 1, 0);
  cu("cuDeviceGetAttribute", &number, 1, 99);
  size_t width = 0;
  cu("cuDeviceGetTexture1DLinearMaxWidth", &width, 32, 1u, 99);
  cu("cuDeviceGetTexture1DLinearMaxWidth", &width, 99, 1u, 0);
  cu("cuDeviceGetTexture1DLinearMaxWidth", &width, 32, 3u, 0);
}

} // namespace
} // namespace sequences
