// SPDX-License-Identifier: Apache-2.0
// Places and layout of messages.

#include "ptx-frontend/Diagnostics.h"
#include "llvm/ADT/Twine.h"
#include <algorithm>

using llvm::StringRef;

namespace rubia::ptx {

std::pair<uint32_t, uint32_t> lineAndColumn(StringRef text, uint32_t place) {
  StringRef before = text.take_front(place);
  size_t lineStart = before.rfind('\n') + 1; // npos + 1 is 0
  return {uint32_t(before.count('\n') + 1), uint32_t(before.size() - lineStart + 1)};
}

std::string format(const Diagnostic &diagnostic, StringRef file, StringRef text) {
  StringRef severity = diagnostic.severity == Severity::Error     ? "error: "
                       : diagnostic.severity == Severity::Warning ? "warning: "
                                                                  : "note: ";
  std::string out = file.str();
  if (diagnostic.line == 0)
    return out + ": " + severity.str() + diagnostic.message + "\n";
  out += ":" + std::to_string(diagnostic.line) + ":" + std::to_string(diagnostic.column) + ": ";
  out += severity.str() + diagnostic.message + "\n";

  // The source line and a caret; of a very long line only the part around the place.
  size_t place = std::min<size_t>(diagnostic.place, text.size());
  size_t begin = text.take_front(place).rfind('\n') + 1;
  size_t end = std::min(text.find('\n', place), text.size());
  constexpr size_t kContext = 120;
  begin = std::max(begin, place > kContext ? place - kContext : 0);
  end = std::min(end, place + kContext);
  StringRef line = text.slice(begin, end).rtrim("\r");
  out += line.str() + "\n";
  for (char c : line.take_front(place - begin))
    out += c == '\t' ? '\t' : ' ';
  return out + "^\n";
}

} // namespace rubia::ptx
