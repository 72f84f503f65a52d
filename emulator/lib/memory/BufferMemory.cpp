// SPDX-License-Identifier: Apache-2.0
// MUBUF loads and stores (CDNA4 ISA "Vector Memory Buffer Instructions"). Private memory on targets
// without architected flat scratch comes this way too.
#include "emulator/lib/memory/BufferResource.h"
#include "emulator/lib/memory/LoadStore.h"

namespace rubia::emulator {
namespace {

/// Whether an access that starts at `address`'s element stays within it, for all lanes.
bool withinElements(const BufferResource &resource, const BufferLanes &lanes, uint32_t mask,
                    uint32_t size) {
  const uint64_t element = uint64_t(1) << resource.elementShift;
  for (uint32_t rest = mask; rest; rest &= rest - 1)
    if (lanes.offset[std::countr_zero(rest)] % element + size > element)
      return false;
  return true;
}

/// Byte by byte, for what a swizzled buffer tears apart.
template <class Kind, bool IsStore>
bool accessBytes(Wave &w, const MicroOp &op, const BufferResource &resource,
                 const BufferLanes &lanes, uint32_t *registers, unsigned block, uint32_t mask) {
  uint32_t words[kBlockLanes][4] = {};
  if constexpr (IsStore)
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      Kind::store(registers, lane, words[lane]);
  LaneAddresses addresses;
  for (unsigned i = 0; i < Kind::kBytes; ++i) {
    const uint32_t inside = bufferAddresses(resource, lanes, mask, i, 1, addresses);
    if (!checkBuffer(w, op, resource, block, inside, addresses, 1, IsStore))
      return false;
    for (uint32_t rest = inside; rest; rest &= rest - 1) {
      const unsigned lane = unsigned(std::countr_zero(rest));
      uint8_t &byte = reinterpret_cast<uint8_t *>(words[lane])[i];
      uint8_t &place = *reinterpret_cast<uint8_t *>(addresses.at[lane]);
      (IsStore ? place : byte) = IsStore ? byte : place;
    }
  }
  if constexpr (!IsStore) {
    prepareHalves<Kind>(w, registers, mask);
    for (uint32_t rest = mask; rest; rest &= rest - 1)
      Kind::load(registers, unsigned(std::countr_zero(rest)), words[std::countr_zero(rest)]);
  }
  return true;
}

/// One component in range or out of it as a whole.
template <class Kind, bool IsStore>
bool accessWhole(Wave &w, const MicroOp &op, const BufferResource &resource,
                 const BufferLanes &lanes, uint32_t displacement, uint32_t *registers,
                 unsigned block, uint32_t mask) {
  LaneAddresses addresses;
  const uint32_t inside =
      bufferAddresses(resource, lanes, mask, displacement, Kind::kBytes, addresses);
  if constexpr (!IsStore)
    for (uint32_t rest = mask & ~inside; rest; rest &= rest - 1) {
      const uint32_t zeros[4] = {};
      prepareHalves<Kind>(w, registers, rest & -rest);
      Kind::load(registers, unsigned(std::countr_zero(rest)), zeros);
    }
  if (inside == 0)
    return true;
  if (!checkBuffer(w, op, resource, block, inside, addresses, Kind::kBytes, IsStore))
    return false;
  if constexpr (IsStore)
    storeHost<Kind>(registers, inside, addresses);
  else
    loadHost<Kind>(w, registers, inside, addresses);
  return true;
}

template <class Kind, bool IsStore>
bool accessBuffer(Wave &w, const MicroOp &op, const BufferResource &resource, uint32_t *registers,
                  unsigned block, uint32_t mask) {
  BufferLanes lanes;
  bufferLanes(w, op, resource, block, lanes);
  if constexpr (Kind::kRegisters == 1) {
    if (resource.swizzled() && !withinElements(resource, lanes, mask, Kind::kBytes))
      return accessBytes<Kind, IsStore>(w, op, resource, lanes, registers, block, mask);
    return accessWhole<Kind, IsStore>(w, op, resource, lanes, 0, registers, block, mask);
  } else {
    // Wider accesses are range checked dword by dword, and swizzled so.
    if (resource.swizzled() && !withinElements(resource, lanes, mask, 4))
      return accessBytes<Kind, IsStore>(w, op, resource, lanes, registers, block, mask);
    for (unsigned i = 0; i < Kind::kRegisters; ++i)
      if (!accessWhole<Dwords<1>, IsStore>(w, op, resource, lanes, 4 * i,
                                           registers + i * kBlockLanes, block, mask))
        return false;
    return true;
  }
}

struct Buffers {
  template <class Kind, bool IsStore> static void handler(Wave &w, const MicroOp &op) {
    const BufferResource resource = BufferResource::read(w, op);
    for (unsigned block = 0; block < w.blocks; ++block)
      if (const uint32_t mask = w.scalars[kExec + block])
        if (!accessBuffer<Kind, IsStore>(w, op, resource, w.block(block) + op.source[2], block,
                                         mask))
          return;
  }
  template <class Kind> static void toLds(Wave &w, const MicroOp &op) {
    const BufferResource resource = BufferResource::read(w, op);
    uint32_t loaded[4 * kBlockLanes];
    for (unsigned block = 0; block < w.blocks; ++block)
      if (const uint32_t mask = w.scalars[kExec + block])
        if (!accessBuffer<Kind, false>(w, op, resource, loaded, block, mask) ||
            !storeToLds<Kind>(w, op, loaded, block, mask))
          return;
  }
};

} // namespace

const MemoryTable kBufferMemory = table(LoadStoreRows<Buffers>::kRows);
const MemoryTable kBufferToLds = table(ToLdsRows<Buffers>::kRows);

} // namespace rubia::emulator
