// SPDX-License-Identifier: Apache-2.0
// Instructions of a program as text, for messages.
#pragma once

#include "emulator/lib/machine/Program.h"
#include <optional>

namespace rubia::emulator {

struct DisassembledInstruction {
  llvm::MCInst inst;
  std::string text;
};

/// From any thread. None: there is no instruction at `pc`.
std::optional<DisassembledInstruction> disassembleAt(const Program &program, uint64_t pc);

/// Whether operation `index` is a later part of the instruction that the one before it began.
bool continuesInstruction(const Program &program, size_t index);

/// "v_add_f32" of "v_add_f32_e32 v0, v1, v2"; both names of a pair.
std::string mnemonics(llvm::StringRef printed);

} // namespace rubia::emulator
