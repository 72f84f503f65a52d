// SPDX-License-Identifier: Apache-2.0
#include "diff/Capsule.h"
#include "diff/lib/LaunchJson.h"
#include "input/BoundedJson.h"
#include "llvm/ADT/StringExtras.h"
#include <cstring>
#include <zstd.h>

using namespace llvm;

namespace rubia::capsule {
namespace {

constexpr uint32_t kMinPageBytes = 256, kMaxPageBytes = 1 << 20;

/// The most raw bytes that a record of this type may have; 0: there is no such type.
uint64_t mostBytes(uint32_t type, uint32_t pageBytes) {
  switch (RecordType(type)) {
  case RecordType::Environment:
  case RecordType::Launch:
  case RecordType::End:
  case RecordType::Calls:
    return kMaxJsonBytes;
  case RecordType::Page:
    return pageBytes;
  case RecordType::Map:
    return kMaxMapBytes;
  case RecordType::Image:
    return kMaxImageBytes;
  }
  return 0;
}

ArrayRef<uint8_t> bytesOf(const void *data, size_t size) {
  return {static_cast<const uint8_t *>(data), size};
}

// One of its own for each frame would be most of the time: a capsule has many small ones.
size_t decompress(MutableArrayRef<uint8_t> raw, StringRef stored) {
  thread_local const std::unique_ptr<ZSTD_DCtx, size_t (*)(ZSTD_DCtx *)> context{ZSTD_createDCtx(),
                                                                                 ZSTD_freeDCtx};
  return ZSTD_decompressDCtx(context.get(), raw.data(), raw.size(), stored.data(), stored.size());
}

} // namespace

Error Capsule::failure(const Twine &what) const {
  return createStringError(path + ": error: " + what);
}

Expected<Capsule> Capsule::open(const std::string &path) {
  Expected<input::File> file = input::File::open(path);
  if (!file)
    return file.takeError();
  Capsule capsule;
  capsule.path = path;
  capsule.file = std::make_shared<input::File>(std::move(*file));
  if (Error error = capsule.readRecords())
    return std::move(error);
  return capsule;
}

Error Capsule::readRecords() {
  FileHeader start;
  const uint64_t size = file->size();
  if (size < sizeof(start))
    return failure("not a capsule");
  auto bytes = file->read(0, sizeof(start), sizeof(start));
  if (!bytes)
    return bytes.takeError();
  memcpy(&start, (*bytes)->getBufferStart(), sizeof(start));
  if (memcmp(start.magic, kMagic, sizeof(kMagic)) != 0)
    return failure("not a capsule");
  if (start.version != kFormatVersion)
    return failure("a capsule of format version " + Twine(start.version) + ", expected " +
                   Twine(kFormatVersion));
  if (start.pageBytes < kMinPageBytes || start.pageBytes > kMaxPageBytes)
    return failure("pages of " + Twine(start.pageBytes) + " bytes");
  pageBytes = start.pageBytes;
  bool hasEnvironment = false;
  for (uint64_t offset = sizeof(start); size - offset >= sizeof(RecordHeader) && !end;) {
    Record record{};
    bytes = file->read(offset, sizeof(record.header), sizeof(record.header));
    if (!bytes)
      return bytes.takeError();
    memcpy(&record.header, (*bytes)->getBufferStart(), sizeof(record.header));
    const RecordHeader &header = record.header;
    const Digest check = runtime::digestOf(bytesOf(&header, offsetof(RecordHeader, check)));
    if (memcmp(header.check, check.data(), sizeof(header.check)) != 0)
      return failure("the record at offset " + Twine(offset) + " is damaged");
    if (header.rawBytes > mostBytes(header.type, pageBytes) ||
        (header.codec == uint32_t(Codec::Stored) && header.storedBytes != header.rawBytes) ||
        header.codec > uint32_t(Codec::Zstd))
      return failure("the record at offset " + Twine(offset) + " has an unknown type or size");
    record.offset = offset + sizeof(header);
    if (header.storedBytes > size - record.offset)
      break; // cut short
    offset = record.offset + header.storedBytes;
    totalRaw += header.rawBytes;
    Digest digest;
    memcpy(digest.data(), header.digest, digest.size());
    byDigest.try_emplace({header.type, digest}, records.size());
    records.push_back(record);
    if (Error error = readJson(record))
      return error;
    hasEnvironment |= header.type == uint32_t(RecordType::Environment);
  }
  return hasEnvironment ? Error::success() : failure("it has no complete record");
}

Error Capsule::readJson(const Record &record) {
  const auto type = RecordType(record.header.type);
  if (type == RecordType::Page || type == RecordType::Map || type == RecordType::Image ||
      type == RecordType::Calls)
    return Error::success();
  Expected<std::vector<uint8_t>> text = payload(record);
  if (!text)
    return text.takeError();
  const auto failed = [&](Error error) {
    return failure("the record at offset " + Twine(record.offset - sizeof(RecordHeader)) + ": " +
                   toString(std::move(error)));
  };
  Expected<json::Value> value = input::parseBoundedJson(toStringRef(*text));
  if (!value)
    return failed(value.takeError());
  const auto keep = [&](auto read, auto &&store) -> Error {
    if (!read)
      return failed(read.takeError());
    store(std::move(*read));
    return Error::success();
  };
  if (type == RecordType::Launch)
    return keep(launchOf(*value, launches.empty() ? 0 : launches.back().ordinal + 1),
                [&](Launch launch) { launches.push_back(std::move(launch)); });
  if (type == RecordType::Environment)
    return keep(environmentOf(*value), [&](Environment got) { environment = std::move(got); });
  return keep(countsOf(*value), [&](Counts counts) { end = counts; });
}

Expected<std::vector<uint8_t>> Capsule::payload(const Record &record) const {
  const RecordHeader &header = record.header;
  const auto damaged = [&] {
    return failure("the record at offset " + Twine(record.offset - sizeof(RecordHeader)) +
                   " is damaged");
  };
  // Each record is bounded by its type, and its stored bytes are in the file.
  Expected<std::unique_ptr<MemoryBuffer>> stored =
      file->read(record.offset, header.storedBytes, UINT64_MAX);
  if (!stored)
    return stored.takeError();
  std::vector<uint8_t> raw;
  if (header.codec == uint32_t(Codec::Stored)) {
    raw.assign((*stored)->getBufferStart(), (*stored)->getBufferEnd());
  } else {
    if (ZSTD_getFrameContentSize((*stored)->getBufferStart(), header.storedBytes) !=
        header.rawBytes)
      return damaged();
    raw.resize(header.rawBytes);
    const size_t size = decompress(raw, (*stored)->getBuffer());
    if (ZSTD_isError(size) || size != raw.size())
      return damaged();
  }
  if (memcmp(runtime::digestOf(raw).data(), header.digest, kDigestBytes) != 0)
    return damaged();
  return raw;
}

Expected<const Capsule::Record *> Capsule::find(RecordType type, const Digest &digest) const {
  const auto found = byDigest.find({uint32_t(type), digest});
  if (found == byDigest.end())
    return failure("a record that is referred to is missing: " + toHex(digest, true));
  return &records[found->second];
}

Expected<std::vector<Digest>> Capsule::pageDigests(const Region &region, const Digest &map) const {
  Expected<const Record *> record = find(RecordType::Map, map);
  if (!record)
    return record.takeError();
  Expected<std::vector<uint8_t>> bytes = payload(**record);
  if (!bytes)
    return bytes.takeError();
  const uint64_t pages = (region.bytes + pageBytes - 1) / pageBytes;
  if (bytes->size() != pages * kDigestBytes)
    return failure("the pages of an allocation do not make its size");
  std::vector<Digest> digests(pages);
  for (uint64_t i = 0; i < pages; ++i)
    memcpy(digests[i].data(), bytes->data() + i * kDigestBytes, kDigestBytes);
  return digests;
}

Expected<std::vector<uint8_t>> Capsule::contents(const Region &region, const Digest &map,
                                                 uint64_t most) const {
  if (region.bytes > most)
    return failure("an allocation of " + Twine(region.bytes) + " bytes, at most " + Twine(most) +
                   " are read");
  Expected<std::vector<Digest>> digests = pageDigests(region, map);
  if (!digests)
    return digests.takeError();
  std::vector<uint8_t> bytes;
  for (const Digest &digest : *digests) {
    if (digest == Digest{}) { // no launch touches it
      bytes.resize(std::min<uint64_t>(bytes.size() + pageBytes, region.bytes));
      continue;
    }
    Expected<const Record *> page = find(RecordType::Page, digest);
    if (!page)
      return page.takeError();
    Expected<std::vector<uint8_t>> piece = payload(**page);
    if (!piece)
      return piece.takeError();
    if (piece->size() != std::min<uint64_t>(pageBytes, region.bytes - bytes.size()))
      return failure("the pages of an allocation do not make its size");
    bytes.insert(bytes.end(), piece->begin(), piece->end());
  }
  return bytes;
}

Expected<std::vector<uint8_t>> Capsule::image(const Digest &digest) const {
  if (const auto given = added.find(digest); given != added.end())
    return given->second;
  if (environment.hasNoImages && !byDigest.contains({uint32_t(RecordType::Image), digest}))
    return createStringError(
        "its image is not in the capsule, and in no file that was given for it (" +
        toHex(digest, true).substr(0, 16) + ")");
  Expected<const Record *> record = find(RecordType::Image, digest);
  return record ? payload(**record) : record.takeError();
}

Error Capsule::forEachRecord(function_ref<Error(RecordType, ArrayRef<uint8_t>)> take) const {
  for (const Record &record : records) {
    Expected<std::vector<uint8_t>> bytes = payload(record);
    if (!bytes)
      return bytes.takeError();
    if (Error error = take(RecordType(record.header.type), *bytes))
      return error;
  }
  return Error::success();
}

Error Capsule::forEachCall(function_ref<void(const Call &)> take) const {
  for (const Record &record : records) {
    if (RecordType(record.header.type) != RecordType::Calls)
      continue;
    Expected<std::vector<uint8_t>> lines = payload(record);
    if (!lines)
      return lines.takeError();
    for (StringRef rest = toStringRef(*lines); !rest.empty();) {
      StringRef line;
      std::tie(line, rest) = rest.split('\n');
      Expected<json::Value> value = input::parseBoundedJson(line);
      if (!value)
        return failure("a call: " + toString(value.takeError()));
      Expected<Call> call = callOf(*value);
      if (!call)
        return failure("a call: " + toString(call.takeError()));
      take(*call);
    }
  }
  return Error::success();
}

Error Capsule::verify() const {
  if (Error error = forEachCall([](const Call &) {}))
    return error;
  if (Error error = forEachRecord([](RecordType, ArrayRef<uint8_t>) { return Error::success(); }))
    return error;
  for (const Launch &launch : launches) {
    for (const Digest &digest : launch.images)
      if (!environment.hasNoImages)
        if (Expected<const Record *> record = find(RecordType::Image, digest); !record)
          return record.takeError();
    for (const Region *region : launch.regions()) {
      if (auto bytes = contents(*region, region->before); !bytes)
        return bytes.takeError();
      if (!region->after)
        continue;
      if (auto digests = pageDigests(*region, *region->after); !digests)
        return digests.takeError();
      if (!environment.hasNoResults)
        if (auto bytes = contents(*region, *region->after); !bytes)
          return bytes.takeError();
    }
  }
  return Error::success();
}

} // namespace rubia::capsule
