// SPDX-License-Identifier: Apache-2.0
// Command lines as NVIDIA's tools read them: --name value, --name=value, -short value,
// -short=value, and -O3 of a few short names.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace rubia::standins {

/// An option of a tool.
struct Option {
  /// A Number may be hexadecimal; a Truth is `true` or `false`.
  enum class Takes : uint8_t { Nothing, Value, Number, Truth };
  /// NoEffect: it is about machine code, or about what is printed while that is made. Lost: it asks
  /// for something that there is not, and the user is warned.
  enum class Use : uint8_t { Read, NoEffect, Lost };
  llvm::StringLiteral name, shortName; // shortName may be empty
  Takes takes = Takes::Nothing;
  Use use = Use::NoEffect;
  /// Whether a value may stand in the word of the short name. Few may: of all others such a word is
  /// an option that is not known.
  enum class Joins : uint8_t { No, Yes, Only } joins = Joins::No; // Only: never in the next word
};

class CommandLine {
public:
  /// Reads words behind the tool's name. An error: a value is missing, or is not what the option
  /// takes. What is not in the table is warned of, and what is Lost.
  static llvm::Expected<CommandLine> read(llvm::ArrayRef<Option> table,
                                          llvm::ArrayRef<std::string> words);

  bool has(llvm::StringRef name) const { return value(name).has_value(); }
  /// The last value; "" of an option that takes none.
  std::optional<llvm::StringRef> value(llvm::StringRef name) const;
  /// All values of an option, in order.
  std::vector<llvm::StringRef> values(llvm::StringRef name) const;

  std::vector<std::string> inputs;
  std::vector<std::string> warnings;

private:
  std::vector<std::pair<llvm::StringRef, std::string>> given; // names are those of the table
};

} // namespace rubia::standins
