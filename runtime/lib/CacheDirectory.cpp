// A file is: magic, sizes, digest of all that follows it, key material, payload (zstd). Read with
// pread-like reads, never mapped; written to a temporary with O_EXCL, synchronised, renamed.
#include "runtime/CacheDirectory.h"
#include "runtime/Log.h"
#include "runtime/lib/Protocol.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

using namespace llvm;

namespace rubia::runtime {

namespace {
struct Header {
  char magic[8];
  uint64_t keySize, storedSize, payloadSize;
  uint8_t digest[32]; // of the sizes, the key and the stored payload
};
constexpr char kMagic[8] = {'R', 'U', 'B', 'I', 'A', 'C', 'E', '1'};
constexpr uint64_t kMaxEntry = uint64_t(1) << 31;

StringRef environment(const char *name) {
  const char *value = getenv(name);
  return value ? value : "";
}

Digest digestOfEntry(const Header &header, ArrayRef<uint8_t> body) {
  std::vector<uint8_t> bytes(24 + body.size());
  memcpy(bytes.data(), &header.keySize, 24);
  memcpy(bytes.data() + 24, body.data(), body.size());
  return digestOf(bytes);
}
} // namespace

std::optional<std::string> cacheDirectory() {
  if (environment("RUBIA_CACHE_DISABLE") == "1" || environment("CUDA_CACHE_DISABLE") == "1")
    return std::nullopt;
  std::string folder;
  if (StringRef f = environment("RUBIA_CACHE_DIR"); !f.empty())
    folder = f.str();
  else if (StringRef f = environment("CUDA_CACHE_PATH"); !f.empty())
    folder = (f + "/rubia").str();
  else if (StringRef f = environment("XDG_CACHE_HOME"); !f.empty())
    folder = (f + "/rubia").str();
  else if (StringRef f = environment("HOME"); !f.empty())
    folder = (f + "/.cache/rubia").str();
  else
    return std::nullopt;
  if (std::error_code error = sys::fs::create_directories(folder)) {
    log(LogLevel::Warning, "no kernel cache: " + folder + ": " + error.message());
    return std::nullopt;
  }
  return folder;
}

std::string CacheDirectory::pathOf(StringRef key) const {
  Digest digest = digestOf(arrayRefFromStringRef(key));
  std::string name = toHex(digest, true);
  return folder + "/" + name.substr(0, 2) + "/" + name.substr(2) + ".rubia";
}

std::optional<std::vector<uint8_t>> CacheDirectory::read(StringRef key) const {
  std::string path = pathOf(key);
  protocol::Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return std::nullopt;
  auto damaged = [&](const Twine &why) {
    log(LogLevel::Warning, "cache entry " + path + " " + why + "; it is compiled again");
    unlink(path.c_str());
    return std::nullopt;
  };
  Header header;
  struct stat status;
  if (fstat(file.get(), &status) || !protocol::readAll(file.get(), &header, sizeof(header)) ||
      memcmp(header.magic, kMagic, sizeof(kMagic)))
    return damaged("has no header");
  if (header.keySize > kMaxEntry || header.storedSize > kMaxEntry ||
      header.payloadSize > kMaxEntry ||
      uint64_t(status.st_size) != sizeof(header) + header.keySize + header.storedSize)
    return damaged("has the wrong size");
  std::vector<uint8_t> body(header.keySize + header.storedSize);
  if (!protocol::readAll(file.get(), body.data(), body.size()))
    return damaged("cannot be read");
  if (memcmp(digestOfEntry(header, body).data(), header.digest, sizeof(header.digest)))
    return damaged("has the wrong digest");
  if (key != toStringRef(ArrayRef(body).take_front(header.keySize)))
    return std::nullopt; // another key with the same name
  std::vector<uint8_t> payload(header.payloadSize);
  size_t size = ZSTD_decompress(payload.data(), payload.size(), body.data() + header.keySize,
                                header.storedSize);
  if (ZSTD_isError(size) || size != payload.size())
    return damaged("cannot be decompressed");
  return payload;
}

void CacheDirectory::write(StringRef key, ArrayRef<uint8_t> payload) const {
  std::vector<uint8_t> body(key.begin(), key.end());
  body.resize(key.size() + ZSTD_compressBound(payload.size()));
  size_t stored = ZSTD_compress(body.data() + key.size(), body.size() - key.size(), payload.data(),
                                payload.size(), 3);
  if (ZSTD_isError(stored))
    return log(LogLevel::Warning, Twine("cache: ") + ZSTD_getErrorName(stored));
  body.resize(key.size() + stored);
  Header header{{}, key.size(), stored, payload.size(), {}};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  memcpy(header.digest, digestOfEntry(header, body).data(), sizeof(header.digest));

  static std::atomic<unsigned> serial;
  std::string path = pathOf(key);
  std::string temporary = path + "." + std::to_string(getpid()) + "." + std::to_string(serial++);
  if (std::error_code error = sys::fs::create_directories(sys::path::parent_path(path)))
    return log(LogLevel::Warning, "cache: " + path + ": " + error.message());
  protocol::Descriptor file(open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!file || !protocol::writeAll(file.get(), &header, sizeof(header)) ||
      !protocol::writeAll(file.get(), body.data(), body.size()) || fdatasync(file.get()) ||
      rename(temporary.c_str(), path.c_str())) {
    log(LogLevel::Warning, "cache: " + temporary + ": " + strerror(errno));
    unlink(temporary.c_str());
  }
}

} // namespace rubia::runtime
