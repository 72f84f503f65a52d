// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/PtxWords.h"
#include "diff/forward/Containers.h"
#if RUBIA_FORWARD_DECOMPRESSES
#include <lz4.h>
#include <zstd.h>
#endif

namespace rubia::forward {

bool isNameCharacter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '$' || c == '%' || c == '.';
}

/// Past a comment, a text in quotes or one character.
const char *skip(const char *at, const char *end) {
  const bool hasNext = at + 1 < end;
  if (*at == '/' && hasNext && at[1] == '/') {
    while (at < end && *at != '\n')
      ++at;
    return at;
  }
  if (*at == '/' && hasNext && at[1] == '*') {
    for (at += 2; at + 1 < end && !(at[0] == '*' && at[1] == '/'); ++at)
      ;
    return at + 2 < end ? at + 2 : end;
  }
  if (*at == '"') {
    for (++at; at < end && *at != '"'; ++at)
      ;
    return at < end ? at + 1 : end;
  }
  return at + 1;
}

bool isWord(const char *word, size_t size, const char *expected) {
  return size == strlen(expected) && !memcmp(word, expected, size);
}

const char *nextWord(const char *&at, const char *end, size_t &size) {
  while (at < end && !isNameCharacter(*at))
    at = skip(at, end);
  const char *word = at;
  while (at < end && isNameCharacter(*at))
    ++at;
  size = size_t(at - word);
  return size ? word : nullptr;
}

namespace {

constexpr uint32_t kContainer = 0xba55ed50;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000, kMaxText = uint64_t(1) << 28;

template <class T> T at(const uint8_t *data, uint64_t offset) {
  T value;
  memcpy(&value, data + offset, sizeof(value));
  return value;
}

/// The text of an entry, decompressed if need be.
void readEntry(const uint8_t *payload, uint64_t size, const uint8_t *entry, TakeText take,
               void *context) {
  const uint64_t flags = at<uint64_t>(entry, 40), textBytes = at<uint64_t>(entry, 56);
  if (!(flags & (kFlagLz4 | kFlagZstd)))
    return take(context, reinterpret_cast<const char *>(payload), size);
#if RUBIA_FORWARD_DECOMPRESSES
  const uint64_t compressed = at<uint32_t>(entry, 16);
  if (compressed > size || !textBytes || textBytes > kMaxText)
    return take(context, nullptr, 0);
  Bytes text;
  text.resize(textBytes);
  bool isWhole = false;
  if (flags & kFlagZstd)
    isWhole = ZSTD_decompress(text.begin(), textBytes, payload, compressed) == textBytes;
  else
    isWhole = LZ4_decompress_safe(reinterpret_cast<const char *>(payload),
                                  reinterpret_cast<char *>(text.begin()), int(compressed),
                                  int(textBytes)) == int(textBytes);
  if (isWhole)
    return take(context, reinterpret_cast<const char *>(text.begin()), textBytes);
#else
  (void)textBytes;
#endif
  take(context, nullptr, 0);
}

} // namespace

void readTexts(const uint8_t *image, size_t size, TakeText take, void *context) {
  if (size < 16)
    return;
  if (at<uint32_t>(image, 0) != kContainer) {
    if (memcmp(image, "\177ELF", 4) != 0)
      take(context, reinterpret_cast<const char *>(image), size);
    return;
  }
  for (uint64_t offset = at<uint16_t>(image, 6); offset + 64 <= size;) {
    const uint8_t *entry = image + offset;
    const uint64_t headerBytes = at<uint32_t>(entry, 4), payloadBytes = at<uint64_t>(entry, 8);
    if (headerBytes < 64 || headerBytes > size - offset ||
        payloadBytes > size - offset - headerBytes)
      return;
    if (at<uint16_t>(entry, 0) == 1) // PTX
      readEntry(entry + headerBytes, payloadBytes, entry, take, context);
    offset += headerBytes + payloadBytes;
  }
}

} // namespace rubia::forward
