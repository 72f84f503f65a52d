// SPDX-License-Identifier: Apache-2.0
// What each memory instruction of a code object was in the program.
#pragma once

#include <memory>

namespace llvm {
class AsmPrinter;
class AsmPrinterHandler;
} // namespace llvm

namespace rubia::codegen {

/// Writes the sections .rubia.accesses and .rubia.warpsyncs (docs/architecture.md) behind the code
/// that `printer` prints. The code itself stays as it is.
std::unique_ptr<llvm::AsmPrinterHandler> makeAccessNotes(llvm::AsmPrinter &printer);

} // namespace rubia::codegen
