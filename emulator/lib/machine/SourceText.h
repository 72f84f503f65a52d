// SPDX-License-Identifier: Apache-2.0
// Lines of source files. Which files these are, the debug information of a code object says,
// whoever made it: so only those below folders that the user named are read.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace rubia::emulator {

class SourceText {
public:
  /// RUBIA_EMULATOR_SOURCES: folders, separated by colons.
  SourceText();

  /// Line `number`, counted from 1, without the space around it, as terminals may show it. Empty:
  /// it is not there, or not below one of the folders.
  llvm::StringRef line(llvm::StringRef file, unsigned number);
  /// All lines, with the space around them; none likewise.
  llvm::ArrayRef<llvm::StringRef> lines(llvm::StringRef file);

private:
  struct File {
    std::string text;
    llvm::SmallVector<llvm::StringRef, 0> lines;
  };
  std::string find(llvm::StringRef name) const;

  std::vector<std::string> folders;             // their real paths, with a slash at the end
  llvm::StringMap<std::unique_ptr<File>> files; // null: it cannot be read
};

} // namespace rubia::emulator
