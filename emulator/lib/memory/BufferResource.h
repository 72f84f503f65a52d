// SPDX-License-Identifier: Apache-2.0
// Buffer resources: from index, offset and a V# to addresses, and which lanes are in range.
//
// (CDNA4 ISA "Buffer Addressing", RDNA4 ISA "Vector Memory Buffer Instructions".) What lies out of
// range reads 0 and is not written; whether the rest is memory that exists is checked as for any
// other access, so that a resource with wrong bounds is still a fault.
#pragma once

#include "emulator/lib/machine/Addressing.h"

namespace rubia::emulator {

struct BufferResource {
  uint64_t base = 0;
  uint32_t stride = 0, records = 0;
  uint32_t scalarOffset = 0;
  unsigned elementShift = 0; // log2 of the bytes that stay together; 0: linear
  unsigned indexShift = 0;   // log2 of the indices that are interleaved
  bool addsThreadId = false;
  bool hasIndex = false;
  unsigned outOfBounds = 0; // OOB_SELECT, gfx10 and later
  unsigned major = 0;       // generation

  static BufferResource read(const Wave &w, const MicroOp &op);

  bool swizzled() const { return elementShift != 0; }
  /// Address of byte `offset` of record `index`.
  uint64_t address(uint64_t index, uint64_t offset) const {
    if (!swizzled())
      return base + scalarOffset + index * stride + offset;
    // gfx12 swizzles the scalar offset too (RDNA4 ISA "Swizzled Buffer Addressing").
    const uint64_t moved = uint32_t(offset + (major >= 12 ? scalarOffset : 0));
    const uint64_t lowOffset = moved & ((1u << elementShift) - 1);
    const uint64_t lowIndex = index & ((1u << indexShift) - 1);
    return base + (major >= 12 ? 0 : scalarOffset) +
           (((index >> indexShift) * stride + (moved - lowOffset)) << indexShift) +
           (lowIndex << elementShift) + lowOffset;
  }
  /// Whether `size` bytes at `offset` of record `index` are in range.
  bool inRange(uint64_t index, uint64_t offset, uint32_t size) const;
};

/// Index and offset of each lane of a block.
struct BufferLanes {
  uint64_t index[kBlockLanes], offset[kBlockLanes];
};
void bufferLanes(const Wave &w, const MicroOp &op, const BufferResource &resource, unsigned block,
                 BufferLanes &lanes);

/// The lanes of `mask` whose `size` bytes at `displacement` beyond their offset are in range, with
/// their addresses.
uint32_t bufferAddresses(const BufferResource &resource, const BufferLanes &lanes, uint32_t mask,
                         uint32_t displacement, uint32_t size, LaneAddresses &addresses);

/// Whether every lane of `mask` may access `size` bytes at its address: in its wave's private
/// memory, which is no allocation, or in global memory. Raises a fault for the first that may not.
bool checkBuffer(Wave &w, const MicroOp &op, const BufferResource &resource, unsigned block,
                 uint32_t mask, const LaneAddresses &addresses, uint32_t size, bool isWrite);

} // namespace rubia::emulator
