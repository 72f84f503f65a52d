// SPDX-License-Identifier: Apache-2.0
// The local kernel cache: one self-describing file per entry (CacheEntry.h), named by the digest of
// its key. Readers take no lock and change nothing but the time of last use; any problem costs a
// compile, never an answer.
#pragma once

#include "runtime/cache/CacheEntry.h"
#include "settings/Settings.h"
#include <memory>
#include <optional>

namespace rubia::runtime {

class CacheRoot;

/// RUBIA_CACHE_DISABLE or CUDA_CACHE_DISABLE is 1: neither directory nor packs.
bool cacheIsDisabled(const settings::Settings &settings = {});

/// Where entries live: RUBIA_CACHE_DIR, else CUDA_CACHE_PATH/rubia, else XDG_CACHE_HOME/rubia, else
/// ~/.cache/rubia. Nothing if the cache is disabled, or, with a line in the log, if there is no
/// such folder to be had.
std::optional<std::string> cacheDirectory(const settings::Settings &settings = {});

/// RUBIA_CACHE_MAX_SIZE (bytes, or with K, M, G behind), else CUDA_CACHE_MAXSIZE (bytes), else 4
/// GiB.
uint64_t cacheMaxBytes(const settings::Settings &settings = {});

/// "ab/cdef....rubia": the file of an entry whose key has this digest, below a cache directory or a
/// remote cache's URL.
std::string entryName(const Digest &key);

class CacheDirectory {
public:
  using HashFunction = Digest (*)(llvm::ArrayRef<uint8_t>);
  /// `hash` names the files; tests force collisions with it.
  explicit CacheDirectory(std::string folder, uint64_t maxBytes = cacheMaxBytes(),
                          HashFunction hash = digestOf);

  enum class Miss { Absent, OtherKey, Damaged, Distrusted, Unreadable, Expired };
  struct Lookup {
    std::optional<CacheEntry> entry;
    Miss miss = Miss::Absent; // if there is no entry
  };
  /// The entry stored under `key`, verified to the last byte. A damaged file is removed.
  Lookup find(llvm::StringRef key) const;
  /// Atomic: other processes see the whole entry or none. Evicts others when the directory is full.
  /// False: nothing was stored; the first time, the log says why.
  bool store(const CacheEntry &entry) const;

  /// The payload alone.
  std::optional<std::vector<uint8_t>> read(llvm::StringRef key) const;
  void write(llvm::StringRef key, llvm::ArrayRef<uint8_t> payload) const;

  struct File {
    std::string path;
    uint64_t bytes = 0;
    int64_t lastUse = 0; // seconds since 1970, to about an hour
  };
  /// All files that should be entries, unverified, in the order of their names.
  std::vector<File> files() const;
  /// Reads one of them; the error says what is wrong with it.
  static llvm::Expected<CacheEntry> readFile(const std::string &path);
  /// Its key, by decodeKey: quick, for searching.
  static llvm::Expected<std::string> readKey(const std::string &path);

  /// Removes entries, those unused for longest first, until at most `bytes` are left, and those
  /// that were not used since `olderThan`. Returns how many went.
  size_t evict(uint64_t bytes, int64_t olderThan = INT64_MIN) const;
  /// Removes one of files(). False: it is still there.
  bool remove(const std::string &path) const;
  /// Removes all that the cache has made and then the folder. False: something else is in it, which
  /// stays.
  bool removeWithFolder() const;
  /// Lets the next writer count all sizes anew: after evict() by hand.
  void recount() const;
  /// Removes temporaries and locks that processes left behind which were killed, and nothing whose
  /// name is not of their form. Returns how many.
  size_t sweep() const;

  const std::string &folder() const;
  /// Opened and checked. The descriptor is of one call: programs close what they do not know.
  const CacheRoot &root() const;
  /// Why the folder is not used, as a sentence without its end; empty if it is.
  std::string refusal() const;
  std::string pathOf(llvm::StringRef key) const;
  uint64_t limit() const { return maxBytes; }

private:
  void account(uint64_t added) const;
  void complain(const llvm::Twine &message) const;

  uint64_t maxBytes;
  HashFunction hash;
  struct State;
  std::shared_ptr<State> state; // of this and its copies
};

/// The right to compile one key, among all processes that share a cache directory.
class CompileLock {
public:
  /// Waits until the lock is free. Whoever hears nothing of its owner goes on without it, after
  /// `waitMs` at least (Patience.h). A directory that cannot be written gives no lock, at once.
  CompileLock(const CacheDirectory &directory, llvm::StringRef key, unsigned waitMs);
  ~CompileLock();
  CompileLock(const CompileLock &) = delete;
  CompileLock &operator=(const CompileLock &) = delete;

  bool owned() const { return fd >= 0; }
  void beat() const; // of the owner: tells those who wait that it goes on

private:
  const CacheDirectory &directory;
  std::string name;
  int fd = -1;
};

} // namespace rubia::runtime
