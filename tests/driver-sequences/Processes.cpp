// SPDX-License-Identifier: Apache-2.0
// What two processes share: memory, events, pools, handles of virtual memory; and handles that are
// none. Also what other libraries share.
#include "tests/driver-sequences/Processes.h"
#include "tests/driver-sequences/VirtualMemory.h"
#include <fcntl.h>
#include <sys/mman.h>

namespace sequences {
namespace {

constexpr unsigned kLazy = 1;

IpcHandle handleOf(Pointer memory) {
  IpcHandle handle{};
  cu("cuIpcGetMemHandle", &handle, memory);
  return handle;
}
int open(Pointer *out, const IpcHandle &handle, unsigned flags = kLazy) {
  return cu("cuIpcOpenMemHandle_v2", out, handle, flags);
}

SEQUENCE(memory_of_two_processes) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    open(&opened, handle);
    say("word %d", wordAt(opened));
    cu("cuMemsetD32_v2", opened, 12u, size_t(64));
    cu("cuCtxSynchronize");
    other.give();
    other.take();
    say("word %d", wordAt(at(opened, 252)));
    cu("cuIpcCloseMemHandle", opened);
    other.give();
  });
  Plain s;
  cu("cuMemsetD32_v2", s.memory, 11u, size_t(64));
  cu("cuCtxSynchronize");
  peer.send(handleOf(s.memory));
  peer.take();
  sayMemory("memory", s.memory);
  cu("cuMemsetD32_v2", s.memory, 13u, size_t(64));
  cu("cuCtxSynchronize");
  peer.give();
  peer.take();
  cu("cuMemFree_v2", s.memory);
  peer.end();
}

SEQUENCE(handles_of_memory) {
  Plain s;
  Pointer managed = kNone, pooled = kNone, big = kNone;
  quiet("cuMemAllocManaged", &managed, size_t(4096), 1u);
  quiet("cuMemAllocAsync", &pooled, size_t(4096), s.stream);
  quiet("cuMemAlloc_v2", &big, size_t(5 << 20));
  Mapped m(1);
  handleOf(s.memory);
  handleOf(at(s.memory, 100));
  handleOf(big);
  handleOf(at(big, 3 << 20));
  say("of the host");
  handleOf(s.host);
  say("managed");
  handleOf(managed);
  say("of a pool");
  handleOf(pooled);
  say("mapped");
  handleOf(m.range);
  say("none");
  handleOf(kNone);
  handleOf(&s);
  cu("cuIpcGetMemHandle", static_cast<IpcHandle *>(nullptr), s.memory);
}

SEQUENCE(memory_opened_wrongly) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    for (unsigned flags : {0u, 2u, 3u, 0x80000000u})
      open(&opened, handle, flags);
    open(static_cast<Pointer *>(nullptr), handle);
    IpcHandle wrong{};
    open(&opened, wrong);
    memset(&wrong, 0x5a, sizeof(wrong));
    open(&opened, wrong);
    open(&opened, handle);
    other.give();
  });
  Plain s;
  const IpcHandle handle = handleOf(s.memory);
  peer.send(handle);
  peer.take();
  Pointer opened = kNone;
  say("by its own process");
  open(&opened, handle);
  peer.end();
}

SEQUENCE(memory_opened_twice) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer first = kNone, second = kNone;
    open(&first, handle);
    cu("cuIpcOpenMemHandle", &second, handle, kLazy);
    say("the same %d", first == second);
    cu("cuIpcCloseMemHandle", first);
    say("word %d", wordAt(second));
    cu("cuIpcCloseMemHandle", second);
    cu("cuIpcCloseMemHandle", second);
    say("word %d", wordAt(second));
    other.give();
  });
  Plain s;
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(4 << 20));
  cu("cuMemsetD32_v2", memory, 5u, size_t(1 << 20));
  cu("cuCtxSynchronize");
  peer.send(handleOf(memory));
  peer.take();
  peer.end();
}

SEQUENCE(memory_closed_wrongly) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    open(&opened, handle);
    cu("cuIpcCloseMemHandle", at(opened, 4096));
    cu("cuIpcCloseMemHandle", s.memory);
    cu("cuIpcCloseMemHandle", Pointer(s.host));
    cu("cuIpcCloseMemHandle", kNone);
    cu("cuMemFree_v2", opened);
    say("word %d", wordAt(opened));
    cu("cuIpcCloseMemHandle", opened);
    other.give();
  });
  Plain s;
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(4 << 20));
  cu("cuMemsetD32_v2", memory, 6u, size_t(1 << 20));
  cu("cuCtxSynchronize");
  peer.send(handleOf(memory));
  peer.take();
  peer.end();
}

SEQUENCE(memory_opened_by_an_address_inside) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone, base = kNone;
    size_t bytes = 0;
    open(&opened, handle);
    say("word %d", wordAt(opened));
    cu("cuMemGetAddressRange_v2", &base, &bytes, opened);
    say("%td, %zx", base ? ptrdiff_t(opened) - ptrdiff_t(base) : -1, bytes);
    other.give();
  });
  Plain s;
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(4 << 20));
  cu("cuMemsetD32_v2", memory, 1u, size_t(1 << 20));
  cu("cuMemsetD32_v2", at(memory, 2 << 20), 2u, size_t(1));
  cu("cuCtxSynchronize");
  peer.send(handleOf(at(memory, 2 << 20)));
  peer.take();
  peer.end();
}

SEQUENCE(attributes_of_opened_memory) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    open(&opened, handle);
    for (int id : {1, 2, 3, 5, 6, 8, 9, 10, 13, 14, 15, 16, 17}) {
      uint64_t words[4] = {77, 0, 0, 0};
      const int code = quiet("cuPointerGetAttribute", Pointer(words), id, opened);
      const bool isAddress = id == 1 || id == 3;
      say("attribute %d: %d, %s", id, code,
          code        ? ""
          : isAddress ? words[0] == uint64_t(opened) ? "itself"
                        : words[0]                   ? "set"
                                                     : "0"
                      : std::to_string(int(words[0])).c_str());
    }
    IpcHandle again{};
    cu("cuIpcGetMemHandle", &again, opened);
    cu("cuMemFreeAsync", opened, s.stream);
    cu("cuMemHostUnregister", opened);
    other.give();
  });
  Plain s;
  Pointer memory = kNone;
  cu("cuMemAlloc_v2", &memory, size_t(4 << 20));
  peer.send(handleOf(memory));
  peer.take();
  peer.end();
}

SEQUENCE(memory_whose_process_died) {
  Peer peer([](Peer &other) {
    Plain s;
    other.send(handleOf(s.memory));
    other.take();
  });
  const auto handle = peer.receive<IpcHandle>();
  peer.kill();
  Plain s;
  Pointer opened = kNone;
  open(&opened, handle);
}

SEQUENCE(memory_freed_by_its_process) {
  Peer peer([](Peer &other) {
    Plain s;
    Pointer memory = kNone;
    cu("cuMemAlloc_v2", &memory, size_t(4 << 20));
    other.send(handleOf(memory));
    other.take();
    cu("cuMemFree_v2", memory);
    other.give();
    other.take();
  });
  const auto handle = peer.receive<IpcHandle>();
  peer.give();
  peer.take();
  Plain s;
  Pointer opened = kNone;
  open(&opened, handle);
  peer.give();
  peer.end();
}

SEQUENCE(memory_whose_user_died) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    open(&opened, handle);
    cu("cuMemsetD32_v2", opened, 3u, size_t(64));
    cu("cuCtxSynchronize");
    other.give();
    other.take();
  });
  Plain s;
  peer.send(handleOf(s.memory));
  peer.take();
  peer.kill();
  sayMemory("memory", s.memory);
  cu("cuMemFree_v2", s.memory);
}

SEQUENCE(memory_in_a_child_of_a_process_with_a_driver) {
  cu("cuInit", 0u);
  Pointer context = kNone;
  cu("cuCtxCreate_v2", &context, 0u, 0);
  Peer peer([](Peer &) {
    Pointer memory = kNone;
    int count = 0;
    cu("cuInit", 0u);
    cu("cuDeviceGetCount", &count);
    cu("cuMemAlloc_v2", &memory, size_t(64));
    cu("cuCtxGetCurrent", &memory);
  });
  peer.end();
}

SEQUENCE(events_of_two_processes) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer event = kNone;
    cu("cuIpcOpenEventHandle", &event, handle);
    cu("cuEventQuery", event);
    cu("cuEventSynchronize", event);
    cu("cuStreamWaitEvent", s.stream, event, 0u);
    cu("cuStreamSynchronize", s.stream);
    IpcHandle again{};
    cu("cuIpcGetEventHandle", &again, event);
    float time = 0;
    cu("cuEventElapsedTime", &time, event, event);
    cu("cuEventRecord", event, s.stream);
    cu("cuStreamSynchronize", s.stream);
    cu("cuEventDestroy_v2", event);
    other.give();
  });
  Plain s;
  Pointer event = kNone;
  IpcHandle handle{};
  cu("cuEventCreate", &event, 6u);
  cu("cuIpcGetEventHandle", &handle, event);
  cu("cuEventRecord", event, s.stream);
  cu("cuStreamSynchronize", s.stream);
  peer.send(handle);
  peer.take();
  cu("cuEventSynchronize", event);
  cu("cuEventDestroy_v2", event);
  peer.end();
}

SEQUENCE(events_shared_wrongly) {
  Plain s;
  IpcHandle handle{};
  for (unsigned flags : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 14u}) {
    Pointer event = kNone;
    const int made = quiet("cuEventCreate", &event, flags);
    const int got = made ? -1 : quiet("cuIpcGetEventHandle", &handle, event);
    say("flags %u: %d, handle %d", flags, made, got);
  }
  Pointer event = kNone;
  cu("cuEventCreate", &event, 6u);
  cu("cuIpcGetEventHandle", static_cast<IpcHandle *>(nullptr), event);
  cu("cuIpcGetEventHandle", &handle, kNone);
  cu("cuIpcGetEventHandle", &handle, event);
  Pointer opened = kNone;
  say("by its own process");
  cu("cuIpcOpenEventHandle", &opened, handle);
  cu("cuIpcOpenEventHandle", static_cast<Pointer *>(nullptr), handle);
  memset(&handle, 0, sizeof(handle));
  cu("cuIpcOpenEventHandle", &opened, handle);
  memset(&handle, 0x5a, sizeof(handle));
  cu("cuIpcOpenEventHandle", &opened, handle);
}

SEQUENCE(event_whose_process_died) {
  Peer peer([](Peer &other) {
    Plain s;
    Pointer event = kNone;
    IpcHandle handle{};
    cu("cuEventCreate", &event, 6u);
    cu("cuIpcGetEventHandle", &handle, event);
    cu("cuEventRecord", event, s.stream);
    cu("cuStreamSynchronize", s.stream);
    other.send(handle);
    other.take();
  });
  const auto handle = peer.receive<IpcHandle>();
  peer.kill();
  Plain s;
  Pointer event = kNone;
  cu("cuIpcOpenEventHandle", &event, handle);
}

SEQUENCE(mapped_memory_of_two_processes) {
  Peer peer([](Peer &other) {
    const int descriptor = other.receiveDescriptor();
    Plain s;
    uint64_t handle = 0;
    Pointer range = kNone;
    cu("cuMemImportFromShareableHandle", &handle, Pointer(intptr_t(descriptor)), 1);
    close(descriptor);
    cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
    cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
    setAccess(range, kBlock);
    say("word %d", wordAt(range));
    cu("cuMemsetD32_v2", range, 22u, size_t(64));
    cu("cuCtxSynchronize");
    other.give();
    other.take();
    say("word %d", wordAt(range));
    int descriptor2 = -1;
    cu("cuMemExportToShareableHandle", Pointer(&descriptor2), handle, 1, 0ull);
    other.give();
  });
  Plain s;
  const uint64_t handle = makeHandle(1, 1);
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, kBlock, size_t(0), kNone, 0ull);
  cu("cuMemMap", range, kBlock, size_t(0), handle, 0ull);
  setAccess(range, kBlock);
  cu("cuMemsetD32_v2", range, 21u, size_t(64));
  cu("cuCtxSynchronize");
  int descriptor = -1;
  cu("cuMemExportToShareableHandle", Pointer(&descriptor), handle, 1, 0ull);
  peer.sendDescriptor(descriptor);
  close(descriptor);
  peer.take();
  sayMemory("range", range);
  cu("cuMemUnmap", range, kBlock);
  cu("cuMemRelease", handle);
  peer.give();
  peer.take();
  peer.end();
}

SEQUENCE(pools_of_two_processes) {
  Peer peer([](Peer &other) {
    const int descriptor = other.receiveDescriptor();
    const auto data = other.receive<IpcHandle>();
    Plain s;
    Pointer pool = kNone, memory = kNone, more = kNone;
    cu("cuMemPoolImportFromShareableHandle", &pool, Pointer(intptr_t(descriptor)), 1, 0ull);
    close(descriptor);
    IpcHandle copy = data;
    cu("cuMemPoolImportPointer", &memory, pool, &copy);
    say("word %d", wordAt(memory));
    cu("cuMemsetD32Async", memory, 32u, size_t(64), s.stream);
    cu("cuStreamSynchronize", s.stream);
    cu("cuMemAllocFromPoolAsync", &more, size_t(256), pool, s.stream);
    int flags = -1;
    const Place device{1, 0};
    cu("cuMemPoolGetAccess", &flags, pool, &device);
    say("access %d", flags);
    IpcHandle again{};
    cu("cuMemPoolExportPointer", &again, memory);
    copy = IpcHandle{};
    cu("cuMemPoolImportPointer", &more, pool, &copy);
    cu("cuMemFreeAsync", memory, s.stream);
    cu("cuStreamSynchronize", s.stream);
    other.give();
    other.take();
    cu("cuMemPoolDestroy", pool);
    other.give();
  });
  Plain s;
  const PoolProperties p{1, 1, 1, 0, kNone, 0, 0, {}};
  Pointer pool = kNone, memory = kNone;
  cu("cuMemPoolCreate", &pool, &p);
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), pool, s.stream);
  cu("cuMemsetD32Async", memory, 31u, size_t(64), s.stream);
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
  cu("cuMemFreeAsync", memory, s.stream);
  cu("cuStreamSynchronize", s.stream);
  cu("cuMemPoolDestroy", pool);
  peer.give();
  peer.take();
  peer.end();
}

SEQUENCE(words_in_memory_of_another_process) {
  Peer peer([](Peer &other) {
    const auto handle = other.receive<IpcHandle>();
    Plain s;
    Pointer opened = kNone;
    open(&opened, handle);
    cu("cuStreamWaitValue32_v2", s.stream, opened, 5u, 1u);
    cu("cuStreamWriteValue32_v2", s.stream, at(opened, 4), 6u, 0u);
    cu("cuStreamQuery", s.stream);
    other.give();
    quiet("cuStreamSynchronize", s.stream);
    other.take();
  });
  Plain s;
  peer.send(handleOf(s.memory));
  peer.take();
  cu("cuStreamWriteValue32_v2", s.stream, s.memory, 5u, 0u);
  cu("cuStreamSynchronize", s.stream);
  cu("cuStreamWaitValue32_v2", s.stream, at(s.memory, 4), 6u, 1u);
  cu("cuStreamSynchronize", s.stream);
  sayMemory("memory", s.memory);
  peer.give();
  peer.end();
}

// ---------- Of other libraries

struct ExternalHandle { // CUDA_EXTERNAL_MEMORY_HANDLE_DESC
  int type;
  union {
    int descriptor;
    Pointer windows[2];
  };
  unsigned long long size;
  unsigned flags, reserved[16];
};
struct SemaphoreHandle { // CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC
  int type;
  union {
    int descriptor;
    Pointer windows[2];
  };
  unsigned flags, reserved[16];
};
static_assert(sizeof(ExternalHandle) == 104 && sizeof(SemaphoreHandle) == 96);

int memoryFile() {
  const int file = memfd_create("memory", 0);
  if (file < 0 || ftruncate(file, 4096))
    say("no file");
  return file;
}

SEQUENCE(external_memory_imported_wrongly) {
  Plain s;
  Pointer memory = kNone;
  auto import = [&](const char *what, ExternalHandle wanted) {
    say("%s: %d", what,
        quiet("cuImportExternalMemory", &memory, static_cast<const ExternalHandle *>(&wanted)));
  };
  ExternalHandle good{};
  good.type = 1;
  good.size = 4096;
  for (int type : {-1, 0, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99}) {
    ExternalHandle wanted = good;
    wanted.type = type;
    wanted.descriptor = memoryFile();
    say("type %d", type);
    import("  of a file", wanted);
  }
  for (int descriptor : {-1, 1000}) {
    ExternalHandle wanted = good;
    wanted.descriptor = descriptor;
    say("descriptor %d", descriptor);
    import("  of no file", wanted);
  }
  ExternalHandle wanted = good;
  wanted.descriptor = memoryFile();
  wanted.size = 0;
  import("of no size", wanted);
  wanted.size = 4096;
  wanted.flags = 2;
  import("with flags", wanted);
  wanted.flags = 0;
  wanted.descriptor = ::open("/dev/null", O_RDWR);
  import("of /dev/null", wanted);
  cu("cuImportExternalMemory", &memory, static_cast<const ExternalHandle *>(nullptr));
  cu("cuImportExternalMemory", static_cast<Pointer *>(nullptr),
     static_cast<const ExternalHandle *>(&good));
}

SEQUENCE(external_memory_of_null) {
  Plain s;
  Pointer mapped = kNone;
  struct {
    unsigned long long offset, size;
    unsigned flags, reserved[16];
  } buffer{0, 4096, 0, {}};
  cu("cuExternalMemoryGetMappedBuffer", &mapped, kNone, &buffer);
  cu("cuDestroyExternalMemory", kNone);
}

SEQUENCE(semaphores_imported_wrongly) {
  Plain s;
  Pointer semaphore = kNone;
  auto import = [&](const char *what, SemaphoreHandle wanted) {
    say("%s: %d", what,
        quiet("cuImportExternalSemaphore", &semaphore,
              static_cast<const SemaphoreHandle *>(&wanted)));
  };
  SemaphoreHandle wanted{};
  for (int type : {-1, 0, 2, 3, 4, 5, 6, 7, 8, 10, 11, 99}) {
    wanted.type = type;
    wanted.windows[0] = wanted.windows[1] = kNone;
    say("type %d", type);
    import("  of null", wanted);
    wanted.descriptor = memoryFile();
    import("  of a file", wanted);
  }
  for (int type : {1, 9})
    for (int descriptor : {-1, 1000}) {
      wanted.type = type;
      wanted.descriptor = descriptor;
      say("type %d, descriptor %d", type, descriptor);
      import("  of no file", wanted);
    }
  for (int type : {1, 9}) {
    wanted.type = type;
    wanted.descriptor = ::open("/dev/null", O_RDWR);
    say("type %d", type);
    import("  of /dev/null", wanted);
    wanted.flags = 1;
    import("  with flags", wanted);
    wanted.flags = 0;
  }
  cu("cuImportExternalSemaphore", &semaphore, static_cast<const SemaphoreHandle *>(nullptr));
  cu("cuImportExternalSemaphore", static_cast<Pointer *>(nullptr),
     static_cast<const SemaphoreHandle *>(&wanted));
}

struct SemaphoreParameters { // CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS, .._WAIT_PARAMS
  uint64_t words[9];
  unsigned flags, reserved[16];
};
static_assert(sizeof(SemaphoreParameters) == 144);

SEQUENCE(no_semaphores_signalled) {
  Plain s;
  SemaphoreParameters parameters[2] = {};
  Pointer semaphores[2] = {};
  Pointer *none = nullptr;
  for (const char *name : {"cuSignalExternalSemaphoresAsync", "cuWaitExternalSemaphoresAsync"}) {
    cu(name, &semaphores[0], &parameters[0], 0u, s.stream);
    cu(name, none, Pointer(nullptr), 0u, s.stream);
    cu(name, &semaphores[0], &parameters[0], 0u, kNone);
    cu(name, none, &parameters[0], 1u, s.stream);
    cu(name, &semaphores[0], Pointer(nullptr), 1u, s.stream);
  }
}

SEQUENCE(semaphore_null_signalled) {
  Plain s;
  SemaphoreParameters parameters{};
  Pointer semaphore = kNone;
  cu("cuSignalExternalSemaphoresAsync", &semaphore, &parameters, 1u, s.stream);
}
SEQUENCE(semaphore_null_awaited) {
  Plain s;
  SemaphoreParameters parameters{};
  Pointer semaphore = kNone;
  cu("cuWaitExternalSemaphoresAsync", &semaphore, &parameters, 1u, s.stream);
}
SEQUENCE(semaphore_null_destroyed) {
  Plain s;
  cu("cuDestroyExternalSemaphore", kNone);
}

struct SemaphoreNode { // CUDA_EXT_SEM_SIGNAL_NODE_PARAMS, CUDA_EXT_SEM_WAIT_NODE_PARAMS
  Pointer *semaphores;
  const SemaphoreParameters *parameters;
  unsigned count;
};

SEQUENCE(nodes_of_no_semaphores) {
  Plain s;
  SemaphoreParameters parameters[2] = {};
  Pointer semaphores[2] = {};
  SemaphoreNode node{semaphores, parameters, 0};
  Pointer graph = makeGraph(), made = kNone, empty = kNone;
  const Pointer *before = nullptr;
  for (const char *name :
       {"cuGraphAddExternalSemaphoresSignalNode", "cuGraphAddExternalSemaphoresWaitNode"}) {
    cu(name, &made, graph, before, size_t(0), &node);
    cu(name, &made, graph, before, size_t(0), static_cast<SemaphoreNode *>(nullptr));
    cu(name, static_cast<Pointer *>(nullptr), graph, before, size_t(0), &node);
    cu(name, &made, kNone, before, size_t(0), &node);
  }
  sayGraph("graph", graph);
  quiet("cuGraphAddEmptyNode", &empty, graph, before, size_t(0));
  for (const char *name : {"cuGraphExternalSemaphoresSignalNodeGetParams",
                           "cuGraphExternalSemaphoresSignalNodeSetParams",
                           "cuGraphExternalSemaphoresWaitNodeGetParams",
                           "cuGraphExternalSemaphoresWaitNodeSetParams"}) {
    cu(name, empty, &node);
    cu(name, kNone, &node);
  }
}

SEQUENCE(node_of_semaphore_null) {
  Plain s;
  SemaphoreParameters parameters[2] = {};
  Pointer semaphores[2] = {};
  SemaphoreNode node{semaphores, parameters, 1};
  Pointer graph = makeGraph(), made = kNone;
  const Pointer *before = nullptr;
  cu("cuGraphAddExternalSemaphoresSignalNode", &made, graph, before, size_t(0), &node);
  cu("cuGraphAddExternalSemaphoresWaitNode", &made, graph, before, size_t(0), &node);
}

} // namespace
} // namespace sequences
