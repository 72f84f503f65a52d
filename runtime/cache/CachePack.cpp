// SPDX-License-Identifier: Apache-2.0
// Layout: Header, rows sorted by key digest, entries in the order of the rows, back to back,
// perhaps a signature.
#include "runtime/cache/CachePack.h"
#include "runtime/base/FileDescriptor.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <cstddef>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

namespace {
struct Header {
  char magic[8];
  uint32_t version, rowSize;
  uint64_t rows;
  uint64_t fileBytes;
  Digest digest; // of the header up to it and the rows
};
static_assert(sizeof(Header) == 64 && offsetof(Header, digest) == 32 &&
                  sizeof(CachePack::Row) == 80,
              "no padding in the file");
constexpr char kMagic[8] = {'R', 'U', 'B', 'I', 'A', 'P', 'A', 'K'};
constexpr uint32_t kFormatVersion = 1;

Digest digestOfIndex(const Header &header, ArrayRef<CachePack::Row> rows) {
  BLAKE3 hash;
  hash.update({reinterpret_cast<const uint8_t *>(&header), offsetof(Header, digest)});
  hash.update({reinterpret_cast<const uint8_t *>(rows.data()), rows.size() * sizeof(rows[0])});
  return hash.final<32>();
}

Error failure(const std::string &path, const Twine &what) {
  return createStringError(inconvertibleErrorCode(), path + ": " + what);
}

// A descriptor is not kept: a program may close what it does not know and reuse the number.
FileDescriptor openForReading(const std::string &path) {
  return FileDescriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
}
} // namespace

Expected<CachePack> CachePack::open(const std::string &path, const TrustedKeys &trusted) {
  FileDescriptor fd = openForReading(path);
  struct stat status;
  if (!fd || fstat(fd.get(), &status))
    return failure(path, strerror(errno));
  Header header;
  if (!S_ISREG(status.st_mode) || !preadAll(fd.get(), &header, sizeof(header), 0) ||
      memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return failure(path, "not a cache pack");
  if (header.version != kFormatVersion || header.rowSize != sizeof(Row))
    return failure(path, "a cache pack of format version " + Twine(header.version) + ", expected " +
                             Twine(kFormatVersion));
  uint64_t size = status.st_size;
  const bool isSigned = size >= kSignatureBytes && header.fileBytes == size - kSignatureBytes;
  std::vector<uint8_t> signature(isSigned ? kSignatureBytes : 0);
  size -= signature.size();
  if (header.fileBytes != size || size < sizeof(header) ||
      header.rows > (size - sizeof(header)) / sizeof(Row))
    return failure(path, "the cache pack has the wrong size");
  CachePack pack;
  pack.file = path;
  pack.fileBytes = size;
  pack.packDigest = header.digest;
  pack.index.resize(header.rows);
  if (!preadAll(fd.get(), pack.index.data(), header.rows * sizeof(Row), sizeof(header)))
    return failure(path, "the index of the cache pack cannot be read");
  if (digestOfIndex(header, pack.index) != header.digest)
    return failure(path, "the index of the cache pack has the wrong digest");
  if (!preadAll(fd.get(), signature.data(), signature.size(), size))
    return failure(path, "the signature of the cache pack cannot be read");
  if (std::string problem = trusted.problemOf(signature, Signed::Pack, header.digest);
      !problem.empty())
    return failure(path, "the cache pack " + problem);
  // Who could have changed the file could have put any code into it.
  const bool isOurs =
      (status.st_uid == geteuid() || status.st_uid == 0) && !(status.st_mode & (S_IWGRP | S_IWOTH));
  if (!isOurs && !trusted.areDemanded())
    return failure(path, "the cache pack belongs to another user or is writable by others; demand "
                         "a signature with RUBIA_CACHE_PUBLIC_KEYS");
  pack.signedBy = signerOf(signature);
  for (size_t i = 0; i < pack.index.size(); ++i) {
    const Row &row = pack.index[i];
    if (row.size > kMaxEntryBytes || row.offset > size || row.size > size - row.offset ||
        (i && !(pack.index[i - 1].key < row.key)))
      return failure(path, "the index of the cache pack is not in order");
  }
  return pack;
}

static Error entryFailure(const std::string &file, const CachePack::Row &row, const Twine &what) {
  return failure(file, "entry " + toHex(row.key, true) + " " + what);
}

static Expected<std::vector<uint8_t>> readBytes(const std::string &file, const CachePack::Row &row,
                                                uint64_t most = UINT64_MAX) {
  FileDescriptor fd = openForReading(file);
  if (!fd)
    return failure(file, strerror(errno));
  std::vector<uint8_t> bytes(std::min(row.size, most));
  if (!preadAll(fd.get(), bytes.data(), bytes.size(), row.offset))
    return entryFailure(file, row, "cannot be read");
  return bytes;
}

Expected<CacheEntry> CachePack::read(const Row &row) const {
  Expected<std::vector<uint8_t>> bytes = readBytes(file, row);
  if (!bytes)
    return bytes.takeError();
  auto isMeant = [&](const CacheEntry &entry, const Digest &digest) -> std::string {
    if (digest != row.entry || digestOf(arrayRefFromStringRef(entry.key)) != row.key)
      return "is another one than the index says";
    return "";
  };
  Expected<CacheEntry> entry = decodeEntry(*bytes, isMeant);
  if (!entry)
    return entryFailure(file, row, toString(entry.takeError()));
  return entry;
}

Expected<std::string> CachePack::readKey(const Row &row) const {
  constexpr uint64_t kMaxKeyBytes = 4096; // header and key of every entry that we write are shorter
  Expected<std::vector<uint8_t>> bytes = readBytes(file, row, kMaxKeyBytes);
  if (!bytes)
    return bytes.takeError();
  Expected<std::string> key = decodeKey(*bytes);
  if (!key)
    return entryFailure(file, row, toString(key.takeError()));
  return key;
}

Expected<std::optional<CacheEntry>> CachePack::find(StringRef key) const {
  Digest digest = digestOf(arrayRefFromStringRef(key));
  auto row = partition_point(index, [&](const Row &r) { return r.key < digest; });
  if (row == index.end() || row->key != digest)
    return std::nullopt;
  Expected<CacheEntry> entry = read(*row);
  if (!entry)
    return entry.takeError();
  if (entry->key != key)
    return std::nullopt;
  return std::move(*entry);
}

void CachePackWriter::add(const CacheEntry &entry) {
  if (entry.expires)
    return;
  Expected<std::vector<uint8_t>> bytes = encodeEntry(entry);
  if (bytes)
    entries.push_back({digestOf(arrayRefFromStringRef(entry.key)), std::move(*bytes)});
  else
    problem = toString(bytes.takeError());
}

Error CachePackWriter::write(const std::string &path, const SigningKey *signer) const {
  if (!problem.empty())
    return failure(path, problem);
  std::vector<const Encoded *> sorted;
  sorted.reserve(entries.size());
  for (const Encoded &entry : entries)
    sorted.push_back(&entry);
  sort(sorted, [](const Encoded *a, const Encoded *b) { return a->key < b->key; });
  Header header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.rowSize = sizeof(CachePack::Row);
  header.rows = sorted.size();
  std::vector<CachePack::Row> rows;
  uint64_t offset = sizeof(header) + sorted.size() * sizeof(CachePack::Row);
  for (const Encoded *entry : sorted) {
    if (!rows.empty() && rows.back().key == entry->key)
      return failure(path, "two entries have the same key");
    rows.push_back({entry->key, digestOfEncoded(entry->bytes), offset, entry->bytes.size()});
    offset += entry->bytes.size();
  }
  header.fileBytes = offset;
  header.digest = digestOfIndex(header, rows);

  std::string temporary = path + ".tmp." + std::to_string(getpid());
  FileDescriptor fd(
      ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0644));
  bool good = fd && writeAll(fd.get(), &header, sizeof(header)) &&
              writeAll(fd.get(), rows.data(), rows.size() * sizeof(rows[0]));
  for (size_t i = 0; good && i < sorted.size(); ++i)
    good = writeAll(fd.get(), sorted[i]->bytes.data(), sorted[i]->bytes.size());
  if (good && signer)
    good = writeAll(fd.get(), signer->sign(Signed::Pack, header.digest).data(), kSignatureBytes);
  if (good && !fdatasync(fd.get()) && !rename(temporary.c_str(), path.c_str()))
    return Error::success();
  int error = errno;
  if (fd)
    unlink(temporary.c_str());
  return failure(path, strerror(error));
}

} // namespace rubia::runtime
