// SPDX-License-Identifier: Apache-2.0
// Text from outside (names in PTX, paths, what a code object or a server says) on its way to a
// terminal or a log. Terminals obey escape sequences, and some characters reorder or hide others;
// whoever writes a kernel must not be able to make us write them.

#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace rubia::input {

/// `text` with all that is not to be seen as itself written out: \x1b, \u{202e}. Newlines and tabs
/// stay, as messages have lines. Bytes that are no UTF-8 become \x9b.
std::string printable(llvm::StringRef text);

/// A stream that passes on printable() of what is written to it, line by line.
class PrintableStream : public llvm::raw_ostream {
public:
  explicit PrintableStream(llvm::raw_ostream &to) : raw_ostream(/*unbuffered=*/true), to(to) {}
  ~PrintableStream() override { passOn(line.size()); }

private:
  void write_impl(const char *data, size_t size) override;
  uint64_t current_pos() const override { return position; }
  void passOn(size_t bytes);

  llvm::raw_ostream &to;
  std::string line; // the last one, which may go on
  uint64_t position = 0;
};

} // namespace rubia::input
