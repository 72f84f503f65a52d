// SPDX-License-Identifier: Apache-2.0
// Loads that wait for somebody else.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "llvm/ADT/BitVector.h"

namespace rubia::emulator {

/// Per operation: whether it is a load, in a loop, from an address that does not change in the
/// loop, of memory that nothing in the loop writes, without a barrier. A compiler moves a plain
/// load out of such a loop: one that is still there is volatile or atomic, although in LDS it does
/// not look so, or follows a fence.
llvm::BitVector findPollingLoads(const SteppedProgram &code);

/// Per operation: whether it loads what a compare-and-swap then expects. LLVM, which writes such
/// loops for atomics that a target lacks, loads plainly, and so do many programs.
llvm::BitVector findExpectingLoads(const SteppedProgram &code);

} // namespace rubia::emulator
