// The fast handlers of memory instructions, one set per instruction set of the host.
#pragma once

#include "emulator/lib/Addressing.h"

namespace rubia::emulator {

// Rows are named in full. Each calls MicroOp::otherwise for what it does not do.
namespace baseline {
extern const MemoryTable kVectorMemory;
}
namespace avx2 {
extern const MemoryTable kVectorMemory;
}
namespace avx512 {
extern const MemoryTable kVectorMemory;
}

} // namespace rubia::emulator
