// SPDX-License-Identifier: Apache-2.0
// Pools, mapped and managed memory of two devices.
#include "tests/driver-sequences/VirtualMemory.h"
#include "tests/driver-sequences/two-devices/TwoDevices.h"

namespace sequences {
namespace {

int setPoolAccess(Pointer pool, Place place, int flags) {
  const Access access{place, flags};
  return quiet("cuMemPoolSetAccess", pool, static_cast<const Access *>(&access), size_t(1));
}
void sayPoolAccess(Pointer pool) {
  for (int i : {0, 1, 2}) {
    int flags = -1;
    Place place{1, i};
    const int code = quiet("cuMemPoolGetAccess", &flags, pool, &place);
    say("  access of device %d: %d, %d", i, code, flags);
  }
}

SEQUENCE(pools_of_two_devices) {
  TwoDevices d;
  Pointer pools[2] = {};
  for (int i : {0, 1}) {
    cu("cuDeviceGetDefaultMemPool", &pools[i], i);
    sayPoolAccess(pools[i]);
  }
  say("differ %d", pools[0] != pools[1]);
  Pointer memory = kNone, own = kNone;
  use(d.first);
  cu("cuMemAllocFromPoolAsync", &memory, size_t(256), pools[1], d.first.stream);
  cu("cuMemAllocAsync", &own, size_t(256), d.second.stream);
  for (Pointer p : {memory, own}) {
    int device = -1;
    cu("cuPointerGetAttribute", Pointer(&device), 9, p);
    say("device %d", device);
  }
  cu("cuMemsetD32Async", own, 3u, size_t(64), d.second.stream);
  cu("cuStreamSynchronize", d.second.stream);
  sayLaunch("device 1", d.second, own, 1);
  sayWords("own", own);
  say("access %d", setPoolAccess(pools[1], {1, 0}, 3));
  sayPoolAccess(pools[1]);
  sayLaunch("device 0", d.first, own, 1);
  sayWords("own", own);
  cu("cuMemFreeAsync", memory, d.first.stream);
  cu("cuMemFreeAsync", own, d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
}

SEQUENCE(pool_of_a_peer_without_access) {
  TwoDevices d;
  d.enableBoth();
  Pointer memory = kNone;
  cu("cuMemAllocAsync", &memory, size_t(256), d.second.stream);
  cu("cuStreamSynchronize", d.second.stream);
  sayLaunch("device 0", d.first, memory, 1);
}

SEQUENCE(pool_of_a_peer_after_access) {
  TwoDevices d;
  Pointer pool = kNone, memory = kNone;
  cu("cuDeviceGetDefaultMemPool", &pool, 1);
  say("access %d", setPoolAccess(pool, {1, 0}, 3));
  cu("cuMemAllocAsync", &memory, size_t(256), d.second.stream);
  cu("cuStreamSynchronize", d.second.stream);
  sayLaunch("device 0", d.first, memory, 1);
  say("access %d", setPoolAccess(pool, {1, 0}, 0));
  sayPoolAccess(pool);
  sayLaunch("device 0", d.first, memory, 1);
}

SEQUENCE(access_to_pools_set_wrongly) {
  TwoDevices d;
  Pointer pool = kNone;
  cu("cuDeviceGetDefaultMemPool", &pool, 1);
  for (Place place : {Place{1, 0}, {1, 1}, {1, 2}, {1, -1}, {2, 0}, {3, 0}, {0, 0}})
    for (int flags : {0, 1, 2, 3, 7})
      say("place %d %d, flags %d: %d", place.type, place.id, flags,
          setPoolAccess(pool, place, flags));
  const Access both[] = {{{1, 0}, 3}, {{1, 1}, 3}};
  cu("cuMemPoolSetAccess", pool, &both[0], size_t(2));
  const Access twice[] = {{{1, 0}, 3}, {{1, 0}, 0}};
  cu("cuMemPoolSetAccess", pool, &twice[0], size_t(2));
  sayPoolAccess(pool);
}

SEQUENCE(pool_set_for_the_other_device) {
  TwoDevices d;
  Pointer pool = kNone, current = kNone;
  cu("cuDeviceGetDefaultMemPool", &pool, 1);
  cu("cuDeviceSetMemPool", 0, pool);
  cu("cuDeviceGetMemPool", &current, 0);
  say("it is that of 1: %d", current == pool);
  Pointer memory = kNone;
  cu("cuMemAllocAsync", &memory, size_t(256), d.first.stream);
  int device = -1;
  cu("cuPointerGetAttribute", Pointer(&device), 9, memory);
  say("device %d", device);
}

int setAccessOf(Pointer where, size_t bytes, int device, int flags = 3) {
  const Access access{{1, device}, flags};
  return quiet("cuMemSetAccess", where, bytes, static_cast<const Access *>(&access), size_t(1));
}
Pointer mapOf(int device, size_t blocks) {
  Pointer range = kNone;
  cu("cuMemAddressReserve", &range, blocks * kBlock, size_t(0), kNone, 0ull);
  for (size_t i = 0; i < blocks; ++i) {
    const Properties p = pinned({1, device < 0 ? int(i % 2) : device});
    uint64_t handle = 0;
    cu("cuMemCreate", &handle, kBlock, &p, 0ull);
    cu("cuMemMap", at(range, i * kBlock), kBlock, size_t(0), handle, 0ull);
    cu("cuMemRelease", handle);
  }
  return range;
}

SEQUENCE(mapped_memory_of_two_devices) {
  TwoDevices d;
  Pointer range = mapOf(1, 1);
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  use(d.second);
  cu("cuMemsetD32_v2", range, 4u, size_t(64));
  cu("cuCtxSynchronize");
  sayWords("range", range);
  int device = -1;
  Pointer context = kNone;
  cu("cuPointerGetAttribute", Pointer(&device), 9, range);
  const int code = quiet("cuPointerGetAttribute", Pointer(&context), 1, range);
  say("device %d, context %d %s", device, code, nameOf(context));
  say("access of 0: %d", setAccessOf(range, kBlock, 0));
  for (int i : {0, 1, 2}) {
    unsigned long long flags = 77;
    const Place place{1, i};
    const int asked = quiet("cuMemGetAccess", &flags, &place, range);
    say("access of %d: %d, %llu", i, asked, flags);
  }
  sayLaunch("device 0", d.first, range, 1);
  sayLaunch("device 1", d.second, range, 1);
  sayWords("range", range);
  use(d.first);
  cu("cuMemcpyDtoD_v2", d.first.memory, range, size_t(4));
  sayWords("memory of 0", d.first.memory);
}

SEQUENCE(mapped_memory_of_a_peer_without_access) {
  TwoDevices d;
  d.enableBoth();
  Pointer range = mapOf(1, 1);
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  sayLaunch("device 0", d.first, range, 1);
}

SEQUENCE(mapped_memory_of_a_peer_copied_without_access) {
  TwoDevices d;
  Pointer range = mapOf(1, 1);
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  use(d.second);
  cu("cuMemsetD32_v2", range, 4u, size_t(64));
  cu("cuCtxSynchronize");
  use(d.first);
  cu("cuMemcpyDtoD_v2", d.first.memory, range, size_t(4));
  cu("cuMemcpyDtoH_v2", Pointer(d.first.host), range, size_t(4));
  sayWords("memory of 0", d.first.memory);
}

SEQUENCE(memory_of_pools_and_mapped_copied_between_contexts) {
  TwoDevices d;
  Pointer pooled[2] = {};
  for (int i : {0, 1}) {
    use(d[i]);
    cu("cuMemAllocAsync", &pooled[i], size_t(256), d[i].stream);
    cu("cuMemsetD32Async", pooled[i], 11u * (i + 1), size_t(64), d[i].stream);
    cu("cuStreamSynchronize", d[i].stream);
  }
  Pointer range = mapOf(1, 1);
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  cu("cuMemsetD32_v2", range, 33u, size_t(64));
  cu("cuCtxSynchronize");
  use(d.first);
  cu("cuMemcpyPeer", pooled[0], d.first.context, pooled[1], d.second.context, size_t(4));
  cu("cuMemcpyPeerAsync", pooled[0], d.first.context, pooled[1], d.second.context, size_t(8),
     d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  cu("cuMemcpyPeer", d.first.memory, d.first.context, range, d.second.context, size_t(4));
  cu("cuMemcpyPeer", pooled[0], d.first.context, pooled[1], d.first.context, size_t(4));
  cu("cuMemcpyPeer", pooled[0], kNone, pooled[1], kNone, size_t(4));
  cu("cuMemcpyPeer", d.first.memory, kNone, range, kNone, size_t(4));
  sayWords("pool of 0", pooled[0]);
  sayWords("memory of 0", d.first.memory);
  use(d.second);
  cu("cuMemcpyPeer", pooled[0], d.first.context, pooled[1], d.second.context, size_t(256));
  use(d.first);
  sayWords("pool of 0", pooled[0]);
}

struct Rows { // CUDA_MEMCPY2D
  struct Side {
    size_t x, y;
    int type;
    Pointer host, device, array;
    size_t pitch;
  } from, to;
  size_t width, height;
};
static_assert(sizeof(Rows) == 128);

SEQUENCE(rows_of_mapped_memory_without_access) {
  TwoDevices d;
  Pointer range = mapOf(1, 1);
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  Rows rows{};
  rows.from.type = rows.to.type = 2;
  rows.from.device = range;
  rows.to.device = d.first.memory;
  rows.from.pitch = rows.to.pitch = 64;
  rows.width = 8;
  rows.height = 2;
  cu("cuMemcpy2D_v2", static_cast<const Rows *>(&rows));
  cu("cuMemcpy2DAsync_v2", static_cast<const Rows *>(&rows), d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  const CopyParameters copy = copyParameters(2, d.first.memory, 2, range, 8);
  cu("cuMemcpy3D_v2", &copy);
  struct {
    int order;
    Place from, to;
    unsigned flags;
  } attributes{1, {0, 0}, {0, 0}, 0};
  Pointer to = d.first.memory, from = range;
  size_t bytes = 8, start = 0;
  cu("cuMemcpyBatchAsync_v2", &to, &from, &bytes, size_t(1), Pointer(&attributes), &start,
     size_t(1), d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
}

SEQUENCE(nodes_of_memory_without_access) {
  TwoDevices d;
  Pointer range = mapOf(1, 1), graph = makeGraph(), node = kNone;
  const Pointer *nothing = nullptr;
  say("access of 1: %d", setAccessOf(range, kBlock, 1));
  const FillParameters fill = fillParameters(d.second.memory, 7, 4, 64);
  cu("cuGraphAddMemsetNode", &node, graph, nothing, size_t(0), &fill, d.first.context);
  const FillParameters ofMapped = fillParameters(range, 7, 4, 64);
  cu("cuGraphAddMemsetNode", &node, graph, nothing, size_t(0), &ofMapped, d.first.context);
  const CopyParameters copy = copyParameters(2, d.first.memory, 2, d.second.memory, 256);
  cu("cuGraphAddMemcpyNode", &node, graph, nothing, size_t(0), &copy, d.first.context);
  const CopyParameters copyMapped = copyParameters(2, d.first.memory, 2, range, 256);
  cu("cuGraphAddMemcpyNode", &node, graph, nothing, size_t(0), &copyMapped, d.first.context);
  sayGraph("graph", graph);
}

/// A graph of the first device's memory that a kernel of the second uses; `listed`: the device
/// that the node gives access, or -1.
void useMemoryOfGraph(int listed) {
  TwoDevices d;
  Pointer graph = makeGraph(), allocated = kNone, filled = kNone, added = kNone;
  const Access access{{1, listed}, 3};
  AllocationParameters parameters{};
  parameters.allocationType = parameters.locationType = 1;
  parameters.bytes = 256;
  parameters.access = &access;
  parameters.accessCount = listed >= 0;
  say("for device %d: %d", listed,
      quiet("cuGraphAddMemAllocNode", &allocated, graph, static_cast<const Pointer *>(nullptr),
            size_t(0), &parameters));
  if (!allocated)
    return;
  const FillParameters fill = fillParameters(parameters.address, 7, 4, 64);
  say("fill %d",
      quiet("cuGraphAddMemsetNode", &filled, graph, static_cast<const Pointer *>(&allocated),
            size_t(1), &fill, d.first.context));
  KernelParameters add = addParameters(d.second, parameters.address, 3);
  add.context = d.second.context;
  say("kernel %d",
      quiet("cuGraphAddKernelNode_v2", &added, graph, static_cast<const Pointer *>(&filled),
            size_t(1), static_cast<const KernelParameters *>(&add)));
  Pointer executable = instantiate(graph);
  say("launch %d", launchFirst(executable, d.first.stream));
  say("wait %d", quiet("cuStreamSynchronize", d.first.stream));
  sayWords("memory", parameters.address);
}
SEQUENCE(memory_of_graphs_without_access) { useMemoryOfGraph(-1); }
SEQUENCE(memory_of_graphs_for_its_own_device) { useMemoryOfGraph(0); }
SEQUENCE(memory_of_graphs_for_the_other_device) { useMemoryOfGraph(1); }
SEQUENCE(memory_of_graphs_for_no_device) { useMemoryOfGraph(2); }

// What a node asks for beside reading and writing, of its own device, of the other one, of none.
SEQUENCE(memory_of_graphs_with_other_access) {
  TwoDevices d;
  Pointer graph = makeGraph();
  for (int device : {0, 1, 2})
    for (int flags : {0, 1, 2, 3, 4, -1}) {
      Pointer node = nullptr;
      const Access access[] = {{{1, 0}, 3}, {{1, device}, flags}};
      AllocationParameters parameters{};
      parameters.allocationType = parameters.locationType = 1;
      parameters.bytes = 256;
      parameters.access = access;
      parameters.accessCount = 2;
      say("device %d, access %d: %d", device, flags,
          quiet("cuGraphAddMemAllocNode", &node, graph, static_cast<const Pointer *>(nullptr),
                size_t(0), &parameters));
    }
}

SEQUENCE(mapped_memory_that_a_peer_only_reads) {
  TwoDevices d;
  Pointer range = mapOf(0, 1);
  say("access of 0: %d", setAccessOf(range, kBlock, 0));
  say("access of 1: %d", setAccessOf(range, kBlock, 1, 1));
  cu("cuMemsetD32_v2", range, 6u, size_t(64));
  cu("cuCtxSynchronize");
  sayLaunch("device 0", d.first, range, 1);
  use(d.second);
  cu("cuMemcpyDtoD_v2", d.second.memory, range, size_t(4));
  sayWords("memory of 1", d.second.memory);
  sayLaunch("device 1", d.second, range, 1);
}

SEQUENCE(mapped_memory_that_only_a_peer_reaches) {
  TwoDevices d;
  Pointer range = mapOf(1, 1);
  say("access of 0: %d", setAccessOf(range, kBlock, 0));
  sayLaunch("device 0", d.first, range, 1);
  sayLaunch("device 1", d.second, range, 1);
}

SEQUENCE(mapped_range_of_both_devices) {
  TwoDevices d;
  Pointer range = mapOf(-1, 4);
  for (int i : {0, 1})
    say("access of %d: %d", i, setAccessOf(range, 4 * kBlock, i));
  cu("cuMemsetD32_v2", range, 6u, 4 * kBlock / 4);
  cu("cuCtxSynchronize");
  for (int block = 0; block < 4; ++block) {
    int device = -1;
    quiet("cuPointerGetAttribute", Pointer(&device), 9, at(range, block * kBlock));
    say("block %d of device %d", block, device);
    sayLaunch("it", d[1 - block % 2], at(range, block * kBlock), block);
    sayWords("it", at(range, block * kBlock));
  }
  sayLaunch("where two meet", d.first, at(range, kBlock - 128), 10);
  sayWords("there", at(range, kBlock - 128));
  const Access both[] = {{{1, 0}, 3}, {{1, 1}, 1}};
  cu("cuMemSetAccess", range, 2 * kBlock, &both[0], size_t(2));
  const Access wrong[] = {{{1, 0}, 3}, {{1, 2}, 3}};
  cu("cuMemSetAccess", range, 2 * kBlock, &wrong[0], size_t(2));
  cu("cuMemUnmap", range, 4 * kBlock);
  cu("cuMemAddressFree", range, 4 * kBlock);
}

SEQUENCE(mapped_memory_of_places_that_are_none) {
  TwoDevices d;
  for (Place place : {Place{1, 0}, {1, 1}, {1, 2}, {1, -1}}) {
    const Properties p = pinned(place);
    uint64_t handle = 0;
    size_t bytes = 0;
    const int made = quiet("cuMemCreate", &handle, kBlock, &p, 0ull);
    const int asked = quiet("cuMemGetAllocationGranularity", &bytes, &p, 0);
    say("device %d: %d, %d, %zu", place.id, made, asked, bytes);
  }
}

SEQUENCE(managed_memory_of_two_devices) {
  TwoDevices d;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(4096), 1u);
  cu("cuMemsetD32_v2", managed, 2u, size_t(64));
  cu("cuCtxSynchronize");
  sayLaunch("device 0", d.first, managed, 1);
  sayLaunch("device 1", d.second, managed, 10);
  say("%d", *static_cast<int *>(managed));
  auto ask = [&](const char *what) {
    int last = -77, preferred = -77, users[3] = {-77, -77, -77};
    quiet("cuMemRangeGetAttribute", Pointer(&last), size_t(4), 4, managed, size_t(4096));
    quiet("cuMemRangeGetAttribute", Pointer(&preferred), size_t(4), 2, managed, size_t(4096));
    quiet("cuMemRangeGetAttribute", Pointer(users), size_t(12), 3, managed, size_t(4096));
    say("%s: last %d, preferred %d, accessed by %d %d %d", what, last, preferred, users[0],
        users[1], users[2]);
  };
  ask("at first");
  use(d.first);
  cu("cuMemPrefetchAsync_v2", managed, size_t(4096), Place{1, 1}, 0u, d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  ask("prefetched to 1");
  cu("cuMemAdvise_v2", managed, size_t(4096), 3, Place{1, 1});
  cu("cuMemAdvise_v2", managed, size_t(4096), 5, Place{1, 0});
  cu("cuMemAdvise_v2", managed, size_t(4096), 5, Place{1, 1});
  ask("advised");
  cu("cuMemAdvise_v2", managed, size_t(4096), 6, Place{1, 0});
  ask("without 0");
  cu("cuMemPrefetchAsync", managed, size_t(4096), 1, d.second.stream);
  cu("cuMemPrefetchAsync", managed, size_t(4096), 0, d.second.stream);
  cu("cuStreamSynchronize", d.second.stream);
  ask("prefetched to 0");
  cu("cuMemPrefetchAsync_v2", managed, size_t(4096), Place{1, 2}, 0u, d.first.stream);
  cu("cuMemAdvise_v2", managed, size_t(4096), 3, Place{1, 2});
  say("%d", *static_cast<int *>(managed));
}

SEQUENCE(memory_of_the_host_of_two_devices) {
  TwoDevices d;
  alignas(4096) static int registered[1024];
  cu("cuMemHostRegister_v2", Pointer(registered), sizeof(registered), 0u);
  for (int i : {0, 1}) {
    use(d[i]);
    Pointer seen = kNone;
    cu("cuMemHostGetDevicePointer_v2", &seen, Pointer(registered), 0u);
    say("the same %d", seen == Pointer(registered));
    sayLaunch("registered", d[i], seen, 1 + i);
    say("%d %d", registered[0], registered[63]);
  }
  cu("cuMemHostUnregister", Pointer(registered));
  Pointer host = kNone;
  use(d.second);
  cu("cuMemHostAlloc", &host, size_t(4096), 0u);
  int *words = static_cast<int *>(host);
  words[0] = words[63] = 0;
  sayLaunch("of 1, by 0", d.first, host, 4);
  say("%d %d", words[0], words[63]);
  cu("cuCtxDestroy_v2", d.second.context);
  use(d.first);
  int type = -1;
  cu("cuPointerGetAttribute", Pointer(&type), 2, host);
}

} // namespace
} // namespace sequences
