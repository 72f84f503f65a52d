// SPDX-License-Identifier: Apache-2.0
// Structures of virtual memory, and what most programs make of it.
#pragma once

#include "tests/driver-sequences/Sequence.h"

namespace sequences {

inline constexpr size_t kBlock = 2 << 20; // the granularity

struct Place { // CUmemLocation: 1 a device, 2 the host, 3 a node of it, 4 the current node
  int type, id;
};
struct Access { // CUmemAccessDesc: 1 to read, 3 to write too
  Place place;
  int flags;
};
struct Properties { // CUmemAllocationProp
  int type, handleTypes;
  Place place;
  Pointer windows;
  unsigned char compression, directRdma;
  unsigned short usage;
  unsigned char reserved[4];
};
static_assert(sizeof(Properties) == 32);

inline Properties pinned(Place place = {1, 0}, int handleTypes = 0) {
  return {1, handleTypes, place, nullptr, 0, 0, 0, {}};
}

inline uint64_t makeHandle(size_t blocks = 1, int handleTypes = 0) {
  const Properties properties = pinned({1, 0}, handleTypes);
  uint64_t handle = 0;
  cu("cuMemCreate", &handle, blocks * kBlock, &properties, 0ull);
  return handle;
}

inline int setAccess(Pointer where, size_t bytes, int flags = 3) {
  const Access access{{1, 0}, flags};
  return cu("cuMemSetAccess", where, bytes, &access, size_t(1));
}

/// A range of addresses that begins with `blocks` mappings of one block each.
struct Mapped {
  Pointer range = nullptr;
  explicit Mapped(size_t blocks, size_t reserved = 0) {
    cu("cuMemAddressReserve", &range, (reserved ? reserved : blocks) * kBlock, size_t(0), kNone,
       0ull);
    for (size_t i = 0; i < blocks; ++i) {
      const uint64_t handle = makeHandle();
      cu("cuMemMap", at(range, i * kBlock), kBlock, size_t(0), handle, 0ull);
      cu("cuMemRelease", handle);
    }
    setAccess(range, blocks * kBlock);
    cu("cuMemsetD32_v2", range, 0u, blocks * kBlock / 4);
    quiet("cuCtxSynchronize"); // mappings change only when nothing uses them
  }
  /// The memory is there.
  void saysWord() const {
    int code = quiet("cuMemsetD32_v2", range, 5u, size_t(1));
    int word = 0;
    int copied = quiet("cuMemcpyDtoH_v2", Pointer(&word), range, size_t(4));
    say("mapped: %d %d, %d", code, copied, word);
  }
};

} // namespace sequences
