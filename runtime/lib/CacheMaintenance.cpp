// What keeps a cache directory small, clean and free of double work. The total size is kept in the
// file `usage`, which every writer adds to; only when it passes the bound is the directory scanned,
// the oldest tenth removed and the total made exact again. Whatever is held by a living process is
// locked with flock(2), so that the kernel says what was left behind.
#include "runtime/CacheDirectory.h"
#include "runtime/KernelCache.h"
#include "runtime/lib/Protocol.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <algorithm>
#include <chrono>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <tuple>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

using Clock = std::chrono::steady_clock;

// Names in a folder, sorted; empty if it cannot be read.
static std::vector<std::string> namesIn(const std::string &folder) {
  std::vector<std::string> names;
  if (DIR *dir = opendir(folder.c_str())) {
    while (const dirent *entry = readdir(dir))
      if (entry->d_name[0] != '.')
        names.push_back(entry->d_name);
    closedir(dir);
  }
  llvm::sort(names);
  return names;
}

std::vector<CacheDirectory::File> CacheDirectory::files() const {
  std::vector<File> result;
  for (const std::string &part : namesIn(root)) {
    if (part.size() != 2)
      continue;
    std::string folder = root + "/" + part;
    for (const std::string &name : namesIn(folder)) {
      struct stat status;
      std::string path = folder + "/" + name;
      if (StringRef(name).ends_with(".rubia") && !lstat(path.c_str(), &status))
        result.push_back({path, uint64_t(status.st_size), int64_t(status.st_mtime)});
    }
  }
  return result;
}

size_t CacheDirectory::evict(uint64_t bytes, int64_t olderThan) const {
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
    if (unlink(file.path.c_str()))
      continue;
    total -= file.bytes;
    ++gone;
    count(*this, CacheEvent::Evicted);
  }
  return gone;
}

namespace {
struct Usage {
  uint64_t bytes = 0, check = 0; // check: all bits of bytes turned over
};
} // namespace

void CacheDirectory::account(uint64_t added) const {
  std::string path = root + "/usage";
  protocol::Descriptor file(
      open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644));
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
  (void)protocol::writeAll(file.get(), &usage, sizeof(usage)); // else the next writer scans
  flock(file.get(), LOCK_UN);
}

void CacheDirectory::recount() const { (void)unlink((root + "/usage").c_str()); }

size_t CacheDirectory::sweep() const {
  std::string folder = root + "/tmp";
  size_t gone = 0;
  for (const std::string &name : namesIn(folder)) {
    std::string path = folder + "/" + name;
    protocol::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    bool foreign = !file && errno == ELOOP;
    if (foreign || (file && !flock(file.get(), LOCK_EX | LOCK_NB)))
      gone += !unlink(path.c_str());
  }
  return gone;
}

CompileLock::CompileLock(const CacheDirectory &directory, StringRef key, unsigned waitMs) {
  std::string folder = directory.folder() + "/tmp";
  if (sys::fs::create_directories(folder))
    return;
  path = folder + "/" + sys::path::stem(directory.pathOf(key)).str() + ".lock";
  // By our own clock: those of machines that share the directory may differ.
  Clock::time_point heard = Clock::now();
  timespec lastBeat{};
  bool hasSeen = false; // lastBeat
  for (auto pause = std::chrono::milliseconds(1);;
       pause = std::min(pause * 2, decltype(pause)(20))) {
    int file = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644);
    if (file < 0)
      return;
    if (!flock(file, LOCK_EX | LOCK_NB)) {
      // The owner before us removed the name: a newer file may stand there.
      struct stat held, named;
      if (!fstat(file, &held) && !stat(path.c_str(), &named) && held.st_ino == named.st_ino &&
          held.st_dev == named.st_dev) {
        fd = file;
        return;
      }
      close(file);
      continue;
    }
    const bool busy = errno == EWOULDBLOCK;
    struct stat status;
    if (!fstat(file, &status) &&
        (status.st_mtim.tv_sec != lastBeat.tv_sec || status.st_mtim.tv_nsec != lastBeat.tv_nsec)) {
      if (hasSeen)
        heard = Clock::now();
      lastBeat = status.st_mtim;
      hasSeen = true;
    }
    close(file);
    if (!busy || Clock::now() >= heard + std::chrono::milliseconds(waitMs))
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
  unlink(path.c_str());
  flock(fd, LOCK_UN); // a forked child may hold a copy of the descriptor
  close(fd);
}

} // namespace rubia::runtime
