// SPDX-License-Identifier: Apache-2.0
#include "runtime/worker/Sandbox.h"
#include "runtime/worker/SystemCallFilter.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/capability.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

// The sanitizers' run-time libraries read files, start programs and trace their own process.
static constexpr bool isSanitized() {
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer) ||                         \
    __has_feature(thread_sanitizer)
  return true;
#else
  return false;
#endif
}

namespace {
// The largest answer that a client takes (Protocol.cpp), and more files than a request needs.
constexpr rlim_t kMaxFileBytes = rlim_t(4) << 30, kMaxDescriptors = 64;

bool limit(int resource, rlim_t most) {
  rlimit now{};
  if (getrlimit(__rlimit_resource_t(resource), &now))
    return false;
  now.rlim_max = std::min(now.rlim_max, most);
  now.rlim_cur = std::min(now.rlim_cur, now.rlim_max);
  return setrlimit(__rlimit_resource_t(resource), &now) == 0;
}

// The limit of address space is WorkerLimits'.
bool setLimits() {
  return limit(RLIMIT_FSIZE, kMaxFileBytes) && limit(RLIMIT_NOFILE, kMaxDescriptors) &&
         limit(RLIMIT_CORE, 0) && limit(RLIMIT_MEMLOCK, 0) && limit(RLIMIT_MSGQUEUE, 0);
}

// A user namespace is what lets an ordinary user have the other one.
bool enterNamespaces() { return unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0; }

// A process has all capabilities in its own user namespace, and root has them anyway.
bool dropCapabilities() {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3]{};
  return syscall(SYS_capset, &header, none) == 0;
}

bool forbidNewPrivileges() { return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0; }
} // namespace

std::string enterSandbox() {
  if (isSanitized())
    return "a build with sanitizers has no sandbox";
  std::string refused;
  auto attempt = [&](bool done, const char *what) {
    if (!done)
      refused += std::string(refused.empty() ? "" : ", ") + what + " (" + strerror(errno) + ")";
  };
  attempt(setLimits(), "no limits");
  attempt(enterNamespaces(), "no user and network namespace of its own");
  attempt(dropCapabilities(), "capabilities are kept");
  attempt(forbidNewPrivileges(), "new privileges are not forbidden");
  attempt(filterSystemCalls(), "no filter of system calls");
  return refused;
}

} // namespace rubia::runtime
