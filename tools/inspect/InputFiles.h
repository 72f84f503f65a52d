// SPDX-License-Identifier: Apache-2.0
// PATHs that people name -> the files that may hold CUDA code: folders are walked in the order of
// their names, and archives (tar, wheels, Debian packages) are opened, whatever is in them.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <memory>
#include <set>
#include <string>

namespace rubia::tools {

/// A file that was named, or one that was met below a folder or in an archive and that begins like
/// CUDA code.
struct InputFile {
  std::unique_ptr<llvm::MemoryBuffer> buffer; // its identifier is the place for people
  std::string name;                           // of the file, or of the archive's member
  bool isNamed = false;
};

class InputFiles {
public:
  using Take = std::function<void(InputFile)>;
  using Problem = std::function<void(const std::string &place, const std::string &reason)>;
  InputFiles(Take take, Problem problem) : take(std::move(take)), problem(std::move(problem)) {}

  /// A path that the user named. Anything wrong with it is a problem; so is an archive that is
  /// damaged, and a file that cannot be read, wherever it is.
  void addPath(const std::string &path);
  /// The same for bytes that have been read.
  void addBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer);

  unsigned seen() const { return filesSeen; } // archive members included

private:
  void addDirectory(const std::string &path);
  void addFile(const std::string &path, bool isNamed);
  void addBuffer(std::unique_ptr<llvm::MemoryBuffer> buffer, llvm::StringRef name, bool isNamed,
                 unsigned depth);
  void addArchive(std::unique_ptr<llvm::MemoryBuffer> buffer, bool isNamed, unsigned depth);

  Take take;
  Problem problem;
  unsigned filesSeen = 0;
  std::set<llvm::sys::fs::UniqueID> met; // below folders
};

} // namespace rubia::tools
