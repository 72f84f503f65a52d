// SPDX-License-Identifier: Apache-2.0
// mma with kind::f8f6f4 and its kin: factors of 4, 6 and 8 bits.
#pragma once

#include "lowering/lib/matrices/MmaSoftware.h"

namespace rubia::lowering {

/// Makes of a product of factors in bytes one of e4m3 and e5m2, which have all of their numbers.
void widenFactors(FunctionLowering &fn, MmaForm &form, MmaOperands &operands);

} // namespace rubia::lowering
