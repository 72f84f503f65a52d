// SPDX-License-Identifier: Apache-2.0
// PTX in the place of machine code: an ELF file of CUDA's machine with the text in a section.
// docs/standins.md describes it; fatbin/ reads it.
#pragma once

#include "ptx-frontend/Module.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace rubia::standins {

/// What code is asked for: sm_90a.
struct Target {
  unsigned sm = 0;
  char variant = 0; // 0, 'a' or 'f'
  /// compute_90, lto_90: the text is checked, and no code is made.
  bool isVirtual = false;

  std::string name() const; // "sm_90a", also of a virtual one
};

/// "sm_90a", "compute_90", "lto_90"; nullopt: not a target that PTX has.
std::optional<Target> targetNamed(llvm::StringRef name);

/// `text` is that of the module.
std::vector<uint8_t> makeCubin(const ptx::Module &module, llvm::StringRef text,
                               const Target &target, bool isRelocatable);

} // namespace rubia::standins
