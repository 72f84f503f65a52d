// SPDX-License-Identifier: Apache-2.0
// libFuzzer over what `rubia debug` reads: commands, requests of an editor, and the messages of the
// program that it debugs, which may be anything. The first byte of an input says which: `c`,
// commands; `d`, a request a line; else bytes as an editor sends them. Behind a line `====` are
// messages of the program.
//
// What is asked for: no fault, and an end.

#include "tools/debug/Console.h"
#include "tools/debug/Dap.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::tools;

namespace {

/// A descriptor from which `text` is read, and then its end.
int readable(StringRef text) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) < 0 || // which holds 64 KiB
      ::write(ends[1], text.data(), text.size()) != ssize_t(text.size()))
    abort();
  ::close(ends[1]);
  return ends[0];
}

/// A launch that has said all this.
int launchOf(const Debuggee &debuggee, StringRef said) {
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, debuggee.socket().data(), debuggee.socket().size());
  const int launch = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (launch < 0 ||
      ::connect(launch, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0 ||
      ::send(launch, said.data(), said.size(), MSG_NOSIGNAL) != ssize_t(said.size()) ||
      ::shutdown(launch, SHUT_WR) < 0)
    abort();
  return launch;
}

std::string framed(StringRef lines) {
  std::string text;
  for (StringRef rest = lines; !rest.empty();) {
    auto [line, more] = rest.split('\n');
    text += "Content-Length: " + std::to_string(line.size()) + "\r\n\r\n" + line.str();
    rest = more;
  }
  return text;
}

} // namespace

/// The debugger waits for its child by SIGCHLD, which it blocks, and has one thread. libFuzzer
/// starts another one behind this: where that one did not block the signal too, it took it, and the
/// debugger waited for ever.
extern "C" int LLVMFuzzerInitialize(int *, char ***) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGCHLD);
  return pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  constexpr size_t kLongest = 4096;
  if (size < 1 || size > kLongest)
    return 0;
  const auto [read, said] =
      StringRef(reinterpret_cast<const char *>(data), size).drop_front().split("\n====\n");
  std::unique_ptr<Debuggee> debuggee = cantFail(Debuggee::make());
  // A program that ends at once: what waits for it does not wait for ever.
  const Program program{"/bin/true", {"true"}, {}};
  if (Error error = debuggee->start(program, /*captures=*/false)) {
    consumeError(std::move(error));
    abort();
  }
  const int launch = launchOf(*debuggee, said);
  if (data[0] == 'c') {
    const int input = readable(read);
    Console console(*debuggee, program, input);
    console.loop();
    ::close(input);
  } else {
    static const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    const int input = readable(data[0] == 'd' ? framed(read) : read.str());
    DapChannel channel(input, nowhere);
    DapSession session(*debuggee, channel, [&](const json::Object &) { return program; });
    session.loop();
    ::close(input);
  }
  ::close(launch);
  return 0;
}
