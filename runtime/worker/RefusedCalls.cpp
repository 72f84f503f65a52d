// SPDX-License-Identifier: Apache-2.0
// A handler of SIGSYS, in the place of the call: it may use only what the filter permits, and
// nothing that is not async-signal-safe. It gives no rights: it is part of what is confined.
#include "runtime/worker/RefusedCalls.h"
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <fcntl.h>
#include <optional>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

namespace rubia::runtime {

namespace {
// What si_code is if a filter sent the signal. The kernel calls it SYS_SECCOMP; glibc's headers
// lack it.
constexpr int kFromFilter = 1;
// A call that is tried again and again need not be said more often.
constexpr unsigned kMaxLines = 16;

struct Call {
  long number;
  uint64_t arguments[3];

  const char *path(int argument) const {
    return reinterpret_cast<const char *>(arguments[argument]);
  }
};

#ifdef __x86_64__
Call callOf(int number, const ucontext_t &context) {
  const greg_t *r = context.uc_mcontext.gregs;
  return {number, {uint64_t(r[REG_RDI]), uint64_t(r[REG_RSI]), uint64_t(r[REG_RDX])}};
}
void setResult(ucontext_t &context, long result) { context.uc_mcontext.gregs[REG_RAX] = result; }
#elif defined(__aarch64__)
Call callOf(int number, const ucontext_t &context) {
  const auto *r = context.uc_mcontext.regs;
  return {number, {r[0], r[1], r[2]}};
}
void setResult(ucontext_t &context, long result) { context.uc_mcontext.regs[0] = result; }
#endif

// The path of calls that have one and may be answered; null: another call.
const char *pathOf(const Call &call) {
  switch (call.number) {
#ifdef SYS_open
  case SYS_open:
  case SYS_stat:
  case SYS_lstat:
  case SYS_access:
    return call.path(0);
#endif
  case SYS_openat:
  case SYS_newfstatat:
  case SYS_faccessat:
#ifdef SYS_faccessat2
  case SYS_faccessat2:
#endif
    return call.path(1);
  }
  return nullptr;
}

// "/proc/self/fd/N"
std::optional<int> descriptorOf(const char *path) {
  constexpr char kFolder[] = "/proc/self/fd/";
  if (strncmp(path, kFolder, strlen(kFolder)) != 0)
    return std::nullopt;
  const char *digit = path + strlen(kFolder);
  int number = 0;
  for (; *digit >= '0' && *digit <= '9' && number < 1000000; ++digit)
    number = 10 * number + (*digit - '0');
  return *digit || digit == path + strlen(kFolder) ? std::nullopt : std::optional(number);
}

// Questions about a file and openings, of what is open already. nullopt: it is refused.
std::optional<long> answer(const Call &call) {
  const char *path = pathOf(call);
  if (!path)
    return std::nullopt;
  auto status = [](int file, uint64_t where) { return syscall(SYS_fstat, file, where); };
  // How the C library writes fstat.
  if (call.number == SYS_newfstatat && !*path)
    return status(int(call.arguments[0]), call.arguments[2]);
  std::optional<int> file = descriptorOf(path);
  if (!file)
    return std::nullopt;
  switch (call.number) {
#ifdef SYS_open
  case SYS_open:
#endif
  case SYS_openat:
    return syscall(SYS_fcntl, *file, F_DUPFD_CLOEXEC, 0);
#ifdef SYS_stat
  case SYS_stat:
  case SYS_lstat:
    return status(*file, call.arguments[1]);
#endif
  case SYS_newfstatat:
    return status(*file, call.arguments[2]);
  }
  return syscall(SYS_fcntl, *file, F_GETFD) < 0 ? -1 : 0;
}

struct Name {
  long number;
  const char *text;
};
#define CALL(name) {SYS_##name, #name}
// What people may ask what it was; all others are told by their number.
constexpr Name kNames[] = {
    CALL(accept4),
    CALL(bind),
    CALL(bpf),
    CALL(chdir),
    CALL(clone),
    CALL(connect),
    CALL(dup3),
    CALL(execve),
    CALL(execveat),
    CALL(faccessat),
    CALL(fchmod),
    CALL(fcntl),
    CALL(fsync),
    CALL(ftruncate),
    CALL(getcwd),
    CALL(getdents64),
    CALL(getppid),
    CALL(getuid),
    CALL(inotify_init1),
    CALL(io_uring_setup),
    CALL(ioctl),
    CALL(keyctl),
    CALL(kill),
    CALL(linkat),
    CALL(listen),
    CALL(membarrier),
    CALL(mkdirat),
    CALL(mlock),
    CALL(mmap),
    CALL(mount),
    CALL(mprotect),
    CALL(newfstatat),
    CALL(openat),
    CALL(openat2),
    CALL(perf_event_open),
    CALL(pidfd_getfd),
    CALL(pidfd_open),
    CALL(prctl),
    CALL(prlimit64),
    CALL(process_vm_readv),
    CALL(process_vm_writev),
    CALL(ptrace),
    CALL(readlinkat),
    CALL(renameat2),
    CALL(sched_setaffinity),
    CALL(setns),
    CALL(shmget),
    CALL(socket),
    CALL(socketpair),
    CALL(statx),
    CALL(tgkill),
    CALL(tkill),
    CALL(uname),
    CALL(unlinkat),
    CALL(unshare),
    CALL(userfaultfd),
    CALL(wait4),
#ifdef SYS_open
    CALL(access),
    CALL(fork),
    CALL(getdents),
    CALL(lstat),
    CALL(open),
    CALL(readlink),
    CALL(stat),
    CALL(unlink),
    CALL(vfork),
#endif
};
#undef CALL

class Line {
public:
  Line &operator<<(const char *text) {
    for (; *text && used < sizeof(bytes) - 1; ++text)
      bytes[used++] = *text >= ' ' && *text <= '~' ? *text : '?';
    return *this;
  }
  Line &operator<<(long number) {
    char digits[24], *first = digits + sizeof(digits) - 1;
    *first = 0;
    do
      *--first = char('0' + number % 10);
    while ((number /= 10) > 0);
    return *this << first;
  }
  void write() {
    bytes[used++] = '\n';
    (void)!::write(2, bytes, used);
  }

private:
  char bytes[300];
  size_t used = 0;
};

void tell(const Call &call) {
  static std::atomic<unsigned> lines = 0;
  if (lines++ >= kMaxLines)
    return;
  Line line;
  line << "rubia: the compile process's sandbox refused ";
  const Name *name = nullptr;
  for (const Name &each : kNames)
    if (each.number == call.number)
      name = &each;
  if (name)
    line << name->text;
  else
    line << "system call " << call.number;
  if (const char *path = pathOf(call))
    line << " of '" << path << "'";
  (line << " (docs/security.md)").write();
}

void refused(int signal, siginfo_t *info, void *context) {
  if (info->si_code != kFromFilter) { // somebody sent it: as if we were not here
    ::signal(signal, SIG_DFL);
    raise(signal);
    return;
  }
  const int error = errno;
  auto &registers = *static_cast<ucontext_t *>(context);
  const Call call = callOf(info->si_syscall, registers);
  std::optional<long> result = answer(call);
  if (!result)
    tell(call);
  setResult(registers, !result ? -EPERM : *result < 0 ? -errno : *result);
  errno = error;
}
} // namespace

bool answerRefusedCalls() {
  struct sigaction action{};
  action.sa_sigaction = refused;
  action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  return sigaction(SIGSYS, &action, nullptr) == 0;
}

} // namespace rubia::runtime
