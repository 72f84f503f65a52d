// SPDX-License-Identifier: Apache-2.0
// What an access of a wave costs: the cache lines that it touches, and the cycles that LDS needs
// for it.
//
// LDS has 32 banks of one dword: in a cycle each serves one dword, to any number of lanes (RDNA3
// ISA "Local Data Share", CDNA3 ISA "Local Data Share"). It takes the lanes of an instruction in
// groups whose data fills the banks: 32 lanes of up to 32 bits, 16 of 64, 8 of 96 or 128. On CDNA
// the groups of reads of 96 and 128 bits are not of lanes in a row (AMD, "Avoiding LDS Bank
// Conflicts on AMD GPUs Using CK-Tile Framework", 2025), and gfx950 serves reads of 64 and 128 bits
// from 64 banks, in groups twice as large (Hu et al., "HipKittens", arXiv 2511.08083). A group
// takes as many cycles as the bank has dwords of which most are wanted; atomics take one for each
// lane.
#pragma once

#include "emulator/Profile.h"
#include "emulator/lib/run/Accesses.h"

namespace rubia::emulator {

struct LdsCycles {
  unsigned cycles = 0;
  unsigned conflicts = 0; // of these, more than one for a group
};
/// Of the accesses to LDS among `lanes`.
LdsCycles ldsCycles(const targets::Target &target, llvm::ArrayRef<LaneAccess> lanes, bool atomic);

/// Of the accesses to global memory among `lanes`: none, or one access.
MemoryCost memoryCost(unsigned lineBytes, llvm::ArrayRef<LaneAccess> lanes);

} // namespace rubia::emulator
