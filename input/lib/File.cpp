// SPDX-License-Identifier: Apache-2.0
#include "input/File.h"
#include "input/Writing.h"
#include "llvm/ADT/Twine.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

using namespace llvm;

namespace rubia::input {

Error File::failure(const Twine &what, std::errc code) const {
  return createStringError(std::make_error_code(code), path + ": " + what);
}

static Error systemError(const std::string &path) {
  return createStringError(std::error_code(errno, std::generic_category()),
                           path + ": " + strerror(errno));
}

File::~File() {
  if (fd >= 0)
    close(fd);
}

// Without O_NONBLOCK a FIFO that nobody writes to would be waited for before its kind is known.
Expected<File> File::open(StringRef name, Accept accept) {
  std::string path = name.str();
  struct stat status;
  // Who opens a FIFO lets its writer go on: if it is not to be read, it is not opened.
  if (accept != Accept::PipesToo && !stat(path.c_str(), &status) && S_ISFIFO(status.st_mode))
    return File(path, -1, 0).failure("not a regular file", std::errc::not_supported);
  int fd =
      besideStandardStreams(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK));
  if (fd < 0)
    return systemError(path);
  File file(path, fd, 0);
  if (fstat(fd, &status))
    return systemError(path);
  if (S_ISDIR(status.st_mode))
    return file.failure(strerror(EISDIR), std::errc::is_a_directory);
  if (S_ISREG(status.st_mode)) {
    file.bytes = uint64_t(status.st_size);
    return file;
  }
  if (!S_ISFIFO(status.st_mode) || accept != Accept::PipesToo)
    return file.failure(accept == Accept::PipesToo ? "neither a regular file nor a pipe"
                                                   : "not a regular file",
                        std::errc::not_supported);
  // Until somebody has opened the other end, a read would say that there is nothing.
  pollfd opened{fd, POLLIN, 0};
  while (poll(&opened, 1, -1) < 0)
    if (errno != EINTR)
      return systemError(path);
  if (fcntl(fd, F_SETFL, 0))
    return systemError(path);
  file.bytes = kUnknown;
  return file;
}

Expected<std::unique_ptr<MemoryBuffer>> File::read(uint64_t offset, uint64_t size,
                                                   uint64_t most) const {
  if (size > most)
    return failure(Twine(size) + " bytes, more than the limit of " + Twine(most),
                   std::errc::file_too_large);
  if (isPipe() || offset > bytes || size > bytes - offset)
    return failure("it ends before the " + Twine(size) + " bytes at " + Twine(offset),
                   std::errc::invalid_argument);
  auto buffer = WritableMemoryBuffer::getNewUninitMemBuffer(size, path);
  if (!buffer)
    return failure("no memory for " + Twine(size) + " bytes", std::errc::not_enough_memory);
  for (uint64_t done = 0; done < size;) {
    ssize_t n = pread(fd, buffer->getBufferStart() + done, size - done, off_t(offset + done));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError(path);
    if (n == 0)
      return failure("it became shorter while it was read", std::errc::io_error);
    done += uint64_t(n);
  }
  return std::unique_ptr<MemoryBuffer>(std::move(buffer));
}

Expected<std::unique_ptr<MemoryBuffer>> File::readPipe(uint64_t most) const {
  std::string all;
  for (char part[1 << 16];;) {
    ssize_t n = ::read(fd, part, sizeof(part));
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return systemError(path);
    if (n == 0)
      return MemoryBuffer::getMemBufferCopy(all, path);
    if (uint64_t(n) > most - all.size())
      return failure("more than the limit of " + Twine(most) + " bytes", std::errc::file_too_large);
    all.append(part, size_t(n));
  }
}

Expected<std::unique_ptr<MemoryBuffer>> File::readAll(uint64_t most) const {
  return isPipe() ? readPipe(most) : read(0, bytes, most);
}

Expected<std::unique_ptr<MemoryBuffer>> readFile(StringRef path, uint64_t most, Accept accept) {
  Expected<File> file = File::open(path, accept);
  if (!file)
    return file.takeError();
  return file->readAll(most);
}

} // namespace rubia::input
