// SPDX-License-Identifier: Apache-2.0
// Which folders the kernel cache may use, and how it opens them.
//
// RUBIA_CACHE_DIR may name any folder: a home, the current one, a link that somebody else made. The
// cache writes and removes files, so it has to know that the folder is its own. Every root that it
// made or adopted holds a marker, the file CACHEDIR.TAG with our own text in it. A folder is
// adopted if it is empty, or if nothing lies in it but what a cache of ours holds.
//
// No descriptor outlives a call, since programs close descriptors that they do not know. So each
// call opens the root anew, checks it, and reaches everything else from there by openat(2), without
// following links.
#pragma once

#include "runtime/base/FileDescriptor.h"
#include <cerrno>
#include <mutex>
#include <sys/stat.h>

namespace rubia::runtime {

/// Names that the cache gives to files. Nothing else is ever removed.
bool isEntryFolder(llvm::StringRef name); // "ab"
bool isEntryFile(llvm::StringRef name);   // "cdef....rubia"
bool isTemporary(llvm::StringRef name);   // what is being written: "1234.0.567890"
bool isLock(llvm::StringRef name);        // of what is being compiled: "cdef....lock"

/// Files of the root: the total size, and a letter for each look-up.
inline constexpr const char *kUsageFile = "usage", *kEventFile = "events";

/// The folder of temporaries and locks, below the root.
inline constexpr const char *kTemporaries = "rubia-temporaries";

/// Names in a folder, sorted, without "." and "..". Empty if it cannot be read.
std::vector<std::string> namesIn(int folder);

/// A folder below `parent` that is a folder, ours or the superuser's, and writable by nobody else.
/// `create` makes it if it is missing. Empty on failure, with errno set.
FileDescriptor openFolder(int parent, const std::string &name, bool create);

class CacheRoot {
public:
  explicit CacheRoot(std::string path) : path(std::move(path)) {}

  enum class Purpose {
    Read,   // of a folder of ours or the superuser's
    Change, // write, evict and sweep: ours alone, and marked
  };
  /// Empty if the folder is missing or refused; errno is set.
  FileDescriptor open(Purpose purpose) const;
  /// Why it may not be used, as a sentence without its end; empty if it may, or is just missing.
  std::string refusal() const;

  /// Removes the marker, the counts, the folders of entries and the root. Folders that are not
  /// empty stay; false then.
  bool remove() const;

  const std::string &folder() const { return path; }

private:
  enum class Standing { Unknown, Ours, ReadOnly, Refused };
  /// What was found out about a folder.
  struct Finding {
    Standing standing = Standing::Unknown;
    std::string reason; // why it is refused
    int error = EPERM;  // of who wants to change it and may not
  };
  static Finding examine(int root, const struct stat &status);
  void remember(const struct stat &status, Finding found) const;

  std::string path;
  struct Known : Finding {
    uint64_t device = 0, node = 0; // of the folder
  };
  mutable std::mutex mutex; // of `known`
  mutable Known known;
};

} // namespace rubia::runtime
