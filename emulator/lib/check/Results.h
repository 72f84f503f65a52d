// SPDX-License-Identifier: Apache-2.0
// What operations in registers make of bits, for the check of uninitialised memory.
#pragma once

#include "emulator/lib/decode/InstructionStep.h"
#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

Meaning meaningOf(const InstructionStep &step, const MicroOp &op);

/// The undefined bits of a register if `differs` of its bits do.
uint32_t widened(uint32_t differs, Meaning meaning, bool ofHalves);

/// The decoder's own register, through which the halves of a pair exchange theirs, as the number of
/// a VGPR.
constexpr unsigned kTemporaryVgpr = 0xffff;
constexpr uint32_t offsetOf(unsigned vgpr) {
  return vgpr == kTemporaryVgpr ? kTemporaryRegister : vectorOffset(vgpr);
}

/// The registers of one half of a pair (V_DUAL_*).
llvm::SmallVector<RegisterRange, 4> registersOfHalf(const MicroOp &op);

} // namespace rubia::emulator
