// SPDX-License-Identifier: Apache-2.0
#include "standins/lib/Options.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::standins {

// The option that a word begins with, and what of the word is left: "=value", or the value itself
// where the name has one letter (-O3).
static const Option *find(ArrayRef<Option> table, StringRef word, StringRef &rest) {
  const bool isLong = word.consume_front("--");
  if (!isLong && !word.consume_front("-"))
    return nullptr;
  const StringRef name = word.take_until([](char c) { return c == '='; });
  rest = word.drop_front(name.size());
  for (const Option &option : table)
    if (name == option.name || (!option.shortName.empty() && name == option.shortName))
      return &option;
  for (const Option &option : table)
    if (!isLong && option.takes == Option::Takes::Value && option.shortName.size() == 1 &&
        word.starts_with(option.shortName)) {
      rest = word.drop_front(1);
      return &option;
    }
  return nullptr;
}

Expected<CommandLine> CommandLine::read(ArrayRef<Option> table, ArrayRef<std::string> words) {
  CommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    StringRef word = words[i], rest;
    if (word == "-" || !word.starts_with("-")) {
      line.inputs.push_back(word.str());
      continue;
    }
    const Option *option = find(table, word, rest);
    if (!option) {
      line.warnings.push_back(("Unknown option '" + word + "' has no effect").str());
      continue;
    }
    if (option->use == Option::Use::Lost)
      line.warnings.push_back(("option '" + option->name + "' has no effect").str());
    const bool hasValue = rest.consume_front("=") || !rest.empty();
    if (option->takes == Option::Takes::Nothing || hasValue) {
      line.given.push_back({option->name, rest.str()});
      continue;
    }
    if (i + 1 == words.size())
      return createStringError(inconvertibleErrorCode(), "argument expected after '" + word + "'");
    line.given.push_back({option->name, words[++i]});
  }
  return line;
}

std::optional<StringRef> CommandLine::value(StringRef name) const {
  for (const auto &[option, value] : llvm::reverse(given))
    if (option == name)
      return value;
  return std::nullopt;
}

std::vector<StringRef> CommandLine::values(StringRef name) const {
  std::vector<StringRef> all;
  for (const auto &[option, value] : given)
    if (option == name)
      all.push_back(value);
  return all;
}

} // namespace rubia::standins
