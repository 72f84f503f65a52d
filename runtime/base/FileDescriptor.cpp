// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/FileDescriptor.h"
#include "input/Writing.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

FileDescriptor::FileDescriptor(int opened) : fd(input::besideStandardStreams(opened)) {}

FileDescriptor &FileDescriptor::operator=(FileDescriptor &&other) noexcept {
  if (this != &other) {
    if (fd >= 0)
      close(fd);
    fd = other.release();
  }
  return *this;
}

FileDescriptor::~FileDescriptor() {
  if (fd >= 0)
    close(fd);
}

int FileDescriptor::release() {
  int result = fd;
  fd = -1;
  return result;
}

bool readAll(int fd, void *data, size_t size) {
  char *to = static_cast<char *>(data);
  while (size) {
    ssize_t n = read(fd, to, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    to += n;
    size -= n;
  }
  return true;
}

bool preadAll(int fd, void *data, size_t size, uint64_t offset) {
  char *to = static_cast<char *>(data);
  while (size) {
    ssize_t n = pread(fd, to, size, off_t(offset));
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    to += n;
    offset += n;
    size -= n;
  }
  return true;
}

// Never raises SIGPIPE: the program may not expect it.
static ssize_t sendPart(int fd, const void *data, size_t size) {
  ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL);
  return n < 0 && errno == ENOTSOCK ? write(fd, data, size) : n;
}

bool writeAll(int fd, const void *data, size_t size) {
  input::WithoutSignalsOfWriting guard;
  const char *from = static_cast<const char *>(data);
  while (size) {
    ssize_t n = sendPart(fd, from, size);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      return false;
    from += n;
    size -= n;
  }
  return true;
}

Expected<std::vector<uint8_t>> readFile(int fd, uint64_t most) {
  struct stat status;
  if (fstat(fd, &status))
    return createStringError(errnoAsErrorCode(), "fstat");
  if (uint64_t(status.st_size) > most)
    return createStringError(inconvertibleErrorCode(), "more than " + Twine(most) + " bytes");
  std::vector<uint8_t> bytes(status.st_size);
  // Several processes read one open file, whose position is theirs together.
  if (!preadAll(fd, bytes.data(), bytes.size(), 0))
    return createStringError(errnoAsErrorCode(), "read");
  return bytes;
}

} // namespace rubia::runtime
