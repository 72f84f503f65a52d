// SPDX-License-Identifier: Apache-2.0
#include "tools/debug/Debuggee.h"
#include "input/BoundedJson.h"
#include "tools/Commands.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace llvm;

namespace rubia::tools {

static Error systemError(StringRef what) {
  return createStringError(what + ": " + std::strerror(errno));
}

static void closeAll(std::initializer_list<int *> descriptors) {
  for (int *descriptor : descriptors)
    if (*descriptor >= 0)
      ::close(std::exchange(*descriptor, -1));
}

/// Signals that wait() takes.
static sigset_t watchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, signal);
  sigaddset(&set, SIGCHLD);
  return set;
}

Expected<std::unique_ptr<Debuggee>> Debuggee::make() {
  std::unique_ptr<Debuggee> made(new Debuggee);
  SmallString<128> folder;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, folder);
  sys::path::append(folder, "rubia-debug-XXXXXX");
  if (!::mkdtemp(const_cast<char *>(folder.c_str()))) // nobody else may come to the socket
    return systemError(folder);
  made->folder = folder.str().str();
  made->path = made->folder + "/socket";
  sockaddr_un address = {};
  address.sun_family = AF_UNIX;
  if (made->path.size() >= sizeof(address.sun_path))
    return createStringError(made->path + ": the path of a socket is shorter; set TMPDIR");
  std::memcpy(address.sun_path, made->path.data(), made->path.size());
  made->listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (made->listener < 0 ||
      ::bind(made->listener, reinterpret_cast<const sockaddr *>(&address), sizeof(address)) < 0 ||
      ::listen(made->listener, 16) < 0)
    return systemError(made->path);
  const sigset_t set = watchedSignals();
  if (::sigprocmask(SIG_BLOCK, &set, nullptr) < 0)
    return systemError("sigprocmask");
  ::signal(SIGPIPE, SIG_IGN);
  made->signals = ::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (made->signals < 0)
    return systemError("signalfd");
  return made;
}

Debuggee::~Debuggee() {
  kill();
  closeAll({&listener, &connection, &signals, &outputs[0], &outputs[1]});
  if (!folder.empty()) {
    ::unlink(path.c_str()); // not LLVM's, which leaves sockets alone
    ::rmdir(folder.c_str());
  }
}

Error Debuggee::start(Program program, bool captures) {
  if (isRunning())
    return createStringError("the program runs already");
  int ends[2][2] = {{-1, -1}, {-1, -1}};
  for (int i = 0; captures && i < 2; ++i)
    if (::pipe2(ends[i], O_CLOEXEC) < 0)
      return systemError("pipe");
  const pid_t debugger = ::getpid();
  child = ::fork();
  if (child < 0)
    return systemError("cannot start " + program.path);
  if (child == 0) {
    // A group of its own, which Ctrl-C does not end; and no input, which is the debugger's.
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL); // nobody else could let its kernels go on
    if (::getppid() != debugger)
      ::_exit(127);
    ::signal(SIGPIPE, SIG_DFL);
    const sigset_t set = watchedSignals();
    ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
    const int nothing = ::open("/dev/null", O_RDONLY);
    ::dup2(nothing, STDIN_FILENO);
    for (int i = 0; captures && i < 2; ++i)
      ::dup2(ends[i][1], STDOUT_FILENO + i);
    program.execute();
    const std::string text =
        "rubia: error: cannot start " + program.path + ": " + std::strerror(errno) + "\n";
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    ::_exit(127);
  }
  ::setpgid(child, child);
  group = child;
  for (int i = 0; captures && i < 2; ++i) {
    ::close(ends[i][1]);
    outputs[i] = ends[i][0];
  }
  return Error::success();
}

void Debuggee::kill() {
  if (group > 0) // what the program has left behind, too
    ::kill(-std::exchange(group, -1), SIGKILL);
  if (child <= 0)
    return;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    ;
  child = -1;
  stopped = false;
  closeAll({&connection});
}

// ---------- Messages

void Debuggee::send(json::Object message) {
  std::string text;
  raw_string_ostream(text) << json::Value(std::move(message)) << "\n";
  for (StringRef left = text; !left.empty() && connection >= 0;) {
    const ssize_t sent = ::send(connection, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent >= 0)
      left = left.drop_front(size_t(sent));
    else if (errno != EINTR)
      closeAll({&connection});
  }
}

json::Object Debuggee::breakpointMessage() const {
  json::Object message;
  message["request"] = "breakpoints";
  message["list"] = json::Array(breakpoints);
  return message;
}

Expected<json::Value> Debuggee::setBreakpoints(json::Array list) {
  breakpoints = std::move(list);
  if (stopped)
    return ask(breakpointMessage());
  if (connection >= 0)
    send(breakpointMessage());
  return nullptr;
}

void Debuggee::pause() {
  if (connection >= 0)
    send(json::Object{{"request", "pause"}});
  else
    isPausing = true;
}

Error Debuggee::resume(json::Object request) {
  Expected<json::Value> answer = ask(std::move(request));
  if (!answer)
    return answer.takeError();
  stopped = false;
  return Error::success();
}

Expected<json::Value> Debuggee::ask(json::Object request) {
  if (!stopped)
    return createStringError(isRunning() ? "the program runs" : "the program does not run");
  const int64_t id = ++lastId;
  request["id"] = id;
  send(std::move(request));
  while (connection >= 0) {
    std::optional<Event> event = receive();
    if (!event) {
      pollfd waited[] = {{connection, POLLIN, 0}, {signals, POLLIN, 0}};
      ::poll(waited, 2, -1);
      if (waited[1].revents)
        if (std::optional<Event> signal = readSignals())
          queued.push_back(std::move(*signal));
      continue;
    }
    if (event->message.getInteger("reply") != id) {
      queued.push_back(std::move(*event));
      continue;
    }
    if (const std::optional<StringRef> error = event->message.getString("error"))
      return createStringError(*error);
    json::Value *body = event->message.get("body");
    return body ? std::move(*body) : json::Value(nullptr);
  }
  return createStringError("the program has ended");
}

/// The next message that has come whole.
std::optional<Event> Debuggee::receive() {
  for (;;) {
    const size_t end = received.find('\n');
    if (end != std::string::npos) {
      Expected<json::Value> value = input::parseBoundedJson(StringRef(received).take_front(end));
      received.erase(0, end + 1);
      if (!value) {
        consumeError(value.takeError());
        closeAll({&connection});
        return std::nullopt;
      }
      Event event;
      event.kind = Event::Kind::Message;
      if (json::Object *object = value->getAsObject())
        event.message = std::move(*object);
      stopped |= event.message.getString("event") == "stopped";
      return event;
    }
    char bytes[4096];
    const ssize_t count =
        connection < 0 ? 0 : ::recv(connection, bytes, sizeof(bytes), MSG_DONTWAIT);
    if (count > 0) {
      received.append(bytes, size_t(count));
      continue;
    }
    if (count < 0 && errno == EINTR)
      continue;
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) {
      closeAll({&connection});
      stopped = false;
    }
    return std::nullopt;
  }
}

/// The first process that comes is looked at, all others are told to go on without.
void Debuggee::accept() {
  int other = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (other < 0)
    return;
  ucred peer = {};
  socklen_t size = sizeof(peer);
  if (::getsockopt(other, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0 || peer.uid != ::geteuid()) {
    ::close(other);
    return;
  }
  if (connection >= 0) {
    messages() << "rubia debug: another process of the program runs without the debugger\n";
    ::close(other);
    return;
  }
  connection = other;
  received.clear();
  send(breakpointMessage());
  if (std::exchange(isPausing, false))
    pause();
}

// ---------- Events

bool Debuggee::readOutput(int &descriptor, bool isError, Event &event) {
  char bytes[4096];
  const ssize_t count = ::read(descriptor, bytes, sizeof(bytes));
  if (count <= 0) {
    if (count == 0 || errno != EINTR)
      closeAll({&descriptor});
    return false;
  }
  event.kind = Event::Kind::Output;
  event.isError = isError;
  event.text.assign(bytes, size_t(count));
  return true;
}

std::optional<Event> Debuggee::readSignals() {
  signalfd_siginfo info;
  while (::read(signals, &info, sizeof(info)) == ssize_t(sizeof(info))) {
    if (info.ssi_signo == SIGINT)
      return Event{Event::Kind::Interrupted, {}, false, "", 0};
    if (info.ssi_signo == SIGTERM || info.ssi_signo == SIGHUP) {
      endSignal = int(info.ssi_signo);
      kill();
      return Event{Event::Kind::Killed, {}, false, "", 128 + endSignal};
    }
    int status = 0;
    if (child > 0 && ::waitpid(child, &status, WNOHANG) == child) {
      child = -1;
      endStatus = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    }
  }
  return std::nullopt;
}

Event Debuggee::wait(int input) {
  for (;;) {
    if (!queued.empty()) {
      Event event = std::move(queued.front());
      queued.pop_front();
      return event;
    }
    if (std::optional<Event> event = receive())
      return std::move(*event);
    std::array<pollfd, 6> waited = {{{signals, POLLIN, 0},
                                     {listener, POLLIN, 0},
                                     {connection, POLLIN, 0},
                                     {outputs[0], POLLIN, 0},
                                     {outputs[1], POLLIN, 0},
                                     {input, POLLIN, 0}}};
    // Once the program has ended, only what it has left is read.
    if (::poll(waited.data(), waited.size(), endStatus ? 0 : -1) < 0 && errno != EINTR)
      return Event{Event::Kind::Ended, {}, false, "", 1};
    if (waited[0].revents)
      if (std::optional<Event> event = readSignals())
        return std::move(*event);
    if (waited[1].revents)
      accept();
    Event event;
    for (int i = 0; i < 2; ++i)
      if (waited[3 + i].revents && readOutput(outputs[i], i == 1, event))
        return event;
    if (waited[5].revents) {
      event.kind = Event::Kind::Input;
      return event;
    }
    const bool isQuiet = !waited[2].revents && !waited[3].revents && !waited[4].revents;
    if (endStatus && isQuiet) {
      event.kind = Event::Kind::Ended;
      event.status = *std::exchange(endStatus, std::nullopt);
      stopped = false;
      closeAll({&connection, &outputs[0], &outputs[1]});
      return event;
    }
  }
}

} // namespace rubia::tools
