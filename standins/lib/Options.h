// SPDX-License-Identifier: Apache-2.0
// Command lines as NVIDIA's tools read them: --name value, --name=value, -short value,
// -short=value.
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
  enum class Takes : uint8_t { Nothing, Value };
  /// NoEffect: it is about machine code, or about what is printed while that is made. Lost: it asks
  /// for something that there is not, and the user is warned.
  enum class Use : uint8_t { Read, NoEffect, Lost };
  llvm::StringLiteral name, shortName; // shortName may be empty
  Takes takes = Takes::Nothing;
  Use use = Use::NoEffect;
};

class CommandLine {
public:
  /// Reads words behind the tool's name. An error: a value is missing. What is not in the table is
  /// warned of, and what is Lost.
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
