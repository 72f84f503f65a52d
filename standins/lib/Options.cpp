// SPDX-License-Identifier: Apache-2.0
#include "standins/lib/Options.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"

using namespace llvm;

namespace rubia::standins {

namespace {

/// An option with what its word has of the value.
struct Match {
  const Option *option = nullptr;
  std::optional<StringRef> value;
  bool isShort = false;
};

} // namespace

// `--name`, `-short`, both with `=value`, and `-O3` of names that join.
static Match find(ArrayRef<Option> table, StringRef word) {
  const bool isLong = word.consume_front("--");
  if (!isLong && !word.consume_front("-"))
    return {};
  const StringRef name = word.take_until([](char c) { return c == '='; });
  std::optional<StringRef> value;
  if (name.size() < word.size())
    value = word.drop_front(name.size() + 1);
  for (const Option &option : table)
    if (name == option.name)
      return {&option, value, /*isShort=*/false};
  for (const Option &option : table)
    if (!option.shortName.empty() && name == option.shortName)
      return {&option, value, /*isShort=*/true};
  for (const Option &option : table)
    if (!isLong && option.joins != Option::Joins::No && word.starts_with(option.shortName))
      return {&option, word.drop_front(option.shortName.size()), /*isShort=*/true};
  return {};
}

static Error check(const Option &option, StringRef value) {
  auto expected = [&](StringRef what) {
    return createStringError(inconvertibleErrorCode(), "'" + value + "': expected " + what);
  };
  switch (option.takes) {
  case Option::Takes::Nothing:
  case Option::Takes::Value:
    break;
  case Option::Takes::Number:
    if (int64_t number; value.getAsInteger(0, number))
      return expected("a number");
    break;
  case Option::Takes::Truth:
    if (value != "true" && value != "false")
      return expected("true or false");
    break;
  }
  return Error::success();
}

Expected<CommandLine> CommandLine::read(ArrayRef<Option> table, ArrayRef<std::string> words) {
  CommandLine line;
  for (size_t i = 0; i < words.size(); ++i) {
    const StringRef word = words[i];
    if (word == "-" || !word.starts_with("-")) {
      line.inputs.push_back(word.str());
      continue;
    }
    auto [option, value, isShort] = find(table, word);
    if (!option) {
      line.warnings.push_back(("Unknown option '" + word + "' has no effect").str());
      continue;
    }
    if (option->use == Option::Use::Lost)
      line.warnings.push_back(("option '" + option->name + "' has no effect").str());
    if (option->takes == Option::Takes::Nothing) {
      if (value)
        return createStringError(inconvertibleErrorCode(),
                                 "no argument expected after '" + word.split('=').first + "'");
      line.given.push_back({option->name, ""});
      continue;
    }
    if (isShort && option->joins == Option::Joins::Only && !value)
      continue; // the default
    if (!value && i + 1 == words.size())
      return createStringError(inconvertibleErrorCode(), "argument expected after '" + word + "'");
    line.given.push_back({option->name, value ? value->str() : words[++i]});
    if (Error error = check(*option, line.given.back().second))
      return std::move(error);
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
