// SPDX-License-Identifier: Apache-2.0
// A target ID split into what LLVM wants: a processor and feature switches. AMDGPUUsage "Target
// ID".
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace rubia::codegen {

struct TargetId {
  std::string processor;
  std::string features; ///< as in the attribute "target-features": "+sramecc,-xnack", features in
                        ///< alphabetical order
  bool isGeneric = false;

  /// "amdgcn-amd-amdhsa--gfx90a:sramecc+:xnack-", what comgr calls an ISA name.
  std::string isaName() const;
};

llvm::Expected<TargetId> parseTargetId(llvm::StringRef text);

} // namespace rubia::codegen
