// SPDX-License-Identifier: Apache-2.0
// PTX text -> Module. Parsing goes on after an error; the function it is in becomes invalid, all
// others are kept.
#pragma once

#include "ptx-frontend/Diagnostics.h"
#include "ptx-frontend/Module.h"

namespace rubia::ptx {

struct ParseResult {
  Module module;
  std::vector<Diagnostic> diagnostics;
  bool usable = false; // false: the module header itself is unreadable; nothing can be compiled
  bool hasErrors() const;
};

/// `name` is used in diagnostics. Runs the verifier on every function.
ParseResult parse(std::string name, std::string text);

} // namespace rubia::ptx
