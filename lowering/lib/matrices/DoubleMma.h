// SPDX-License-Identifier: Apache-2.0
// mma of f64 on matrix units: v_mfma_f64_4x4x4_4b_f64 of CDNA 2 and later, which computes four
// independent products of 4x4 by 4x4. Those of the four quarters of an 8x8 tile are m8n8k4. Deeper
// forms follow each other, higher ones stand below each other.
//
// A unit's sum is a chain of fused multiply-adds in the order of k (MMA-Sim; emulator/lib/vector/
// MatrixSums.h), which is what an H100 gives.
#pragma once

#include "lowering/lib/matrices/MmaSoftware.h"

namespace rubia::lowering {

/// Whether the target has such a unit, and the form the unit's rounding.
bool hasDoubleMma(const Target &target, const MmaForm &form);

/// D's registers (i64); only where hasDoubleMma() holds.
MmaFragment multiplyDoubles(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands);

} // namespace rubia::lowering
