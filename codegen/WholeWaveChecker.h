// SPDX-License-Identifier: Apache-2.0
// Proves on the final machine code that what is computed with all lanes on overwrites no value of a
// lane that was idle. LLVM keeps such registers apart from others, but for its mistakes
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
/// A lane is followed through all branches that it may take. Where it is not known whether it is
/// active, or where there are too many cases, nothing is checked. Accesses of single lanes, as
/// v_readlane_b32 and v_writelane_b32, are no reads and writes of the others. The error is a
/// CodegenError, of the form of that of checkExec().
llvm::Error checkWholeWaves(llvm::ArrayRef<uint8_t> codeObject);

} // namespace rubia::codegen
