// SPDX-License-Identifier: Apache-2.0
// MODE.gpr_idx_en of gfx9 (CDNA3 ISA "VGPR Indexing"): M0[7:0] is added to the numbers of the
// vector registers of a vector ALU instruction. M0[15:12] says of which: source 0, 1, 2 and the
// result; a source that is the result's old value (V_FMAC) goes with the result.
#pragma once

#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

/// Changes a copy of an operation so. Returns whether it stays within the allocated registers; if
/// not, that is a fault of the wave.
bool addGprIndex(Wave &wave, MicroOp &op);

} // namespace rubia::emulator
