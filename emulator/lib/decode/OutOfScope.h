// SPDX-License-Identifier: Apache-2.0
// Instructions that LLVM can encode for the emulated processors and that the emulator refuses on
// purpose.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstddef>

namespace rubia::emulator {

struct OutOfScope {
  llvm::StringLiteral name; // the tables' key; a '*' at its end or beginning stands for anything
  llvm::StringLiteral reason;
  llvm::StringLiteral encoding = ""; // only where LLVM's name of the opcode contains this
  llvm::StringLiteral unless = "";   // and lacks this, if it is not empty
  bool matches(llvm::StringRef key, llvm::StringRef fullName) const;
};

struct OutOfScopeTable {
  const OutOfScope *rows;
  size_t count;
};
extern const OutOfScopeTable kOutOfScope;

/// Why the instruction is out of scope, or null. `key` is the tables' name of the instruction,
/// `fullName` LLVM's.
const OutOfScope *findOutOfScope(llvm::StringRef key, llvm::StringRef fullName);
/// The same of LLVM's opcode, remembered for all targets: every instruction that is decoded asks.
const OutOfScope *findOutOfScope(unsigned opcode, llvm::StringRef key, llvm::StringRef fullName);

} // namespace rubia::emulator
