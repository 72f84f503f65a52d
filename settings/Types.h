// SPDX-License-Identifier: Apache-2.0
// What a setting's text may be. Each type parses it, and says in words what it takes.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <string>

namespace rubia::settings {

/// "any, canonical or none"
std::string alternatives(llvm::StringRef words);

/// One of the words, as its number. The words come with a bar before each.
struct OneOf {
  using Value = uint8_t;
  llvm::StringRef words;
  constexpr explicit OneOf(const char *barred) : words(barred + 1) {}
  std::optional<uint8_t> parse(llvm::StringRef text) const;
  std::string expected() const { return alternatives(words); }
};

/// Any number of the words, as a bit for each.
struct AnyOf {
  using Value = uint32_t;
  llvm::StringRef words;
  constexpr explicit AnyOf(const char *barred) : words(barred + 1) {}
  std::optional<uint32_t> parse(llvm::StringRef text) const;
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
  using Value = uint64_t;
  std::optional<uint64_t> parse(llvm::StringRef text) const;
  std::string expected() const { return "a number such as 8.9 or 89"; }
};

} // namespace rubia::settings
