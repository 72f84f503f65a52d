// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/LowerTarget.h"
#include "diff/forward/Containers.h"
#include "diff/forward/Images.h"
#include "diff/forward/PtxWords.h"

namespace rubia::forward {
namespace {

constexpr uint32_t kWrapper = 0x466243b1;

template <class T> T at(const uint8_t *data, size_t offset) {
  T value;
  memcpy(&value, data + offset, sizeof(value));
  return value;
}

/// The number that begins at `at`, which moves behind it.
unsigned readNumber(const char *&at, const char *end) {
  unsigned value = 0;
  for (; at < end && *at >= '0' && *at <= '9' && value < 100000; ++at)
    value = value * 10 + unsigned(*at - '0');
  return value;
}

struct Word {
  const char *text = nullptr;
  size_t size = 0;
};

/// The two lines that a module begins with.
struct Header {
  Word version, target; // "8.7", "sm_120a"
  unsigned versionNumber = 0, capability = 0;
};

Header readHeader(const char *text, size_t size) {
  const char *end = text + size;
  Header header;
  Word word;
  for (const char *place = text; (word.text = nextWord(place, end, word.size));) {
    const bool isVersion = isWord(word.text, word.size, ".version");
    if (!isVersion && !isWord(word.text, word.size, ".target"))
      break;
    if (!(word.text = nextWord(place, end, word.size)))
      break;
    if (isVersion) {
      const char *number = word.text;
      header.version = word;
      header.versionNumber = readNumber(number, place) * 10;
      if (number < place && *number == '.')
        header.versionNumber += readNumber(++number, place);
      continue;
    }
    const char *number = word.text + 3;
    if (word.size > 3 && !memcmp(word.text, "sm_", 3)) {
      header.target = word;
      header.capability = readNumber(number, place);
    }
    break;
  }
  return header;
}

/// The newest version of PTX that a driver reads, 87 for 8.7: a table of the PTX ISA manual,
/// "Release Notes". Above it, the version may stay.
unsigned newestVersion(int driverVersion) {
  const int major = driverVersion / 1000, minor = driverVersion % 1000 / 10;
  if (major == 11)
    return unsigned(70 + minor);
  if (major == 12)
    return unsigned(80 + (minor >= 6 ? minor - 1 : minor));
  return major > 12 ? unsigned(90 + 10 * (major - 13) + minor) : 0;
}

/// What the texts of an image are for.
struct Choice {
  unsigned capability = 0; // of the device
  bool isForDevice = false, isUnreadable = false;
  Bytes oldest; // the text for the oldest device
  unsigned oldestCapability = 0;
};

void consider(Choice &choice, const char *text, size_t size) {
  if (!text) {
    choice.isUnreadable = true;
    return;
  }
  const Header header = readHeader(text, size);
  if (!header.capability || header.capability <= choice.capability) {
    choice.isForDevice = true;
    return;
  }
  if (choice.oldestCapability && choice.oldestCapability <= header.capability)
    return;
  choice.oldestCapability = header.capability;
  choice.oldest.clear();
  choice.oldest.append(reinterpret_cast<const uint8_t *>(text), strnlen(text, size));
}

void add(Bytes &out, const char *from, const char *to) {
  out.append(reinterpret_cast<const uint8_t *>(from), size_t(to - from));
}

// Each target from sm_90 on has a variant with all that the device can.
char *rewritten(const Bytes &text, unsigned capability, unsigned newest) {
  constexpr unsigned kFirstWithVariant = 90;
  const auto *begin = reinterpret_cast<const char *>(text.begin());
  const char *from = begin;
  const Header header = readHeader(begin, text.size());
  Bytes out;
  char word[32];
  if (header.version.text && newest && header.versionNumber > newest) {
    add(out, from, header.version.text);
    snprintf(word, sizeof(word), "%u.%u", newest / 10, newest % 10);
    add(out, word, word + strlen(word));
    from = header.version.text + header.version.size;
  }
  add(out, from, header.target.text);
  snprintf(word, sizeof(word), "sm_%u%s", capability, capability >= kFirstWithVariant ? "a" : "");
  add(out, word, word + strlen(word));
  add(out, header.target.text + header.target.size, begin + text.size());
  out.push(0);
  auto *copy = static_cast<char *>(malloc(out.size()));
  if (copy)
    memcpy(copy, out.begin(), out.size());
  return copy;
}

} // namespace

LoweredPtx lowerTarget(const void *image, unsigned capability, int driverVersion) {
  const auto *data = static_cast<const uint8_t *>(image);
  LoweredPtx result;
  if (at<uint8_t>(data, 0) == (kWrapper & 0xff) && !memcmp(data, &kWrapper, sizeof(kWrapper))) {
    const auto *list = at<const uint8_t *const *>(data, 16);
    if (at<uint32_t>(data, 4) == 2 && list && *list)
      return result; // of several translation units, which the driver links
    data = at<const uint8_t *>(data, 8);
  }
  const size_t size = data ? imageBytes(data) : 0;
  if (!size)
    return result;
  Choice choice;
  choice.capability = capability;
  readTexts(
      data, size,
      [](void *to, const char *text, size_t bytes) {
        consider(*static_cast<Choice *>(to), text, bytes);
      },
      &choice);
  if (choice.isForDevice)
    return result;
  result.from = choice.oldestCapability;
  if (!choice.oldestCapability)
    result.problem = choice.isUnreadable ? "its PTX cannot be decompressed here" : nullptr;
  else
    result.text = rewritten(choice.oldest, capability, newestVersion(driverVersion));
  return result;
}

void readKernelNames(const char *text, void (*take)(void *context, const char *name, size_t size),
                     void *context) {
  const char *end = text + strlen(text);
  size_t size = 0;
  for (const char *place = text; const char *word = nextWord(place, end, size);)
    if (isWord(word, size, ".entry"))
      if (const char *name = nextWord(place, end, size))
        take(context, name, size);
}

} // namespace rubia::forward
