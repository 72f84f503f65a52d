// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <string>

namespace llvm {
class raw_ostream;
}

namespace rubia::tools {

/// Writes a file, or standard output if `path` is "-". The error names the file, also when the disk
/// fills up on the way.
llvm::Error writeFile(const std::string &path, llvm::function_ref<void(llvm::raw_ostream &)> write);
llvm::Error writeFile(const std::string &path, llvm::StringRef bytes);

} // namespace rubia::tools
