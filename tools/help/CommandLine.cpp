// SPDX-License-Identifier: Apache-2.0
// What is made of a command line before and after CLI11 has parsed it.
#include "tools/help/Help.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

std::vector<const CLI::App *> commandsOf(const CLI::App &app) {
  return app.get_subcommands(
      [](const CLI::App *command) { return !command->get_description().empty(); });
}

std::vector<const CLI::Option *> optionsOf(const CLI::App &command) {
  return command.get_options([&](const CLI::Option *option) {
    return !option->get_positional() && option != command.get_help_ptr() &&
           !option->get_group().empty();
  });
}

std::string fullName(const CLI::App &command) {
  const CLI::App *parent = command.get_parent();
  return (parent ? fullName(*parent) + " " : std::string()) + command.get_name();
}

std::vector<std::string> wordsOf(const CLI::Option &option) {
  // IsMember's description: "TEXT:{a,b}".
  const std::string type = option.get_type_name();
  const StringRef inside = StringRef(type).split(":{").second.split('}').first;
  SmallVector<StringRef> words;
  inside.split(words, ',', -1, /*KeepEmpty=*/false);
  return {words.begin(), words.end()};
}

namespace {
// The known name that `word` may have been meant for; empty: none is near.
std::string nearest(StringRef word, ArrayRef<std::string> known) {
  std::string found;
  unsigned limit = std::max<unsigned>(word.size() / 3, 1);
  for (const std::string &name : known)
    if (const unsigned distance = word.edit_distance(name, true, limit + 1); distance <= limit) {
      found = name;
      if (!distance)
        break;
      limit = distance - 1;
    }
  if (found.empty() && word.size() > 2) // "prec" for precompile
    for (const std::string &name : known)
      if (StringRef(name).starts_with(word))
        return name;
  return found;
}

const CLI::App *commandNamed(const CLI::App &app, StringRef name) {
  for (const CLI::App *command : app.get_subcommands([](const CLI::App *) { return true; }))
    if (command->get_name() == name)
      return command;
  return nullptr;
}

// The option that a word names, with what is behind '='; null: there is none.
const CLI::Option *optionNamed(const CLI::App &command, StringRef word) {
  const StringRef name = word.starts_with("--") ? word.split('=').first : word.take_front(2);
  return command.get_option_no_throw(name.str());
}

// Whether the next word is the option's value.
bool takesNext(const CLI::Option &option, StringRef word) {
  const bool hasValue = word.starts_with("--") ? word.contains('=') : word.size() > 2;
  return option.get_items_expected_max() > 0 && !hasValue;
}
} // namespace

std::vector<std::string> withProgramSeparated(const CLI::App &app, std::vector<std::string> words) {
  size_t at = 0;
  while (at < words.size() && StringRef(words[at]).starts_with("-"))
    ++at; // options of rubia itself take no values
  const CLI::App *command = at < words.size() ? commandNamed(app, words[at]) : nullptr;
  if (!command || !command->get_option_no_throw("program"))
    return words;
  for (++at; at < words.size(); ++at) {
    const StringRef word = words[at];
    if (word == "--")
      return words;
    if (!word.starts_with("-") || word == "-") {
      words.insert(words.begin() + ptrdiff_t(at), "--");
      return words;
    }
    const CLI::Option *option = optionNamed(*command, word);
    at += option && takesNext(*option, word);
  }
  return words;
}

std::string unknownCommand(const CLI::App &app, ArrayRef<std::string> words) {
  const CLI::App *at = &app;
  for (const std::string &word : words) {
    const std::vector<const CLI::App *> commands = commandsOf(*at);
    if (commands.empty() || StringRef(word).starts_with("-"))
      return "";
    if (const CLI::App *next = commandNamed(*at, word)) {
      at = next;
      continue;
    }
    std::vector<std::string> names;
    for (const CLI::App *command : commands)
      names.push_back(command->get_name());
    const std::string meant = nearest(word, names);
    return "no command '" + word + "'" +
           (at == &app ? std::string() : " of `" + fullName(*at) + "`") +
           (meant.empty() ? "; there are " + join(names, ", ") : ", did you mean " + meant + "?");
  }
  return "";
}

// The command that a parsed command line names.
static const CLI::App &commandIn(const CLI::App &app) {
  const CLI::App *command = &app;
  while (!command->get_subcommands().empty())
    command = command->get_subcommands().front();
  return *command;
}

std::string usageProblem(const CLI::App &app, StringRef problem) {
  const std::string name = fullName(commandIn(app));
  return problem.str() + "; `" + name + " --help` has the options and examples of `" + name + "`";
}

std::string unknownOption(const CLI::App &app) {
  const CLI::App *command = &commandIn(app);
  for (const std::string &word : command->remaining()) {
    if (word.size() < 2 || word[0] != '-' || word == "--")
      continue;
    const std::string name = StringRef(word).split('=').first.str();
    std::vector<std::string> names{"--help"};
    for (const CLI::Option *option : optionsOf(*command))
      for (const std::string &known : option->get_lnames())
        names.push_back("--" + known);
    const std::string meant = nearest(name, names);
    return "no option '" + name + "' of `" + fullName(*command) + "`" +
           (meant.empty() ? "; `" + fullName(*command) + " --help` lists them"
                          : ", did you mean " + meant + "?");
  }
  return "";
}

} // namespace rubia::tools
