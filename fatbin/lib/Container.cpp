// SPDX-License-Identifier: Apache-2.0
// Container bytes -> entries. The bytes may be hostile, so every field is compared with what is
// left of its surroundings (an entry with its container, a string with its entry's header) before
// it is followed, in a form that cannot overflow.

#include "fatbin/Container.h"
#include "fatbin/Cubin.h"
#include "fatbin/lib/Layout.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

namespace rubia::fatbin {

char ImageError::ID = 0;
char MalformedImage::ID = 0;
char UnsupportedImage::ID = 0;

void ImageError::log(raw_ostream &os) const { os << formatv("offset {0:x}: {1}", offset, text); }

std::error_code ImageError::convertToErrorCode() const {
  return std::make_error_code(std::errc::executable_format_error);
}

std::string Image::target() const {
  if (!sm)
    return "sm_?";
  std::string name = "sm_" + std::to_string(sm);
  if (variant)
    name += variant;
  return name;
}

bool startsWithContainer(ArrayRef<uint8_t> bytes) {
  return bytes.size() >= 4 && readAt<uint32_t>(bytes, 0) == container::kMagic;
}

static_assert(kContainerHeaderBytes == container::kMinHeaderSize);

std::optional<uint64_t> claimedContainerSize(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < kContainerHeaderBytes || !startsWithContainer(bytes))
    return std::nullopt;
  const uint64_t header = readAt<uint16_t>(bytes, container::kHeaderSize);
  return header + std::min(readAt<uint64_t>(bytes, container::kSize), UINT64_MAX - header);
}

Expected<uint64_t> containerSize(ArrayRef<uint8_t> bytes) {
  if (bytes.size() < container::kMinHeaderSize)
    return malformed(0, "container header cut off: {0} of {1} bytes", bytes.size(),
                     container::kMinHeaderSize);
  if (uint32_t magic = readAt<uint32_t>(bytes, 0); magic != container::kMagic)
    return malformed(0, "container expected: magic number is {0:x8}, not {1:x8}", magic,
                     container::kMagic);
  if (uint16_t version = readAt<uint16_t>(bytes, container::kVersion);
      version != container::kKnownVersion)
    return unsupported(0, "unsupported container version {0}", version);
  uint64_t headerSize = readAt<uint16_t>(bytes, container::kHeaderSize);
  if (headerSize < container::kMinHeaderSize || headerSize > bytes.size())
    return malformed(0, "container header size is {0}, expected {1} to {2}", headerSize,
                     container::kMinHeaderSize, bytes.size());
  uint64_t size = readAt<uint64_t>(bytes, container::kSize);
  if (!fits(headerSize, size, bytes.size()))
    return malformed(0, "container claims {0} bytes of entries, but only {1} follow its header",
                     size, bytes.size() - headerSize);
  return headerSize + size;
}

// The string of `length` bytes at `offset` in an entry's header, without the NULs that it is padded
// with.
static Expected<StringRef> headerString(ArrayRef<uint8_t> header, uint32_t offset, uint32_t length,
                                        uint64_t entryOffset, const char *what) {
  if (!length)
    return StringRef();
  if (offset < entry::kMinHeaderSize || !fits(offset, length, header.size()))
    return malformed(entryOffset,
                     "{0} at {1}, {2} bytes long, is not inside its entry's header of {3}", what,
                     offset, length, header.size());
  return asText(header.slice(offset, length)).rtrim('\0');
}

static Error readIdentifier(Image &image, ArrayRef<uint8_t> header) {
  Expected<StringRef> text =
      headerString(header, readAt<uint32_t>(header, entry::kIdentifier),
                   readAt<uint32_t>(header, entry::kIdentifier + 4), image.offset, "identifier");
  if (text)
    image.identifier = *text;
  return text.takeError();
}

// A cubin's area is binary (a list of capabilities that it needs): it is checked, but no text for
// `options`.
static Error readOptions(Image &image, ArrayRef<uint8_t> header) {
  uint32_t descriptor = readAt<uint32_t>(header, entry::kOptions);
  if (!descriptor)
    return Error::success();
  if (descriptor < entry::kMinHeaderSize || !fits(descriptor, 8, header.size()))
    return malformed(image.offset,
                     "option descriptor at {0} is not inside its entry's header of {1}", descriptor,
                     header.size());
  Expected<StringRef> text =
      headerString(header, readAt<uint32_t>(header, descriptor),
                   readAt<uint32_t>(header, descriptor + 4), image.offset, "option string");
  if (text && image.kind != ImageKind::Cubin)
    image.options = *text;
  return text.takeError();
}

static ImageKind kindOf(uint16_t number) {
  switch (number) {
  case 1:
    return ImageKind::Ptx;
  case 2:
    return ImageKind::Cubin;
  case 8:
    return ImageKind::LtoIr;
  }
  return ImageKind::Other;
}

// A cubin that holds PTX is PTX: for the architecture of its entry, in the version of its text.
static void usePtx(Image &image, ArrayRef<uint8_t> text) {
  const Image described = describePtxText(text);
  image.kind = described.kind;
  image.kindNumber = described.kindNumber;
  image.versionMajor = described.versionMajor;
  image.versionMinor = described.versionMinor;
  image.stored = text;
}

// NVIDIA's fatbinary compresses cubins. Those that hold PTX tell by their first bytes: the names of
// sections follow the header (standins/lib/Cubin.cpp). A container that has PTX beside needs none
// of it.
static void usePtxOfCompressedCubins(MutableArrayRef<Image> images) {
  constexpr size_t kNamesEnd = 256;
  if (any_of(images, [](const Image &image) { return image.kind == ImageKind::Ptx; }))
    return;
  for (Image &image : images) {
    if (image.kind != ImageKind::Cubin || image.compression == Compression::Stored ||
        !StringRef(beginningOf(image, kNamesEnd)).contains(kPtxSection))
      continue;
    Expected<std::string> cubin = payload(image);
    if (!cubin) { // an error of who asks for it
      consumeError(cubin.takeError());
      continue;
    }
    if (std::optional<ArrayRef<uint8_t>> text = ptxInCubin(arrayRefFromStringRef(*cubin))) {
      const ArrayRef<uint8_t> stored = image.stored;
      usePtx(image, *text);
      image.stored = stored;
      image.isInCubin = true;
    }
  }
}

// Which bytes of `area`, which is padded, are the image, and how they are compressed.
static Error readStorage(Image &image, ArrayRef<uint8_t> header, ArrayRef<uint8_t> area) {
  uint32_t compressedSize = readAt<uint32_t>(header, entry::kCompressedSize);
  bool lz4 = image.flags & kFlagLz4, zstd = image.flags & kFlagZstd;
  if (lz4 && zstd)
    return malformed(image.offset, "entry is flagged both as LZ4 and as zstd");
  if (!lz4 && !zstd && !compressedSize) {
    image.stored = area;
    if (image.kind == ImageKind::Cubin)
      if (std::optional<ArrayRef<uint8_t>> text = ptxInCubin(area))
        usePtx(image, *text);
    image.uncompressedSize = image.stored.size();
    return Error::success();
  }
  image.compression = lz4 ? Compression::Lz4 : zstd ? Compression::Zstd : Compression::Unknown;
  if (!compressedSize || compressedSize > area.size())
    return malformed(image.offset, "compressed size is {0}, but the entry has {1} bytes",
                     compressedSize, area.size());
  image.stored = area.take_front(compressedSize);
  image.uncompressedSize = readAt<uint64_t>(header, entry::kUncompressedSize);
  return Error::success();
}

// The entry at `offset` of `bytes`, which end where its container ends; `next` becomes the offset
// behind it.
static Expected<Image> readEntry(ArrayRef<uint8_t> bytes, uint64_t offset, uint64_t &next) {
  ArrayRef<uint8_t> rest = bytes.drop_front(offset);
  if (rest.size() < entry::kMinHeaderSize)
    return malformed(offset, "entry header cut off: {0} of {1} bytes", rest.size(),
                     entry::kMinHeaderSize);
  if (uint16_t version = readAt<uint16_t>(rest, entry::kVersion); version != entry::kKnownVersion)
    return unsupported(offset, "unsupported entry version {0:x}", version);
  uint64_t headerSize = readAt<uint32_t>(rest, entry::kHeaderSize);
  if (headerSize < entry::kMinHeaderSize || headerSize > rest.size())
    return malformed(offset, "entry header size is {0}, expected {1} to {2}", headerSize,
                     entry::kMinHeaderSize, rest.size());
  uint64_t payloadSize = readAt<uint64_t>(rest, entry::kPayloadSize);
  if (!fits(headerSize, payloadSize, rest.size()))
    return malformed(offset, "entry claims {0} bytes, but only {1} follow its header", payloadSize,
                     rest.size() - headerSize);
  next = offset + headerSize + payloadSize;

  ArrayRef<uint8_t> header = rest.take_front(headerSize);
  Image image;
  image.offset = offset;
  image.kindNumber = readAt<uint16_t>(header, entry::kKind);
  image.kind = kindOf(image.kindNumber);
  image.versionMinor = readAt<uint16_t>(header, entry::kMinorVersion);
  image.versionMajor = readAt<uint16_t>(header, entry::kMajorVersion);
  image.sm = readAt<uint32_t>(header, entry::kSm);
  image.flags = readAt<uint64_t>(header, entry::kFlags);
  image.variant = image.flags & kFlagArchSpecific ? 'a' : image.flags & kFlagFamily ? 'f' : '\0';
  if (Error error = readIdentifier(image, header))
    return error;
  if (Error error = readOptions(image, header))
    return error;
  if (Error error = readStorage(image, header, rest.slice(headerSize, payloadSize)))
    return error;
  return image;
}

Expected<std::vector<Image>> readContainer(ArrayRef<uint8_t> bytes) {
  Expected<uint64_t> size = containerSize(bytes);
  if (!size)
    return size.takeError();
  bytes = bytes.take_front(*size);
  std::vector<Image> images;
  for (uint64_t offset = readAt<uint16_t>(bytes, container::kHeaderSize); offset < *size;) {
    Expected<Image> image = readEntry(bytes, offset, offset);
    if (!image)
      return image.takeError();
    images.push_back(*image);
  }
  usePtxOfCompressedCubins(images);
  return images;
}

} // namespace rubia::fatbin
