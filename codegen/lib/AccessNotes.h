// SPDX-License-Identifier: Apache-2.0
// What each memory instruction of a code object was in the program.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <memory>

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
class Pass;
} // namespace llvm

namespace rubia::codegen {

/// Writes the sections .rubia.accesses and .rubia.warpsyncs (docs/architecture.md) behind the code
/// that `printer` prints. The code itself stays as it is.
std::unique_ptr<llvm::AsmPrinterHandler> makeAccessNotes(llvm::AsmPrinter &printer);

/// LLVM's pass that makes loops of compare-and-swap. Each loop begins with a plain load.
inline constexpr llvm::StringLiteral kAtomicExpansion = "Expand Atomic instructions";
/// Before and behind that pass: notes the loads that it makes as parts of atomic operations.
llvm::Pass *makeProgramLoads();
llvm::Pass *makeExpandedLoads();

} // namespace rubia::codegen
