// SPDX-License-Identifier: Apache-2.0
// Which device may use which device's memory.
#include "tests/driver-sequences/two-devices/TwoDevices.h"

namespace sequences {
namespace {

SEQUENCE(peers_asked) {
  cu("cuInit", 0u);
  int count = 0;
  cu("cuDeviceGetCount", &count);
  say("%d", count);
  for (int from : {-1, 0, 1, 2})
    for (int to : {-1, 0, 1, 2}) {
      int can = 77;
      const int code = quiet("cuDeviceCanAccessPeer", &can, from, to);
      say("%d to %d: %d, %d", from, to, code, can);
    }
  cu("cuDeviceCanAccessPeer", static_cast<int *>(nullptr), 0, 1);
}

SEQUENCE(attributes_of_peers) {
  cu("cuInit", 0u);
  for (int id : {-1, 0, 1, 2, 3, 4, 5, 6, 99})
    for (int from : {0, 1}) {
      int value = 77;
      const int code = quiet("cuDeviceGetP2PAttribute", &value, id, from, 1 - from);
      say("attribute %d, %d to %d: %d, %d", id, from, 1 - from, code, value);
    }
  int value = 77;
  cu("cuDeviceGetP2PAttribute", &value, 2, 0, 2);
  cu("cuDeviceGetP2PAttribute", &value, 2, 2, 0);
  cu("cuDeviceGetP2PAttribute", &value, 2, 1, 1);
  cu("cuDeviceGetP2PAttribute", static_cast<int *>(nullptr), 2, 0, 1);
}

SEQUENCE(atomic_operations_of_peers) {
  cu("cuInit", 0u);
  int operations[13];
  unsigned capabilities[13] = {};
  for (int i = 0; i < 13; ++i)
    operations[i] = i;
  const int *list = operations, *null = nullptr;
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 13u, 0, 1);
  for (int i = 0; i < 13; ++i)
    say("operation %d: %x", i, capabilities[i]);
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 0u, 0, 1);
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], null, 1u, 0, 1);
  cu("cuDeviceGetP2PAtomicCapabilities", static_cast<unsigned *>(nullptr), list, 1u, 0, 1);
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 1u, 1, 1);
  cu("cuDeviceGetP2PAtomicCapabilities", &capabilities[0], list, 1u, 0, 2);
}

SEQUENCE(peer_access_switched) {
  TwoDevices d;
  cu("cuCtxEnablePeerAccess", d.second.context, 1u);
  cu("cuCtxEnablePeerAccess", d.first.context, 0u);
  cu("cuCtxEnablePeerAccess", kNone, 0u);
  cu("cuCtxDisablePeerAccess", d.second.context);
  cu("cuCtxEnablePeerAccess", d.second.context, 0u);
  cu("cuCtxEnablePeerAccess", d.second.context, 0u);
  cu("cuCtxDisablePeerAccess", d.second.context);
  cu("cuCtxDisablePeerAccess", d.second.context);
  cu("cuCtxDisablePeerAccess", d.first.context);
  cu("cuCtxDisablePeerAccess", kNone);
  cu("cuCtxSetCurrent", kNone);
  cu("cuCtxEnablePeerAccess", d.second.context, 0u);
  cu("cuCtxDisablePeerAccess", d.second.context);
}

SEQUENCE(peer_access_between_primary_contexts) {
  cu("cuInit", 0u);
  Pointer first = kNone, second = kNone, other = kNone;
  cu("cuDevicePrimaryCtxRetain", &first, 0);
  cu("cuDevicePrimaryCtxRetain", &second, 1);
  cu("cuCtxSetCurrent", first);
  cu("cuCtxEnablePeerAccess", second, 0u);
  cu("cuCtxCreate_v2", &other, 0u, 1);
  say("another context of device 1, from that of device 0");
  cu("cuCtxSetCurrent", first);
  cu("cuCtxEnablePeerAccess", other, 0u);
  cu("cuCtxDisablePeerAccess", other);
  cu("cuCtxEnablePeerAccess", second, 0u);
  say("from another context of device 1");
  cu("cuCtxSetCurrent", other);
  cu("cuCtxEnablePeerAccess", second, 0u);
  cu("cuCtxEnablePeerAccess", first, 0u);
  cu("cuDevicePrimaryCtxRelease_v2", 1);
  cu("cuCtxSetCurrent", first);
  cu("cuCtxDisablePeerAccess", second);
}

SEQUENCE(memory_of_a_peer_used) {
  TwoDevices d;
  d.enableBoth();
  sayLaunch("device 0", d.first, d.second.memory, 5);
  sayLaunch("device 1", d.second, d.first.memory, 6);
  sayLaunch("device 1, its own", d.second, d.second.memory, 1);
  sayWords("memory of 0", d.first.memory);
  sayWords("memory of 1", d.second.memory);
  use(d.first);
  Pointer later = kNone;
  use(d.second);
  cu("cuMemAlloc_v2", &later, size_t(256));
  cu("cuMemsetD32_v2", later, 3u, size_t(64));
  cu("cuCtxSynchronize");
  sayLaunch("memory that came later", d.first, later, 4);
  sayWords("it", later);
}

SEQUENCE(memory_of_a_peer_used_without_access) {
  TwoDevices d;
  sayLaunch("device 0", d.first, d.second.memory, 5);
}

SEQUENCE(memory_of_a_peer_used_in_the_other_direction) {
  TwoDevices d;
  cu("cuCtxEnablePeerAccess", d.second.context, 0u);
  sayLaunch("device 0", d.first, d.second.memory, 5);
  sayLaunch("device 1", d.second, d.first.memory, 6);
}

SEQUENCE(memory_of_a_peer_used_after_access) {
  TwoDevices d;
  cu("cuCtxEnablePeerAccess", d.second.context, 0u);
  sayLaunch("before", d.first, d.second.memory, 5);
  cu("cuCtxDisablePeerAccess", d.second.context);
  sayLaunch("after", d.first, d.second.memory, 6);
}

SEQUENCE(context_of_a_peer_that_ended) {
  TwoDevices d;
  d.enableBoth();
  cu("cuCtxDestroy_v2", d.second.context);
  use(d.first);
  cu("cuCtxSynchronize");
  cu("cuMemsetD32_v2", d.second.memory, 1u, size_t(64));
  sayLaunch("its own memory", d.first, d.first.memory, 2);
  sayWords("memory of 0", d.first.memory);
}

SEQUENCE(primary_context_of_a_peer_that_begins_again) {
  Setup first(0);
  Pointer primary = kNone, memory = kNone;
  for (bool isReset : {false, true}) {
    cu("cuDevicePrimaryCtxRetain", &primary, 1);
    cu("cuCtxSetCurrent", first.context);
    cu("cuCtxEnablePeerAccess", primary, 0u);
    if (isReset)
      cu("cuDevicePrimaryCtxReset_v2", 1);
    else
      cu("cuDevicePrimaryCtxRelease_v2", 1);
    cu("cuCtxEnablePeerAccess", primary, 0u);
    cu("cuCtxDisablePeerAccess", primary);
    cu("cuDevicePrimaryCtxRetain", &primary, 1);
    cu("cuCtxSetCurrent", primary);
    cu("cuMemAlloc_v2", &memory, size_t(256));
    cu("cuCtxSetCurrent", first.context);
    cu("cuCtxEnablePeerAccess", primary, 0u);
    sayLaunch("device 0", first, memory, 1);
    cu("cuCtxDisablePeerAccess", primary);
  }
}

SEQUENCE(fills_of_memory_of_a_peer) {
  TwoDevices d;
  cu("cuMemsetD32_v2", d.second.memory, 7u, size_t(64));
  cu("cuMemsetD32Async", d.second.memory, 8u, size_t(32), d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  sayWords("without access", d.second.memory);
  d.enableBoth();
  cu("cuMemsetD32Async", d.second.memory, 9u, size_t(64), d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  sayWords("with access", d.second.memory);
  cu("cuMemsetD2D32_v2", d.second.memory, size_t(128), 5u, size_t(4), size_t(2));
  cu("cuCtxSynchronize");
  sayWords("rows", d.second.memory);
}

SEQUENCE(memory_of_a_peer_asked) {
  TwoDevices d;
  auto ask = [&](const char *what, Pointer memory) {
    Pointer context = kNone;
    int type = -1, device = -1;
    unsigned managed = 77;
    const int first = quiet("cuPointerGetAttribute", Pointer(&context), 1, memory);
    const int second = quiet("cuPointerGetAttribute", Pointer(&type), 2, memory);
    const int third = quiet("cuPointerGetAttribute", Pointer(&device), 9, memory);
    const int fourth = quiet("cuPointerGetAttribute", Pointer(&managed), 8, memory);
    say("%s: %d %s, %d type %d, %d device %d, %d managed %u", what, first, nameOf(context), second,
        type, third, device, fourth, managed & 1);
    Pointer seen = kNone;
    const int code = quiet("cuPointerGetAttribute", Pointer(&seen), 3, memory);
    say("  device pointer %d: %s", code, nameOf(seen));
  };
  ask("device 0", d.first.memory);
  ask("device 1", d.second.memory);
  ask("host of 1", Pointer(d.second.host));
  d.enableBoth();
  ask("device 1, with access", d.second.memory);
  Pointer base = kNone;
  size_t bytes = 0;
  cu("cuMemGetAddressRange_v2", &base, &bytes, at(d.second.memory, 100));
  say("%s, %zu", nameOf(base), bytes);
  cu("cuMemFree_v2", d.second.memory);
  ask("freed by the other", d.second.memory);
}

SEQUENCE(memory_of_two_devices_counted) {
  TwoDevices d;
  size_t before[2] = {}, after[2] = {}, total = 0;
  auto count = [&](size_t *out) {
    for (int i : {0, 1}) {
      use(d[i]);
      cu("cuMemGetInfo_v2", &out[i], &total);
    }
  };
  count(before);
  Pointer memory = kNone;
  use(d.second);
  cu("cuMemAlloc_v2", &memory, size_t(64) << 20);
  count(after);
  say("device 0 lost %zu MiB, device 1 %zu", (before[0] - after[0]) >> 20,
      (before[1] - after[1]) >> 20);
  use(d.first);
  cu("cuMemFree_v2", memory);
  count(after);
  say("device 0 lost %zu MiB, device 1 %zu", (before[0] - after[0]) >> 20,
      (before[1] - after[1]) >> 20);
}

SEQUENCE(devices_that_are_visible) {
  cu("cuInit", 0u);
  char uuids[2][16] = {}, bus[2][16] = {};
  for (int i : {0, 1}) {
    cu("cuDeviceGetUuid_v2", &uuids[i], i);
    cu("cuDeviceGetPCIBusId", &bus[i][0], 16, i);
    int device = -1;
    cu("cuDeviceGetByPCIBusId", &device, static_cast<const char *>(bus[i]));
    say("device %d", device);
  }
  say("the same UUID %d, the same bus %d", std::string(uuids[0], 16) == std::string(uuids[1], 16),
      std::string(bus[0]) == std::string(bus[1]));
  int device = 77;
  cu("cuDeviceGet", &device, 1);
  say("%d", device);
  cu("cuDeviceGet", &device, 2);
  cu("cuDeviceGetByPCIBusId", &device, "ffff:ff:1f.0");
}

} // namespace
} // namespace sequences
