// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "lowering/lib/analysis/BarrierPlan.h"

namespace rubia::lowering {

/// Static shared memory of a kernel, with the words that its unit's barriers need.
uint64_t staticSharedBytes(const ptx::Function &kernel, const BarrierWords &words);

} // namespace rubia::lowering
