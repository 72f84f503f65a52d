// SPDX-License-Identifier: Apache-2.0
// Looks in the final machine code whether what is computed with all lanes on overwrites no value of
// a lane that was idle. LLVM keeps such registers apart from others, but for its mistakes
// (docs/errata.md): of two warps in a wave, one then computes with the other's values.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace rubia::codegen {

/// Checks every function of a linked code object that has whole-wave regions (ExecChecker.h). The
/// rules:
/// - a lane that is active reads no vector register that was last written with all lanes on while
///   it was idle, unless it has written the register itself since;
/// - a function that was called leaves no register so to a lane that was idle all the time, but for
///   those that it has loaded from scratch, where it saved them.
/// A kernel may store a register of all lanes to scratch and load it again, as around a call, where
/// nothing has written it or its place in between.
/// Which lanes a branch or loop leaves idle is known by where it begins and ends, not by masks;
/// uniform branches on the same flag go the same way. So code may be refused that is right: where a
/// value of a branch is read behind it by the lanes alone that were in it. Accesses of single
/// lanes, as v_readlane_b32 and v_writelane_b32, are no reads and writes of the others. The error
/// is a CodegenError, of the form of that of checkExec().
llvm::Error checkWholeWaves(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
