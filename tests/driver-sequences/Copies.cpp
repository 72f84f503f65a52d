// SPDX-License-Identifier: Apache-2.0
// Copies in batches and between contexts, and hints for many ranges of managed memory.
#include "tests/driver-sequences/Sequence.h"
#include <cstring>
#include <sys/types.h>

namespace sequences {
namespace {

struct Location { // CUmemLocation
  int type, id;
};
struct CopyAttributes { // CUmemcpyAttributes
  int order;
  Location from, to;
  unsigned flags;
};
struct CopyOperation { // CUDA_MEMCPY3D_BATCH_OP
  struct {
    int type;
    union {
      struct {
        Pointer pointer;
        size_t rowLength, layerHeight;
        Location location;
      };
      uint64_t array[4];
    };
  } from, to;
  size_t width, height, depth;
  int order;
  unsigned flags;
};

void fillHost(Setup &s) {
  for (int i = 0; i < 64; ++i)
    s.host[i] = i + 1;
  quiet("cuMemcpyHtoD_v2", s.memory, static_cast<const void *>(s.host), size_t(256));
}

SEQUENCE(batch_of_copies) {
  Setup s;
  fillHost(s);
  Pointer to[] = {s.memory2, at(s.memory2, 252), Pointer(s.host + 32)};
  Pointer from[] = {Pointer(s.host), at(s.memory, 248), s.memory};
  size_t sizes[] = {8, 4, 16};
  CopyAttributes attributes[] = {{1, {0, 0}, {0, 0}, 0}, {3, {0, 0}, {0, 0}, 1}};
  size_t starts[] = {0, 1};
  cu("cuMemcpyBatchAsync_v2", &to[0], &from[0], &sizes[0], size_t(3), &attributes[0], &starts[0],
     size_t(2), s.stream);
  sayMemory("memory2", s.memory2);
  say("%d %d", s.host[32], s.host[35]);
  sizes[0] = 16;
  size_t failed = 77;
  cu("cuMemcpyBatchAsync", &to[0], &from[0], &sizes[0], size_t(1), &attributes[0], &starts[0],
     size_t(1), &failed, s.stream);
  say("%zu", failed);
  attributes[0].order = 2;
  cu("cuMemcpyBatchAsync_v2", &to[0], &from[0], &sizes[0], size_t(1), &attributes[0], &starts[0],
     size_t(1), s.stream);
  cu("cuMemcpyBatchAsync_v2_ptsz", &to[0], &from[0], &sizes[0], size_t(1), &attributes[0],
     &starts[0], size_t(1), Pointer(2));
  cu("cuCtxSynchronize");
}

SEQUENCE(batch_of_copies_refused) {
  Setup s;
  fillHost(s);
  Pointer to[] = {s.memory2, at(s.memory2, 4)}, from[] = {s.memory, s.memory};
  size_t sizes[] = {4, 4}, starts[] = {0, 1};
  CopyAttributes a[] = {{1, {0, 0}, {0, 0}, 0}, {1, {0, 0}, {0, 0}, 0}};
  auto copy = [&](const char *what, size_t count, size_t attributes, Pointer stream) {
    size_t failed = 77;
    int code = quiet("cuMemcpyBatchAsync", &to[0], &from[0], &sizes[0], count, &a[0], &starts[0],
                     attributes, &failed, stream);
    int second = quiet("cuMemcpyBatchAsync_v2", &to[0], &from[0], &sizes[0], count, &a[0],
                       &starts[0], attributes, stream);
    say("%s: %d, %d, %zd", what, second, code, ssize_t(failed));
  };
  copy("legacy stream", 2, 1, kNone);
  copy("nothing", 0, 1, s.stream);
  copy("no attributes", 2, 0, s.stream);
  copy("too many attributes", 1, 2, s.stream);
  starts[0] = 1;
  copy("not from the first", 2, 1, s.stream);
  starts[0] = 0;
  starts[1] = 0;
  copy("twice at one", 2, 2, s.stream);
  starts[1] = 1;
  a[0].order = 0;
  copy("order 0", 2, 1, s.stream);
  a[0].order = 4;
  copy("order 4", 2, 1, s.stream);
  a[0].order = 1;
  a[0].flags = 2;
  copy("flags 2", 2, 1, s.stream);
  a[0].flags = 0;
  sizes[1] = 0;
  copy("of no bytes", 2, 1, s.stream);
  sizes[1] = 4;
  to[1] = kNone;
  copy("to null", 2, 1, s.stream);
  to[1] = at(s.memory2, 4);
  from[1] = kNone;
  copy("from null", 2, 1, s.stream);
  sayMemory("memory2", s.memory2);
  from[1] = s.memory;
  quiet("cuStreamBeginCapture_v2", s.stream, 0);
  copy("captured", 2, 1, s.stream);
  sayCapture(s.stream);
  Pointer graph = kNone;
  cu("cuStreamEndCapture", s.stream, &graph);
}

CopyOperation operation(Pointer to, Pointer from, size_t width, size_t height) {
  CopyOperation o{};
  o.from.type = o.to.type = 1;
  o.from.pointer = from;
  o.to.pointer = to;
  o.width = width;
  o.height = height;
  o.depth = 1;
  o.order = 1;
  return o;
}

SEQUENCE(batch_of_copies_of_rows) {
  Setup s;
  fillHost(s);
  CopyOperation list[] = {operation(s.memory2, s.memory, 8, 2),
                          operation(at(s.memory2, 248), Pointer(s.host + 8), 4, 2)};
  list[0].from.rowLength = 32;
  list[0].from.layerHeight = 2;
  list[1].to.rowLength = 4;
  list[1].from.rowLength = 16;
  cu("cuMemcpy3DBatchAsync_v2", size_t(2), &list[0], 0ull, s.stream);
  int words[64] = {};
  cu("cuStreamSynchronize", s.stream);
  quiet("cuMemcpyDtoH_v2", Pointer(words), s.memory2, sizeof(words));
  say("%d %d %d %d %d, %d %d", words[0], words[1], words[2], words[3], words[4], words[62],
      words[63]);
  size_t failed = 77;
  cu("cuMemcpy3DBatchAsync", size_t(1), &list[0], &failed, 0ull, s.stream);
  say("%zd", ssize_t(failed));
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, kNone);
  cu("cuMemcpy3DBatchAsync_v2", size_t(0), &list[0], 0ull, s.stream);
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), static_cast<CopyOperation *>(nullptr), 0ull, s.stream);
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 1ull, s.stream);
  list[0].width = 0;
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, s.stream);
  list[0].width = 8;
  list[0].from.rowLength = 4;
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, s.stream);
  list[0].from.rowLength = 32;
  list[0].order = 0;
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, s.stream);
  list[0].order = 1;
  list[0].from.type = 3;
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, s.stream);
  list[0].from.type = 1;
  list[0].flags = 2;
  cu("cuMemcpy3DBatchAsync_v2", size_t(1), &list[0], 0ull, s.stream);
}

SEQUENCE(copy_of_rows_between_contexts) {
  Setup s;
  fillHost(s);
  CopyParameters p = copyParameters(2, s.memory2, 2, s.memory, 8);
  p.height = 2;
  p.from.pitch = 32;
  p.to.pitch = 248;
  p.from.reserved = p.to.reserved = s.context;
  const CopyParameters *copy = &p, *null = nullptr;
  cu("cuMemcpy3DPeer", copy);
  sayMemory("memory2", s.memory2);
  p.from.x = 4;
  cu("cuMemcpy3DPeerAsync", copy, s.stream);
  sayMemory("memory2", s.memory2);
  p.from.y = 1;
  cu("cuMemcpy3DPeer_ptds", copy);
  p.from.y = 2;
  cu("cuMemcpy3DPeerAsync_ptsz", copy, kNone);
  sayMemory("memory2", s.memory2);
  cu("cuMemcpy3DPeer", null);
  cu("cuMemcpy3DPeerAsync", null, s.stream);
  p.from.reserved = kNone;
  cu("cuMemcpy3DPeer", copy);
  p.from.reserved = s.context;
  p.height = 0;
  cu("cuMemcpy3DPeer", copy);
  p.height = 2;
  p.from.pitch = 4;
  cu("cuMemcpy3DPeer", copy);
  p.from.pitch = 32;
  p.from.type = 1;
  p.from.host = s.host;
  p.from.x = p.from.y = 0;
  cu("cuMemcpy3DPeer", copy);
  sayMemory("memory2", s.memory2);
}

SEQUENCE(ranges_prefetched_and_discarded) {
  Setup s;
  Pointer managed = kNone;
  cu("cuMemAllocManaged", &managed, size_t(1 << 20), 1u);
  memset(managed, 1, 1 << 20);
  Pointer ranges[] = {managed, at(managed, 65536)};
  size_t sizes[] = {65536, 65536}, starts[] = {0, 1};
  Location places[] = {{1, 0}, {2, 0}};
  auto prefetch = [&](const char *name, size_t count, size_t locations, unsigned long long flags) {
    return cu(name, &ranges[0], &sizes[0], count, &places[0], &starts[0], locations, flags,
              s.stream);
  };
  prefetch("cuMemPrefetchBatchAsync", 2, 2, 0);
  cu("cuStreamSynchronize", s.stream);
  say("%d", *static_cast<int *>(managed));
  prefetch("cuMemPrefetchBatchAsync", 2, 1, 0);
  prefetch("cuMemPrefetchBatchAsync", 0, 1, 0);
  prefetch("cuMemPrefetchBatchAsync", 2, 0, 0);
  prefetch("cuMemPrefetchBatchAsync", 2, 1, 1);
  places[0].id = 99;
  prefetch("cuMemPrefetchBatchAsync", 2, 1, 0);
  places[0] = {1, 0};
  cu("cuMemDiscardBatchAsync", &ranges[1], &sizes[1], size_t(1), 0ull, s.stream);
  cu("cuMemDiscardBatchAsync", &ranges[1], &sizes[1], size_t(0), 0ull, s.stream);
  cu("cuMemDiscardBatchAsync", &ranges[1], &sizes[1], size_t(1), 1ull, s.stream);
  cu("cuMemDiscardBatchAsync", &s.memory, &sizes[1], size_t(1), 0ull, s.stream);
  cu("cuMemDiscardBatchAsync", &ranges[1], &sizes[1], size_t(1), 0ull, kNone);
  cu("cuMemPrefetchBatchAsync", &s.memory, &sizes[0], size_t(1), &places[0], &starts[0], size_t(1),
     0ull, s.stream);
  prefetch("cuMemDiscardAndPrefetchBatchAsync", 2, 2, 0);
  prefetch("cuMemDiscardAndPrefetchBatchAsync", 2, 1, 1);
  prefetch("cuMemDiscardAndPrefetchBatchAsync", 0, 1, 0);
  cu("cuStreamSynchronize", s.stream);
  memset(managed, 2, 131072);
  say("%d", *static_cast<int *>(at(managed, 65536)));
}

} // namespace
} // namespace sequences
