// SPDX-License-Identifier: Apache-2.0
// Errors in PTX text are values with a place. One file can have many: each is kept, and none hides
// a kernel.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::ptx {

enum class Severity : uint8_t { Error, Warning, Note };

struct Diagnostic {
  Severity severity = Severity::Error;
  std::string message;           // lower case, one sentence, no full stop
  uint32_t line = 0, column = 0; // 1-based; 0: no place
  uint32_t place = 0;            // byte offset in the text
  std::string function;          // kernel or function it belongs to; empty: the module
  bool unsupported = false;      // legal PTX that Rubia cannot compile (yet)
};

/// `file:line:col: error: message`, the source line, and a caret.
std::string format(const Diagnostic &diagnostic, llvm::StringRef file, llvm::StringRef text);

/// Line and column (1-based) of a byte offset.
std::pair<uint32_t, uint32_t> lineAndColumn(llvm::StringRef text, uint32_t place);

} // namespace rubia::ptx
