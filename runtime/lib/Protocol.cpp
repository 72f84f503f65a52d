#include "runtime/lib/Protocol.h"
#include <cerrno>
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

bool writeAll(int fd, const void *data, size_t size) {
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

bool sendAnswer(int socket, bool ok, ArrayRef<uint8_t> bytes) {
  uint64_t header[2] = {ok, bytes.size()};
  return writeAll(socket, header, sizeof(header)) && writeAll(socket, bytes.data(), bytes.size());
}

Expected<Answer> receiveAnswer(int socket) {
  uint64_t header[2];
  Answer answer;
  if (readAll(socket, header, sizeof(header)) && header[0] <= 1 &&
      header[1] <= (uint64_t(1) << 32)) {
    answer.ok = header[0];
    answer.bytes.resize(header[1]);
    if (readAll(socket, answer.bytes.data(), answer.bytes.size()))
      return answer;
  }
  return createStringError(inconvertibleErrorCode(), "the compile worker went away");
}

} // namespace rubia::runtime::protocol
