// SPDX-License-Identifier: Apache-2.0
// Layout: Header, key, metadata, stored payload. The header's last digest is over the header up to
// it and all that follows; it is checked before anything else is believed.
#include "runtime/cache/CacheEntry.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include <cstddef>
#include <cstring>
#include <zstd.h>

using namespace llvm;

namespace rubia::runtime {

namespace {
struct Header {
  char magic[8];
  uint32_t version;
  CacheEntry::Kind kind;
  uint64_t expires;
  uint64_t keySize, metadataSize, storedSize, payloadSize;
  Digest keyDigest, payloadDigest;
  Digest digest; // of everything but itself
};
static_assert(sizeof(Header) == 152 && offsetof(Header, digest) == 120, "no padding in the file");

constexpr char kMagic[8] = {'R', 'U', 'B', 'I', 'A', 'E', 'N', 'T'};
constexpr uint32_t kFormatVersion = 1;
constexpr int kCompressionLevel = 3;

Error malformed(const Twine &what) { return createStringError(inconvertibleErrorCode(), what); }

Digest digestOfAll(ArrayRef<uint8_t> bytes) {
  BLAKE3 hash;
  hash.update(bytes.take_front(offsetof(Header, digest)));
  hash.update(bytes.drop_front(sizeof(Header)));
  return hash.final<32>();
}
} // namespace

Digest digestOfEncoded(ArrayRef<uint8_t> bytes) {
  Header header;
  memcpy(&header, bytes.data(), sizeof(header));
  return header.digest;
}

Expected<std::vector<uint8_t>> encodeEntry(const CacheEntry &entry) {
  size_t bound = ZSTD_compressBound(entry.payload.size());
  if (entry.payload.size() > kMaxPayloadBytes || entry.key.size() > kMaxEntryBytes ||
      entry.metadata.size() > kMaxEntryBytes)
    return malformed("too large for the cache");
  std::vector<uint8_t> bytes(sizeof(Header) + entry.key.size() + entry.metadata.size() + bound);
  uint8_t *to = bytes.data() + sizeof(Header);
  to = std::copy(entry.key.begin(), entry.key.end(), to);
  to = std::copy(entry.metadata.begin(), entry.metadata.end(), to);
  size_t stored =
      ZSTD_compress(to, bound, entry.payload.data(), entry.payload.size(), kCompressionLevel);
  if (ZSTD_isError(stored))
    return malformed(Twine("cannot be compressed: ") + ZSTD_getErrorName(stored));
  bytes.resize(to + stored - bytes.data());

  Header header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.kind = entry.kind;
  header.expires = entry.expires;
  header.keySize = entry.key.size();
  header.metadataSize = entry.metadata.size();
  header.storedSize = stored;
  header.payloadSize = entry.payload.size();
  header.keyDigest = digestOf(arrayRefFromStringRef(entry.key));
  header.payloadDigest = digestOf(entry.payload);
  memcpy(bytes.data(), &header, sizeof(header));
  header.digest = digestOfAll(bytes);
  memcpy(bytes.data(), &header, sizeof(header));
  return bytes;
}

static Expected<Header> readHeader(ArrayRef<uint8_t> bytes) {
  Header header;
  if (bytes.size() < sizeof(header))
    return malformed("has no header");
  memcpy(&header, bytes.data(), sizeof(header));
  if (memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return malformed("has no header");
  if (header.version != kFormatVersion)
    return malformed("has format version " + Twine(header.version) + ", expected " +
                     Twine(kFormatVersion));
  return header;
}

Expected<std::string> decodeKey(ArrayRef<uint8_t> beginning) {
  Expected<Header> header = readHeader(beginning);
  if (!header)
    return header.takeError();
  beginning = beginning.drop_front(sizeof(Header));
  if (header->keySize > beginning.size() ||
      digestOf(beginning.take_front(header->keySize)) != header->keyDigest)
    return malformed("has the wrong key digest");
  return toStringRef(beginning.take_front(header->keySize)).str();
}

Expected<CacheEntry> decodeEntry(ArrayRef<uint8_t> bytes, EntryCheck check) {
  Expected<Header> read = readHeader(bytes);
  if (!read)
    return read.takeError();
  const Header &header = *read;
  if (header.keySize > kMaxEntryBytes || header.metadataSize > kMaxEntryBytes ||
      header.storedSize > kMaxEntryBytes || header.payloadSize > kMaxPayloadBytes ||
      bytes.size() != sizeof(header) + header.keySize + header.metadataSize + header.storedSize)
    return malformed("has the wrong size");
  if (digestOfAll(bytes) != header.digest)
    return malformed("has the wrong digest");
  // Below this line only a faulty or ill-meaning writer can be at fault.
  if (header.kind != CacheEntry::Kind::Result && header.kind != CacheEntry::Kind::Refused)
    return malformed("is of an unknown kind");
  CacheEntry entry;
  entry.kind = header.kind;
  entry.expires = header.expires;
  StringRef body = toStringRef(bytes.drop_front(sizeof(header)));
  entry.key = body.take_front(header.keySize).str();
  entry.metadata = body.substr(header.keySize, header.metadataSize).str();
  if (digestOf(arrayRefFromStringRef(entry.key)) != header.keyDigest)
    return malformed("has the wrong key digest");
  if (check)
    if (std::string problem = check(entry, header.digest); !problem.empty())
      return malformed(problem);
  StringRef stored = body.take_back(header.storedSize);
  if (ZSTD_getFrameContentSize(stored.data(), stored.size()) != header.payloadSize)
    return malformed("has the wrong payload size");
  entry.payload.resize(header.payloadSize);
  size_t size =
      ZSTD_decompress(entry.payload.data(), entry.payload.size(), stored.data(), stored.size());
  if (ZSTD_isError(size) || size != entry.payload.size() ||
      digestOf(entry.payload) != header.payloadDigest)
    return malformed("cannot be decompressed");
  return entry;
}

} // namespace rubia::runtime
