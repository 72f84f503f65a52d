// SPDX-License-Identifier: Apache-2.0
// What each instruction does to the values that may come to EXEC.
#pragma once

#include "codegen/lib/Disassembler.h"

namespace rubia::codegen {

/// What an instruction does to the registers that are followed.
enum class Rule : uint8_t {
  Nothing,
  Copy,      // d = a
  MaybeCopy, // d = a or d
  Select,    // d = a or b
  And,
  AndNot,
  Or,
  Xor,
  OrNot,
  Widen, // anything else with complements
  Not,
  WidenOne,   // of one operand
  AndSave,    // d = exec, exec = op(a, exec)
  AndNotSave, // exec = a & ~exec
  NotAndSave, // exec = ~a & exec
  OrSave,
  XorSave,
  WidenSave,
  NotAndWrite, // d = exec = ~a & exec
  AndNotWrite, // d = exec = a & ~exec
  Add,         // d = a + b
  Subtract,
  AddToItself, // d = d + constant
  GetPc,
  Lanes,     // vector arithmetic: scalar results are 0 for inactive lanes
  Overwrite, // nothing is known of any result
  WriteLane,
  ReadLane,
  CopyVector,
  StoreScratch,
  LoadScratch,
  Store, // to any other memory
  Load,  // from any other memory
};

Rule ruleOf(const Disassembler &disassembler, unsigned opcode);

} // namespace rubia::codegen
