// SPDX-License-Identifier: Apache-2.0
#include "diff/Capsule.h"
#include "runtime/base/FileDescriptor.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>
#include <zstd.h>

using namespace llvm;

namespace rubia::capsule {

Expected<CapsuleOutput> CapsuleOutput::create(const std::string &path, int compression) {
  CapsuleOutput out;
  out.path = path;
  out.compression = compression;
  out.temporary = path + ".tmp." + std::to_string(getpid());
  out.descriptor =
      ::open(out.temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  FileHeader header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.pageBytes = kPageBytes;
  if (out.descriptor < 0) {
    const int error = errno;
    out.temporary.clear(); // not ours
    return createStringError(path + ": error: " + strerror(error));
  }
  if (!runtime::writeAll(out.descriptor, &header, sizeof(header)))
    return createStringError(path + ": error: " + strerror(errno));
  return out;
}

CapsuleOutput::CapsuleOutput(CapsuleOutput &&other) noexcept
    : path(std::move(other.path)), temporary(std::exchange(other.temporary, "")),
      descriptor(std::exchange(other.descriptor, -1)), compression(other.compression),
      written(std::move(other.written)) {}

CapsuleOutput::~CapsuleOutput() {
  if (descriptor >= 0)
    close(descriptor);
  if (!temporary.empty())
    unlink(temporary.c_str());
}

Expected<Digest> CapsuleOutput::add(RecordType type, ArrayRef<uint8_t> payload) {
  const Digest digest = runtime::digestOf(payload);
  const bool isShared =
      type == RecordType::Page || type == RecordType::Map || type == RecordType::Image;
  if (isShared && !written.try_emplace({uint32_t(type), digest}, true).second)
    return digest;
  std::vector<uint8_t> stored(ZSTD_compressBound(payload.size()));
  // One context for all records: to make one takes as long as to compress a page.
  thread_local const std::unique_ptr<ZSTD_CCtx, size_t (*)(ZSTD_CCtx *)> context{ZSTD_createCCtx(),
                                                                                 ZSTD_freeCCtx};
  const size_t size = ZSTD_compressCCtx(context.get(), stored.data(), stored.size(), payload.data(),
                                        payload.size(), compression);
  const bool isSmaller = !ZSTD_isError(size) && size < payload.size();
  RecordHeader header{};
  header.type = uint32_t(type);
  header.codec = uint32_t(isSmaller ? Codec::Zstd : Codec::Stored);
  header.storedBytes = isSmaller ? size : payload.size();
  header.rawBytes = payload.size();
  memcpy(header.digest, digest.data(), digest.size());
  const Digest check = runtime::digestOf(
      {reinterpret_cast<const uint8_t *>(&header), offsetof(RecordHeader, check)});
  memcpy(header.check, check.data(), sizeof(header.check));
  if (!runtime::writeAll(descriptor, &header, sizeof(header)) ||
      !runtime::writeAll(descriptor, isSmaller ? stored.data() : payload.data(),
                         header.storedBytes))
    return createStringError(path + ": error: " + strerror(errno));
  return digest;
}

Error CapsuleOutput::add(RecordType type, const json::Value &value) {
  std::string text;
  raw_string_ostream(text) << value;
  return add(type, arrayRefFromStringRef(text)).takeError();
}

Expected<Digest> CapsuleOutput::addMemory(ArrayRef<uint8_t> bytes) {
  std::vector<uint8_t> map;
  while (!bytes.empty()) {
    const ArrayRef<uint8_t> page = bytes.take_front(kPageBytes);
    Expected<Digest> digest = add(RecordType::Page, page);
    if (!digest)
      return digest.takeError();
    map.insert(map.end(), digest->begin(), digest->end());
    bytes = bytes.drop_front(page.size());
  }
  return add(RecordType::Map, ArrayRef(map));
}

Expected<Digest> CapsuleOutput::addTouched(ArrayRef<uint8_t> bytes, ArrayRef<uint8_t> touched) {
  std::vector<uint8_t> map;
  for (size_t i = 0; !bytes.empty(); ++i) {
    const ArrayRef<uint8_t> page = bytes.take_front(kPageBytes);
    bytes = bytes.drop_front(page.size());
    Digest digest{};
    if (i < touched.size() && touched[i])
      if (Error error = add(RecordType::Page, page).moveInto(digest))
        return std::move(error);
    map.insert(map.end(), digest.begin(), digest.end());
  }
  return add(RecordType::Map, ArrayRef(map));
}

Expected<Digest> CapsuleOutput::addDigests(ArrayRef<uint8_t> bytes) {
  std::vector<uint8_t> map;
  for (; !bytes.empty(); bytes = bytes.drop_front(std::min<size_t>(bytes.size(), kPageBytes))) {
    const Digest digest = runtime::digestOf(bytes.take_front(kPageBytes));
    map.insert(map.end(), digest.begin(), digest.end());
  }
  return add(RecordType::Map, ArrayRef(map));
}

Error CapsuleOutput::finish() {
  const bool isGood = !fdatasync(descriptor) && !rename(temporary.c_str(), path.c_str());
  if (!isGood)
    return createStringError(path + ": error: " + strerror(errno));
  temporary.clear();
  return Error::success();
}

} // namespace rubia::capsule
