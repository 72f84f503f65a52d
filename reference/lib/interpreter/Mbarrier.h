// SPDX-License-Identifier: Apache-2.0
// mbarrier objects: 64 bits of shared memory. PTX ISA:
// parallel-synchronization-and-communication-instructions-mbarrier.
#pragma once

#include "reference/lib/interpreter/Warp.h"

namespace rubia::reference::interpreter {

/// The pending arrivals of a phase, those that each phase expects, the bytes that have been
/// announced and not come, and the phase's parity.
struct Mbarrier {
  uint32_t pending = 0, expected = 0;
  int32_t bytes = 0; // negative: bytes that came before they were announced
  bool parity = false;

  static Mbarrier decode(uint64_t word);
  uint64_t encode() const;
};

/// Changes the mbarrier at an address; the phase is completed if nothing is pending any more. False
/// after Warp::fail().
bool changeMbarrier(Warp &warp, ptx::StateSpace space, uint64_t address, unsigned lane,
                    llvm::function_ref<void(Mbarrier &)> change);

/// Bytes have come.
inline bool completeBytes(Warp &warp, uint64_t address, unsigned lane, uint64_t bytes) {
  return changeMbarrier(warp, ptx::StateSpace::Shared, address, lane,
                        [&](Mbarrier &barrier) { barrier.bytes -= int32_t(bytes); });
}

} // namespace rubia::reference::interpreter
