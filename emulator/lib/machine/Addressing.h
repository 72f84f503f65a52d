// SPDX-License-Identifier: Apache-2.0
// From the operands of a memory instruction to host addresses, and the checks on the way.
//
// Operands of a memory operation: source 0 the address register (Vector), source 1 a scalar base
// (Scalar), source 2 the data register, source 3 the second data register or the buffer resource;
// `immediate` the offset, `result` the destination.
#pragma once

#include "emulator/lib/machine/ScratchLayout.h"
#include "emulator/lib/machine/Workgroup.h"

namespace rubia::emulator {

enum class Space : uint8_t { Global, Local, Scratch, Flat, Buffer };

/// MicroOp::data: which registers the address operand of a buffer operation has; whether an atomic
/// returns the old value.
constexpr uint8_t kBufferOffset = 1, kBufferIndex = 2, kAtomicReturns = 4;

struct LaneAddresses {
  uint64_t at[kBlockLanes];
};

inline void globalAddresses(const Wave &w, const MicroOp &op, unsigned block,
                            LaneAddresses &addresses) {
  const uint32_t *low = w.block(block) + op.source[0];
  if (op.kind[1] == OperandKind::Scalar) {
    uint64_t base = w.pair(unsigned(op.source[1])) + uint64_t(int64_t(op.immediate));
    if (op.kind[0] == OperandKind::None)
      low = nullptr;
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      addresses.at[lane] = base + (low ? low[lane] : 0);
    return;
  }
  const uint32_t *high = low + kBlockLanes;
  uint64_t offset = uint64_t(int64_t(op.immediate));
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = (uint64_t(high[lane]) << 32 | low[lane]) + offset;
}

/// Scratch offsets within the lane's own memory (AMDGPUUsage "Private"): vaddr + saddr + offset,
/// modulo 2^32.
inline void scratchAddresses(const Wave &w, const MicroOp &op, unsigned block,
                             LaneAddresses &addresses) {
  uint32_t base = uint32_t(op.immediate);
  if (op.kind[1] != OperandKind::None)
    base += readScalar32(w, op, 1);
  if (op.kind[0] == OperandKind::None) {
    for (unsigned lane = 0; lane < kBlockLanes; ++lane)
      addresses.at[lane] = base;
    return;
  }
  const uint32_t *vector = w.block(block) + op.source[0];
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = uint32_t(base + vector[lane]);
}

/// Addresses in LDS: vaddr + offset, modulo 2^32 (compilers fold offsets onto negative bases).
inline void localAddresses(const Wave &w, const MicroOp &op, unsigned block, uint32_t offset,
                           LaneAddresses &addresses) {
  const uint32_t *vector = w.block(block) + op.source[0];
  for (unsigned lane = 0; lane < kBlockLanes; ++lane)
    addresses.at[lane] = uint32_t(vector[lane] + offset);
}

/// readsThreeAsFour() in device memory.
bool readsThreeOfAllocation(const Wave &w, uint64_t address, uint32_t size);

/// Whether every lane of `mask` may access `size` bytes at its global address. Raises a fault for
/// the first that may not.
bool checkGlobalSlow(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                     const LaneAddresses &addresses, uint32_t size, bool isWrite);

/// Raises a fault for the first lane whose address is in memory of the host, which only atomics
/// that PCIe has (additions and swaps of integers) reach before gfx940 and gfx12; others are
/// dropped silently. AMDGPUUsage, "Memory Model"; LLVM's metadata amdgpu.no.fine.grained.memory.
bool checkDeviceMemory(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                       const LaneAddresses &addresses, uint32_t size);

[[gnu::always_inline]] inline bool inWindow(const Wave &w, uint64_t generation, uint64_t low,
                                            uint64_t high, uint32_t size) {
  for (const AccessWindow &window : w.group->window)
    // Not high + size <= end: that wraps at the top of the address space.
    if (low >= window.begin && high < window.end && window.end - high >= size &&
        window.generation == generation)
      return true;
  return false;
}

/// The lowest and highest address of the lanes of `mask`.
struct Extent {
  uint64_t low = ~uint64_t(0), high = 0;
};
inline Extent extentOf(uint32_t mask, const LaneAddresses &addresses) {
  Extent extent;
  if (mask == ~0u) { // vectorises
    for (unsigned lane = 0; lane < kBlockLanes; ++lane) {
      extent.low = addresses.at[lane] < extent.low ? addresses.at[lane] : extent.low;
      extent.high = addresses.at[lane] > extent.high ? addresses.at[lane] : extent.high;
    }
    return extent;
  }
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    uint64_t address = addresses.at[std::countr_zero(rest)];
    extent.low = address < extent.low ? address : extent.low;
    extent.high = address > extent.high ? address : extent.high;
  }
  return extent;
}

inline bool checkGlobal(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                        const LaneAddresses &addresses, uint32_t size, bool isWrite) {
  const Extent extent = extentOf(mask, addresses);
  uint64_t generation = w.group->generation->load(std::memory_order_relaxed);
  if (inWindow(w, generation, extent.low, extent.high, size)) [[likely]]
    return true;
  return checkGlobalSlow(w, op, block, mask, addresses, size, isWrite);
}

/// Whether every lane of `mask` stays within the first `bytes` of a memory whose addresses have 32
/// bits. Raises a fault for the first that does not.
inline bool checkWithin(uint64_t bytes, FaultKind kind, Wave &w, const MicroOp &op, unsigned block,
                        uint32_t mask, const LaneAddresses &addresses, uint32_t size,
                        bool isWrite) {
  if (extentOf(mask, addresses).high + size <= bytes) [[likely]]
    return true;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    if (addresses.at[lane] + size <= bytes)
      continue;
    raise(w, op, kind, block * kBlockLanes + lane, addresses.at[lane], size, isWrite);
    return false;
  }
  return true; // no lane at all
}

/// Of a lane for which there is no place in LDS: a fault, or another address (Workgroup::ldsHole).
/// `which` of the two addresses of an instruction that needs both at once.
bool checkLdsSlow(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                  LaneAddresses &addresses, uint32_t size, bool isWrite, unsigned which);

inline bool checkLds(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                     LaneAddresses &addresses, uint32_t size, bool isWrite, unsigned which = 0) {
  if (extentOf(mask, addresses).high + size <= w.ldsSize) [[likely]]
    return true;
  return checkLdsSlow(w, op, block, mask, addresses, size, isWrite, which);
}
constexpr uint32_t kLdsHoleBytes = 2 * 16 * kBlockLanes;

/// A lane's own private memory, if FLAT_SCRATCH leads there.
inline bool checkScratch(Wave &w, const MicroOp &op, unsigned block, uint32_t mask,
                         const LaneAddresses &addresses, uint32_t size, bool isWrite) {
  const uint64_t bytes = w.pair(kFlatScratch) == uint64_t(w.scratch) ? w.scratchPerLane : 0;
  return checkWithin(bytes, FaultKind::ScratchOverflow, w, op, block, mask, addresses, size,
                     isWrite);
}

/// The lanes of a flat access by aperture: that of the address register, without the instruction's
/// offset (RDNA4 ISA "Flat Address"). Addresses in LDS and scratch become offsets.
struct FlatLanes {
  uint32_t global = 0, lds = 0, scratch = 0;
};
inline FlatLanes splitFlat(const MicroOp &op, uint32_t mask, LaneAddresses &addresses) {
  FlatLanes lanes;
  for (uint32_t rest = mask; rest; rest &= rest - 1) {
    unsigned lane = unsigned(std::countr_zero(rest));
    uint32_t aperture = uint32_t((addresses.at[lane] - uint64_t(int64_t(op.immediate))) >> 32);
    uint32_t bit = 1u << lane;
    if (aperture == kSharedAperture) {
      lanes.lds |= bit;
      addresses.at[lane] = uint32_t(addresses.at[lane]);
    } else if (aperture == kPrivateAperture) {
      lanes.scratch |= bit;
      addresses.at[lane] = uint32_t(addresses.at[lane]);
    } else {
      lanes.global |= bit;
    }
  }
  return lanes;
}

struct MemorySemantics {
  const char *name;
  Handler handler;
};
struct MemoryTable {
  const MemorySemantics *rows;
  size_t count;
};
template <size_t N> constexpr MemoryTable table(const MemorySemantics (&rows)[N]) {
  return {rows, N};
}

/// Rows are named without the prefix of their table.
extern const MemoryTable kGlobalMemory, kFlatMemory, kScratchMemory; // loads and stores
extern const MemoryTable kGlobalAtomics, kFlatAtomics, kBufferAtomics;
extern const MemoryTable kGlobalToLds, kScratchToLds, kBufferToLds;           // loads into LDS
extern const MemoryTable kGlobalBlocks, kScratchBlocks;                       // *_BLOCK
extern const MemoryTable kGlobalByThread;                                     // *_ADDTID
extern const MemoryTable kBufferMemory;                                       // BUFFER_*
extern const MemoryTable kLocalMemory, kLocalAtomics, kLocalLanes, kWaveSync; // with DS_
extern const MemoryTable kScalarMemory; // S_LOAD_*, S_BUFFER_LOAD_*

} // namespace rubia::emulator
