// SPDX-License-Identifier: Apache-2.0
// What is read back from a linked code object, and what must be in it.
#pragma once

#include "codegen/Codegen.h"

namespace rubia::codegen {

/// What a loader will ask the code object for.
struct ExportedSymbols {
  std::vector<std::string> kernels;
  std::vector<std::string> variables;
};

/// The kernels of a module, and those variables whose linkage and visibility make them visible from
/// outside.
ExportedSymbols exportedSymbols(const llvm::Module &module);

/// Checks that the linked code object has all of them in its dynamic symbol table, and every kernel
/// in its metadata.
llvm::Error checkExports(const CodeObject &object, const ExportedSymbols &symbols);

} // namespace rubia::codegen
