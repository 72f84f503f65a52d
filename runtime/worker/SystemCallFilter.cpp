// SPDX-License-Identifier: Apache-2.0
// The table is assembled to a program of classic BPF that compares the number of the call with one
// row after another. libseccomp would do that too; for a flat table it would only be a further
// library to load in each compile process, and rules to build at each start.
#include "runtime/worker/SystemCallFilter.h"
#include "runtime/worker/RefusedCalls.h"
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <fcntl.h>
#include <iterator>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace rubia::runtime {

namespace {
#ifdef __x86_64__
constexpr uint32_t kArchitecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t kArchitecture = AUDIT_ARCH_AARCH64;
#else
#error "a row for this processor, and its registers in RefusedCalls.cpp"
#endif

constexpr int kAnyArguments = -1;

// A call that is taken as `action` says, always or if the bits `mask` of an argument are `value`.
struct Row {
  uint32_t call;
  int argument = kAnyArguments;
  uint32_t mask = 0, value = 0;
  uint32_t action = SECCOMP_RET_ALLOW;
};

constexpr uint32_t refuse(int error) { return SECCOMP_RET_ERRNO | uint32_t(error); }

constexpr uint32_t kNewNamespaces = CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC |
                                    CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWNET;

constexpr Row kRows[] = {
    // Memory, none of it executable: nothing is loaded any more, and nothing is compiled for us.
    {SYS_brk},
    {SYS_mmap, 2, PROT_EXEC, 0},
    {SYS_mprotect, 2, PROT_EXEC, 0},
    {SYS_mremap},
    {SYS_munmap},
    {SYS_madvise},

    // What is open, and new files that are only in memory. No fcntl that makes signals.
    {SYS_read},
    {SYS_readv},
    {SYS_pread64},
    {SYS_write},
    {SYS_writev},
    {SYS_pwrite64},
    {SYS_lseek},
    {SYS_fstat},
    {SYS_close},
    {SYS_dup},
    {SYS_fcntl, 1, ~0u, F_DUPFD_CLOEXEC},
    {SYS_fcntl, 1, ~0u, F_GETFD},
    {SYS_fcntl, 1, ~0u, F_SETFD},
    {SYS_fcntl, 1, ~0u, F_GETFL},
    {SYS_fcntl, 1, ~0u, F_ADD_SEALS},
    {SYS_pipe2},
    {SYS_memfd_create},
    {SYS_ppoll},
    // Is it a terminal? No.
    {SYS_ioctl, 1, ~0u, TCGETS, refuse(ENOTTY)},

    // The sockets that are there: to the supervisor, and for answers.
    {SYS_recvmsg},
    {SYS_sendmsg},
    {SYS_sendto},

    // Threads, but no processes. The flags of clone3 are in memory, where a filter cannot see them;
    // without it the C library takes clone.
    {SYS_clone, 0, CLONE_THREAD | kNewNamespaces, CLONE_THREAD},
    {SYS_clone3, kAnyArguments, 0, 0, refuse(ENOSYS)},
    {SYS_set_robust_list},
    {SYS_rseq},
    {SYS_futex},
    {SYS_sched_yield},
    {SYS_sched_getaffinity},
    {SYS_prctl, 0, ~0u, PR_SET_NAME, refuse(EPERM)}, // of LLVM's pools, which do without
    {SYS_exit},
    {SYS_exit_group},

    // Signals, to this process alone (tgkill is added where its number is known).
    {SYS_rt_sigaction},
    {SYS_rt_sigprocmask},
    {SYS_rt_sigpending},
    {SYS_rt_sigtimedwait},
    {SYS_rt_sigreturn},
    {SYS_sigaltstack},
    {SYS_restart_syscall},

    // Harmless questions.
    {SYS_getpid},
    {SYS_gettid},
    {SYS_getrandom},
    {SYS_sysinfo}, // of qsort: how much memory there is
    {SYS_clock_gettime},
    {SYS_clock_getres},
    {SYS_clock_nanosleep},
    {SYS_nanosleep},
    {SYS_gettimeofday},
#ifdef SYS_poll
    {SYS_poll},
#endif
#ifdef SYS_time
    {SYS_time},
#endif
};

class Program {
public:
  Program() {
    load(offsetof(seccomp_data, arch));
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, kArchitecture, 1, 0));
    end(SECCOMP_RET_KILL_PROCESS); // numbers mean other calls there
    load(offsetof(seccomp_data, nr));
  }

  // With the number of the call loaded, before and after.
  void add(const Row &row) {
    const bool always = row.argument == kAnyArguments;
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row.call, 0, uint8_t(always ? 1 : 5)));
    if (!always) {
      // The lower half: both processors are little-endian, and all of these arguments are flags.
      load(offsetof(seccomp_data, args) + row.argument * sizeof(uint64_t));
      code.push_back(BPF_STMT(BPF_ALU | BPF_AND | BPF_K, row.mask));
      code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, row.value, 0, 1));
    }
    end(row.action);
    if (!always)
      load(offsetof(seccomp_data, nr));
  }

  // All other calls come to RefusedCalls.cpp as a signal.
  bool install() {
    end(SECCOMP_RET_TRAP);
    const sock_fprog program{uint16_t(code.size()), code.data()};
    auto set = [&](unsigned flags) {
      return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) == 0;
    };
    // Kernels before 5.16 else turn off speculation past stores, which makes LLVM slower.
    return set(SECCOMP_FILTER_FLAG_SPEC_ALLOW) || (errno == EINVAL && set(0));
  }

private:
  void load(size_t offset) { code.push_back(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, uint32_t(offset))); }
  void end(uint32_t action) { code.push_back(BPF_STMT(BPF_RET | BPF_K, action)); }

  std::vector<sock_filter> code;
};
} // namespace

bool filterSystemCalls() {
  if (!answerRefusedCalls())
    return false;
  Program program;
  for (const Row &row : kRows)
    program.add(row);
  program.add({SYS_tgkill, 0, ~0u, uint32_t(getpid())});
  return program.install();
}

} // namespace rubia::runtime
