// SPDX-License-Identifier: Apache-2.0
// libFuzzer over cache packs and entries. Digests keep damaged files out, so nearly all that a
// fuzzer makes of bytes ends at the first one. Here an input is a list of changes to a sound pack,
// and its first byte says which digests are made right again behind them: none (damage), those of
// entries, or all (a writer who means ill).
//
// What is asked for: no fault, and of what was only damaged nothing but what was written.

#include "runtime/cache/CachePack.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/BLAKE3.h"
#include "llvm/Support/Endian.h"
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace rubia::runtime;

namespace {

using Bytes = std::vector<uint8_t>;

// Of CachePack.cpp and CacheEntry.cpp.
constexpr size_t kPackHeader = 64, kPackDigest = 32, kRowBytes = 80, kEntryHeader = 152,
                 kEntryDigest = 120, kEntryPayloadSize = 48;
constexpr uint64_t kMaxPayload = 1 << 20; // keeps the memory of one run small

enum Repair : uint8_t { kNothing, kEntries, kAll };

CacheEntry entryOf(unsigned i) {
  return {"key " + std::to_string(i), R"({"kernel": "k"})", Bytes(i * 37, uint8_t(i)),
          i == 3 ? CacheEntry::Kind::Refused : CacheEntry::Kind::Result, 0};
}
constexpr unsigned kEntriesOfPack = 5;

Digest digestOfParts(ArrayRef<uint8_t> one, ArrayRef<uint8_t> other) {
  BLAKE3 hash;
  hash.update(one);
  hash.update(other);
  return hash.final<32>();
}

Bytes soundPack() {
  const std::string path = "/tmp/rubia-fuzz-pack." + std::to_string(getpid());
  CachePackWriter writer;
  for (unsigned i = 0; i < kEntriesOfPack; ++i)
    writer.add(entryOf(i));
  if (Error error = writer.write(path)) {
    consumeError(std::move(error));
    abort();
  }
  Bytes bytes(1 << 16);
  FILE *file = fopen(path.c_str(), "rb");
  if (!file)
    abort();
  bytes.resize(fread(bytes.data(), 1, bytes.size(), file));
  fclose(file);
  unlink(path.c_str());
  return bytes;
}

/// Changes of six bytes: where, what to do, with which value.
void change(Bytes &bytes, ArrayRef<uint8_t> changes) {
  for (; changes.size() >= 6 && !bytes.empty(); changes = changes.drop_front(6)) {
    const size_t at = support::endian::read16le(changes.data()) % bytes.size();
    const uint8_t value = changes[3];
    const size_t left = bytes.size() - at;
    switch (changes[2] % 6) {
    case 0:
      bytes[at] = value;
      break;
    case 1:
      bytes[at] += value;
      break;
    case 2: // a number at a field's boundary
      if (const size_t place = at & ~size_t(7); place + 8 <= bytes.size())
        support::endian::write64le(bytes.data() + place, uint64_t(int64_t(int8_t(value)))
                                                             << changes[4] % 64);
      break;
    case 3:
      bytes.resize(at);
      break;
    case 4:
      bytes.insert(bytes.begin() + ptrdiff_t(at), size_t(value) % 32, changes[4]);
      break;
    case 5: // copies
      std::memmove(bytes.data() + at,
                   bytes.data() + support::endian::read16le(changes.data() + 4) % (at + 1),
                   std::min<size_t>(left, value));
      break;
    }
  }
}

/// Makes the digest of an entry right, and refuses sizes that would only cost memory.
bool repairEntry(MutableArrayRef<uint8_t> entry) {
  if (entry.size() < kEntryHeader)
    return true;
  if (support::endian::read64le(entry.data() + kEntryPayloadSize) > kMaxPayload)
    return false;
  const Digest digest =
      digestOfParts(entry.take_front(kEntryDigest), entry.drop_front(kEntryHeader));
  std::memcpy(entry.data() + kEntryDigest, digest.data(), digest.size());
  return true;
}

bool repair(Bytes &bytes, Repair what) {
  if (bytes.size() < kPackHeader)
    return true;
  const uint64_t rows = std::min<uint64_t>(support::endian::read64le(bytes.data() + 16),
                                           (bytes.size() - kPackHeader) / kRowBytes);
  for (uint64_t i = 0; i < rows; ++i) {
    uint8_t *row = bytes.data() + kPackHeader + i * kRowBytes;
    const uint64_t offset = support::endian::read64le(row + 64),
                   size = support::endian::read64le(row + 72);
    if (offset > bytes.size() || size > bytes.size() - offset)
      continue;
    if (!repairEntry(MutableArrayRef(bytes).slice(offset, size)))
      return false;
    if (what == kAll && size >= kEntryHeader)
      std::memmove(row + 32, bytes.data() + offset + kEntryDigest, 32);
  }
  if (what != kAll)
    return true;
  support::endian::write64le(bytes.data() + 24, bytes.size());
  const Digest digest = digestOfParts(ArrayRef(bytes).take_front(kPackDigest),
                                      ArrayRef(bytes).slice(kPackHeader, rows * kRowBytes));
  std::memcpy(bytes.data() + kPackDigest, digest.data(), digest.size());
  return true;
}

void readAll(const CachePack &pack, bool isOnlyDamaged) {
  for (const CachePack::Row &row : pack.rows()) {
    consumeError(pack.readKey(row).takeError());
    consumeError(pack.read(row).takeError());
  }
  for (unsigned i = 0; i < kEntriesOfPack; ++i) {
    Expected<std::optional<CacheEntry>> found = pack.find("key " + std::to_string(i));
    if (!found) {
      consumeError(found.takeError());
      continue;
    }
    // Damage may lose an entry, never change it.
    if (*found && isOnlyDamaged && (*found)->payload != entryOf(i).payload)
      abort();
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const Bytes sound = soundPack();
  if (size == 0)
    return 0;
  const Repair what = Repair(data[0] % 3);
  Bytes bytes = sound;
  change(bytes, ArrayRef(data, size).drop_front());
  if (what != kNothing && !repair(bytes, what))
    return 0;
  consumeError(decodeEntry(bytes).takeError());
  const int file = memfd_create("pack", MFD_CLOEXEC);
  if (file < 0 || fchmod(file, 0600) || write(file, bytes.data(), bytes.size()) < 0)
    abort();
  Expected<CachePack> pack = CachePack::open("/proc/self/fd/" + std::to_string(file));
  if (pack)
    readAll(*pack, what == kNothing);
  else
    consumeError(pack.takeError());
  close(file);
  return 0;
}
