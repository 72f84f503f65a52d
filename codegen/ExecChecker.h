// SPDX-License-Identifier: Apache-2.0
// Proves on the final machine code that EXEC, the mask of the lanes that execute, is only written
// from what came from EXEC. LLVM has written other values there (docs/errata.md); lanes without a
// thread then load and store with whatever their registers hold.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace rubia::codegen {

/// Checks every function of a linked code object, and code without a symbol. The rules:
/// - what is written to EXEC is a *mask*: it came from EXEC, from comparisons and carries (which
/// are
///   0 for inactive lanes) and from 0, by copies, selections, `or` and `xor` of masks, and `and` of
///   a mask with anything; through scalar registers, lanes of vector registers and what of these is
///   spilled;
/// - a constant -1 opens a *whole-wave region*, which a mask written to EXEC ends. Within it no
///   memory but scratch is read or written, no function is called and none returns. Assembly that
///   enters a region within another one, which LLVM never does, may access memory until it copies
///   its saved EXEC back.
/// A function presumes that its callers keep them, and that callees preserve what the calling
/// convention says. The error is a CodegenError that names function, address, instruction, and what
/// was expected and found; one line for each violation, at most 20.
llvm::Error checkExec(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
