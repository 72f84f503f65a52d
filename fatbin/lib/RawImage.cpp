// SPDX-License-Identifier: Apache-2.0
// What a program hands to the driver is a bare pointer: no size, no kind. The first bytes tell the
// kind, and each kind has its own way to tell its size. Nothing beyond those bytes may be touched,
// as the next page need not be there: the magic number is compared byte by byte and a header is
// read only once its magic number is known.

#include "fatbin/Container.h"
#include "fatbin/lib/Layout.h"
#include <cstring>

using namespace llvm;

namespace rubia::fatbin {

static bool startsWith(const uint8_t *data, uint32_t magic) {
  for (unsigned i = 0; i < 4; ++i)
    if (data[i] != uint8_t(magic >> (8 * i)))
      return false;
  return true;
}

static Error notAnImage(const uint8_t *data) {
  return malformed(0,
                   "not a CUDA image: it starts with byte {0:x2}, and is no fatbin, cubin or PTX",
                   unsigned(*data));
}

static Expected<RawImage> rawContainer(const uint8_t *data) {
  ArrayRef<uint8_t> header(data, container::kMinHeaderSize);
  uint64_t size = readAt<uint64_t>(header, container::kSize);
  uint64_t headerSize = readAt<uint16_t>(header, container::kHeaderSize);
  if (size > kMaxPayloadBytes)
    return malformed(0, "container claims {0} bytes of entries, more than the limit of {1}", size,
                     kMaxPayloadBytes);
  Expected<uint64_t> total =
      containerSize({data, headerSize < header.size() ? header.size() : headerSize + size});
  if (!total)
    return total.takeError();
  return RawImage{RawImage::Kind::Container, false, {data, *total}};
}

static Expected<RawImage> rawPtx(const uint8_t *data) {
  size_t size = strnlen(reinterpret_cast<const char *>(data), kMaxPayloadBytes);
  if (size == kMaxPayloadBytes)
    return malformed(0, "PTX text has no end within {0} bytes", kMaxPayloadBytes);
  return RawImage{RawImage::Kind::PtxText, false, {data, size}};
}

// PTX begins with blanks, comments and `.version`. Less than that is asked for here, as damaged PTX
// deserves the PTX parser's diagnostic rather than "not an image".
static bool looksLikeText(const uint8_t *data) {
  while (*data && strchr(" \t\r\n\f\v", *data))
    ++data;
  return *data == '.' || (*data == '/' && (data[1] == '/' || data[1] == '*'));
}

// One image; a wrapper inside of a wrapper is not one.
static Expected<RawImage> rawSingle(const uint8_t *data) {
  if (startsWith(data, container::kMagic))
    return rawContainer(data);
  if (startsWith(data, 0x464c457f)) {
    Expected<uint64_t> size = cubinSize(data, kMaxPayloadBytes);
    if (!size)
      return size.takeError();
    return RawImage{RawImage::Kind::Cubin, false, {data, *size}};
  }
  if (startsWith(data, bundle::kMagic)) {
    ArrayRef<uint8_t> header(data, bundle::kHeaderSize);
    const uint64_t size = readAt<uint64_t>(header, bundle::kSize);
    if (size < bundle::kHeaderSize || size > kMaxPayloadBytes)
      return malformed(0, "a bundle of {0} bytes", size);
    return RawImage{RawImage::Kind::Bundle, false, {data, size}};
  }
  if (startsWith(data, 0x6c69547f)) // 0x7f and "Til", of "TileIR"
    return unsupported(0, "CUDA Tile IR, which NVIDIA's driver alone compiles, is not supported");
  if (looksLikeText(data))
    return rawPtx(data);
  return notAnImage(data);
}

template <typename T> static T pointerAt(const uint8_t *base, size_t offset) {
  T pointer;
  memcpy(&pointer, base + offset, sizeof(pointer));
  return pointer;
}

static Error inTranslationUnit(size_t index, Error error) {
  return handleErrors(
      std::move(error),
      [&](const UnsupportedImage &e) {
        return unsupported(e.offset, "translation unit {0}: {1}", index, e.text);
      },
      [&](const ImageError &e) {
        return malformed(e.offset, "translation unit {0}: {1}", index, e.text);
      });
}

// Version 2: relocatable device code. The list's members are containers, one for each translation
// unit.
static Error addTranslationUnits(const uint8_t *wrapper, std::vector<RawImage> &images) {
  const uint8_t *list = pointerAt<const uint8_t *>(wrapper, wrapper::kFatbins);
  if (!list)
    return Error::success();
  for (size_t i = 0;; ++i) {
    const uint8_t *unit = pointerAt<const uint8_t *>(list, i * sizeof(void *));
    if (!unit)
      return Error::success();
    Expected<RawImage> image = rawSingle(unit);
    if (!image)
      return inTranslationUnit(i, image.takeError());
    image->relocatable = true;
    images.push_back(*image);
  }
}

static bool isEmpty(const RawImage &image) {
  return image.kind == RawImage::Kind::Container &&
         readAt<uint64_t>(image.bytes, container::kSize) == 0;
}

static Expected<std::vector<RawImage>> unwrap(const uint8_t *wrapper) {
  uint32_t version = readAt<uint32_t>(wrapper, wrapper::kVersion);
  if (version != 1 && version != 2)
    return unsupported(0, "unsupported fatbin wrapper version {0}", version);
  const uint8_t *data = pointerAt<const uint8_t *>(wrapper, wrapper::kData);
  std::vector<RawImage> images;
  if (data) {
    Expected<RawImage> image = rawSingle(data);
    if (!image)
      return image.takeError();
    if (version == 1 || !isEmpty(*image))
      images.push_back(*image);
  } else if (version == 1) {
    return malformed(0, "fatbin wrapper points to nothing");
  }
  if (version == 2)
    if (Error error = addTranslationUnits(wrapper, images))
      return error;
  return images;
}

Expected<std::vector<RawImage>> rawImages(const void *image) {
  if (!image)
    return malformed(0, "the image is a null pointer");
  const uint8_t *data = static_cast<const uint8_t *>(image);
  if (startsWith(data, wrapper::kMagic))
    return unwrap(data);
  Expected<RawImage> single = rawSingle(data);
  if (!single)
    return single.takeError();
  return std::vector<RawImage>{*single};
}

Expected<ArrayRef<uint8_t>> rawImage(const void *image) {
  Expected<std::vector<RawImage>> images = rawImages(image);
  if (!images)
    return images.takeError();
  if (images->empty())
    return malformed(0, "fatbin wrapper holds no image");
  if (images->front().relocatable)
    return unsupported(0, "unsupported: relocatable device code of {0} translation units",
                       images->size());
  return images->front().bytes;
}

} // namespace rubia::fatbin
