// SPDX-License-Identifier: Apache-2.0
// Loops over the lanes of a block that become vector operations of the host.
#pragma once

#include "emulator/lib/machine/LaneTypes.h"

namespace rubia::emulator {
namespace RUBIA_ISA {

/// How a loop over the 32 lanes of a block becomes a few vector operations: as many lanes at once
/// as there are dwords in the host's vectors, also where they are computed in 64 bits. Else results
/// would be stored as half vectors, and the next instruction's load of a whole one would have to
/// wait until both are in the cache.
#ifdef __AVX512F__
constexpr unsigned kLaneWidth = 16, kLaneInterleave = 2;
#elif defined(__AVX2__)
constexpr unsigned kLaneWidth = 8, kLaneInterleave = 4;
#else
constexpr unsigned kLaneWidth = 4, kLaneInterleave = 4;
#endif

/// For loops that need no width of their own.
#define RUBIA_EACH_LANE                                                                            \
  _Pragma("clang loop vectorize(assume_safety) interleave_count(kLaneInterleave)")                 \
      _Pragma("clang loop unroll(disable)") for (unsigned lane = 0; lane < kBlockLanes; ++lane)

/// The same address, of which the compiler does not know that it is the same. A load, a choice and
/// a store of one place would become a masked store, after which the next instruction's load of the
/// register has to wait, as it does all the time in divergent code.
[[gnu::always_inline]] inline const uint32_t *whatWas(const uint32_t *result) {
  asm("" : "+r"(result));
  return result;
}

} // namespace RUBIA_ISA
} // namespace rubia::emulator
