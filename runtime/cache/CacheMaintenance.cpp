// SPDX-License-Identifier: Apache-2.0
// What keeps a cache directory small, clean and free of double work. The total size is kept in the
// file `usage`, which every writer adds to; only when it passes the bound is the directory scanned,
// the oldest tenth removed and the total made exact again. Whatever is held by a living process is
// locked with flock(2), so that the kernel says what was left behind.
#include "input/Writing.h"
#include "runtime/cache/CacheDirectory.h"
#include "runtime/cache/CacheRoot.h"
#include "runtime/cache/KernelCache.h"
#include "runtime/cache/Patience.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <chrono>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

std::vector<CacheDirectory::File> CacheDirectory::files() const {
  std::vector<File> result;
  FileDescriptor base = root().open(CacheRoot::Purpose::Read);
  for (const std::string &part : namesIn(base.get())) {
    FileDescriptor folder =
        isEntryFolder(part) ? openFolder(base.get(), part, false) : FileDescriptor();
    for (const std::string &name : namesIn(folder.get())) {
      struct stat status;
      if (isEntryFile(name) && !fstatat(folder.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW))
        result.push_back({this->folder() + "/" + part + "/" + name, uint64_t(status.st_size),
                          int64_t(status.st_mtime)});
    }
  }
  return result;
}

// Removes an entry by its path, without following a link on the way.
static bool removeEntry(int base, StringRef path) {
  FileDescriptor folder =
      openFolder(base, sys::path::filename(sys::path::parent_path(path)).str(), false);
  return folder && !unlinkat(folder.get(), sys::path::filename(path).str().c_str(), 0);
}

size_t CacheDirectory::evict(uint64_t bytes, int64_t olderThan) const {
  FileDescriptor base = root().open(CacheRoot::Purpose::Change);
  if (!base)
    return 0;
  std::vector<File> all = files();
  uint64_t total = 0;
  for (const File &file : all)
    total += file.bytes;
  llvm::sort(all, [](const File &a, const File &b) {
    return std::tie(a.lastUse, a.path) < std::tie(b.lastUse, b.path);
  });
  size_t gone = 0;
  for (const File &file : all) {
    if (total <= bytes && file.lastUse >= olderThan)
      break;
    if (!removeEntry(base.get(), file.path))
      continue;
    total -= file.bytes;
    ++gone;
    count(*this, CacheEvent::Evicted);
  }
  return gone;
}

bool CacheDirectory::remove(const std::string &path) const {
  FileDescriptor base = root().open(CacheRoot::Purpose::Change);
  return base && removeEntry(base.get(), path);
}

bool CacheDirectory::removeWithFolder() const {
  evict(0, INT64_MAX);
  sweep();
  return root().remove();
}

namespace {
struct Usage {
  uint64_t bytes = 0, check = 0; // check: all bits of bytes turned over
};
} // namespace

void CacheDirectory::account(uint64_t added) const {
  FileDescriptor base = root().open(CacheRoot::Purpose::Change);
  FileDescriptor file(base ? openat(base.get(), kUsageFile,
                                    O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)
                           : -1);
  if (!file)
    return;
  // Never for long: its owner may be stopped. What is not added now is found by the next scan.
  for (int attempt = 0; flock(file.get(), LOCK_EX | LOCK_NB); ++attempt) {
    if (attempt == 20)
      return;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  auto exact = [&] {
    uint64_t total = 0;
    for (const File &entry : files())
      total += entry.bytes;
    return total;
  };
  Usage usage;
  if (pread(file.get(), &usage, sizeof(usage), 0) == sizeof(usage) && usage.check == ~usage.bytes)
    usage.bytes += added;
  else
    usage.bytes = exact();
  if (usage.bytes > maxBytes) {
    evict(maxBytes / 10 * 9);
    usage.bytes = exact();
  }
  usage.check = ~usage.bytes;
  (void)writeAll(file.get(), &usage, sizeof(usage)); // else the next writer scans
  flock(file.get(), LOCK_UN);
}

void CacheDirectory::recount() const {
  if (FileDescriptor base = root().open(CacheRoot::Purpose::Change))
    (void)unlinkat(base.get(), kUsageFile, 0);
}

size_t CacheDirectory::sweep() const {
  FileDescriptor base = root().open(CacheRoot::Purpose::Change);
  FileDescriptor folder = base ? openFolder(base.get(), kTemporaries, false) : FileDescriptor();
  size_t gone = 0;
  for (const std::string &name : namesIn(folder.get())) {
    if (!isTemporary(name) && !isLock(name))
      continue;
    FileDescriptor file(
        openat(folder.get(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat status;
    if (file && !fstat(file.get(), &status) && S_ISREG(status.st_mode) &&
        !flock(file.get(), LOCK_EX | LOCK_NB))
      gone += !unlinkat(folder.get(), name.c_str(), 0);
  }
  return gone;
}

// The folder of locks, or empty: then there is none to be had.
static FileDescriptor openLocks(const CacheDirectory &directory, bool create) {
  FileDescriptor base = directory.root().open(CacheRoot::Purpose::Change);
  return base ? openFolder(base.get(), kTemporaries, create) : FileDescriptor();
}

CompileLock::CompileLock(const CacheDirectory &directory, StringRef key, unsigned waitMs)
    : directory(directory), name(sys::path::stem(directory.pathOf(key)).str() + ".lock") {
  FileDescriptor folder = openLocks(directory, true);
  if (!folder)
    return;
  // By our own clock: those of machines that share the directory may differ.
  Patience patience(std::chrono::milliseconds(waitMs), Patience::Clock::now());
  timespec lastBeat{};
  bool hasSeen = false; // lastBeat
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, decltype(pause)(20))) {
    const int file = input::besideStandardStreams(openat(
        folder.get(), name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
    if (file < 0)
      return;
    if (!flock(file, LOCK_EX | LOCK_NB)) {
      // The owner before us removed the name: a newer file may stand there.
      struct stat held, named;
      if (!fstat(file, &held) &&
          !fstatat(folder.get(), name.c_str(), &named, AT_SYMLINK_NOFOLLOW) &&
          held.st_ino == named.st_ino && held.st_dev == named.st_dev) {
        fd = file;
        return;
      }
      close(file);
      continue;
    }
    const bool busy = errno == EWOULDBLOCK;
    bool isHeard = false;
    struct stat status;
    if (!fstat(file, &status) &&
        (status.st_mtim.tv_sec != lastBeat.tv_sec || status.st_mtim.tv_nsec != lastBeat.tv_nsec)) {
      lastBeat = status.st_mtim;
      isHeard = std::exchange(hasSeen, true);
    }
    close(file);
    if (!busy || patience.isOver(Patience::Clock::now(), isHeard))
      return; // also a file system without locks
    std::this_thread::sleep_for(pause);
  }
}

void CompileLock::beat() const {
  if (fd >= 0)
    (void)futimens(fd, nullptr); // at worst the others compile it too
}

CompileLock::~CompileLock() {
  if (fd < 0)
    return;
  if (FileDescriptor folder = openLocks(directory, false))
    unlinkat(folder.get(), name.c_str(), 0);
  flock(fd, LOCK_UN); // a forked child may hold a copy of the descriptor
  close(fd);
}

} // namespace rubia::runtime
