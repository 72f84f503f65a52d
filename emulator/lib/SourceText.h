// Lines of source files, where these can be read.
#pragma once

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace rubia::emulator {

class SourceText {
public:
  /// Line `number`, counted from 1, without the space around it. Empty: it is not there.
  llvm::StringRef line(llvm::StringRef file, unsigned number);

private:
  struct File {
    std::unique_ptr<llvm::MemoryBuffer> buffer; // null: it cannot be read
    llvm::SmallVector<llvm::StringRef, 0> lines;
  };
  llvm::StringMap<File> files;
};

} // namespace rubia::emulator
