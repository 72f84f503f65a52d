// SPDX-License-Identifier: Apache-2.0
// The tables of instructions that are not vector ALU.
#pragma once

#include "emulator/lib/scalar/ScalarSemantics.h"

namespace rubia::emulator {

extern const ScalarTable kScalarAlu;         // SOP1, SOP2, SOPC, SOPK on integers
extern const ScalarTable kScalarFloat;       // the same on floats
extern const ScalarTable kControlFlow;       // branches, traps, messages, clocks
extern const ScalarTable kBarriers;          // S_BARRIER_*
extern const ScalarTable kHardwareRegisters; // S_GETREG, S_SETREG and what else changes MODE

/// S_ATOMIC_* and S_BUFFER_ATOMIC_*: the handler of an operation by [buffer][64 bits].
struct ScalarAtomic {
  const char *name; // "ADD"
  Handler handlers[2][2];
};
struct ScalarAtomicTable {
  const ScalarAtomic *rows;
  size_t count;
};
extern const ScalarAtomicTable kScalarAtomics;
/// MicroOp::data of an atomic that returns the old value.
constexpr uint8_t kScalarAtomicReturns = 1;

} // namespace rubia::emulator
