// SPDX-License-Identifier: Apache-2.0
// A descriptor that closes itself, and whole transfers of bytes.
#pragma once

#include "llvm/Support/Error.h"
#include <cstdint>
#include <vector>

namespace rubia::runtime {

class FileDescriptor {
public:
  FileDescriptor() = default;
  /// Takes it, under a number that is no standard stream's: a program may have been started without
  /// one, and what it prints must not come here. -1: none.
  explicit FileDescriptor(int fd);
  FileDescriptor(FileDescriptor &&other) noexcept : fd(other.release()) {}
  FileDescriptor &operator=(FileDescriptor &&other) noexcept;
  ~FileDescriptor();
  int get() const { return fd; }
  int release();
  explicit operator bool() const { return fd >= 0; }

private:
  int fd = -1;
};

/// All `size` bytes, or false. Writing to a socket whose other end is gone, or beyond the limit of
/// a file's size, raises no signal.
bool readAll(int fd, void *data, size_t size);
bool preadAll(int fd, void *data, size_t size, uint64_t offset);
bool writeAll(int fd, const void *data, size_t size);
/// All of a file, from its beginning; an error if it has more than `most` bytes.
llvm::Expected<std::vector<uint8_t>> readFile(int fd, uint64_t most = UINT64_MAX);

} // namespace rubia::runtime
