// SPDX-License-Identifier: Apache-2.0
// Python packages open NVIDIA's libraries by their paths, or find them by DT_RPATH, ahead of
// LD_LIBRARY_PATH. This is preloaded, and gives them the stand-ins (docs/standins.md): a path gets
// another folder; and before an extension module beside NVIDIA's packages is loaded, the stand-ins
// are, so that the loader finds their names among what it has. Packages start NVIDIA's tools by
// their paths, too, as JAX does: they start the stand-ins. And JAX looks for the nodes of NVIDIA's
// kernel module before it asks any library for devices: it finds what it looks for.
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <iterator>
#include <pthread.h>
#include <spawn.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

constexpr const char *kStandIns[] = {"libnvJitLink.so.12", "libnvJitLink.so.13", "libnvrtc.so.12",
                                     "libnvrtc.so.13"};
constexpr const char *kTools[] = {"fatbinary", "nvlink", "ptxas"};

using Open = void *(const char *, int) noexcept;
using Execute = int(const char *, char *const *);
using ExecuteWith = int(const char *, char *const *, char *const *);
using Spawn = int(pid_t *, const char *, const posix_spawn_file_actions_t *,
                  const posix_spawnattr_t *, char *const *, char *const *);

// What the constructor finds; null until then, and then everything stays as it is.
Open *realOpen = nullptr;
Execute *realExecv = nullptr, *realExecvp = nullptr;
ExecuteWith *realExecve = nullptr, *realExecvpe = nullptr;
Spawn *realSpawn = nullptr, *realSpawnp = nullptr;
char ownFolder[PATH_MAX]; // of this library, with the others

template <class Function> void findNext(Function *&real, const char *name) {
  real = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

__attribute__((constructor)) void begin() {
  findNext(realOpen, "dlopen");
  findNext(realExecv, "execv");
  findNext(realExecvp, "execvp");
  findNext(realExecve, "execve");
  findNext(realExecvpe, "execvpe");
  findNext(realSpawn, "posix_spawn");
  findNext(realSpawnp, "posix_spawnp");
  Dl_info info;
  if (!dladdr(reinterpret_cast<void *>(&begin), &info) || !info.dli_fname ||
      strlen(info.dli_fname) >= sizeof(ownFolder))
    return;
  strcpy(ownFolder, info.dli_fname);
  if (char *end = strrchr(ownFolder, '/'))
    *end = 0;
}

/// The first path of a library that was there and that a stand-in took the place of.
struct Asked {
  std::atomic<int> state{0}; // 1: being written, 2: there
  char path[PATH_MAX];
} asked[std::size(kStandIns)];

void remember(Asked &slot, const char *path) {
  int empty = 0;
  if (strlen(path) >= sizeof(slot.path) || access(path, R_OK) ||
      !slot.state.compare_exchange_strong(empty, 1))
    return;
  strcpy(slot.path, path);
  slot.state = 2;
}

/// `path` of a library of NVIDIA's becomes the stand-in's, in `buffer`.
const char *redirected(const char *path, char (&buffer)[PATH_MAX]) {
  const char *slash = path ? strrchr(path, '/') : nullptr;
  if (!slash || !ownFolder[0])
    return path; // without a folder LD_LIBRARY_PATH counts
  for (size_t i = 0; i < std::size(kStandIns); ++i)
    if (!strcmp(slash + 1, kStandIns[i]) &&
        snprintf(buffer, sizeof(buffer), "%s/%s", ownFolder, kStandIns[i]) < int(sizeof(buffer))) {
      remember(asked[i], path);
      return buffer;
    }
  return path;
}

constexpr const char *kPackages[] = {"/site-packages/", "/dist-packages/"}; // of Python

/// `path` of a tool of NVIDIA's in a package becomes the stand-in's, in `buffer`. Those of the CUDA
/// Toolkit stay: nvcc starts them to build what may run elsewhere. Called between fork and exec, so
/// it takes no lock and no memory.
const char *tool(const char *path, char (&buffer)[PATH_MAX]) {
  const char *slash = path ? strrchr(path, '/') : nullptr;
  if (!slash || !ownFolder[0] || (!strstr(path, kPackages[0]) && !strstr(path, kPackages[1])))
    return path;
  constexpr char kBin[] = "/../bin/";
  for (const char *name : kTools)
    if (const size_t folder = strlen(ownFolder);
        !strcmp(slash + 1, name) && folder + sizeof(kBin) + strlen(name) <= sizeof(buffer)) {
      strcpy(buffer, ownFolder);
      strcpy(buffer + folder, kBin);
      strcat(buffer, name);
      return access(buffer, X_OK) ? path : buffer;
    }
  return path;
}

/// Of a program that starts another one before the constructor has run.
template <class Function> bool isFound(Function *&real) {
  if (!real)
    begin();
  if (!real)
    errno = ENOSYS;
  return real;
}

// Whether a library lies beside packages of NVIDIA's, as those that use them do.
bool isBesideNvidias(const char *path) {
  for (const char *root : kPackages)
    if (const char *found = path ? strstr(path, root) : nullptr) {
      char folder[PATH_MAX];
      struct stat status;
      const int length = int(found - path + strlen(root));
      return snprintf(folder, sizeof(folder), "%.*snvidia", length, path) < int(sizeof(folder)) &&
             !stat(folder, &status) && S_ISDIR(status.st_mode);
    }
  return false;
}

// Other threads wait until it is done; what a library opens meanwhile on this thread does not. The
// mutex is C's: there is no libstdc++ here.
void loadStandIns() {
  static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  static std::atomic<bool> isDone{false};
  static thread_local bool isLoading = false;
  if (!ownFolder[0] || isDone || isLoading)
    return;
  pthread_mutex_lock(&mutex);
  isLoading = true;
  for (size_t i = 0; i < std::size(kStandIns) && !isDone; ++i) {
    char path[PATH_MAX];
    if (snprintf(path, sizeof(path), "%s/%s", ownFolder, kStandIns[i]) < int(sizeof(path)))
      (void)realOpen(path,
                     RTLD_LAZY | RTLD_LOCAL); // one that is missing is NVIDIA's, as without us
  }
  isLoading = false;
  isDone = true;
  pthread_mutex_unlock(&mutex);
}

bool isNodeOfDriver(const char *path) {
  return !strcmp(path, "/dev/nvidia0") || !strcmp(path, "/dev/nvidiactl");
}

/// Of a node that is not there, what is told is another's.
template <class Function, class... Version>
int statusOf(Function *&real, const char *name, const char *path, void *out, Version... version) {
  if (!real)
    real = reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
  if (!real) {
    errno = ENOSYS;
    return -1;
  }
  const int result = real(version..., path, out);
  return result && errno == ENOENT && isNodeOfDriver(path) ? real(version..., "/dev/null", out)
                                                           : result;
}

const char *prepare(const char *path) {
  static thread_local char buffer[PATH_MAX]; // read by the loader before the thread is here again
  if (isBesideNvidias(path))
    loadStandIns();
  return redirected(path, buffer);
}

} // namespace

// What a stand-in asks for: where the program has its own library of this name; null: not told.
extern "C" __attribute__((visibility("default"))) const char *rubiaAskedPath(const char *name) {
  for (size_t i = 0; i < std::size(kStandIns); ++i)
    if (!strcmp(name, kStandIns[i]) && asked[i].state == 2)
      return asked[i].path;
  return nullptr;
}

// The loader sees who called, whose DT_RUNPATH it looks into: so the last call is a jump.
extern "C" __attribute__((visibility("default"))) void *dlopen(const char *path, int mode) {
  if (!realOpen)
    begin(); // somebody's constructor came first
  path = prepare(path);
  [[clang::musttail]] return realOpen(path, mode);
}

// How programs start others. execl and its kin, which no framework was seen to use, stay.
extern "C" __attribute__((visibility("default"))) Execute rubiaExecv __asm__("execv"), rubiaExecvp
    __asm__("execvp");
extern "C" __attribute__((visibility("default"))) ExecuteWith rubiaExecve __asm__("execve"),
    rubiaExecvpe __asm__("execvpe");
extern "C" __attribute__((visibility("default"))) Spawn rubiaSpawn __asm__("posix_spawn"),
    rubiaSpawnp __asm__("posix_spawnp");

int rubiaExecv(const char *path, char *const *words) {
  char buffer[PATH_MAX];
  return isFound(realExecv) ? realExecv(tool(path, buffer), words) : -1;
}
int rubiaExecvp(const char *path, char *const *words) {
  char buffer[PATH_MAX];
  return isFound(realExecvp) ? realExecvp(tool(path, buffer), words) : -1;
}
int rubiaExecve(const char *path, char *const *words, char *const *variables) {
  char buffer[PATH_MAX];
  return isFound(realExecve) ? realExecve(tool(path, buffer), words, variables) : -1;
}
int rubiaExecvpe(const char *path, char *const *words, char *const *variables) {
  char buffer[PATH_MAX];
  return isFound(realExecvpe) ? realExecvpe(tool(path, buffer), words, variables) : -1;
}
int rubiaSpawn(pid_t *out, const char *path, const posix_spawn_file_actions_t *actions,
               const posix_spawnattr_t *attributes, char *const *words, char *const *variables) {
  char buffer[PATH_MAX];
  return isFound(realSpawn)
             ? realSpawn(out, tool(path, buffer), actions, attributes, words, variables)
             : ENOSYS;
}
int rubiaSpawnp(pid_t *out, const char *path, const posix_spawn_file_actions_t *actions,
                const posix_spawnattr_t *attributes, char *const *words, char *const *variables) {
  char buffer[PATH_MAX];
  return isFound(realSpawnp)
             ? realSpawnp(out, tool(path, buffer), actions, attributes, words, variables)
             : ENOSYS;
}

// What programs of all versions of glibc, and with both sizes of offsets, call for stat(). Names of
// their own, since headers declare the others.
using Stat = int(const char *, void *);
using VersionedStat = int(int, const char *, void *);
extern "C" __attribute__((visibility("default"))) Stat rubiaStat __asm__("stat"), rubiaStat64
    __asm__("stat64");
extern "C" __attribute__((visibility("default"))) VersionedStat rubiaXStat __asm__("__xstat"),
    rubiaXStat64 __asm__("__xstat64");

int rubiaStat(const char *path, void *out) {
  static Stat *real = nullptr;
  return statusOf(real, "stat", path, out);
}
int rubiaStat64(const char *path, void *out) {
  static Stat *real = nullptr;
  return statusOf(real, "stat64", path, out);
}
int rubiaXStat(int version, const char *path, void *out) {
  static VersionedStat *real = nullptr;
  return statusOf(real, "__xstat", path, out, version);
}
int rubiaXStat64(int version, const char *path, void *out) {
  static VersionedStat *real = nullptr;
  return statusOf(real, "__xstat64", path, out, version);
}
