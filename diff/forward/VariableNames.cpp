// SPDX-License-Identifier: Apache-2.0
// A declaration at the top level of PTX, `.global` or `.const` with attributes and a type, then the
// name. No more is understood of the text: the driver is asked about each name, and one that is not
// a variable's is no harm.
#include "diff/forward/VariableNames.h"
#include "diff/forward/Containers.h"
#if RUBIA_FORWARD_DECOMPRESSES
#include <lz4.h>
#include <zstd.h>
#endif

namespace rubia::forward {
namespace {

constexpr uint32_t kContainer = 0xba55ed50;
constexpr uint64_t kFlagLz4 = 0x2000, kFlagZstd = 0x8000, kMaxText = uint64_t(1) << 28;

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

bool is(const char *word, size_t size, const char *expected) {
  return size == strlen(expected) && !memcmp(word, expected, size);
}

/// A text of PTX; null: it cannot be read.
using TakeText = void (*)(void *context, const char *text, size_t size);

void readText(const char *text, size_t size, TakeName take, void *context) {
  const char *end = text + size;
  int braces = 0, parentheses = 0;
  bool inDeclaration = false, isExtern = false;
  for (const char *at = text; at < end;) {
    if (!isNameCharacter(*at)) {
      braces += (*at == '{') - (*at == '}');
      parentheses += (*at == '(') - (*at == ')');
      if (*at == ';' || *at == '{')
        inDeclaration = isExtern = false;
      at = skip(at, end);
      continue;
    }
    const char *word = at;
    while (at < end && isNameCharacter(*at))
      ++at;
    const size_t length = size_t(at - word);
    if (braces || parentheses)
      continue;
    if (is(word, length, ".extern"))
      isExtern = true;
    else if (is(word, length, ".global") || is(word, length, ".const"))
      inDeclaration = !isExtern;
    else if (inDeclaration && *word != '.' && (*word < '0' || *word > '9')) {
      char name[1024];
      if (length < sizeof(name)) {
        memcpy(name, word, length);
        name[length] = 0;
        take(context, name);
      }
      inDeclaration = false;
    }
  }
}

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

bool hasTextureInstruction(const char *text, size_t size) {
  constexpr const char *kBegins[] = {"tex.", "tld4.", "txq.", "suld.", "sust.", "sured.", "suq."};
  const char *end = text + size;
  for (const char *at = text; at < end;) {
    if (!isNameCharacter(*at)) {
      at = skip(at, end);
      continue;
    }
    const char *word = at;
    while (at < end && isNameCharacter(*at))
      ++at;
    for (const char *begin : kBegins)
      if (size_t(at - word) > strlen(begin) && !memcmp(word, begin, strlen(begin)))
        return true;
  }
  return false;
}

} // namespace

void readVariableNames(const uint8_t *image, size_t size, TakeName take, void *context) {
  struct Names {
    TakeName take;
    void *context;
  } names{take, context};
  readTexts(
      image, size,
      [](void *taken, const char *text, size_t bytes) {
        const auto *to = static_cast<Names *>(taken);
        if (text)
          readText(text, bytes, to->take, to->context);
      },
      &names);
}

bool mayNameTextures(const uint8_t *image, size_t size) {
  bool may = false;
  readTexts(
      image, size,
      [](void *found, const char *text, size_t bytes) {
        *static_cast<bool *>(found) |= !text || hasTextureInstruction(text, bytes);
      },
      &may);
  return may;
}

} // namespace rubia::forward
