// Private memory: one layout for all ways to reach it.
//
// A wave's private memory is `scratchPerLane` bytes for each of its lanes from `Wave::scratch` on,
// interleaved dword by dword: byte b of lane l lies at ((b / 4) * lanes + l) * 4 + b % 4. That is
// what a buffer resource with swizzling, elements of 4 bytes and an index stride of the wave size
// computes (CDNA4 ISA "Swizzled Buffer Addressing"), what FLAT_SCRATCH + swizzle means (CDNA4 ISA
// "Scratch") and what the private aperture of flat addresses leads to. So three views agree:
//
//   SCRATCH_*, FLAT_* in the private aperture   FLAT_SCRATCH is Wave::scratch. With architected
//   flat
//                                               scratch the wave starts with that value; on gfx90a
//                                               and gfx10 the kernel's prologue sets it to
//                                               flatScratchInit + waveOffset.
//   BUFFER_* with the resource in s[0:3]        base is that of the workgroup; the prologue adds
//                                               waveOffset to s0 (AMDGPUUsage "Private Segment
//                                               Buffer"). soffset counts unswizzled bytes.
#pragma once

#include "emulator/lib/Wave.h"

namespace rubia::emulator {

constexpr unsigned kScratchElement = 4; // bytes of a lane that lie together

/// A byte of a lane's private memory.
inline uint8_t *scratchByte(const Wave &w, unsigned lane, uint64_t offset) {
  return w.scratch + ((offset / kScratchElement) * w.lanes() + lane) * kScratchElement +
         offset % kScratchElement;
}

inline uint64_t scratchBytes(const Wave &w) { return uint64_t(w.scratchPerLane) * w.lanes(); }

/// What the SGPRs of a wave hold at its start on targets without architected flat scratch.
struct ScratchRegisters {
  uint32_t resource[4] = {};    // private segment buffer, before the prologue adds waveOffset
  uint64_t flatScratchInit = 0; // flat scratch init, likewise
  uint32_t waveOffset = 0;      // scratch wave offset, the last system SGPR
};

inline ScratchRegisters scratchRegisters(const Wave &w, unsigned major) {
  ScratchRegisters registers;
  registers.waveOffset = uint32_t(w.indexInGroup * scratchBytes(w));
  const uint64_t base = uint64_t(w.scratch) - (w.scratch ? registers.waveOffset : 0);
  registers.flatScratchInit = base;
  constexpr uint32_t kSwizzle = 1u << 31, kAddThreadId = 1u << 23;
  const uint32_t indexStride = w.lanes() == 64 ? 3u << 21 : 2u << 21;
  registers.resource[0] = uint32_t(base);
  registers.resource[1] = (uint32_t(base >> 32) & 0xffff) | kSwizzle;
  registers.resource[2] = ~0u; // number of records: scratch is not range checked
  // gfx10: format 32_UINT, resource level, OOB_SELECT 2 (no check). gfx9: the format's place holds
  // the high bits of the stride.
  registers.resource[3] =
      kAddThreadId | indexStride | (major == 10 ? 20u << 12 | 1u << 24 | 2u << 28 : 0);
  return registers;
}

} // namespace rubia::emulator
