// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/PrintfMessages.h"
#include "llvm/ADT/bit.h"
#include <cinttypes>
#include <cstdio>
#include <cstring>

using namespace llvm;

namespace rubia::emulator::hip {
namespace {

class Arguments {
public:
  explicit Arguments(ArrayRef<uint64_t> words) : words(words) {}
  uint64_t word() {
    if (words.empty())
      return 0;
    uint64_t value = words.front();
    words = words.drop_front();
    return value;
  }
  double real() { return bit_cast<double>(word()); }
  // Up to and with the word that holds its end.
  std::string string() {
    std::string text;
    while (!words.empty()) {
      const uint64_t eight = word();
      const auto *bytes = reinterpret_cast<const char *>(&eight);
      const size_t length = strnlen(bytes, sizeof(eight));
      text.append(bytes, length);
      if (length < sizeof(eight))
        break;
    }
    return text;
  }

private:
  ArrayRef<uint64_t> words;
};

template <typename T> void print(std::string &to, const std::string &conversion, T value) {
  const int length = std::snprintf(nullptr, 0, conversion.c_str(), value);
  if (length <= 0)
    return;
  const size_t at = to.size();
  to.resize(at + size_t(length) + 1); // with the zero
  std::snprintf(to.data() + at, size_t(length) + 1, conversion.c_str(), value);
  to.pop_back();
}

// Cuts an integer to the width that its length modifier names.
int64_t narrowed(StringRef length, int64_t value) {
  if (length == "hh")
    return int8_t(value);
  if (length == "h")
    return int16_t(value);
  return length.empty() ? int32_t(value) : value;
}
uint64_t narrowedUnsigned(StringRef length, uint64_t value) {
  if (length == "hh")
    return uint8_t(value);
  if (length == "h")
    return uint16_t(value);
  return length.empty() ? uint32_t(value) : value;
}

// Of widths and precisions: one that is wrong shall not take all memory.
constexpr int kMaxWidth = 1 << 16;

// One conversion, from behind its '%' on. Returns what follows.
StringRef convert(StringRef rest, Arguments &arguments, std::string &to) {
  std::string spec = "%";
  auto number = [&] {
    if (rest.consume_front("*")) {
      spec += std::to_string(std::clamp(int(arguments.word()), -kMaxWidth, kMaxWidth));
      return;
    }
    StringRef digits = rest.take_while([](char c) { return c >= '0' && c <= '9'; });
    rest = rest.drop_front(digits.size());
    if (int width = kMaxWidth; !digits.empty()) {
      (void)digits.getAsInteger(10, width); // if it is that large, it stays
      spec += std::to_string(std::min(width, kMaxWidth));
    }
  };
  StringRef flags = rest.take_while([](char c) { return c && strchr("-+ #0", c); });
  spec += flags;
  rest = rest.drop_front(flags.size());
  number();
  if (rest.consume_front(".")) {
    const size_t before = spec.size();
    spec += '.';
    number();
    if (StringRef(spec).substr(before + 1).starts_with("-"))
      spec.resize(before); // a negative precision counts as none
  }
  StringRef length = rest.take_while([](char c) { return c && strchr("hljztL", c); });
  rest = rest.drop_front(length.size());
  if (rest.empty())
    return rest;
  const char kind = rest.front();
  rest = rest.drop_front();
  switch (kind) {
  case '%':
    to += '%';
    break;
  case 'd':
  case 'i':
    print(to, spec + PRId64, narrowed(length, int64_t(arguments.word())));
    break;
  case 'u':
  case 'o':
  case 'x':
  case 'X':
    print(to, spec + "l" + kind, narrowedUnsigned(length, arguments.word()));
    break;
  case 'c':
    print(to, spec + kind, int(arguments.word()));
    break;
  case 'p':
    print(to, spec + kind, reinterpret_cast<void *>(arguments.word()));
    break;
  case 's':
    print(to, spec + kind, arguments.string().c_str());
    break;
  case 'n': // there is nobody to tell
    arguments.word();
    break;
  case 'a':
  case 'A':
  case 'e':
  case 'E':
  case 'f':
  case 'F':
  case 'g':
  case 'G':
    print(to, spec + kind, arguments.real());
    break;
  default: // no conversion: as it stands
    to += spec + length.str() + kind;
  }
  return rest;
}

} // namespace

std::string formatPrintf(StringRef format, ArrayRef<uint64_t> words) {
  Arguments arguments(words);
  std::string text;
  while (!format.empty() && text.size() <= kMaxText) {
    const size_t percent = std::min(format.find('%'), format.size());
    text += format.take_front(percent);
    format = format.drop_front(percent);
    if (format.consume_front("%"))
      format = convert(format, arguments, text);
  }
  if (!format.empty())
    text += "... (cut: kernels may print 64 MiB at once)\n";
  return text;
}

std::string formatPrintf(ArrayRef<uint64_t> words) {
  Arguments all(words);
  const std::string format = all.string();
  return formatPrintf(format, words.drop_front(std::min(format.size() / 8 + 1, words.size())));
}

void printMessage(bool toStderr, StringRef text) {
  std::FILE *file = toStderr ? stderr : stdout;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

Error PrintfMessages::receive(uint64_t (&values)[8]) {
  constexpr uint64_t kFirst = 1, kLast = 2;
  constexpr unsigned kLengthShift = 5, kNumberShift = 8;
  constexpr size_t kMaxOpen = 4 << 20; // more than a device has threads
  uint64_t &descriptor = values[0];
  if (descriptor & kFirst) {
    if (open.size() >= kMaxOpen)
      return createStringError("kernels have begun %zu messages and ended none", open.size());
    descriptor = (descriptor & 0xff & ~kFirst) | ++next << kNumberShift;
    open[next];
  }
  auto found = open.find(descriptor >> kNumberShift);
  if (found == open.end())
    return createStringError("a kernel went on with a message that it has not begun");
  std::vector<uint64_t> &words = found->second;
  const size_t length = descriptor >> kLengthShift & 7;
  words.insert(words.end(), values + 1, values + 1 + length);
  openWords += length;
  const bool isTooLong = openWords > kMaxWords;
  if (!(descriptor & kLast) && !isTooLong)
    return Error::success();
  const std::vector<uint64_t> all = std::move(words);
  openWords -= all.size();
  open.erase(found);
  if (isTooLong)
    return createStringError("kernels print messages of more than %zu words", kMaxWords);
  const bool toStderr = !all.empty() && all.front() == 1;
  const std::string text = formatPrintf(ArrayRef(all).drop_front(all.empty() ? 0 : 1));
  printMessage(toStderr, text);
  values[0] = text.size(); // what printf returns
  return Error::success();
}

} // namespace rubia::emulator::hip
