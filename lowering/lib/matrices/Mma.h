// SPDX-License-Identifier: Apache-2.0
// Fragments as operands, and which route computes a product: of mma, wmma and wgmma.
#pragma once

#include "lowering/lib/matrices/MmaSoftware.h"

namespace rubia::lowering {

MmaFragment readFragment(FunctionLowering &fn, const MmaForm &form, MmaMatrix matrix,
                         const ptx::Operand &operand);
void writeFragment(FunctionLowering &fn, const MmaForm &form, MmaMatrix matrix,
                   const ptx::Operand &operand, const MmaFragment &registers);

/// Whether the product is one of the target's unit.
bool takesUnit(FunctionLowering &fn, const MmaForm &form);

/// D: by the unit of the target where it has the form and the mode allows it, else in software. Of
/// wgmma the operands are those of a tile.
MmaFragment multiplySomehow(FunctionLowering &fn, const MmaForm &form, const MmaOperands &operands);

} // namespace rubia::lowering
