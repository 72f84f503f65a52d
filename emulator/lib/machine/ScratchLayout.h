// SPDX-License-Identifier: Apache-2.0
// Private memory: one layout for all ways to reach it.
//
// A wave's private memory is `scratchPerLane` bytes for each of its lanes from `Wave::scratch` on,
// interleaved dword by dword: byte b of lane l lies at ((b / 4) * lanes + l) * 4 + b % 4. That is
// what a buffer resource with swizzling, elements of 4 bytes and an index stride of the wave size
// computes (CDNA4 ISA "Swizzled Buffer Addressing"), what FLAT_SCRATCH + swizzle means (CDNA4 ISA
// "Scratch") and what the private aperture of flat addresses leads to. So three views agree:
//
// - SCRATCH_*, FLAT_* in the private aperture: FLAT_SCRATCH is Wave::scratch. With architected flat
//   scratch the wave starts with that value; on gfx90a and gfx10 the kernel's prologue sets it to
//   the sum of base and wave offset that it finds in SGPRs.
// - BUFFER_* with the resource in s[0:3]: its base is that of the workgroup, to which the prologue
//   adds the wave's offset (AMDGPUUsage "Private Segment Buffer"); soffset counts unswizzled bytes.
#pragma once

#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

constexpr unsigned kScratchElement = 4; // bytes of a lane that lie together

/// A byte of a lane's private memory.
inline uint8_t *scratchByte(const Wave &w, unsigned lane, uint64_t offset) {
  return w.scratch + ((offset / kScratchElement) * w.lanes() + lane) * kScratchElement +
         offset % kScratchElement;
}

inline uint64_t scratchBytes(const Wave &w) { return uint64_t(w.scratchPerLane) * w.lanes(); }

} // namespace rubia::emulator
