// SPDX-License-Identifier: Apache-2.0
// CUDA hands each conversion to the host's printf, with the arguments that the device copied; so do
// we. What the H100 prints was recorded (tests/device-runtime): an unknown conversion stands as it
// is, without its length. Where NVIDIA's driver prints whatever lay in a register (a length hh, a
// precision *, more than 32 arguments), we print the argument.
#include "runtime/device/PrintfText.h"
#include "lowering/Abi.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <optional>

using namespace llvm;

namespace rubia::runtime {

namespace {

// Reads parts of a record; never beyond it.
struct RecordReader {
  ArrayRef<uint8_t> rest;
  bool isDamaged = false;

  template <class T> T take() {
    T value{};
    ArrayRef<uint8_t> bytes = takeBytes(sizeof(T));
    if (bytes.size() == sizeof(T))
      memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }
  ArrayRef<uint8_t> takeBytes(size_t count) {
    isDamaged |= count > rest.size();
    ArrayRef<uint8_t> taken = rest.take_front(count);
    rest = rest.drop_front(taken.size());
    return taken;
  }
  std::string takeText() {
    const void *end = memchr(rest.data(), 0, rest.size());
    isDamaged |= !end;
    size_t length = end ? size_t(static_cast<const uint8_t *>(end) - rest.data()) : rest.size();
    ArrayRef<uint8_t> text = takeBytes(length);
    rest = rest.drop_front(std::min<size_t>(1, rest.size()));
    return std::string(text.begin(), text.end());
  }
};

// What a format and its arguments print.
class Formatter {
public:
  Formatter(ArrayRef<uint8_t> arguments, RecordReader &texts)
      : arguments(arguments), texts(texts) {}

  std::string format(const char *at) {
    while (*at) {
      if (text.size() > kMaxText) {
        text += "... (cut: a call of printf may print 64 MiB)\n";
        break;
      }
      const char *percent = strchr(at, '%');
      if (!percent) {
        text += at;
        break;
      }
      text.append(at, percent);
      abi::FormatConversion conversion = abi::parseConversion(percent + 1);
      if (!conversion.letter) { // the format ends within it
        text += percent;
        break;
      }
      if (StringRef(percent, conversion.end - percent) == "%%")
        text += '%';
      else
        convert(percent, conversion);
      at = conversion.end;
    }
    return std::move(text);
  }

private:
  template <class T> T argument() {
    T value{};
    offset = abi::argumentOffset(offset, sizeof(T));
    texts.isDamaged |= offset + sizeof(T) > arguments.size();
    if (!texts.isDamaged)
      memcpy(&value, arguments.data() + offset, sizeof(T));
    offset += sizeof(T);
    return value;
  }

  // One conversion by the host's printf: `length` and the letter behind flags, width and precision.
  template <class T>
  void print(const std::string &start, const char *length, char letter, T value) {
    std::string conversion = start + length + letter;
    int size = snprintf(nullptr, 0, conversion.c_str(), value);
    if (size < 0)
      return;
    std::string out(size_t(size) + 1, 0);
    snprintf(out.data(), out.size(), conversion.c_str(), value);
    out.pop_back();
    text += out;
  }

  // The host would fill gigabytes with blanks.
  static constexpr int kMaxWidth = 1 << 16;
  static constexpr size_t kMaxText = 64 << 20;
  static std::string bounded(int width) {
    return std::to_string(std::clamp(width, -kMaxWidth, kMaxWidth));
  }
  static std::string bounded(StringRef digits) {
    unsigned width = kMaxWidth;
    (void)digits.getAsInteger(10, width); // if it is that large, it stays
    return std::to_string(std::min<unsigned>(width, kMaxWidth));
  }

  void convert(const char *percent, const abi::FormatConversion &c) {
    std::string start(percent, c.flagsEnd);
    std::optional<int> width, precision;
    if (c.argumentBytes && c.starWidth)
      width = argument<int>();
    if (c.argumentBytes && c.starPrecision)
      precision = argument<int>();
    if (width)
      start += bounded(*width);
    else if (c.widthEnd != c.flagsEnd)
      start += bounded(StringRef(c.flagsEnd, c.widthEnd - c.flagsEnd));
    if (c.hasPrecision) {
      if (precision && *precision >= 0)
        start += "." + bounded(*precision);
      else if (!precision) {
        StringRef digits = StringRef(c.widthEnd, c.precisionEnd - c.widthEnd).drop_front();
        start += "." + (digits.empty() ? "0" : bounded(digits));
      }
    }
    if (!c.argumentBytes) {
      text += start + c.letter;
      return;
    }
    static constexpr const char *kShort[] = {"", "h", "hh"};
    switch (c.letter) {
    case 'd':
    case 'i':
    case 'u':
    case 'o':
    case 'x':
    case 'X':
      return c.longs ? print(start, "ll", c.letter, argument<long long>())
                     : print(start, kShort[c.shorts], c.letter, argument<int>());
    case 'c':
    case 'C':
      return print(start, "", 'c', c.longs ? int(argument<long long>()) : argument<int>());
    case 's':
      if (c.isString()) {
        bool isNull = argument<uint64_t>() == 0;
        std::string value = isNull ? std::string() : texts.takeText();
        return print(start, "", 's', isNull ? nullptr : value.c_str());
      }
      [[fallthrough]];
    case 'S': // wide text of the device's compiler is none of the host's
    case 'n':
      argument<uint64_t>();
      return;
    case 'p':
      return print(start, "", 'p', reinterpret_cast<void *>(argument<uint64_t>()));
    default: // floating point
      return print(start, "", c.letter, argument<double>());
    }
  }

  ArrayRef<uint8_t> arguments;
  RecordReader &texts;
  uint32_t offset = 0;
  std::string text;
};

std::string textOfAssertion(RecordReader &reader) {
  auto a = reader.take<abi::AssertionRecord>();
  auto text = [&](unsigned bit) {
    return a.hasText >> bit & 1 ? reader.takeText() : std::string("(null)");
  };
  std::string message = text(0), file = text(1), function = text(2);
  auto triple = [](const uint32_t (&v)[3]) {
    return "[" + std::to_string(v[0]) + "," + std::to_string(v[1]) + "," + std::to_string(v[2]) +
           "]";
  };
  return file + ":" + std::to_string(a.line) + ": " + function + ": block: " + triple(a.ctaid) +
         ", thread: " + triple(a.tid) + " Assertion `" + message + "` failed.\n";
}

} // namespace

std::string textOfRecord(ArrayRef<uint8_t> record, bool &isAssertion) {
  RecordReader reader{record};
  auto header = reader.take<abi::PrintfRecord>();
  isAssertion = header.kind == abi::kAssertionRecord;
  std::string text;
  if (isAssertion) {
    text = textOfAssertion(reader);
  } else if (header.kind == abi::kPrintfRecord) {
    ArrayRef<uint8_t> arguments = reader.takeBytes(header.argumentBytes);
    RecordReader format{reader.takeBytes(header.formatBytes)};
    text = Formatter(arguments, reader).format(format.takeText().c_str());
    reader.isDamaged |= format.isDamaged;
  }
  return reader.isDamaged ? std::string() : text;
}

} // namespace rubia::runtime
