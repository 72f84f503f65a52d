// SPDX-License-Identifier: Apache-2.0
// A second process of a sequence, with a socket to the first. Both write into one record, one
// after the other. It has to begin before either calls the driver.
#pragma once

#include "tests/driver-sequences/Sequence.h"
#include <csignal>
#include <cstring>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace sequences {

class Peer {
public:
  template <class Body> explicit Peer(Body body) {
    int sockets[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets))
      say("no sockets");
    process = fork();
    if (process == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      close(sockets[0]);
      socket = sockets[1];
      body(*this);
      _exit(0);
    }
    close(sockets[1]);
    socket = sockets[0];
  }
  Peer(const Peer &) = delete;

  template <class T> void send(const T &value) const {
    if (write(socket, &value, sizeof(value)) != ssize_t(sizeof(value)))
      say("cannot send");
  }
  template <class T> T receive() const {
    T value{};
    if (recv(socket, &value, sizeof(value), MSG_WAITALL) != ssize_t(sizeof(value)))
      say("cannot receive");
    return value;
  }
  /// It is the other's turn; then, it is mine.
  void give() const { send('.'); }
  void take() const { (void)receive<char>(); }

  void sendDescriptor(int descriptor) const { transfer(descriptor, true); }
  int receiveDescriptor() const { return transfer(-1, false); }

  void end() {
    int status = -1;
    waitpid(process, &status, 0);
    if (status)
      say("the other process ended with %x", unsigned(status));
  }
  void kill() {
    ::kill(process, SIGKILL);
    waitpid(process, nullptr, 0);
  }

private:
  int transfer(int descriptor, bool isSent) const {
    char byte = 0;
    alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
    iovec data{&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    if (isSent) {
      cmsghdr *header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int));
      memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
      if (sendmsg(socket, &message, 0) != 1)
        say("cannot send a descriptor");
      return descriptor;
    }
    if (recvmsg(socket, &message, 0) != 1 || !CMSG_FIRSTHDR(&message)) {
      say("cannot receive a descriptor");
      return -1;
    }
    memcpy(&descriptor, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(int));
    return descriptor;
  }
  pid_t process = 0;
  int socket = -1;
};

struct IpcHandle { // CUipcMemHandle, CUipcEventHandle
  char bytes[64];
};
struct PoolProperties { // CUmemPoolProps
  int allocationType, handleTypes, locationType, locationId;
  Pointer security;
  size_t maxSize;
  unsigned short usage;
  unsigned char reserved[54];
};
static_assert(sizeof(PoolProperties) == 88);

inline int wordAt(Pointer memory) {
  int word = -77;
  const int code = quiet("cuMemcpyDtoH_v2", Pointer(&word), memory, size_t(4));
  return code ? -code : word;
}

} // namespace sequences
