// SPDX-License-Identifier: Apache-2.0
// The fast handlers of memory instructions and of moves between lanes, one set per instruction set
// of the host.
#pragma once

#include "emulator/lib/machine/Addressing.h"

namespace rubia::emulator {

// Rows are named in full. Each calls MicroOp::slowPath for what it does not do.
namespace baseline {
extern const MemoryTable kVectorMemory, kVectorLanes;
}
namespace avx2 {
extern const MemoryTable kVectorMemory, kVectorLanes;
}
namespace avx512 {
extern const MemoryTable kVectorMemory, kVectorLanes;
}

} // namespace rubia::emulator
