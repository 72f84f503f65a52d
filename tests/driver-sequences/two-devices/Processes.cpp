// SPDX-License-Identifier: Apache-2.0
// Two processes with two devices, and processes that see other devices.
#include "tests/driver-sequences/Processes.h"
#include "tests/driver-sequences/VirtualMemory.h"
#include "tests/driver-sequences/two-devices/TwoDevices.h"
#include <cstdlib>

namespace sequences {
namespace {

constexpr unsigned kLazy = 1;

void fill(Pointer memory, unsigned value) {
  cu("cuMemsetD32_v2", memory, value, size_t(64));
  cu("cuCtxSynchronize");
}
IpcHandle handleOf(Pointer memory) {
  IpcHandle handle{};
  cu("cuIpcGetMemHandle", &handle, memory);
  return handle;
}
int deviceOf(Pointer memory) {
  int device = -1;
  const int code = quiet("cuPointerGetAttribute", Pointer(&device), 9, memory);
  return code ? -code : device;
}

/// The other process opens memory of `owner` in a context of `user`.
void openOn(int owner, int user) {
  Peer peer([=](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    TwoDevices d;
    use(d[user]);
    Pointer opened = kNone;
    cu("cuIpcOpenMemHandle_v2", &opened, handle, kLazy);
    say("word %d, of device %d", wordAt(opened), deviceOf(opened));
    sayLaunch("its user", d[user], opened, 1);
    other.give();
    other.take();
    say("word %d", wordAt(opened));
    cu("cuIpcCloseMemHandle", opened);
    other.give();
  });
  Plain s(owner);
  fill(s.memory, 40);
  peer.send(handleOf(s.memory));
  peer.take();
  sayMemory("memory", s.memory);
  fill(s.memory, 50);
  peer.give();
  peer.take();
  peer.end();
}

SEQUENCE(memory_opened_on_its_device) { openOn(1, 1); }
SEQUENCE(memory_opened_on_the_other_device) { openOn(1, 0); }
SEQUENCE(memory_of_the_first_opened_on_the_other_device) { openOn(0, 1); }

SEQUENCE(memory_opened_that_both_devices_use) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    TwoDevices d;
    d.enableBoth();
    Pointer opened = kNone, again = kNone;
    use(d.second);
    cu("cuIpcOpenMemHandle_v2", &opened, handle, kLazy);
    sayLaunch("device 1", d.second, opened, 1);
    use(d.first);
    cu("cuIpcOpenMemHandle_v2", &again, handle, kLazy);
    say("the same %d", opened == again);
    sayLaunch("device 0", d.first, again, 2);
    say("word %d", wordAt(again));
    cu("cuIpcCloseMemHandle", again);
    use(d.second);
    cu("cuIpcCloseMemHandle", opened);
    other.give();
  });
  Plain s(1);
  fill(s.memory, 60);
  peer.send(handleOf(s.memory));
  peer.take();
  sayMemory("memory", s.memory);
  peer.end();
}

/// A process that sees `list` opens memory of device 1 on its device 0.
void openWith(const char *list) {
  Peer peer([=](Peer &other) {
    setenv("CUDA_VISIBLE_DEVICES", list, 1);
    const auto handle = other.receive<IpcHandle>();
    int count = 0;
    Plain s;
    cu("cuDeviceGetCount", &count);
    say("%d devices", count);
    Pointer opened = kNone;
    cu("cuIpcOpenMemHandle_v2", &opened, handle, kLazy);
    say("word %d, of device %d", wordAt(opened), deviceOf(opened));
    if (opened)
      cu("cuIpcCloseMemHandle", opened);
    other.give();
  });
  Plain s(1);
  fill(s.memory, 70);
  peer.send(handleOf(s.memory));
  peer.take();
  peer.end();
}

SEQUENCE(memory_opened_by_who_sees_its_device_alone) { openWith("1"); }
SEQUENCE(memory_opened_by_who_sees_the_other_device_alone) { openWith("0"); }
SEQUENCE(memory_opened_by_who_sees_them_in_the_other_order) { openWith("1,0"); }

SEQUENCE(identities_in_two_processes) {
  struct Identity {
    char uuid[16], bus[16];
  };
  auto identities = [](int count, Identity *out) {
    cu("cuInit", 0u);
    for (int i = 0; i < count; ++i) {
      cu("cuDeviceGetUuid_v2", &out[i].uuid, i);
      cu("cuDeviceGetPCIBusId", &out[i].bus[0], 16, i);
    }
  };
  Peer peer([=](Peer &other) {
    setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    Identity mine[2] = {};
    identities(2, mine);
    other.send(mine[0]);
    other.send(mine[1]);
  });
  const auto first = peer.receive<Identity>(), second = peer.receive<Identity>();
  Identity mine[2] = {};
  identities(2, mine);
  for (int i : {0, 1})
    say("device %d is theirs %d %d", i, int(!memcmp(&mine[i], &first, sizeof(first))),
        int(!memcmp(&mine[i], &second, sizeof(second))));
  peer.end();
}

SEQUENCE(events_of_two_processes_and_devices) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    const auto memory = other.receive<IpcHandle>();
    TwoDevices d;
    Pointer event = kNone, opened = kNone;
    use(d.second);
    cu("cuIpcOpenEventHandle", &event, handle);
    cu("cuIpcOpenMemHandle_v2", &opened, memory, kLazy);
    cu("cuStreamWaitEvent", d.second.stream, event, 0u);
    cu("cuStreamSynchronize", d.second.stream);
    say("word %d", wordAt(opened));
    cu("cuEventRecord", event, d.second.stream);
    cu("cuStreamSynchronize", d.second.stream);
    cu("cuEventQuery", event);
    use(d.first);
    cu("cuEventRecord", event, d.first.stream);
    other.give();
    other.take();
  });
  Plain s;
  Pointer event = kNone;
  IpcHandle handle{};
  cu("cuEventCreate", &event, 6u);
  cu("cuIpcGetEventHandle", &handle, event);
  cu("cuMemsetD32Async", s.memory, 80u, size_t(64), s.stream);
  cu("cuEventRecord", event, s.stream);
  peer.send(handle);
  peer.send(handleOf(s.memory));
  peer.take();
  cu("cuEventSynchronize", event);
  peer.give();
  peer.end();
}

SEQUENCE(pool_of_a_process_and_the_other_device) {
  Peer peer([](Peer &other) {
    const int descriptor = other.receiveDescriptor();
    auto data = other.receive<IpcHandle>();
    TwoDevices d;
    Pointer pool = kNone, memory = kNone;
    cu("cuMemPoolImportFromShareableHandle", &pool, Pointer(intptr_t(descriptor)), 1, 0ull);
    close(descriptor);
    for (int i : {0, 1, 2}) {
      int flags = -1;
      const Place device{1, i};
      const int code = quiet("cuMemPoolGetAccess", &flags, pool, &device);
      say("access of device %d: %d, %d", i, code, flags);
    }
    cu("cuMemPoolImportPointer", &memory, pool, &data);
    say("word %d, of device %d", wordAt(memory), deviceOf(memory));
    const Access access{{1, 0}, 3};
    cu("cuMemPoolSetAccess", pool, &access, size_t(1));
    sayLaunch("device 1", d.second, memory, 1);
    sayLaunch("device 0", d.first, memory, 2);
    say("word %d", wordAt(memory));
    cu("cuMemFreeAsync", memory, d.first.stream);
    cu("cuStreamSynchronize", d.first.stream);
    cu("cuMemPoolDestroy", pool);
    other.give();
  });
  Plain s(1);
  const PoolProperties p{1, 1, 1, 1, kNone, 0, 0, {}};
  Pointer pool = kNone, memory = kNone;
  cu("cuMemPoolCreate", &pool, &p);
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), pool, s.stream);
  cu("cuMemsetD32Async", memory, 90u, size_t(64), s.stream);
  cu("cuStreamSynchronize", s.stream);
  int descriptor = -1;
  IpcHandle data{};
  cu("cuMemPoolExportToShareableHandle", Pointer(&descriptor), pool, 1, 0ull);
  cu("cuMemPoolExportPointer", &data, memory);
  peer.sendDescriptor(descriptor);
  close(descriptor);
  peer.send(data);
  peer.take();
  sayMemory("memory", memory);
  peer.end();
}

SEQUENCE(mapped_memory_of_a_process_and_the_other_device) {
  Peer peer([](Peer &other) {
    const int descriptor = other.receiveDescriptor();
    TwoDevices d;
    uint64_t handle = 0;
    Pointer range = kNone;
    cu("cuMemImportFromShareableHandle", &handle, Pointer(intptr_t(descriptor)), 1);
    close(descriptor);
    Properties p{};
    cu("cuMemGetAllocationPropertiesFromHandle", &p, handle);
    say("place %d %d", p.place.type, p.place.id);
    cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
    cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
    const Access both[] = {{{1, 0}, 3}, {{1, 1}, 3}};
    cu("cuMemSetAccess", range, kBlock, &both[0], size_t(2));
    say("word %d, of device %d", wordAt(range), deviceOf(range));
    sayLaunch("device 0", d.first, range, 1);
    sayLaunch("device 1", d.second, range, 2);
    other.give();
  });
  Plain s(1);
  const Properties p = pinned({1, 1}, 1);
  uint64_t handle = 0;
  Pointer range = kNone;
  cu("cuMemCreate", &handle, kBlock, &p, 0ull);
  cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  const Access access{{1, 1}, 3};
  cu("cuMemSetAccess", range, kBlock, &access, size_t(1));
  fill(range, 95);
  int descriptor = -1;
  cu("cuMemExportToShareableHandle", Pointer(&descriptor), handle, 1, 0ull);
  peer.sendDescriptor(descriptor);
  close(descriptor);
  peer.take();
  sayMemory("range", range);
  peer.end();
}

SEQUENCE(memory_of_two_processes_copied_between_devices) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s(1);
    Pointer opened = kNone;
    fill(s.memory, 7);
    cu("cuIpcOpenMemHandle_v2", &opened, handle, kLazy);
    cu("cuMemcpyDtoD_v2", opened, s.memory, size_t(256));
    cu("cuMemcpyDtoDAsync_v2", s.memory2, opened, size_t(256), s.stream);
    cu("cuStreamSynchronize", s.stream);
    sayMemory("memory2", s.memory2);
    other.give();
    other.take();
  });
  Plain s(0);
  peer.send(handleOf(s.memory));
  peer.take();
  sayMemory("memory", s.memory);
  peer.kill();
  sayMemory("after the other was killed", s.memory);
}

} // namespace
} // namespace sequences
