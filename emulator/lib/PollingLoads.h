// Loads that wait for somebody else.
#pragma once

#include "emulator/lib/InstructionStep.h"
#include "llvm/ADT/BitVector.h"

namespace rubia::emulator {

/// Per operation: whether it is a load, in a loop, from an address that does not change in the
/// loop, of memory that nothing in the loop writes, without a barrier. A compiler moves a plain
/// load out of such a loop: one that is still there is volatile or atomic, although in LDS it does
/// not look so, or follows a fence. Also the load of what a compare-and-swap then expects: LLVM,
/// which writes such loops for atomics that a target lacks, loads plainly.
llvm::BitVector findPollingLoads(const SteppedProgram &code);

} // namespace rubia::emulator
