// SPDX-License-Identifier: Apache-2.0
// What a process in the sandbox may still do. Each attempt is made twice by a child: without the
// sandbox, where no line may say that it was refused, and inside.
#include "runtime/worker/Sandbox.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/ThreadPool.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

#if __has_feature(address_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif

struct Ended {
  int status = -1;  // as waitpid has it
  std::string text; // that it wrote to stderr

  int code() const { return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status); }
};

// Runs `body` in a child; what it returns is the exit status.
Ended inChild(function_ref<int()> body) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    _exit(body());
  }
  close(ends[1]);
  Ended ended;
  char bytes[4096];
  for (ssize_t n; (n = read(ends[0], bytes, sizeof(bytes))) > 0;)
    ended.text.append(bytes, n);
  close(ends[0]);
  waitpid(pid, &ended.status, 0);
  return ended;
}

class SandboxTest : public ::testing::Test {
protected:
  void SetUp() override {
    if (kSanitized)
      GTEST_SKIP() << "a build with sanitizers has no sandbox";
    if (inChild([] { return StringRef(enterSandbox()).contains("filter") ? 1 : 0; }).code())
      GTEST_SKIP() << "the kernel permits no filter of system calls here";
  }
};

// Processes that an attempt starts must not go on with the test.
long ended(long child) {
  if (child == 0)
    _exit(0);
  if (child > 0)
    waitpid(pid_t(child), nullptr, 0);
  return child;
}

struct Attempt {
  const char *name; // as the line on stderr has it
  long (*body)();
};

char buffer[256];
iovec part{buffer, sizeof(buffer)};
char *const kNothing[] = {nullptr};

const Attempt kRefused[] = {
    // Files: nothing by its path, whether to read, to write, to list or to ask about.
    {"openat", [] { return long(open("/etc/passwd", O_RDONLY)); }},
    {"openat", [] { return long(open("/proc/self/maps", O_RDONLY)); }},
    {"openat", [] { return long(open("/dev/null", O_WRONLY)); }},
    {"openat", [] { return long(open("/tmp", O_RDWR | O_TMPFILE, 0600)); }},
    {"openat", [] { return long(open("/proc/self/fd/../../../etc/passwd", O_RDONLY)); }},
    {"openat", [] { return long(open("/proc/self/fd/", O_RDONLY | O_DIRECTORY)); }},
    {"openat", [] { return long(openat(AT_FDCWD, "no-such/file", O_CREAT | O_WRONLY, 0600)); }},
    {"openat2", [] { return syscall(SYS_openat2, AT_FDCWD, "/etc/passwd", buffer, 24); }},
    {"newfstatat",
     [] {
       struct stat status;
       return long(stat("/etc/passwd", &status));
     }},
    {"statx", [] { return syscall(SYS_statx, AT_FDCWD, "/", 0, 0xfff, buffer); }},
    {"faccessat", [] { return syscall(SYS_faccessat, AT_FDCWD, "/etc/passwd", F_OK); }},
    {"readlinkat", [] { return syscall(SYS_readlinkat, AT_FDCWD, "/proc/self/exe", buffer, 256); }},
    {"getcwd", [] { return syscall(SYS_getcwd, buffer, sizeof(buffer)); }},
    {"chdir", [] { return long(chdir("/")); }},
    {"mkdirat", [] { return syscall(SYS_mkdirat, AT_FDCWD, "/tmp/no-such/folder", 0700); }},
    {"unlinkat", [] { return syscall(SYS_unlinkat, AT_FDCWD, "/tmp/nobody-has-this", 0); }},
    {"renameat2",
     [] { return syscall(SYS_renameat2, AT_FDCWD, "/tmp/no-a", AT_FDCWD, "/tmp/no-b", 0); }},
    {"linkat", [] { return syscall(SYS_linkat, AT_FDCWD, "/tmp/no-a", AT_FDCWD, "/tmp/no-b", 0); }},
    {"getdents64", [] { return syscall(SYS_getdents64, 0, buffer, sizeof(buffer)); }},
    {"ftruncate", [] { return long(ftruncate(2, 0)); }},
    {"fchmod", [] { return long(fchmod(2, 0777)); }},

    // The network, and other processes by sockets.
    {"socket", [] { return long(socket(AF_INET, SOCK_STREAM, 0)); }},
    {"socket", [] { return long(socket(AF_UNIX, SOCK_DGRAM, 0)); }},
    {"socket", [] { return long(socket(AF_NETLINK, SOCK_RAW, 0)); }},
    {"socketpair",
     [] {
       int ends[2];
       return long(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
     }},
    {"connect", [] { return long(connect(2, reinterpret_cast<sockaddr *>(buffer), 16)); }},
    {"bind", [] { return long(bind(2, reinterpret_cast<sockaddr *>(buffer), 16)); }},
    {"listen", [] { return long(listen(2, 1)); }},
    {"accept4", [] { return long(accept4(2, nullptr, nullptr, 0)); }},

    // Programs and processes.
    {"execve", [] { return long(execve("/nonexistent", kNothing, kNothing)); }},
    {"execveat", [] { return syscall(SYS_execveat, 2, "", kNothing, kNothing, AT_EMPTY_PATH); }},
    {"clone", [] { return ended(fork()); }},
#ifdef SYS_fork
    {"fork", [] { return ended(syscall(SYS_fork)); }},
#endif
    {"clone", [] { return ended(syscall(SYS_clone, CLONE_NEWUSER | SIGCHLD, 0, 0, 0, 0)); }},
    {"kill", [] { return long(kill(getpid(), 0)); }},
    {"tgkill", [] { return syscall(SYS_tgkill, 1, 1, 0); }},
    {"tkill", [] { return syscall(SYS_tkill, getpid(), 0); }},
    {"pidfd_open", [] { return syscall(SYS_pidfd_open, getpid(), 0); }},
    {"pidfd_getfd", [] { return syscall(SYS_pidfd_getfd, 2, 0, 0); }},
    {"ptrace", [] { return long(ptrace(PTRACE_PEEKDATA, 1, nullptr, nullptr)); }},
    {"process_vm_readv", [] { return long(process_vm_readv(getpid(), &part, 1, &part, 1, 0)); }},
    {"process_vm_writev", [] { return long(process_vm_writev(getpid(), &part, 1, &part, 1, 0)); }},
    {"prlimit64",
     [] {
       rlimit64 limit;
       return syscall(SYS_prlimit64, 0, RLIMIT_NOFILE, nullptr, &limit);
     }},
    {"wait4", [] { return long(waitpid(-1, nullptr, WNOHANG)); }},

    // The kernel's machinery.
    {"io_uring_setup", [] { return syscall(SYS_io_uring_setup, 1, buffer); }},
    {"bpf", [] { return syscall(SYS_bpf, 0, buffer, sizeof(buffer)); }},
    {"perf_event_open", [] { return syscall(SYS_perf_event_open, buffer, 0, -1, -1, 0); }},
    {"userfaultfd", [] { return syscall(SYS_userfaultfd, 0); }},
    {"keyctl", [] { return syscall(SYS_keyctl, 0, -3, 0); }},
    {"prctl", [] { return long(prctl(PR_SET_DUMPABLE, 1)); }},
    {"prctl", [] { return long(prctl(PR_GET_PDEATHSIG, buffer)); }},
    {"unshare", [] { return long(unshare(CLONE_NEWUSER)); }},
    {"setns", [] { return syscall(SYS_setns, 2, 0); }},
    {"mount", [] { return syscall(SYS_mount, "none", "/nonexistent", "tmpfs", 0, nullptr); }},
    {"shmget", [] { return syscall(SYS_shmget, 0x52554249, 4096, 0600); }},
    {"ioctl", [] { return long(ioctl(2, TIOCSTI, "x")); }},
    {"fcntl", [] { return long(fcntl(2, F_SETOWN, 1)); }},
    {"system call 1000000", [] { return syscall(1000000); }},

    // Code that was not there from the start.
    {"mmap",
     [] {
       void *at = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return long(at == MAP_FAILED ? -1 : 0);
     }},
    {"mprotect",
     [] {
       void *at = mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
       return long(mprotect(at, 4096, PROT_READ | PROT_EXEC));
     }},
};

TEST_F(SandboxTest, RefusesAndSaysSo) {
  for (const Attempt &attempt : kRefused) {
    SCOPED_TRACE(attempt.name);
    const std::string line =
        std::string("rubia: the compile process's sandbox refused ") + attempt.name + " ";
    Ended without = inChild([&] {
      attempt.body();
      return 0;
    });
    EXPECT_EQ(StringRef(without.text).count(line), 0u) << without.text;
    Ended within = inChild([&] {
      enterSandbox();
      errno = 0;
      const long result = attempt.body();
      return result == -1 && errno == EPERM ? 0 : 1;
    });
    EXPECT_EQ(within.code(), 0) << within.text;
    EXPECT_EQ(StringRef(within.text).count(line), 1u) << within.text;
  }
}

// Without the sandbox these succeed wherever the tests run, so the refusals above are the filter's.
TEST_F(SandboxTest, WhatIsRefusedIsPossibleOutside) {
  for (StringRef name : {"openat", "newfstatat", "socket", "socketpair", "clone", "kill",
                         "prlimit64", "getcwd", "mmap", "mprotect", "process_vm_readv"}) {
    const Attempt *attempt = nullptr;
    for (const Attempt &each : kRefused)
      if (!attempt && each.name == name)
        attempt = &each;
    Ended without = inChild([&] { return attempt->body() >= 0 ? 0 : 1; });
    EXPECT_EQ(without.code(), 0) << name.str();
  }
}

TEST_F(SandboxTest, TheNameOfAFileIsSaidAndObeysNoTerminal) {
  Ended child = inChild([] {
    enterSandbox();
    return open("/home/\033[2Jx", O_RDONLY) == -1 ? 0 : 1;
  });
  EXPECT_EQ(child.text, "rubia: the compile process's sandbox refused openat of '/home/?[2Jx' "
                        "(docs/security.md)\n");
}

TEST_F(SandboxTest, SaysItABoundedNumberOfTimes) {
  Ended child = inChild([] {
    enterSandbox();
    for (int i = 0; i < 1000; ++i)
      kill(1, 0);
    return 0;
  });
  EXPECT_EQ(child.code(), 0);
  EXPECT_EQ(StringRef(child.text).count('\n'), 16u);
}

// What LLVM, lld and the C library do while they compile.
TEST_F(SandboxTest, PermitsWhatACompilationNeeds) {
  int ends[2];
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  Ended child = inChild([&] {
    if (std::string refused = enterSandbox(); refused.find("filter") != std::string::npos)
      return 1;
    const int file = memfd_create("file", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (write(file, "abc", 3) != 3)
      return 2;
    const std::string path = "/proc/self/fd/" + std::to_string(file);
    const int again = open(path.c_str(), O_RDONLY);
    struct stat status;
    if (again < 0 || again == file || pread(again, buffer, 3, 0) != 3 || buffer[2] != 'c')
      return 3;
    if (stat(path.c_str(), &status) || status.st_size != 3 || access(path.c_str(), F_OK))
      return 4;
    if (fstat(file, &status) || status.st_size != 3 || isatty(file) || errno != ENOTTY)
      return 5;
    if (stat("/proc/self/fd/50", &status) != -1 || errno != EBADF)
      return 6;
    void *at = mmap(nullptr, 3, PROT_READ, MAP_PRIVATE, again, 0);
    if (at == MAP_FAILED || static_cast<char *>(at)[0] != 'a' || close(again) || close(file))
      return 7;
    int number = 0;
    DefaultThreadPool pool(hardware_concurrency(2));
    pool.async([&] { number = 8; });
    pool.wait();
    if (number != 8 || send(ends[1], "x", 1, MSG_NOSIGNAL) != 1)
      return 8;
    std::vector<char> large(100 << 20, 1);
    large.clear();
    large.shrink_to_fit();
    timespec now;
    if (clock_gettime(CLOCK_MONOTONIC, &now) || usleep(1))
      return 9;
    std::vector<int> unsorted(1 << 20);
    for (size_t i = 0; i < unsorted.size(); ++i)
      unsorted[i] = int(unsorted.size() - i);
    qsort(unsorted.data(), unsorted.size(), sizeof(int), [](const void *a, const void *b) {
      return *static_cast<const int *>(a) - *static_cast<const int *>(b);
    });
    return unsorted[0] == 1 ? 0 : 10;
  });
  EXPECT_EQ(child.code(), 0);
  EXPECT_EQ(child.text, "");
  close(ends[1]);
  EXPECT_EQ(read(ends[0], buffer, 1), 1);
  close(ends[0]);
}

TEST_F(SandboxTest, GivesUpCapabilitiesAndLimits) {
  Ended child = inChild([] {
    const int status = open("/proc/self/status", O_RDONLY);
    enterSandbox();
    errno = 0;
    char text[8192];
    const ssize_t size = pread(status, text, sizeof(text), 0);
    errs() << StringRef(text, size > 0 ? size : 0);
    for (int i = 0; i < 100; ++i)
      if (dup(2) < 0)
        break;
    return errno == EMFILE ? 0 : 1;
  });
  EXPECT_EQ(child.code(), 0);
  for (const char *line : {"CapPrm:\t0000000000000000\n", "CapEff:\t0000000000000000\n",
                           "NoNewPrivs:\t1\n", "Seccomp:\t2\n"})
    EXPECT_TRUE(StringRef(child.text).contains(line)) << line << child.text;
}

TEST_F(SandboxTest, ItsOwnSignalsEndItAsElsewhere) {
  for (int signal : {SIGABRT, SIGSEGV, SIGSYS, SIGXCPU})
    EXPECT_EQ(inChild([&] {
                enterSandbox();
                return raise(signal);
              }).code(),
              1000 + signal);
}

// Nobody else would end a compile process whose supervisor has died.
TEST_F(SandboxTest, DiesWithItsParentAsItWasTold) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  inChild([&] {
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      enterSandbox();
      close(2);
      (void)!write(ends[1], "x", 1);
      sleep(60);
      _exit(0);
    }
    return read(ends[0], buffer, 1) == 1 ? 0 : 1;
  });
  close(ends[1]);
  pollfd watched{ends[0], 0, 0}; // hung up as soon as nobody can write any more
  EXPECT_EQ(poll(&watched, 1, 10'000), 1);
  close(ends[0]);
}

// A kernel, or a container around us, that refuses some calls.
void refuseFromNowOn(std::initializer_list<uint32_t> calls, int error) {
  std::vector<sock_filter> code{
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offsetof(seccomp_data, nr)))};
  for (uint32_t call : calls) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | uint32_t(error)));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{uint16_t(code.size()), code.data()};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
    _exit(100);
}

TEST_F(SandboxTest, TellsWhatTheKernelRefuses) {
  Ended whole = inChild([] {
    refuseFromNowOn({SYS_unshare, SYS_seccomp, SYS_capset}, ENOSYS);
    errs() << enterSandbox();
    return 0;
  });
  EXPECT_EQ(whole.code(), 0);
  EXPECT_EQ(whole.text, "no user and network namespace of its own (Function not implemented), "
                        "capabilities are kept (Function not implemented), "
                        "no filter of system calls (Function not implemented)");
  Ended part = inChild([] {
    refuseFromNowOn({SYS_unshare}, EPERM);
    errs() << enterSandbox();
    errs().flush();
    return socket(AF_UNIX, SOCK_STREAM, 0) == -1 ? 0 : 1;
  });
  EXPECT_EQ(part.code(), 0);
  EXPECT_TRUE(StringRef(part.text).starts_with(
      "no user and network namespace of its own (Operation not permitted)rubia: "))
      << part.text;
}

} // namespace
