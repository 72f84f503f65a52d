// SPDX-License-Identifier: Apache-2.0
// ROOT/ab/cdef....rubia are entries, ROOT/rubia-temporaries/ holds what is being written and the
// locks of what is being compiled; CacheRoot.h says which folder may be a root. An entry is written
// to a temporary, synchronised and renamed; it is read in one piece, never mapped: a file that is
// cut while it is mapped kills the program.
#include "runtime/cache/CacheDirectory.h"
#include "runtime/base/FileDescriptor.h"
#include "runtime/base/Log.h"
#include "runtime/cache/CacheRoot.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting cacheDir, cacheDisable, cacheMaxSize, cudaCacheDisable, cudaCacheMaxSize,
    cudaCachePath;
} // namespace rubia::settings::Id

namespace rubia::runtime {

namespace {
// The time of last use is written at most this often.
constexpr int64_t kUseResolution = 3600;
// Header and key of every entry that we write are shorter.
constexpr uint64_t kMaxKeyBytes = 4096;

struct ReadFile {
  std::vector<uint8_t> bytes;
  int error = 0; // an errno
  bool distrusted = false;
};

// What others own or may write is not run. O_NONBLOCK: a FIFO must not stop the program. At most
// `most` bytes are read.
ReadFile readFrom(int folder, const std::string &path, bool touch, uint64_t most = UINT64_MAX) {
  ReadFile result;
  FileDescriptor file(openat(folder, path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat status;
  if (!file || fstat(file.get(), &status)) {
    result.error = errno;
    result.distrusted = errno == ELOOP;
    return result;
  }
  if (!S_ISREG(status.st_mode) || (status.st_uid != geteuid() && status.st_uid != 0) ||
      (status.st_mode & (S_IWGRP | S_IWOTH))) {
    result.distrusted = true;
    return result;
  }
  if (uint64_t(status.st_size) > 4 * kMaxEntryBytes) {
    result.error = EFBIG;
    return result;
  }
  result.bytes.resize(std::min<uint64_t>(status.st_size, most));
  if (!readAll(file.get(), result.bytes.data(), result.bytes.size())) {
    result.error = errno ? errno : EIO;
    return result;
  }
  if (touch && time(nullptr) - status.st_mtime > kUseResolution)
    (void)futimens(file.get(), nullptr); // a read-only file system keeps its times
  return result;
}
} // namespace

bool cacheIsDisabled(const settings::Settings &settings) {
  return settings.isOn(settings::Id::cacheDisable) || settings.isOn(settings::Id::cudaCacheDisable);
}

// Empty: none of the variables that name it is set.
static std::string cacheFolderName(const settings::Settings &settings) {
  if (std::string folder = settings.text(settings::Id::cacheDir); !folder.empty())
    return folder;
  auto below = [](StringRef folder, const char *rest) {
    return folder.empty() ? std::string() : (folder + rest).str();
  };
  auto system = [](const char *name) { return settings::systemVariable(name).value_or(""); };
  for (std::string folder :
       {below(settings.text(settings::Id::cudaCachePath), "/rubia"),
        below(system("XDG_CACHE_HOME"), "/rubia"), below(system("HOME"), "/.cache/rubia")})
    if (!folder.empty())
      return folder;
  return "";
}

std::optional<std::string> cacheDirectory(const settings::Settings &settings) {
  if (cacheIsDisabled(settings))
    return std::nullopt;
  std::string folder = cacheFolderName(settings);
  if (folder.empty()) {
    log(LogLevel::Warning, "no kernel cache: none of RUBIA_CACHE_DIR, CUDA_CACHE_PATH, "
                           "XDG_CACHE_HOME and HOME is set");
    return std::nullopt;
  }
  std::error_code error = sys::fs::create_directories(folder);
  if (!error && !sys::fs::is_directory(folder))
    error = std::make_error_code(std::errc::not_a_directory);
  std::string why = error ? error.message() : CacheRoot(folder).refusal();
  if (why.empty())
    return folder;
  log(LogLevel::Warning, "no kernel cache: " + folder + ": " + why);
  return std::nullopt;
}

uint64_t cacheMaxBytes(const settings::Settings &settings) {
  const bool isCudas = !settings.isUsable(settings::Id::cacheMaxSize) &&
                       settings.isUsable(settings::Id::cudaCacheMaxSize);
  return isCudas ? settings.number(settings::Id::cudaCacheMaxSize)
                 : settings.number(settings::Id::cacheMaxSize);
}

std::string entryName(const Digest &key) {
  std::string name = toHex(key, true);
  return name.substr(0, 2) + "/" + name.substr(2) + ".rubia";
}

struct CacheDirectory::State {
  explicit State(std::string folder) : root(std::move(folder)) {}
  CacheRoot root;
  std::atomic<bool> complained = false, swept = false;
};

CacheDirectory::CacheDirectory(std::string folder, uint64_t maxBytes, HashFunction hash)
    : maxBytes(maxBytes), hash(hash), state(new State(std::move(folder))) {}

const CacheRoot &CacheDirectory::root() const { return state->root; }
const std::string &CacheDirectory::folder() const { return root().folder(); }
std::string CacheDirectory::refusal() const { return root().refusal(); }

std::string CacheDirectory::pathOf(StringRef key) const {
  return folder() + "/" + entryName(hash(arrayRefFromStringRef(key)));
}

// The first problem only: a full disk would say it for every kernel.
void CacheDirectory::complain(const Twine &message) const {
  if (!state->complained.exchange(true))
    log(LogLevel::Warning, "kernel cache: " + message);
}

CacheDirectory::Lookup CacheDirectory::find(StringRef key) const {
  const std::string path = pathOf(key);
  const std::string part = sys::path::filename(sys::path::parent_path(path)).str();
  const std::string name = sys::path::filename(path).str();
  auto failed = [&](int error) -> Lookup {
    if (error == ENOENT)
      return {std::nullopt, Miss::Absent};
    complain(path + ": " + strerror(error));
    return {std::nullopt, Miss::Unreadable};
  };
  FileDescriptor base = root().open(CacheRoot::Purpose::Read);
  FileDescriptor folder = base ? openFolder(base.get(), part, false) : FileDescriptor();
  const int error = errno;
  const bool isForeign = base && !folder && (error == ELOOP || error == ENOTDIR || error == EPERM);
  if (!folder && !isForeign)
    return failed(error);
  ReadFile file = isForeign ? ReadFile{{}, 0, true} : readFrom(folder.get(), name, true);
  if (file.distrusted) {
    complain(path + " is not a file of our own; it is compiled again");
    return {std::nullopt, Miss::Distrusted};
  }
  if (file.error)
    return failed(file.error);
  Expected<CacheEntry> entry = decodeEntry(file.bytes);
  if (!entry) {
    log(LogLevel::Warning,
        "cache entry " + path + " " + toString(entry.takeError()) + "; it is compiled again");
    if (root().open(CacheRoot::Purpose::Change))
      unlinkat(folder.get(), name.c_str(), 0);
    return {std::nullopt, Miss::Damaged};
  }
  if (entry->key != key)
    return {std::nullopt, Miss::OtherKey};
  // An error that would hold for years is one that we did not write, or a clock that was wrong.
  if (const uint64_t now = time(nullptr);
      entry->expires && (entry->expires <= now || entry->expires > now + kMaxLifetimeSeconds))
    return {std::nullopt, Miss::Expired};
  return {std::move(*entry), Miss::Absent};
}

static std::string nameOfTemporary() {
  static std::atomic<unsigned> serial;
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (Twine(getpid()) + "." + Twine(serial++) + "." + Twine(now.tv_nsec)).str();
}

bool CacheDirectory::store(const CacheEntry &entry) const {
  Expected<std::vector<uint8_t>> bytes = encodeEntry(entry);
  if (!bytes) {
    complain(toString(bytes.takeError()));
    return false;
  }
  if (bytes->size() > maxBytes)
    return false;
  const std::string path = pathOf(entry.key);
  const std::string part = sys::path::filename(sys::path::parent_path(path)).str();
  const std::string name = sys::path::filename(path).str();
  FileDescriptor base = root().open(CacheRoot::Purpose::Change);
  if (!base) {
    complain(folder() + ": " + (refusal().empty() ? strerror(errno) : refusal()));
    return false;
  }
  if (!state->swept.exchange(true))
    sweep();

  FileDescriptor temporaries = openFolder(base.get(), kTemporaries, true);
  FileDescriptor target = temporaries ? openFolder(base.get(), part, true) : FileDescriptor();
  if (!target) {
    complain(path + ": " + strerror(errno));
    return false;
  }
  const std::string temporary = nameOfTemporary();
  FileDescriptor file(openat(temporaries.get(), temporary.c_str(),
                             O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  // Locked as long as we live: sweep() takes only what nobody holds.
  if (!file || flock(file.get(), LOCK_EX | LOCK_NB) ||
      !writeAll(file.get(), bytes->data(), bytes->size()) || fdatasync(file.get()) ||
      renameat(temporaries.get(), temporary.c_str(), target.get(), name.c_str())) {
    if (errno != EWOULDBLOCK && errno != ENOENT) // sweep() took it before it was locked
      complain(folder() + "/" + kTemporaries + "/" + temporary + ": " + strerror(errno));
    if (file)
      unlinkat(temporaries.get(), temporary.c_str(), 0);
    return false;
  }
  account(bytes->size());
  return true;
}

std::optional<std::vector<uint8_t>> CacheDirectory::read(StringRef key) const {
  Lookup lookup = find(key);
  if (!lookup.entry || lookup.entry->kind != CacheEntry::Kind::Result)
    return std::nullopt;
  return std::move(lookup.entry->payload);
}

void CacheDirectory::write(StringRef key, ArrayRef<uint8_t> payload) const {
  store({key.str(), "{}", payload.vec(), CacheEntry::Kind::Result, 0});
}

static Error problemOf(const ReadFile &file) {
  if (file.distrusted)
    return createStringError(inconvertibleErrorCode(), "is not a file of our own");
  if (file.error)
    return createStringError(inconvertibleErrorCode(), strerror(file.error));
  return Error::success();
}

Expected<CacheEntry> CacheDirectory::readFile(const std::string &path) {
  ReadFile file = readFrom(AT_FDCWD, path, false);
  if (Error error = problemOf(file))
    return std::move(error);
  return decodeEntry(file.bytes);
}

Expected<std::string> CacheDirectory::readKey(const std::string &path) {
  ReadFile file = readFrom(AT_FDCWD, path, false, kMaxKeyBytes);
  if (Error error = problemOf(file))
    return std::move(error);
  return decodeKey(file.bytes);
}

} // namespace rubia::runtime
