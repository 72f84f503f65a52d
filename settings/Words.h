// SPDX-License-Identifier: Apache-2.0
// How code names rows of Settings.def and their words.
//
// No header has the names, so a new row compiles the table again and nothing else. A file that
// names settings or words declares those:
//   namespace rubia::settings {
//   namespace Id {
//   extern const Setting arch, device;
//   }
//   namespace NanMode {
//   extern const Word Canonical;
//   }
//   } // namespace rubia::settings
// A name without a row does not link. The names are no constant expressions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace rubia::settings {

enum class Setting : uint8_t; // the number of the row

/// One of the words of a setting: NanMode::Canonical.
struct Word {
  Setting setting;
  uint8_t index; // among the words of the row
  bool operator==(const Word &) const = default;
};

/// Any number of the words of one setting.
class WordSet {
public:
  WordSet(Setting setting, uint32_t bits) : setting(setting), bits(bits) {}
  bool has(Word word) const { return word.setting == setting && bits >> word.index & 1; }
  bool empty() const { return !bits; }
  bool operator==(const WordSet &) const = default;

private:
  Setting setting;
  uint32_t bits;
};

// A row's words as one text, separated by '|'; "0=fast" is one word with two spellings.
constexpr size_t countWords(std::string_view words) {
  size_t count = 1;
  for (char c : words)
    count += c == '|';
  return count;
}
constexpr std::string_view wordAt(std::string_view words, size_t index) {
  for (; index > 0; --index)
    words.remove_prefix(words.find('|') + 1);
  return words.substr(0, words.find('|'));
}
/// As it stands in the environment: the 0 of "0=fast".
constexpr std::string_view spelling(std::string_view word) {
  return word.substr(0, word.find('='));
}
/// As it stands in keys and on the command line: the fast of "0=fast".
constexpr std::string_view name(std::string_view word) { return word.substr(word.find('=') + 1); }
/// By either; countWords(words) if there is none.
constexpr size_t indexOfWord(std::string_view words, std::string_view wanted) {
  size_t index = 0;
  while (index < countWords(words) && spelling(wordAt(words, index)) != wanted &&
         name(wordAt(words, index)) != wanted)
    ++index;
  return index;
}

} // namespace rubia::settings
