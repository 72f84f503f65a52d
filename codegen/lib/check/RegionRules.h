// SPDX-License-Identifier: Apache-2.0
// Which instructions may stand in a region of another floating-point mode, and which fields of MODE
// they need.
#pragma once

#include "codegen/lib/Disassembler.h"

namespace rubia::codegen {

struct RegionInstruction {
  /// Depends on the mode without being vector arithmetic, or leaves the basic block: wrong in any
  /// region.
  bool isForeign = false;
  /// Arithmetic that rounds, a conversion, a move or a wait: what a region of another rounding may
  /// consist of.
  bool fitsRoundingRegion = false;
  uint32_t fields = 0; ///< fields of MODE (ModeBits) that the result depends on
};

/// `text` is the printed instruction.
RegionInstruction classify(const Disassembler &disassembler, unsigned opcode, llvm::StringRef text);

} // namespace rubia::codegen
