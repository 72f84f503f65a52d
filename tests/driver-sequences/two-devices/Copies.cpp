// SPDX-License-Identifier: Apache-2.0
// Copies between devices.
#include "tests/driver-sequences/two-devices/TwoDevices.h"
#include <cstring>
#include <sys/types.h>

namespace sequences {
namespace {

struct PeerCopy { // CUDA_MEMCPY3D_PEER
  struct Side {
    size_t x, y, z, lod;
    int type;
    Pointer host, device, array, context;
    size_t pitch, height;
  } from, to;
  size_t width, height, depth;
};
static_assert(sizeof(PeerCopy) == 200);

void fill(const Plain &device, unsigned value) {
  use(device);
  quiet("cuMemsetD32_v2", device.memory, value, size_t(64));
  quiet("cuCtxSynchronize");
}

SEQUENCE(copies_between_devices) {
  for (bool enabled : {false, true}) {
    TwoDevices d;
    if (enabled)
      d.enableBoth();
    fill(d.first, 11);
    fill(d.second, 22);
    for (int current : {0, 1}) {
      use(d[current]);
      say("device %d is current", current);
      cu("cuMemcpyDtoD_v2", at(d.second.memory, 0), d.first.memory, size_t(4));
      cu("cuMemcpy", at(d.second.memory, 4), d.first.memory, size_t(4));
      cu("cuMemcpyDtoDAsync_v2", at(d.second.memory, 8), d.first.memory, size_t(4),
         d[current].stream);
      cu("cuMemcpyAsync", at(d.second.memory, 12), d.first.memory, size_t(4), d[current].stream);
      cu("cuMemcpyDtoDAsync_v2", at(d.second.memory, 16), d.first.memory, size_t(4),
         d[1 - current].stream);
      cu("cuStreamSynchronize", d.first.stream);
      cu("cuStreamSynchronize", d.second.stream);
      int words[6] = {};
      cu("cuMemcpyDtoH_v2", Pointer(words), d.second.memory, sizeof(words));
      say("%d %d %d %d %d %d", words[0], words[1], words[2], words[3], words[4], words[5]);
      fill(d.second, 22);
    }
    quiet("cuCtxDestroy_v2", d.first.context);
    quiet("cuCtxDestroy_v2", d.second.context);
  }
}

SEQUENCE(copies_between_contexts_of_devices) {
  TwoDevices d;
  fill(d.first, 11);
  fill(d.second, 22);
  for (int current : {0, 1}) {
    use(d[current]);
    cu("cuMemcpyPeer", d.second.memory, d.second.context, d.first.memory, d.first.context,
       size_t(4));
    cu("cuMemcpyPeerAsync", at(d.second.memory, 252), d.second.context, d.first.memory,
       d.first.context, size_t(4), d[current].stream);
    cu("cuMemcpyPeerAsync", at(d.second.memory, 4), d.second.context, d.first.memory,
       d.first.context, size_t(4), d[1 - current].stream);
    cu("cuStreamSynchronize", d.first.stream);
    cu("cuStreamSynchronize", d.second.stream);
    sayWords("memory of 1", d.second.memory);
    fill(d.second, 22);
  }
  use(d.first);
  cu("cuMemcpyPeer", d.first.memory2, d.first.context, d.first.memory, d.first.context, size_t(4));
  sayWords("within one", d.first.memory2);
}

SEQUENCE(copies_between_contexts_of_devices_refused) {
  TwoDevices d;
  auto copy = [&](const char *what, Pointer to, Pointer toContext, Pointer from,
                  Pointer fromContext, size_t bytes) {
    const int now = quiet("cuMemcpyPeer", to, toContext, from, fromContext, bytes);
    const int later =
        quiet("cuMemcpyPeerAsync", to, toContext, from, fromContext, bytes, d.first.stream);
    say("%s: %d, %d, then %d", what, now, later, quiet("cuStreamSynchronize", d.first.stream));
  };
  Pointer to = d.second.memory, from = d.first.memory;
  copy("no bytes", to, d.second.context, from, d.first.context, 0);
  copy("contexts the other way", to, d.first.context, from, d.second.context, 4);
  copy("one context for both", to, d.first.context, from, d.first.context, 4);
  copy("to no context", to, kNone, from, d.first.context, 4);
  copy("from no context", to, d.second.context, from, kNone, 4);
  copy("to null", kNone, d.second.context, from, d.first.context, 4);
  copy("from null", to, d.second.context, kNone, d.first.context, 4);
  copy("too much", to, d.second.context, from, d.first.context, size_t(1) << 40);
  copy("from the host", to, d.second.context, Pointer(d.first.host), d.first.context, 4);
  copy("to the host", Pointer(d.first.host), d.first.context, from, d.first.context, 4);
  int local = 5;
  copy("from pageable memory", to, d.second.context, &local, d.first.context, 4);
}

SEQUENCE(copies_of_freed_memory_of_a_peer) {
  TwoDevices d;
  use(d.second);
  cu("cuMemFree_v2", d.second.memory);
  use(d.first);
  cu("cuMemcpyDtoD_v2", d.first.memory, d.second.memory, size_t(4));
  cu("cuMemcpyPeer", d.first.memory, d.first.context, d.second.memory, d.second.context, size_t(4));
  cu("cuMemcpyDtoH_v2", Pointer(d.first.host), d.second.memory, size_t(4));
}

PeerCopy rows(TwoDevices &d) {
  PeerCopy copy{};
  copy.from.type = copy.to.type = 2;
  copy.from.device = d.first.memory;
  copy.from.context = d.first.context;
  copy.from.pitch = 64;
  copy.to.device = d.second.memory;
  copy.to.context = d.second.context;
  copy.to.pitch = 128;
  copy.width = 8;
  copy.height = 2;
  copy.depth = 1;
  return copy;
}

SEQUENCE(rows_between_devices) {
  TwoDevices d;
  for (int i = 0; i < 64; ++i)
    d.first.host[i] = i + 1;
  use(d.first);
  cu("cuMemcpyHtoD_v2", d.first.memory, static_cast<const void *>(d.first.host), size_t(256));
  auto sayRows = [&] {
    int words[64] = {};
    quiet("cuMemcpyDtoH_v2", Pointer(words), d.second.memory, sizeof(words));
    say("%d %d %d, %d %d %d", words[0], words[1], words[2], words[32], words[33], words[34]);
  };
  PeerCopy copy = rows(d);
  cu("cuMemcpy3DPeer", static_cast<const PeerCopy *>(&copy));
  sayRows();
  copy.from.x = 8;
  copy.from.y = 1;
  for (int i : {0, 1}) {
    use(d[i]);
    cu("cuMemcpy3DPeerAsync", static_cast<const PeerCopy *>(&copy), d[i].stream);
    cu("cuStreamSynchronize", d[i].stream);
    sayRows();
    fill(d.second, 0);
  }
  auto wrong = [&](const char *what, auto change) {
    PeerCopy changed = rows(d);
    change(changed);
    say("%s: %d", what, quiet("cuMemcpy3DPeer", static_cast<const PeerCopy *>(&changed)));
  };
  use(d.first);
  wrong("no contexts", [](PeerCopy &c) { c.from.context = c.to.context = kNone; });
  wrong("contexts the other way", [](PeerCopy &c) { std::swap(c.from.context, c.to.context); });
  wrong("small pitch", [](PeerCopy &c) { c.from.pitch = 4; });
  wrong("no depth", [](PeerCopy &c) { c.depth = 0; });
  wrong("from the host", [&](PeerCopy &c) {
    c.from.type = 1;
    c.from.host = d.first.host;
  });
  wrong("unified", [](PeerCopy &c) { c.from.type = c.to.type = 4; });
  wrong("type 9", [](PeerCopy &c) { c.from.type = 9; });
  cu("cuMemcpy3DPeer", static_cast<const PeerCopy *>(nullptr));
}

SEQUENCE(arrays_between_devices) {
  TwoDevices d;
  struct {
    size_t width, height;
    int format;
    unsigned channels;
  } descriptor{16, 4, 3, 1}; // 32-bit integers
  Pointer arrays[2] = {};
  for (int i : {0, 1}) {
    use(d[i]);
    cu("cuArrayCreate_v2", &arrays[i], &descriptor);
  }
  use(d.first);
  for (int i = 0; i < 64; ++i)
    d.first.host[i] = i + 1;
  PeerCopy copy{};
  copy.from.type = 1;
  copy.from.host = d.first.host;
  copy.from.pitch = 64;
  copy.to.type = 3;
  copy.to.array = arrays[0];
  copy.to.context = d.first.context;
  copy.width = 64;
  copy.height = 4;
  copy.depth = 1;
  cu("cuMemcpy3DPeer", static_cast<const PeerCopy *>(&copy));
  copy.from = copy.to;
  copy.to.array = arrays[1];
  copy.to.context = d.second.context;
  cu("cuMemcpy3DPeer", static_cast<const PeerCopy *>(&copy));
  copy.from = copy.to;
  copy.to = {};
  copy.to.type = 2;
  copy.to.device = d.second.memory;
  copy.to.context = d.second.context;
  copy.to.pitch = 64;
  cu("cuMemcpy3DPeer", static_cast<const PeerCopy *>(&copy));
  sayWords("memory of 1", d.second.memory);
}

struct Location { // CUmemLocation
  int type, id;
};
struct CopyAttributes { // CUmemcpyAttributes
  int order;
  Location from, to;
  unsigned flags;
};

SEQUENCE(batches_between_devices) {
  TwoDevices d;
  fill(d.first, 11);
  fill(d.second, 22);
  use(d.first);
  Pointer to[] = {d.second.memory, at(d.first.memory2, 252)};
  Pointer from[] = {d.first.memory, d.second.memory};
  size_t sizes[] = {4, 4}, starts[] = {0, 1};
  CopyAttributes attributes[] = {{1, {1, 0}, {1, 1}, 0}, {1, {1, 1}, {1, 0}, 0}};
  for (int i : {0, 1}) {
    cu("cuMemcpyBatchAsync_v2", &to[0], &from[0], &sizes[0], size_t(2), &attributes[0], &starts[0],
       size_t(2), d[i].stream);
    cu("cuStreamSynchronize", d[i].stream);
  }
  sayWords("memory of 1", d.second.memory);
  sayWords("memory2 of 0", d.first.memory2);
  say("places that are wrong");
  for (Location wrong : {Location{1, 2}, {1, -1}, {2, 0}, {9, 0}, {1, 0}}) {
    attributes[0].to = wrong;
    const int code = quiet("cuMemcpyBatchAsync_v2", &to[0], &from[0], &sizes[0], size_t(2),
                           &attributes[0], &starts[0], size_t(2), d.first.stream);
    say("%d %d: %d", wrong.type, wrong.id, code);
  }
  cu("cuStreamSynchronize", d.first.stream);
}

SEQUENCE(copies_to_and_from_the_host_of_a_peer) {
  TwoDevices d;
  d.second.host[0] = 31;
  use(d.first);
  cu("cuMemcpyHtoD_v2", d.first.memory, static_cast<const void *>(d.second.host), size_t(4));
  cu("cuMemcpyHtoD_v2", d.second.memory, static_cast<const void *>(d.second.host), size_t(4));
  cu("cuMemcpyHtoDAsync_v2", at(d.second.memory, 252), static_cast<const void *>(d.second.host),
     size_t(4), d.first.stream);
  cu("cuMemcpyDtoHAsync_v2", Pointer(d.first.host), d.second.memory, size_t(4), d.first.stream);
  cu("cuStreamSynchronize", d.first.stream);
  sayWords("memory of 0", d.first.memory);
  sayWords("memory of 1", d.second.memory);
  say("%d", d.first.host[0]);
  sayLaunch("host of 1 by device 0", d.first, Pointer(d.second.host), 4);
  say("%d %d", d.second.host[0], d.second.host[63]);
  Pointer seen = kNone;
  cu("cuMemHostGetDevicePointer_v2", &seen, Pointer(d.second.host), 0u);
  say("the same %d", seen == Pointer(d.second.host));
  cu("cuMemFreeHost", Pointer(d.second.host));
}

} // namespace
} // namespace sequences
