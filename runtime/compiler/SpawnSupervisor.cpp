// SPDX-License-Identifier: Apache-2.0
// A child made with exit signal 0 is invisible to wait(-1) and raises no SIGCHLD, but execve resets
// the signal; so that child only starts a grandchild, which does the execve and is adopted by init.
// Memory is shared until then (CLONE_VM|CLONE_VFORK): a program with a large address space is not
// copied.
#include "runtime/compiler/SpawnSupervisor.h"
#include "runtime/base/Installation.h"
#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <sched.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting worker;
} // namespace rubia::settings::Id

namespace rubia::runtime {

Expected<std::string> workerPath(const settings::Settings &settings) {
  if (std::string path = settings.text(settings::Id::worker); !path.empty())
    return path;
  std::string folder = installationFolder();
  for (const char *place : {"/rubia-worker", "/../lib/rubia/rubia-worker"})
    if (std::string path = folder + place; access(path.c_str(), X_OK) == 0)
      return path;
  return createStringError(inconvertibleErrorCode(),
                           "rubia-worker is not beside " + folder + " nor in its ../lib/rubia");
}

namespace {
struct Start {
  const char *path;
  char **environment;
  posix_spawn_file_actions_t *actions;
  posix_spawnattr_t *attributes;
  int error = 0;
};

int startGrandchild(void *argument) {
  auto *start = static_cast<Start *>(argument);
  char name[] = "rubia-worker", mode[] = "supervise";
  char *arguments[] = {name, mode, nullptr};
  pid_t pid;
  start->error = posix_spawn(&pid, start->path, start->actions, start->attributes, arguments,
                             start->environment);
  return 0;
}

// Returns an errno, or 0.
int startFromChild(Start &start) {
#if __has_feature(thread_sanitizer)
  // ThreadSanitizer follows no child that shares our memory. The supervisor is our own child then.
  startGrandchild(&start);
#else
  std::vector<char> stack(256 * 1024);
  // No handler of the program may run in the child that shares our memory.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, &old);
  pid_t child = clone(startGrandchild, stack.data() + stack.size(), CLONE_VM | CLONE_VFORK, &start);
  const int cloneError = child < 0 ? errno : 0;
  if (child > 0)
    while (waitpid(child, nullptr, __WCLONE) < 0 && errno == EINTR) {
    }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  if (cloneError)
    return cloneError;
#endif
  return start.error;
}
} // namespace

// The worker must not run under what the program was started with: our own libcuda, preloaded
// tracers, its LLVM. Of a program with rights that its caller lacks (AT_SECURE) it gets nothing.
static std::vector<std::string> environmentOfWorker(const settings::Settings &settings) {
  std::vector<std::string> all = settings.environment();
  llvm::erase_if(all, [](StringRef variable) { return variable.starts_with("LD_"); });
  return all;
}

Expected<FileDescriptor> spawnSupervisor(const settings::Settings &settings) {
  Expected<std::string> path = workerPath(settings);
  if (!path)
    return path.takeError();
  auto [ours, theirs] = protocol::socketPair();
  if (!ours)
    return createStringError(errnoAsErrorCode(), "socketpair");

  std::vector<std::string> variables = environmentOfWorker(settings);
  std::vector<char *> environment;
  environment.reserve(variables.size() + 1);
  for (std::string &variable : variables)
    environment.push_back(variable.data());
  environment.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, theirs.get(), 3);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", 0, 0);
  if (fcntl(STDERR_FILENO, F_GETFD) < 0) // the program has none
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, 2, 1);
  posix_spawn_file_actions_addclosefrom_np(&actions, 4);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none, all;
  sigemptyset(&none);
  sigfillset(&all);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &all);
  posix_spawnattr_setflags(&attributes,
                           POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);

  Start start{path->c_str(), environment.data(), &actions, &attributes};
  const int error = startFromChild(start);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error)
    return createStringError(std::error_code(error, std::generic_category()),
                             "cannot start " + *path);
  return std::move(ours);
}

} // namespace rubia::runtime
