// The handlers of vector instructions, one set per instruction set of the host.
#pragma once

#include "emulator/lib/Wave.h"

namespace rubia::emulator {

struct VectorPath {
  Handler simple;      // no modifiers, a result of whole registers
  Handler simpleCarry; // the same with a mask source and/or a mask result
  Handler general;     // everything
};

namespace baseline {
extern const VectorPath kVectorPath;
}
namespace avx2 {
extern const VectorPath kVectorPath;
}

} // namespace rubia::emulator
