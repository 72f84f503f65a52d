// SPDX-License-Identifier: Apache-2.0
#include "runtime/cache/KernelCache.h"
#include "input/File.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Log.h"
#include "runtime/cache/CacheRoot.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/MemoryBuffer.h"
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cachePacks;
} // namespace rubia::settings::Id

namespace rubia::runtime {

namespace {
struct EventName {
  CacheEvent event;
  StringRef name;
};
constexpr EventName kEvents[] = {
    {CacheEvent::DirectoryHit, "directory hits"},
    {CacheEvent::PackHit, "pack hits"},
    {CacheEvent::RemoteHit, "remote hits"},
    {CacheEvent::Absent, "misses: no entry"},
    {CacheEvent::OtherKey, "misses: entry of another key"},
    {CacheEvent::Damaged, "misses: damaged entry"},
    {CacheEvent::Distrusted, "misses: entry of somebody else"},
    {CacheEvent::Unreadable, "misses: unreadable entry"},
    {CacheEvent::Expired, "misses: expired entry"},
    {CacheEvent::RemoteAbsent, "remote misses: no entry"},
    {CacheEvent::RemoteRefused, "remote misses: damaged or not trusted entry"},
    {CacheEvent::RemoteFailed, "remote misses: no answer"},
    {CacheEvent::RemotePaused, "remote misses: left alone after failures"},
    {CacheEvent::Compiled, "compiled"},
    {CacheEvent::Stored, "stored"},
    {CacheEvent::Evicted, "evicted"},
};

CacheEvent eventOf(CacheDirectory::Miss miss) {
  switch (miss) {
  case CacheDirectory::Miss::Absent:
    break;
  case CacheDirectory::Miss::OtherKey:
    return CacheEvent::OtherKey;
  case CacheDirectory::Miss::Damaged:
    return CacheEvent::Damaged;
  case CacheDirectory::Miss::Distrusted:
    return CacheEvent::Distrusted;
  case CacheDirectory::Miss::Unreadable:
    return CacheEvent::Unreadable;
  case CacheDirectory::Miss::Expired:
    return CacheEvent::Expired;
  }
  return CacheEvent::Absent;
}
// Counting stops there: a file that grows for ever is worse than a number that stands still.
constexpr off_t kMaxEvents = 16 << 20;
} // namespace

KernelCache KernelCache::from(const settings::Settings &settings) {
  if (cacheIsDisabled(settings))
    return {std::nullopt, {}};
  std::optional<CacheDirectory> directory;
  if (std::optional<std::string> folder = cacheDirectory(settings))
    directory.emplace(std::move(*folder), cacheMaxBytes(settings));
  std::vector<CachePack> packs;
  SmallVector<StringRef> paths;
  const std::string list = settings.text(settings::Id::cachePacks);
  StringRef(list).split(paths, ':', -1, false);
  const TrustedKeys trusted = paths.empty() ? TrustedKeys() : TrustedKeys::from(settings);
  for (StringRef path : paths) {
    Expected<CachePack> pack = CachePack::open(path.str(), trusted);
    if (pack)
      packs.push_back(std::move(*pack));
    else // somebody named it
      log(LogLevel::Error, "kernel cache: " + toString(pack.takeError()));
  }
  return {std::move(directory), std::move(packs)};
}

std::optional<CacheEntry> KernelCache::find(StringRef key) const {
  CacheEvent missed = CacheEvent::Absent;
  auto counted = [&](CacheEvent event) {
    if (local)
      count(*local, event);
  };
  if (local) {
    CacheDirectory::Lookup lookup = local->find(key);
    if (lookup.entry) {
      counted(CacheEvent::DirectoryHit);
      return std::move(lookup.entry);
    }
    missed = eventOf(lookup.miss);
  }
  for (const CachePack &pack : packList) {
    Expected<std::optional<CacheEntry>> entry = pack.find(key);
    if (!entry) {
      log(LogLevel::Warning, "kernel cache: " + toString(entry.takeError()));
      missed = CacheEvent::Damaged;
    } else if (*entry) {
      counted(CacheEvent::PackHit);
      return std::move(*entry);
    }
  }
  counted(missed);
  return std::nullopt;
}

std::optional<CacheEntry> KernelCache::findStored(StringRef key) const {
  if (!local)
    return std::nullopt;
  std::optional<CacheEntry> entry = local->find(key).entry;
  if (entry)
    count(*local, CacheEvent::DirectoryHit);
  return entry;
}

void KernelCache::store(const CacheEntry &entry) const {
  if (local && local->store(entry))
    count(*local, CacheEvent::Stored);
}

// Opened each time, for some microseconds: a program may close descriptors that it does not know,
// and then the number is another file's.
void count(const CacheDirectory &directory, CacheEvent event) {
  FileDescriptor root = directory.root().open(CacheRoot::Purpose::Change);
  FileDescriptor file(
      root ? openat(root.get(), kEventFile,
                    O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0644)
           : -1);
  struct stat status;
  if (!file || fstat(file.get(), &status) || !S_ISREG(status.st_mode) ||
      status.st_size >= kMaxEvents)
    return;
  char letter = char(event);
  (void)writeAll(file.get(), &letter, 1); // statistics are not worth a line
}

std::vector<CacheEventCount> cacheEvents(const CacheDirectory &directory) {
  auto file = input::readFile(directory.folder() + "/" + kEventFile, kMaxEvents);
  if (!file)
    consumeError(file.takeError()); // nothing was counted
  StringRef letters = file ? (*file)->getBuffer() : "";
  std::vector<CacheEventCount> result;
  for (const EventName &e : kEvents)
    result.push_back({e.event, e.name, letters.count(char(e.event))});
  return result;
}

} // namespace rubia::runtime
