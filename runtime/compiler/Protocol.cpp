// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/Protocol.h"
#include "llvm/ADT/SmallVector.h"
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime::protocol {

std::pair<FileDescriptor, FileDescriptor> socketPair() {
  int fds[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
    return {};
  return {FileDescriptor(fds[0]), FileDescriptor(fds[1])};
}

FileDescriptor memoryFile(ArrayRef<uint8_t> bytes) {
  FileDescriptor file(memfd_create("rubia-image", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (file && (!writeAll(file.get(), bytes.data(), bytes.size()) ||
               fcntl(file.get(), F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK)))
    return {};
  return file;
}

namespace {
constexpr size_t kMaxDescriptors = 3;
union Control {
  char bytes[CMSG_SPACE(kMaxDescriptors * sizeof(int))];
  cmsghdr alignment;
};

bool sendWith(int socket, const void *data, size_t size, ArrayRef<int> fds) {
  iovec part{const_cast<void *>(data), size};
  Control control{};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = control.bytes;
    message.msg_controllen = CMSG_SPACE(fds.size() * sizeof(int));
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size() * sizeof(int));
    memcpy(CMSG_DATA(header), fds.data(), fds.size() * sizeof(int));
  }
  ssize_t n;
  do
    n = sendmsg(socket, &message, MSG_NOSIGNAL);
  while (n < 0 && errno == EINTR);
  return n >= 0 && writeAll(socket, static_cast<const char *>(data) + n, size - n);
}

// The descriptors that came along are the caller's, also if it fails.
bool receiveWith(int socket, void *data, size_t size,
                 SmallVectorImpl<FileDescriptor> &descriptors) {
  iovec part{data, size};
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
  for (cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_type != SCM_RIGHTS)
      return false;
    for (size_t i = 0; i < (header->cmsg_len - CMSG_LEN(0)) / sizeof(int); ++i) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof(int), sizeof(fd));
      descriptors.emplace_back(fd);
    }
  }
  return readAll(socket, static_cast<char *>(data) + n, size - n);
}
} // namespace

bool send(int socket, const Request &request, const Descriptors &descriptors) {
  const int fds[] = {descriptors.image.get(), descriptors.reply.get(), descriptors.pulse.get()};
  return sendWith(socket, &request, sizeof(request),
                  descriptors.image ? ArrayRef(fds) : ArrayRef<int>());
}

// Whether bytes from a socket are a request: no truth value but 0 and 1, no word that there is not.
static bool isRequest(const char (&bytes)[sizeof(Request)]) {
  for (size_t truth :
       {offsetof(Request, ahead), offsetof(Request, prioritize), offsetof(Request, mayCompile)})
    if (uint8_t(bytes[truth]) > 1)
      return false;
  Request request;
  memcpy(static_cast<void *>(&request), bytes, sizeof(request));
  return request.want <= Want::CodeObject && request.remote <= Remote::Paused &&
         memchr(request.arch, 0, sizeof(request.arch)) && request.code.isValid();
}

bool receive(int socket, Request &request, Descriptors &descriptors) {
  SmallVector<FileDescriptor, kMaxDescriptors> received;
  char bytes[sizeof(Request)];
  if (!receiveWith(socket, bytes, sizeof(bytes), received) || !isRequest(bytes))
    return false;
  memcpy(static_cast<void *>(&request), bytes, sizeof(request));
  if (received.size() != (request.prioritize ? 0 : kMaxDescriptors))
    return false;
  if (!request.prioritize)
    descriptors = {std::move(received[0]), std::move(received[1]), std::move(received[2])};
  return true;
}

bool sendByte(int socket, char byte, int fd) {
  return sendWith(socket, &byte, 1, fd < 0 ? ArrayRef<int>() : ArrayRef(fd));
}

bool receiveByte(int socket, char &byte, FileDescriptor &fd) {
  SmallVector<FileDescriptor, kMaxDescriptors> received;
  if (!receiveWith(socket, &byte, 1, received) || received.size() > 1)
    return false;
  if (!received.empty())
    fd = std::move(received[0]);
  return true;
}

namespace {
struct AnswerHeader {
  uint64_t outcome, size, peakBytes, remote;
  Digest digest; // of the bytes
};
} // namespace

bool sendAnswer(int socket, Outcome outcome, ArrayRef<uint8_t> bytes, uint64_t peakBytes,
                Remote remote) {
  AnswerHeader header{uint64_t(outcome), bytes.size(), peakBytes, uint64_t(remote),
                      digestOf(bytes)};
  return writeAll(socket, &header, sizeof(header)) && writeAll(socket, bytes.data(), bytes.size());
}

/// `size` is what the other end says: memory is taken for what has come.
static bool readGrowing(int socket, uint64_t size, std::vector<uint8_t> &bytes) {
  constexpr uint64_t kPiece = 1 << 20;
  while (bytes.size() < size) {
    const size_t have = bytes.size();
    bytes.resize(have + std::min<uint64_t>(kPiece, size - have));
    if (!readAll(socket, bytes.data() + have, bytes.size() - have))
      return false;
  }
  return true;
}

Answer receiveAnswer(int socket) {
  AnswerHeader header;
  Answer answer;
  if (readAll(socket, &header, sizeof(header)) && header.outcome >= 1 &&
      header.outcome <= uint64_t(Outcome::Forbidden) && header.size <= (uint64_t(1) << 32) &&
      header.remote <= uint64_t(Remote::Paused)) {
    answer.outcome = Outcome(header.outcome);
    answer.peakBytes = header.peakBytes;
    answer.remote = Remote(header.remote);
    if (readGrowing(socket, header.size, answer.bytes) && digestOf(answer.bytes) == header.digest)
      return answer;
  }
  constexpr StringRef kText = "the compile worker went away";
  answer = {};
  answer.bytes.assign(kText.begin(), kText.end());
  return answer;
}

Answer awaitAnswer(int reply, int pulse, llvm::function_ref<void()> goesOn,
                   llvm::function_ref<bool()> isGone) {
  constexpr int kPatienceMs = 1000;
  pollfd watched[] = {{reply, POLLIN, 0}, {pulse, POLLIN, 0}};
  for (;;) {
    const int ready = poll(watched, 2, kPatienceMs);
    if (ready < 0 && errno != EINTR) {
      const std::string text =
          std::string("cannot wait for the compile worker: ") + strerror(errno);
      Answer answer;
      answer.bytes.assign(text.begin(), text.end());
      return answer;
    }
    if (ready < 0)
      continue;
    // The last word may have come between poll() and the question.
    const bool over = ready == 0 && isGone() && poll(watched, 1, 0) <= 0;
    if (over)
      shutdown(reply, SHUT_RD); // so that what follows finds the end
    if (over || watched[0].revents)
      return receiveAnswer(reply);
    eventfd_t beats;
    if (watched[1].revents && !eventfd_read(pulse, &beats))
      goesOn();
  }
}

} // namespace rubia::runtime::protocol
