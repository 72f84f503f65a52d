// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"

namespace rubia::tools {

/// Goes with what is in it.
struct TemporaryFolder {
  llvm::SmallString<128> path;
  std::error_code problem = llvm::sys::fs::createUniqueDirectory("rubia-replay", path);
  ~TemporaryFolder() {
    if (!problem)
      (void)llvm::sys::fs::remove_directories(path); // a leftover harms nobody
  }
};

} // namespace rubia::tools
