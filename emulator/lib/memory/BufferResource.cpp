// SPDX-License-Identifier: Apache-2.0
#include "emulator/lib/memory/BufferResource.h"

namespace rubia::emulator {

BufferResource BufferResource::read(const Wave &w, const MicroOp &op) {
  const uint32_t *words = &w.scalars[op.source[3]];
  BufferResource resource;
  resource.major = w.group->target->isa;
  resource.base = uint64_t(words[1] & 0xffff) << 32 | words[0];
  resource.stride = words[1] >> 16 & 0x3fff;
  resource.records = words[2];
  resource.scalarOffset = readScalar32(w, op, 1);
  resource.indexShift = 3 + (words[3] >> 21 & 3);
  resource.addsThreadId = words[3] >> 23 & 1;
  resource.outOfBounds = words[3] >> 28 & 3;
  resource.hasIndex = op.data & kBufferIndex;
  if (resource.major >= 11) {
    // RDNA3 ISA "Buffer Resource Descriptor": elements of 4, 8 or 16 bytes.
    const unsigned swizzle = words[1] >> 30;
    resource.elementShift = swizzle ? swizzle + 1 : 0;
  } else {
    resource.elementShift = words[1] >> 31 ? 2 : 0;
  }
  if (resource.major == 9 && resource.addsThreadId) // the data format's place
    resource.stride |= (words[3] >> 15 & 15) << 14;
  return resource;
}

bool BufferResource::inRange(uint64_t index, uint64_t offset, uint32_t size) const {
  if (major == 9) { // CDNA4 ISA "Range Checking"
    if (addsThreadId && !hasIndex)
      return true;
    return hasIndex && stride != 0 ? index < records : offset < records;
  }
  switch (outOfBounds) { // RDNA4 ISA "Buffer Out Of Bounds Selection"
  case 0:
    return index < records && offset + size <= stride;
  case 1:
    return index < records;
  case 2:
    return records != 0;
  default:
    if (swizzled() && stride != 0)
      return index < records && offset + size <= stride;
    // Reduced by the scalar offset. The index, of which the manual says nothing here, counts.
    return index * stride + offset + scalarOffset + size <= records;
  }
}

void bufferLanes(const Wave &w, const MicroOp &op, const BufferResource &resource, unsigned block,
                 BufferLanes &lanes) {
  const uint32_t *vector = w.block(block) + op.source[0];
  const uint32_t *offsets = vector + (resource.hasIndex ? kBlockLanes : 0);
  const bool hasOffset = op.data & kBufferOffset;
  // Private memory is reached through negative bases too: there the sum wraps.
  const uint64_t wrap = resource.addsThreadId && resource.swizzled() ? 0xffffffff : ~uint64_t(0);
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    lanes.index[lane] = (resource.hasIndex ? uint64_t(vector[lane]) : 0) +
                        (resource.addsThreadId ? block * kBlockLanes + lane : 0);
    lanes.offset[lane] =
        (uint64_t(uint32_t(op.immediate)) + (hasOffset ? offsets[lane] : 0)) & wrap;
  }
}

uint32_t bufferAddresses(const BufferResource &resource, const BufferLanes &lanes, uint32_t mask,
                         uint32_t displacement, uint32_t size, LaneAddresses &addresses) {
  uint32_t inside = 0;
  for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
    const uint64_t offset = lanes.offset[lane] + displacement;
    addresses.at[lane] = resource.address(lanes.index[lane], offset);
    inside |= uint32_t(resource.inRange(lanes.index[lane], offset, size)) << lane;
  }
  return inside & mask;
}

bool checkBuffer(Wave &w, const MicroOp &op, const BufferResource &resource, unsigned block,
                 uint32_t mask, const LaneAddresses &addresses, uint32_t size, bool isWrite) {
  const bool isPrivate = resource.swizzled() && resource.addsThreadId;
  if (!isPrivate)
    return checkGlobal(w, op, block, mask, addresses, size, isWrite);
  const uint64_t begin = uint64_t(w.scratch), bytes = scratchBytes(w);
  const Extent extent = extentOf(mask, addresses);
  if (extent.low >= begin && extent.high - begin + size <= bytes) [[likely]]
    return true;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    const unsigned lane = unsigned(std::countr_zero(rest));
    const uint64_t address = addresses.at[lane];
    if (address - begin < bytes && bytes - (address - begin) >= size)
      continue;
    if (findWindow(w, address, size)) // a program's own resource of this kind
      continue;
    raise(w, op, FaultKind::ScratchOverflow, block * kBlockLanes + lane, address, size, isWrite);
    return false;
  }
  return true;
}

} // namespace rubia::emulator
