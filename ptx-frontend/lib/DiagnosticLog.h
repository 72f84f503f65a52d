// SPDX-License-Identifier: Apache-2.0
// The diagnostics of one module. Hostile text can have an error a character, and each names its
// function, whose name can be a megabyte long: their number and their size are bounded.
#pragma once

#include "ptx-frontend/Diagnostics.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/Twine.h"

namespace rubia::ptx {

class DiagnosticLog {
public:
  static constexpr size_t kMaxCount = 10000, kMaxBytes = 16u << 20, kMaxMessage = 2000;

  explicit DiagnosticLog(std::vector<Diagnostic> &list) : list(list) {}

  /// More than the log can hold are dropped.
  void add(Severity severity, uint32_t place, llvm::StringRef function, const llvm::Twine &message,
           bool unsupported) {
    if (list.size() >= kMaxCount || function.size() > kMaxBytes - bytes)
      return;
    llvm::SmallString<256> buffer;
    llvm::StringRef text = message.toStringRef(buffer);
    Diagnostic diagnostic;
    diagnostic.severity = severity;
    diagnostic.message = text.take_front(kMaxMessage).str();
    diagnostic.place = place;
    diagnostic.function = function.str();
    diagnostic.unsupported = unsupported;
    bytes += function.size() + diagnostic.message.size();
    bytes = std::min(bytes, kMaxBytes);
    list.push_back(std::move(diagnostic));
  }

private:
  std::vector<Diagnostic> &list;
  size_t bytes = 0;
};

/// A name as messages show it: of a very long one only the beginning.
inline std::string shown(llvm::StringRef name) {
  constexpr size_t kShown = 200;
  return name.size() <= kShown ? name.str() : (name.take_front(kShown) + "...").str();
}

} // namespace rubia::ptx
