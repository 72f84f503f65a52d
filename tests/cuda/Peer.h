// SPDX-License-Identifier: Apache-2.0
// A second process of a test, with a socket to the first. It is forked before the driver is loaded:
// a child of a process that has called cuInit has no driver.
#pragma once

#include "tests/cuda/LaunchFixture.h"
#include <csignal>
#include <cstdio>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

namespace rubia::runtime::cuda {

/// What has to hold in either process; the peer ends where it does not.
inline void require(bool holds, const char *what, int line) {
  if (holds)
    return;
  fprintf(stderr, "line %d: %s\n", line, what);
  ADD_FAILURE() << what;
  _exit(1);
}
#define REQUIRE(CONDITION) require(CONDITION, #CONDITION, __LINE__)
/// Of a call that succeeds.
#define DONE(CALL) require((CALL) == kSuccess, #CALL, __LINE__)

class Channel {
public:
  explicit Channel(int socket) : socket(socket) {}
  template <class T> void send(const T &value) const {
    REQUIRE(write(socket, &value, sizeof(value)) == ssize_t(sizeof(value)));
  }
  template <class T> T receive() const {
    T value{};
    REQUIRE(recv(socket, &value, sizeof(value), MSG_WAITALL) == ssize_t(sizeof(value)));
    return value;
  }
  /// Until the other process is as far.
  void meet() const {
    send('.');
    receive<char>();
  }
  void sendDescriptor(int descriptor) const { transfer(descriptor, true); }
  int receiveDescriptor() const { return transfer(-1, false); }

private:
  int transfer(int descriptor, bool isSent) const {
    char byte = 0, space[CMSG_SPACE(sizeof(int))] = {};
    iovec data{&byte, 1};
    msghdr message = {};
    message.msg_iov = &data;
    message.msg_iovlen = 1;
    message.msg_control = space;
    message.msg_controllen = sizeof(space);
    if (!isSent)
      REQUIRE(recvmsg(socket, &message, 0) == 1);
    cmsghdr *header = CMSG_FIRSTHDR(&message);
    REQUIRE(header);
    if (!isSent) {
      memcpy(&descriptor, CMSG_DATA(header), sizeof(int));
      return descriptor;
    }
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(header), &descriptor, sizeof(int));
    REQUIRE(sendmsg(socket, &message, 0) == 1);
    return descriptor;
  }
  int socket;
};

/// A context of the process's own.
inline Context *makeContext() {
  Context *context = nullptr;
  DONE(cu("cuInit", 0u));
  DONE(cu("cuCtxCreate_v2", &context, 0u, 0));
  return context;
}

class Peer {
public:
  template <class Body> explicit Peer(Body body) {
    int sockets[2];
    REQUIRE(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) == 0);
    process = fork();
    if (process == 0) {
      close(sockets[0]);
      alarm(60);
      body(Channel(sockets[1]));
      _exit(testing::Test::HasFailure() ? 1 : 0);
    }
    close(sockets[1]);
    socket = sockets[0];
  }
  ~Peer() {
    if (process)
      end();
    close(socket);
  }
  Channel channel() const { return Channel(socket); }
  /// Waits for it: its exit status.
  int end() {
    int status = -1;
    waitpid(process, &status, 0);
    process = 0;
    return status;
  }
  int kill() {
    ::kill(process, SIGKILL);
    return end();
  }

private:
  pid_t process = 0;
  int socket = -1;
};

} // namespace rubia::runtime::cuda
