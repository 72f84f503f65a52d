// SPDX-License-Identifier: Apache-2.0
// Last uses of registers, as "SI optimize exec mask operations" forgets them.
//
// For each comparison that the pass writes to EXEC, it goes through all uses of the comparison's
// registers, to say that none is the last one. VCC is used all over the function: of 64,000
// instructions with many branches that was a sixth of the time. Once is enough, as the pass says of
// no use that it is the last one.
//
// The linker is told to call the function of here in the place of LLVM's (`--wrap`).
#pragma once

#include "llvm/ADT/StringRef.h"

namespace llvm {
class Pass;
} // namespace llvm

namespace rubia::codegen {

constexpr llvm::StringLiteral kExecMasking = "SI optimize exec mask operations";

/// Passes to be run right before that pass, and right behind it.
llvm::Pass *makeKillFlagsOnce();
llvm::Pass *makeKillFlagsAgain();

/// Whether this process has asked the function of here: not if LLVM has another one.
bool wasAskedForKillFlags();

} // namespace rubia::codegen
