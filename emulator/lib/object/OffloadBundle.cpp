// SPDX-License-Identifier: Apache-2.0
#include "emulator/OffloadBundle.h"
#include "emulator/lib/machine/Bounds.h"
#include "emulator/lib/object/ElfFile.h"
#include "targets/Target.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"

using namespace llvm;

namespace rubia::emulator {

static constexpr StringLiteral kBundleMagic = "__CLANG_OFFLOAD_BUNDLE__";
static constexpr StringLiteral kCompressedMagic = "CCOB";

namespace {

Error malformedBundle(const Twine &what) {
  return createStringError("malformed offload bundle: " + what);
}

/// Reads little-endian numbers and text off the front of a file.
class Reader {
public:
  explicit Reader(StringRef bytes) : bytes(bytes) {}
  template <class T> bool number(uint64_t &value) {
    StringRef raw;
    if (!text(sizeof(T), raw))
      return false;
    value = support::endian::read<T>(raw.data(), endianness::little);
    return true;
  }
  bool text(uint64_t size, StringRef &value) {
    if (bytes.size() < size)
      return false;
    value = bytes.take_front(size);
    bytes = bytes.drop_front(size);
    return true;
  }
  StringRef rest() const { return bytes; }

private:
  StringRef bytes;
};

/// "gfx90a:xnack-" of "hipv4-amdgcn-amd-amdhsa--gfx90a:xnack-"; the triple may name an environment.
StringRef targetOf(StringRef id) {
  const size_t triple = id.find("amdgcn-amd-amdhsa");
  const size_t target = triple == StringRef::npos ? triple : id.find("-gfx", triple);
  return target == StringRef::npos ? StringRef() : id.drop_front(target + 1);
}

Expected<std::vector<BundleEntry>> readEntries(StringRef file) {
  Reader reader(file.drop_front(kBundleMagic.size()));
  uint64_t count;
  if (!reader.number<uint64_t>(count))
    return malformedBundle("it ends in its header");
  std::vector<BundleEntry> entries;
  for (uint64_t i = 0; i < count; ++i) {
    uint64_t offset, size, length;
    StringRef id;
    if (!reader.number<uint64_t>(offset) || !reader.number<uint64_t>(size) ||
        !reader.number<uint64_t>(length) || !reader.text(length, id))
      return malformedBundle("it ends in entry " + Twine(i));
    if (!fits(offset, size, file.size()))
      return malformedBundle("the entry " + id + " lies outside of the file");
    entries.push_back(
        {id.str(), targetOf(id).str(), arrayRefFromStringRef<uint8_t>(file.substr(offset, size))});
  }
  return entries;
}

/// Sizes of the file are believed as far as they can be true: the most that clang's bundles shrink
/// to is far from this ratio.
constexpr uint64_t kMaxRatio = 1024, kAlwaysPossible = uint64_t(64) << 20;

/// Clang Offload Bundler "Compressed Offload Bundle Header", versions 1 to 3.
Expected<std::unique_ptr<MemoryBuffer>> decompress(StringRef file) {
  Reader reader(file.drop_front(kCompressedMagic.size()));
  uint64_t version, method, fileSize = file.size(), plainSize, hash;
  auto size = [&](uint64_t &value) {
    return version >= 3 ? reader.number<uint64_t>(value) : reader.number<uint32_t>(value);
  };
  if (!reader.number<uint16_t>(version) || !reader.number<uint16_t>(method) ||
      (version >= 2 && !size(fileSize)) || !size(plainSize) || !reader.number<uint64_t>(hash))
    return malformedBundle("it ends in its header");
  if (version < 1 || version > 3)
    return createStringError("a compressed offload bundle of version " + Twine(version) +
                             ", expected 1 to 3");
  const uint64_t headerSize = file.size() - reader.rest().size();
  if (fileSize > file.size() || fileSize < headerSize)
    return malformedBundle("it has " + Twine(fileSize) + " bytes, the file " + Twine(file.size()));
  const auto packed =
      arrayRefFromStringRef<uint8_t>(reader.rest().take_front(fileSize - headerSize));
  if (plainSize > std::max<uint64_t>(packed.size() * kMaxRatio, kAlwaysPossible))
    return malformedBundle(Twine(packed.size()) + " bytes cannot hold " + Twine(plainSize));
  const bool isZlib = method == uint64_t(compression::Format::Zlib);
  if (!isZlib && method != uint64_t(compression::Format::Zstd))
    return createStringError("an offload bundle with compression method " + Twine(method) +
                             ", expected 0 (zlib) or 1 (zstd)");
  if (isZlib ? !compression::zlib::isAvailable() : !compression::zstd::isAvailable())
    return createStringError("LLVM has been built without the compression of the offload bundle");
  std::unique_ptr<WritableMemoryBuffer> plain =
      WritableMemoryBuffer::getNewUninitMemBuffer(plainSize);
  if (!plain)
    return createStringError("no memory for the " + Twine(plainSize) +
                             " bytes of the offload bundle");
  auto *output = reinterpret_cast<uint8_t *>(plain->getBufferStart());
  size_t actual = plainSize;
  if (Error error = isZlib ? compression::zlib::decompress(packed, output, actual)
                           : compression::zstd::decompress(packed, output, actual))
    return malformedBundle(toString(std::move(error)));
  if (actual != plainSize)
    return malformedBundle("it holds " + Twine(actual) + " bytes, its header says " +
                           Twine(plainSize));
  return plain;
}

} // namespace

bool isOffloadBundle(ArrayRef<uint8_t> bytes) {
  const StringRef file = toStringRef(bytes);
  return file.starts_with(kBundleMagic) || file.starts_with(kCompressedMagic);
}

Expected<OffloadBundle> readOffloadBundle(ArrayRef<uint8_t> bytes) {
  StringRef file = toStringRef(bytes);
  OffloadBundle bundle;
  if (file.starts_with(kCompressedMagic)) {
    Expected<std::unique_ptr<MemoryBuffer>> plain = decompress(file);
    if (!plain)
      return plain.takeError();
    bundle.plain = std::move(*plain);
    file = bundle.plain->getBuffer();
  }
  if (!file.starts_with(kBundleMagic))
    return malformedBundle("no " + kBundleMagic + " at its start");
  Expected<std::vector<BundleEntry>> entries = readEntries(file);
  if (!entries)
    return entries.takeError();
  bundle.entries = std::move(*entries);
  return bundle;
}

Expected<std::vector<uint8_t>> selectCodeObject(ArrayRef<uint8_t> bytes, StringRef arch) {
  if (!isOffloadBundle(bytes)) {
    Expected<uint64_t> size = sizeOfCodeObject(bytes);
    if (!size)
      return size.takeError();
    return bytes.take_front(*size).vec();
  }
  Expected<OffloadBundle> bundle = readOffloadBundle(bytes);
  if (!bundle)
    return bundle.takeError();
  std::string found;
  const BundleEntry *best = nullptr;
  auto isGeneric = [](const BundleEntry &entry) {
    return StringRef(entry.target).contains("generic");
  };
  for (const BundleEntry &entry : bundle->entries) {
    if (entry.target.empty() || entry.bytes.empty())
      continue;
    found += (found.empty() ? "" : ", ") + entry.target;
    if (targets::runsOn(entry.target, arch) && (!best || (isGeneric(*best) && !isGeneric(entry))))
      best = &entry;
  }
  if (!best)
    return createStringError(std::make_error_code(std::errc::not_supported),
                             "the offload bundle has no code object for " + arch + ", only for " +
                                 (found.empty() ? "hosts" : found));
  return best->bytes.vec();
}

} // namespace rubia::emulator
