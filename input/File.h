// SPDX-License-Identifier: Apache-2.0
// Files that others may have made. Nothing is mapped: whoever cuts a file that is mapped ends the
// process by SIGBUS. Nothing is opened that never ends or never begins: devices, and pipes where
// nobody said that there may be one.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstdint>
#include <memory>

namespace rubia::input {

/// Regular files, for libraries; or pipes too, for commands, whose user named them.
enum class Accept : uint8_t { RegularFiles, PipesToo };

/// An open file of known size, or a pipe.
class File {
public:
  /// The error names the file; its code is that of open(2), or not_supported for what is neither.
  static llvm::Expected<File> open(llvm::StringRef path, Accept accept = Accept::RegularFiles);
  File(File &&other) noexcept : path(std::move(other.path)), fd(other.fd), bytes(other.bytes) {
    other.fd = -1;
  }
  File &operator=(File &&) = delete;
  ~File();

  bool isPipe() const { return bytes == kUnknown; }
  /// When it was opened; not of a pipe.
  uint64_t size() const { return bytes; }

  /// `size` bytes from `offset`. An error if there are no longer as many, or more than `most` are
  /// asked for: file_too_large.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> read(uint64_t offset, uint64_t size,
                                                           uint64_t most) const;
  /// All of it; of a pipe until it ends. More than `most` bytes are an error.
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readAll(uint64_t most) const;

private:
  static constexpr uint64_t kUnknown = UINT64_MAX;
  File(std::string path, int fd, uint64_t bytes) : path(std::move(path)), fd(fd), bytes(bytes) {}
  llvm::Error failure(const llvm::Twine &what, std::errc code) const;
  llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readPipe(uint64_t most) const;

  std::string path;
  int fd;
  uint64_t bytes;
};

/// A whole file of at most `most` bytes; the buffer's identifier is the path.
llvm::Expected<std::unique_ptr<llvm::MemoryBuffer>> readFile(llvm::StringRef path, uint64_t most,
                                                             Accept accept = Accept::RegularFiles);

} // namespace rubia::input
