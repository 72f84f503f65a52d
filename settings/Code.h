// SPDX-License-Identifier: Apache-2.0
// What the user may choose about the code of a kernel, made of the rows of Code.def.
#pragma once

#include "settings/Words.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <initializer_list>
#include <utility>
#include <vector>

namespace rubia::settings {

/// What the user may choose about the code of a kernel: a word for each CODE_SETTING. It goes from
/// the command line or the environment through the compile worker to lowering as it is, byte by
/// byte. Words.h says how a file gets the names.
class Code {
public:
  Code(); // the defaults
  Code(std::initializer_list<Word> words) : Code() {
    for (Word word : words)
      set(word);
  }

  /// code.is(NanMode::Canonical)
  bool is(Word word) const { return wordOf(word.setting) == word; }
  Word wordOf(Setting setting) const;
  Code &set(Word word);
  bool operator==(const Code &) const = default;

  /// Whether bytes from elsewhere have no word that there is not.
  bool isValid() const;
  /// ("nan", "any"), ...: in the order of the rows.
  std::vector<std::pair<llvm::StringRef, llvm::StringRef>> keyFields() const;

private:
  static constexpr size_t kMostRows = 16;
  std::array<uint8_t, kMostRows> words{}; // by row; 0 beyond the rows
};

} // namespace rubia::settings
