// SPDX-License-Identifier: Apache-2.0
#include "input/Writing.h"
#include <cerrno>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::input {

WithoutSignalsOfWriting::WithoutSignalsOfWriting() {
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  sigpending(&pending);
  pthread_sigmask(SIG_BLOCK, &signals, &before);
}

// What was pending before is the program's.
WithoutSignalsOfWriting::~WithoutSignalsOfWriting() {
  const int error = errno;
  for (int signal : {SIGPIPE, SIGXFSZ})
    if (sigismember(&pending, signal))
      sigdelset(&signals, signal);
  const timespec now{};
  while (sigtimedwait(&signals, nullptr, &now) > 0 || errno == EINTR) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
}

bool writeAll(int descriptor, StringRef text) {
  WithoutSignalsOfWriting guard;
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0 && errno == EINTR)
      continue;
    if (count <= 0)
      return false;
    text = text.drop_front(size_t(count));
  }
  return true;
}

void tell(const Twine &message) { (void)writeAll(STDERR_FILENO, message.str()); }

int besideStandardStreams(int descriptor) {
  if (descriptor < 0 || descriptor > STDERR_FILENO)
    return descriptor;
  const int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int error = errno;
  close(descriptor);
  errno = error;
  return moved;
}

std::unique_ptr<KeptFile> KeptFile::append(StringRef path, std::error_code &error) {
  const int opened = besideStandardStreams(
      open(path.str().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0666));
  if (opened < 0) {
    error = std::error_code(errno, std::generic_category());
    return nullptr;
  }
  return std::make_unique<KeptFile>(opened);
}

KeptFile::KeptFile(int opened) : raw_ostream(/*unbuffered=*/true), descriptor(opened) {
  struct stat status;
  if (descriptor < 0 || fstat(descriptor, &status) != 0)
    return;
  device = status.st_dev;
  inode = status.st_ino;
}

KeptFile::~KeptFile() {
  if (isOpen())
    close(descriptor);
}

bool KeptFile::isOpen() const {
  struct stat status;
  return descriptor >= 0 && fstat(descriptor, &status) == 0 && status.st_dev == device &&
         status.st_ino == inode;
}

void KeptFile::write_impl(const char *data, size_t size) {
  if (!isOpen())
    problem = std::make_error_code(std::errc::bad_file_descriptor);
  else if (!writeAll(descriptor, StringRef(data, size)))
    problem = std::error_code(errno, std::generic_category());
  else
    written += size;
}

} // namespace rubia::input
