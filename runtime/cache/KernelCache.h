// SPDX-License-Identifier: Apache-2.0
// The tiers of the kernel cache below the map in each process: the local directory, then read-only
// packs in the order of RUBIA_CACHE_PACKS. The remote one is asked by the compile supervisor
// (worker/RemoteCache.h): a program never talks to a network.
#pragma once

#include "runtime/cache/CacheDirectory.h"
#include "runtime/cache/CachePack.h"

namespace rubia::runtime {

class KernelCache {
public:
  KernelCache(std::optional<CacheDirectory> directory, std::vector<CachePack> packs)
      : local(std::move(directory)), packList(std::move(packs)) {}
  /// cacheDirectory() and the packs of RUBIA_CACHE_PACKS (separated by colons). What cannot be
  /// opened is said in the log. Empty if the cache is off.
  static KernelCache from(const settings::Settings &settings);

  std::optional<CacheEntry> find(llvm::StringRef key) const;
  /// After a find() that found nothing: what another process has put into the directory since then.
  std::optional<CacheEntry> findStored(llvm::StringRef key) const;
  void store(const CacheEntry &entry) const;

  const CacheDirectory *directory() const { return local ? &*local : nullptr; }
  llvm::ArrayRef<CachePack> packs() const { return packList; }

private:
  std::optional<CacheDirectory> local;
  std::vector<CachePack> packList;
};

/// What became of look-ups in a cache directory, over all processes. One letter each in the file
/// `events` of the directory, appended; approximate after a crash.
enum class CacheEvent : char {
  DirectoryHit = 'd',
  PackHit = 'p',
  Absent = 'a',
  OtherKey = 'k',
  Damaged = 'x',
  Distrusted = 't',
  Unreadable = 'u',
  Expired = 'e',
  Stored = 's',
  Evicted = 'v',
  Compiled = 'c',
  RemoteHit = 'r',
  RemoteAbsent = 'm',
  RemoteRefused = 'q',
  RemoteFailed = 'f',
  RemotePaused = 'l',
};
void count(const CacheDirectory &directory, CacheEvent event);
struct CacheEventCount {
  CacheEvent event;
  llvm::StringRef name; // "directory hits"
  uint64_t times;
};
std::vector<CacheEventCount> cacheEvents(const CacheDirectory &directory);

} // namespace rubia::runtime
