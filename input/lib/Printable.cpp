// SPDX-License-Identifier: Apache-2.0
#include "input/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/Unicode.h"

using namespace llvm;

namespace rubia::input {

static void appendByte(std::string &out, uint8_t byte) { out += "\\x" + toHex(byte, true); }

std::string printable(StringRef text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto first = uint8_t(text.front());
    if (first < 0x80) {
      if (isPrint(char(first)) || first == '\n' || first == '\t')
        out += char(first);
      else
        appendByte(out, first);
      text = text.drop_front();
      continue;
    }
    const auto *begin = reinterpret_cast<const UTF8 *>(text.data()), *at = begin;
    UTF32 point = 0;
    if (convertUTF8Sequence(&at, begin + text.size(), &point, strictConversion) != conversionOK) {
      appendByte(out, first);
      text = text.drop_front();
      continue;
    }
    const size_t length = size_t(at - begin);
    if (sys::unicode::isPrintable(int(point)) && !sys::unicode::isFormatting(int(point)))
      out += text.take_front(length);
    else
      out += "\\u{" + utohexstr(point, /*LowerCase=*/true) + "}";
    text = text.drop_front(length);
  }
  return out;
}

void PrintableStream::write_impl(const char *data, size_t size) {
  position += size;
  line.append(data, size);
  passOn(line.rfind('\n') + 1); // npos + 1 is 0
}

void PrintableStream::passOn(size_t bytes) {
  if (!bytes)
    return;
  to << printable(StringRef(line).take_front(bytes));
  line.erase(0, bytes);
}

} // namespace rubia::input
