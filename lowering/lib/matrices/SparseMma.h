// SPDX-License-Identifier: Apache-2.0
// mma.sp and the sparse wgmma on AMD's matrix units.
//
// A sparse A holds some of the elements of each small group, and its metadata where they stand.
// With zeros in the other places it is a dense A of twice the depth, so the product is that of one
// or two dense tiles (NativeMma.h). Of integers that is exact. Of floats 0 times infinity or NaN is
// NaN, which the sparse product has not: where any element of B is special the warp takes the
// software route.
#pragma once

#include "lowering/lib/matrices/MmaSoftware.h"

namespace rubia::lowering {

/// The form of the dense tiles, without saturation.
MmaForm denseTileOf(const MmaForm &sparse);

/// D's registers; only where the unit of the target computes the dense tiles.
MmaFragment multiplySparse(FunctionLowering &fn, const MmaForm &form, bool mayFlush,
                           const MmaOperands &operands);

} // namespace rubia::lowering
