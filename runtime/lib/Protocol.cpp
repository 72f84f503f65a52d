#include "runtime/lib/Protocol.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime::protocol {

Descriptor &Descriptor::operator=(Descriptor &&other) {
  if (this != &other) {
    if (fd >= 0)
      close(fd);
    fd = other.release();
  }
  return *this;
}

Descriptor::~Descriptor() {
  if (fd >= 0)
    close(fd);
}

int Descriptor::release() {
  int result = fd;
  fd = -1;
  return result;
}

std::pair<Descriptor, Descriptor> socketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
    return {};
  return {Descriptor(fds[0]), Descriptor(fds[1])};
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

// Never raises SIGPIPE: the program may not expect it.
static ssize_t sendPart(int fd, const void *data, size_t size) {
  ssize_t n = ::send(fd, data, size, MSG_NOSIGNAL);
  return n < 0 && errno == ENOTSOCK ? write(fd, data, size) : n;
}

namespace {
// A file that grows beyond RLIMIT_FSIZE raises SIGXFSZ, which would end the program: here it is an
// error like a full disk.
class NoFileSizeSignal {
public:
  NoFileSizeSignal() {
    sigemptyset(&signal);
    sigaddset(&signal, SIGXFSZ);
    sigset_t pending;
    sigpending(&pending);
    wasPending = sigismember(&pending, SIGXFSZ);
    pthread_sigmask(SIG_BLOCK, &signal, &old);
  }
  ~NoFileSizeSignal() {
    const int error = errno;
    const timespec now{};
    if (!wasPending)
      while (sigtimedwait(&signal, nullptr, &now) < 0 && errno == EINTR) {
      }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
    errno = error;
  }

private:
  sigset_t signal, old;
  bool wasPending;
};
} // namespace

bool writeAll(int fd, const void *data, size_t size) {
  NoFileSizeSignal guard;
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

Descriptor memoryFile(ArrayRef<uint8_t> bytes) {
  Descriptor file(memfd_create("rubia-image", MFD_CLOEXEC));
  if (file && !writeAll(file.get(), bytes.data(), bytes.size()))
    return {};
  return file;
}

union Control {
  char bytes[CMSG_SPACE(2 * sizeof(int))];
  cmsghdr alignment;
};

bool send(int socket, const Request &request, int image, int reply) {
  iovec part{const_cast<Request *>(&request), sizeof(request)};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(2 * sizeof(int));
  int fds[2] = {image, reply};
  memcpy(CMSG_DATA(header), fds, sizeof(fds));
  ssize_t n;
  do
    n = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  if (n < 0)
    return false;
  return writeAll(socket, reinterpret_cast<const char *>(&request) + n, sizeof(request) - n);
}

bool receive(int socket, Request &request, Descriptor &image, Descriptor &reply) {
  iovec part{&request, sizeof(request)};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  ssize_t n;
  do
    n = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  while (n < 0 && errno == EINTR);
  if (n <= 0)
    return false;
  cmsghdr *header = CMSG_FIRSTHDR(&message);
  if (!header || header->cmsg_type != SCM_RIGHTS || header->cmsg_len != CMSG_LEN(2 * sizeof(int)))
    return false;
  int fds[2];
  memcpy(fds, CMSG_DATA(header), sizeof(fds));
  image = Descriptor(fds[0]);
  reply = Descriptor(fds[1]);
  return readAll(socket, reinterpret_cast<char *>(&request) + n, sizeof(request) - n);
}

namespace {
struct AnswerHeader {
  uint64_t outcome, size, peakBytes;
  Digest digest; // of the bytes
};
} // namespace

bool sendAnswer(int socket, Outcome outcome, ArrayRef<uint8_t> bytes, uint64_t peakBytes) {
  AnswerHeader header{uint64_t(outcome), bytes.size(), peakBytes, digestOf(bytes)};
  return writeAll(socket, &header, sizeof(header)) && writeAll(socket, bytes.data(), bytes.size());
}

Answer receiveAnswer(int socket) {
  AnswerHeader header;
  Answer answer;
  if (readAll(socket, &header, sizeof(header)) && header.outcome >= 1 && header.outcome <= 4 &&
      header.size <= (uint64_t(1) << 32)) {
    answer.outcome = Outcome(header.outcome);
    answer.peakBytes = header.peakBytes;
    answer.bytes.resize(header.size);
    if (readAll(socket, answer.bytes.data(), answer.bytes.size()) &&
        digestOf(answer.bytes) == header.digest)
      return answer;
  }
  constexpr StringRef kText = "the compile worker went away";
  return {Outcome::Trouble, {kText.begin(), kText.end()}, 0};
}

} // namespace rubia::runtime::protocol
