// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/CacheRoot.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <atomic>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

// Backup programs pass over a folder with this file (the Cache Directory Tagging Specification).
static constexpr const char *kMarker = "CACHEDIR.TAG";
static constexpr StringLiteral kMarkerText("Signature: 8a477f597d28d172789f06886806bc55\n"
                                           "# Rubia's kernel cache. Files in this folder are "
                                           "written and removed by Rubia.\n");
// Where temporaries lay before there was a marker; it is left alone.
static constexpr const char *kFormerTemporaries = "tmp";

static constexpr mode_t kWritableByOthers = S_IWGRP | S_IWOTH;

static bool isLowerHex(StringRef text, size_t size) {
  return text.size() == size &&
         all_of(text, [](char c) { return isDigit(c) || (c >= 'a' && c <= 'f'); });
}

static constexpr size_t kNameDigits = 62; // of a digest, without those of the folder

bool isEntryFolder(StringRef name) { return isLowerHex(name, 2); }

bool isEntryFile(StringRef name) {
  return name.consume_back(".rubia") && isLowerHex(name, kNameDigits);
}

bool isLock(StringRef name) { return name.consume_back(".lock") && isLowerHex(name, kNameDigits); }

bool isTemporary(StringRef name) {
  SmallVector<StringRef, 4> parts;
  name.split(parts, '.');
  return parts.size() == 3 &&
         all_of(parts, [](StringRef part) { return !part.empty() && all_of(part, isDigit); });
}

std::vector<std::string> namesIn(int folder) {
  std::vector<std::string> names;
  // A descriptor of its own: reading moves the place of the descriptor, and closedir() closes it.
  FileDescriptor copy(openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR *dir = copy ? fdopendir(copy.get()) : nullptr;
  if (!dir)
    return names;
  (void)copy.release();
  while (const dirent *entry = readdir(dir))
    if (StringRef name = entry->d_name; name != "." && name != "..")
      names.push_back(name.str());
  closedir(dir);
  llvm::sort(names);
  return names;
}

static constexpr int kFolderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

FileDescriptor openFolder(int parent, const std::string &name, bool create) {
  if (create && mkdirat(parent, name.c_str(), 0755) && errno != EEXIST)
    return FileDescriptor();
  FileDescriptor folder(openat(parent, name.c_str(), kFolderFlags));
  struct stat status;
  if (!folder || fstat(folder.get(), &status))
    return FileDescriptor();
  bool isTrusted = status.st_uid == geteuid() || status.st_uid == 0;
  // Made under a umask that lets the group write, by a version that did not say otherwise.
  if (isTrusted && status.st_mode & kWritableByOthers)
    isTrusted = !fchmod(folder.get(), status.st_mode & 07777 & ~kWritableByOthers);
  if (isTrusted)
    return folder;
  errno = EPERM;
  return FileDescriptor();
}

// Whether the marker is there, with our text.
static bool isMarked(int root) {
  FileDescriptor file(openat(root, kMarker, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status;
  char text[kMarkerText.size()];
  return file && !fstat(file.get(), &status) && S_ISREG(status.st_mode) &&
         status.st_uid == geteuid() && uint64_t(status.st_size) == kMarkerText.size() &&
         readAll(file.get(), text, sizeof(text)) && StringRef(text, sizeof(text)) == kMarkerText;
}

// Renamed into place: who is killed here leaves a temporary, not half of a marker. False, with
// errno set, where that is not possible.
static bool placeMarker(int root) {
  FileDescriptor folder = openFolder(root, kTemporaries, true);
  static std::atomic<unsigned> serial;
  std::string name = std::to_string(getpid()) + "." + std::to_string(serial++) + "." +
                     std::to_string(time(nullptr));
  FileDescriptor file(folder ? openat(folder.get(), name.c_str(),
                                      O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644)
                             : -1);
  if (!file)
    return false;
  // Locked, so that nobody sweeps it away meanwhile.
  if (!flock(file.get(), LOCK_EX | LOCK_NB) &&
      writeAll(file.get(), kMarkerText.data(), kMarkerText.size()) &&
      !renameat(folder.get(), name.c_str(), root, kMarker))
    return true;
  int error = errno;
  unlinkat(folder.get(), name.c_str(), 0);
  errno = error;
  return false;
}

// Another process may sweep the temporary before it is locked, or place the marker itself.
static bool mark(int root) {
  for (int attempt = 0; attempt < 5; ++attempt) {
    if (placeMarker(root))
      return true;
    const int error = errno;
    if (isMarked(root))
      return true;
    errno = error;
    if (error != EWOULDBLOCK && error != ENOENT)
      return false;
  }
  return false;
}

static bool isFolderOfOurs(int parent, const std::string &name) {
  struct stat status;
  return !fstatat(parent, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) && S_ISDIR(status.st_mode) &&
         status.st_uid == geteuid();
}

// The first name that no cache of ours would hold, or nothing.
static std::string findForeignName(int root) {
  for (const std::string &name : namesIn(root)) {
    bool isFormerTemporaries = name == kFormerTemporaries;
    // The marker may be another process's, made while we look.
    bool isOurs = name == kUsageFile || name == kEventFile || (name == kMarker && isMarked(root)) ||
                  ((isEntryFolder(name) || isFormerTemporaries || name == kTemporaries) &&
                   isFolderOfOurs(root, name));
    if (!isOurs)
      return name;
    if (!isFormerTemporaries)
      continue;
    FileDescriptor folder(openat(root, name.c_str(), kFolderFlags));
    for (const std::string &inner : namesIn(folder.get()))
      if (!isTemporary(inner) && !isLock(inner))
        return name + "/" + inner;
  }
  return "";
}

CacheRoot::Finding CacheRoot::examine(int root, const struct stat &status) {
  auto refused = [](std::string why) -> Finding { return {Standing::Refused, std::move(why)}; };
  const bool isOwn = status.st_uid == geteuid();
  const bool othersWrite = status.st_mode & kWritableByOthers;
  if (!isOwn && status.st_uid != 0)
    return refused("it belongs to another user");
  if (isOwn && !isMarked(root)) {
    if (std::string foreign = findForeignName(root); !foreign.empty())
      return refused("it holds '" + foreign +
                     "', so it is no cache of Rubia's; name an empty folder");
    // Before the marker, so that nobody else can write into a marked root.
    if (othersWrite && fchmod(root, status.st_mode & 07777 & ~kWritableByOthers))
      return refused(std::string("its permissions cannot be changed: ") + strerror(errno));
    if (mark(root))
      return {Standing::Ours, ""};
    return {Standing::ReadOnly, "", errno}; // a full disk, a read-only file system
  }
  if (othersWrite)
    return refused("others may write into it (chmod go-w)");
  if (isOwn)
    return {Standing::Ours, ""};
  return {Standing::ReadOnly, "", EACCES};
}

void CacheRoot::remember(const struct stat &status, Finding found) const {
  std::lock_guard lock(mutex);
  known = {std::move(found), uint64_t(status.st_dev), uint64_t(status.st_ino)};
}

FileDescriptor CacheRoot::open(Purpose purpose) const {
  FileDescriptor root(::open(path.c_str(), kFolderFlags));
  struct stat status;
  if (!root || fstat(root.get(), &status)) {
    // A link is refused; what is missing, or cannot be opened for want of descriptors, is not.
    const int error = errno;
    if (!lstat(path.c_str(), &status) && S_ISLNK(status.st_mode))
      remember(status, {Standing::Refused, "it is a link; name the folder itself"});
    errno = error;
    return FileDescriptor();
  }
  Known now;
  {
    std::lock_guard lock(mutex);
    now = known;
  }
  // Others' permission to write is looked at each time, the rest once for each folder.
  const bool isKnown = now.standing != Standing::Unknown && now.device == status.st_dev &&
                       now.node == status.st_ino &&
                       (now.standing == Standing::Refused || !(status.st_mode & kWritableByOthers));
  if (!isKnown) {
    static_cast<Finding &>(now) = examine(root.get(), status);
    remember(status, now);
  }
  if (now.standing == Standing::Ours ||
      (now.standing == Standing::ReadOnly && purpose == Purpose::Read))
    return root;
  errno = now.error;
  return FileDescriptor();
}

bool CacheRoot::remove() const {
  FileDescriptor root = open(Purpose::Change);
  if (!root)
    return false;
  for (const std::string &name : namesIn(root.get()))
    if (isEntryFolder(name) || name == kTemporaries)
      (void)unlinkat(root.get(), name.c_str(), AT_REMOVEDIR);
  for (const char *name : {kUsageFile, kEventFile})
    (void)unlinkat(root.get(), name, 0);
  // The marker stays on a root that stays.
  std::vector<std::string> left = namesIn(root.get());
  if (left != std::vector<std::string>{kMarker})
    return false;
  return !unlinkat(root.get(), kMarker, 0) && !rmdir(path.c_str());
}

std::string CacheRoot::refusal() const {
  (void)open(Purpose::Read);
  std::lock_guard lock(mutex);
  return known.standing == Standing::Refused ? known.reason : "";
}

} // namespace rubia::runtime
