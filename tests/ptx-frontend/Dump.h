// SPDX-License-Identifier: Apache-2.0
// Modules as text, for comparison: ids instead of the names of registers, labels and local
// variables, which the printer may change.
#pragma once

#include "ptx-frontend/Parser.h"
#include <string>

namespace rubia::ptx {

/// Everything that a module says.
std::string dump(const Module &module);

/// "kernel k: mov.u32 %r1, 5 | ret": the instructions of all functions, as they are printed.
std::string instructions(const Module &module);

/// "2:3: error: ..." of every diagnostic, one a line.
std::string messages(const ParseResult &result);

/// A module around `body`: registers of all types, a few variables, one kernel 'k'.
std::string inKernel(llvm::StringRef body);

} // namespace rubia::ptx
