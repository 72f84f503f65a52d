// SPDX-License-Identifier: Apache-2.0
// A mistake in what a compiler or the interpreter reads: another statement in a line of the PTX.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include <string>

namespace rubia {

/// The text with NEW in the place of OLD in a line, by a request "LINE|OLD|NEW"; as it is where the
/// line does not have OLD.
inline std::string withOtherStatement(llvm::StringRef text, llvm::StringRef request) {
  const auto [line, statements] = request.split('|');
  const auto [before, after] = statements.split('|');
  unsigned number = 0;
  if (line.getAsInteger(10, number) || before.empty())
    return text.str();
  size_t begin = 0;
  for (unsigned i = 1; i < number; ++i) {
    begin = text.find('\n', begin);
    if (begin == llvm::StringRef::npos)
      return text.str();
    ++begin;
  }
  const size_t at = text.find(before, begin);
  if (at == llvm::StringRef::npos || text.slice(begin, at).contains('\n'))
    return text.str();
  // NEW may be a comment, and what is behind OLD must not become one.
  return (text.take_front(at) + after + (after.contains("//") ? "\n" : "") +
          text.drop_front(at + before.size()))
      .str();
}

} // namespace rubia
