// SPDX-License-Identifier: Apache-2.0
// The handlers of vector instructions, one set per instruction set of the host.
#pragma once

#include "emulator/lib/machine/Wave.h"

namespace rubia::emulator {

/// In MicroOp::data: all sources are constants, registers or parts of them that are not
/// sign-extended, and the result is a whole register, or a half of one where that is what the
/// instruction computes.
constexpr uint8_t kOnlyParts = 0x80;

struct VectorPath {
  struct Simple {
    Handler byBlocks[2]; // wave32, wave64
  };
  /// No result modifiers, a result of whole registers. First index: sources are registers and
  /// constants; scalars too; with neg and abs on 32-bit sources. Second index: with a mask source
  /// or a mask result.
  Simple simple[3][2];
  Handler general;      // everything
  Handler pseudoScalar; // V_S_*: one value, to the scalar register maskResult
  /// V_MOV_B16 that keeps the other half of its result. First index: to the high half; second
  /// index: from the high half.
  Simple moveHalf[2][2];
  /// To be called after the last of these handlers, before other code: the upper halves of the
  /// host's vector registers are then clean, which no handler does by itself.
  void (*leave)();
};

namespace baseline {
extern const VectorPath kVectorPath;
}
namespace avx2 {
extern const VectorPath kVectorPath;
}
namespace avx512 {
extern const VectorPath kVectorPath;
}

/// The handlers for this machine.
const VectorPath &vectorPath();

} // namespace rubia::emulator
