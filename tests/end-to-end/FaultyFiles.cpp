// SPDX-License-Identifier: Apache-2.0
// Preloaded into a program: file operations below FAULTY_FOLDER fail as FAULT says, which real
// disks do too rarely to test with. eio-read, eio-write, eio-sync, eio-rename, short (reads and
// writes do half of what is asked), emfile, eacces, enospc.
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

static bool faultIs(std::string_view name) {
  const char *fault = getenv("FAULT");
  return fault && name == fault;
}

static bool isWatched(const char *path) {
  const char *folder = getenv("FAULTY_FOLDER");
  return folder && path && !strncmp(path, folder, strlen(folder));
}

template <typename Function> static Function *next(const char *name) {
  return reinterpret_cast<Function *>(dlsym(RTLD_NEXT, name));
}

static bool watched[4096];

static int fail(int error) {
  errno = error;
  return -1;
}

// A name in a folder that is open: watched as the folder is. One below the current folder is not.
static bool isWatchedIn(int folder, const char *path) {
  return *path == '/' ? isWatched(path) : folder >= 0 && folder < 4096 && watched[folder];
}

static int openWatched(int folder, const char *path, int flags, mode_t mode) {
  static auto *real = next<int(int, const char *, int, ...)>("openat");
  const bool watch = isWatchedIn(folder, path) && strstr(path, "events") == nullptr;
  if (watch && faultIs("emfile"))
    return fail(EMFILE);
  if (watch && faultIs("eacces"))
    return fail(EACCES);
  int fd = real(folder, path, flags, mode);
  if (fd >= 0 && fd < 4096)
    watched[fd] = watch;
  return fd;
}

static bool isFaulty(int fd, const char *fault) {
  return fd >= 0 && fd < 4096 && watched[fd] && faultIs(fault);
}

#pragma GCC visibility push(default)
extern "C" {
int open(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openWatched(AT_FDCWD, path, flags, mode);
}

int open64(const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openWatched(AT_FDCWD, path, flags, mode);
}

int openat(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openWatched(folder, path, flags, mode);
}

int openat64(int folder, const char *path, int flags, ...) {
  va_list list;
  va_start(list, flags);
  mode_t mode = flags & O_CREAT ? va_arg(list, mode_t) : 0;
  va_end(list);
  return openWatched(folder, path, flags, mode);
}

int close(int fd) {
  static auto *real = next<int(int)>("close");
  if (fd >= 0 && fd < 4096)
    watched[fd] = false;
  return real(fd);
}

ssize_t read(int fd, void *data, size_t size) {
  static auto *real = next<ssize_t(int, void *, size_t)>("read");
  if (isFaulty(fd, "eio-read"))
    return fail(EIO);
  return real(fd, data, isFaulty(fd, "short") ? (size + 1) / 2 : size);
}

ssize_t write(int fd, const void *data, size_t size) {
  static auto *real = next<ssize_t(int, const void *, size_t)>("write");
  if (isFaulty(fd, "eio-write"))
    return fail(EIO);
  if (isFaulty(fd, "enospc"))
    return fail(ENOSPC);
  return real(fd, data, isFaulty(fd, "short") ? (size + 1) / 2 : size);
}

int fdatasync(int fd) {
  static auto *real = next<int(int)>("fdatasync");
  return isFaulty(fd, "eio-sync") ? fail(EIO) : real(fd);
}

int rename(const char *from, const char *to) noexcept {
  static auto *real = next<int(const char *, const char *)>("rename");
  return isWatched(to) && faultIs("eio-rename") ? fail(EIO) : real(from, to);
}

int renameat(int fromFolder, const char *from, int toFolder, const char *to) noexcept {
  static auto *real = next<int(int, const char *, int, const char *)>("renameat");
  return isWatchedIn(toFolder, to) && faultIs("eio-rename") ? fail(EIO)
                                                            : real(fromFolder, from, toFolder, to);
}
}
#pragma GCC visibility pop
