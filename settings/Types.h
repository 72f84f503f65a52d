// SPDX-License-Identifier: Apache-2.0
// What a setting's text may be. Each type parses it, and says in words what it takes.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rubia::settings {

/// Words separated by '|'; "0=fast" is one word with two spellings.
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
/// "any, canonical or none"
std::string alternatives(llvm::StringRef words);

template <class Enum> struct Word {
  using Value = Enum;
  llvm::StringRef words;
  constexpr explicit Word(llvm::StringRef words) : words(words) {}
  std::optional<Enum> parse(llvm::StringRef text) const {
    const size_t index = indexOfWord(words, text);
    return index < countWords(words) ? std::optional(Enum(index)) : std::nullopt;
  }
  std::string expected() const { return alternatives(words); }
};

/// Some of an enumeration.
template <class Enum> class SetOf {
public:
  bool has(Enum word) const { return bits & 1u << unsigned(word); }
  void add(Enum word) { bits |= 1u << unsigned(word); }
  bool empty() const { return !bits; }
  bool operator==(const SetOf &) const = default;

private:
  uint32_t bits = 0;
};

template <class Enum> struct WordSet {
  using Value = SetOf<Enum>;
  llvm::StringRef words;
  constexpr explicit WordSet(const char *words) : words(words) {}
  std::optional<SetOf<Enum>> parse(llvm::StringRef text) const {
    SetOf<Enum> set;
    while (!text.empty()) {
      auto [word, rest] = text.split(',');
      text = rest;
      if (word = word.trim(); word.empty())
        continue;
      std::optional<Enum> value = Word<Enum>(words).parse(word);
      if (!value)
        return std::nullopt;
      set.add(*value);
    }
    return set;
  }
  std::string expected() const { return "one or more of " + alternatives(words) + ", with commas"; }
};

/// Whatever it is; `what` is how the documentation calls it.
struct Text {
  using Value = std::string;
  llvm::StringRef what;
  constexpr explicit Text(const char *what) : what(what) {}
  std::optional<std::string> parse(llvm::StringRef text) const { return text.str(); }
  std::string expected() const { return what.str(); }
};

/// A whole number, decimal or with 0x.
struct Number {
  using Value = uint64_t;
  uint64_t least, most;
  constexpr Number(uint64_t least, uint64_t most) : least(least), most(most) {}
  std::optional<uint64_t> parse(llvm::StringRef text) const;
  std::string expected() const;
};

/// 0 or 1.
struct Switch {
  using Value = bool;
  std::optional<bool> parse(llvm::StringRef text) const;
  std::string expected() const { return "0 or 1"; }
};

/// "4G" -> 4294967296.
struct Size {
  using Value = uint64_t;
  std::optional<uint64_t> parse(llvm::StringRef text) const;
  std::string expected() const { return "a number of bytes (or 500M, 4G)"; }
};

/// With a fraction, from 0 on.
struct Seconds {
  using Value = double;
  std::optional<double> parse(llvm::StringRef text) const;
  std::string expected() const { return "a number of seconds"; }
};

/// "8.9" or "89" -> 89.
struct Capability {
  using Value = unsigned;
  std::optional<unsigned> parse(llvm::StringRef text) const;
  std::string expected() const { return "a number such as 8.9 or 89"; }
};

} // namespace rubia::settings
