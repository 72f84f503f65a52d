// SPDX-License-Identifier: Apache-2.0
// The static shared memory of a whole unit: its barriers are looked at once for all kernels.
#pragma once

#include "lowering/Lowering.h"

namespace rubia::lowering {

/// staticSharedBytes() of each kernel of the unit, in their order.
std::vector<uint64_t> staticSharedBytes(const Unit &unit);

} // namespace rubia::lowering
