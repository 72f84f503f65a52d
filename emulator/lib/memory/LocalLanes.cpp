// SPDX-License-Identifier: Apache-2.0
// Cross-lane moves through the crossbar of LDS (RDNA4 ISA "DS_SWIZZLE_B32", "DS_PERMUTE_B32",
// "DS_BPERMUTE_B32"). No memory is touched. EXEC holds for reading and for writing.
//
// Operands: source 0 the lane numbers times 4 (the values for the swizzle), source 2 the values.
#include "emulator/lib/machine/Addressing.h"

namespace rubia::emulator {
namespace {

/// On RDNA3 and before, a wave64 permutes within its halves; RDNA4 and CDNA over the whole wave.
unsigned permuteLanes(const Wave &w) {
  unsigned major = w.group->target->isa;
  return major == 10 || major == 11 ? kBlockLanes : w.lanes();
}

/// Pull: each lane names the lane that it reads. An inactive source lane gives 0, except in
/// DS_BPERMUTE_FI_B32.
template <bool FetchInactive> void backwardPermute(Wave &w, const MicroOp &op) {
  uint32_t values[64], selected[64];
  uint64_t exec = w.exec();
  unsigned lanes = w.lanes(), span = permuteLanes(w);
  for (unsigned lane = 0; lane < lanes; ++lane) {
    values[lane] = FetchInactive || exec >> lane & 1 ? w.vgpr(uint32_t(op.source[2]), lane) : 0;
    uint32_t address = w.vgpr(uint32_t(op.source[0]), lane) + uint32_t(op.immediate);
    selected[lane] = (lane / span * span) + (address / 4) % span;
  }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) = values[selected[lane]];
}

/// Push: each lane names the lane that it writes; the highest writer wins. Lanes that nobody names
/// get 0.
void forwardPermute(Wave &w, const MicroOp &op) {
  uint32_t values[64] = {};
  uint64_t exec = w.exec();
  unsigned lanes = w.lanes(), span = permuteLanes(w);
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1) {
      uint32_t address = w.vgpr(uint32_t(op.source[0]), lane) + uint32_t(op.immediate);
      values[(lane / span * span) + (address / 4) % span] = w.vgpr(uint32_t(op.source[2]), lane);
    }
  for (unsigned lane = 0; lane < lanes; ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) = values[lane];
}

/// The lane within its group of 32 that lane `lane` reads.
unsigned swizzledLane(uint32_t offset, unsigned lane) {
  if (offset >= 0xe000) { // FFT: bits reversed, but for those of the mask
    const uint32_t mask = offset & 31;
    uint32_t reversed = 0;
    for (unsigned bit = 0; bit < 5; ++bit)
      reversed |= (lane >> bit & 1) << (4 - bit);
    return reversed >> std::popcount(mask) | (lane & mask);
  }
  if (offset >= 0xc000) { // rotate
    const uint32_t mask = offset & 31, amount = offset >> 5 & 31;
    const uint32_t rotated = offset >> 10 & 1 ? lane - amount : lane + amount;
    return (lane & mask) | (rotated & ~mask & 31);
  }
  if (offset & 0x8000) // within four lanes
    return (lane & ~3u) | (offset >> (2 * (lane & 3)) & 3);
  return ((lane & (offset & 31)) | (offset >> 5 & 31)) ^ (offset >> 10 & 31);
}

void swizzle(Wave &w, const MicroOp &op) {
  uint32_t values[64];
  const uint64_t exec = w.exec();
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    values[lane] = exec >> lane & 1 ? w.vgpr(uint32_t(op.source[0]), lane) : 0;
  for (unsigned lane = 0; lane < w.lanes(); ++lane)
    if (exec >> lane & 1)
      w.vgpr(op.result, lane) =
          values[(lane & ~31u) + swizzledLane(uint32_t(op.immediate), lane & 31)];
}

constexpr MemorySemantics kRows[] = {
    {"DS_BPERMUTE_B32", backwardPermute<false>},
    {"DS_BPERMUTE_FI_B32", backwardPermute<true>},
    {"DS_PERMUTE_B32", forwardPermute},
    {"DS_SWIZZLE_B32", swizzle},
};

} // namespace

const MemoryTable kLocalLanes = table(kRows);

} // namespace rubia::emulator
