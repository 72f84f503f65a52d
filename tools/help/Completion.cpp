// SPDX-License-Identifier: Apache-2.0
// Completion scripts: commands, their options, and the words that options take. What stands behind
// the name of a program that a command starts is completed as that program's.
#include "tools/help/Help.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
// Within single quotes of a shell.
std::string inQuotes(StringRef text) {
  std::string result = "'";
  for (char c : text)
    result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::vector<std::string> namesOf(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  return names;
}

// What may follow the name of a command: commands below it, else its options.
std::string wordsAfter(const CLI::App &command) {
  std::vector<std::string> words;
  for (const CLI::App *below : commandsOf(command))
    words.push_back(below->get_name());
  for (const CLI::Option *option : optionsOf(command))
    llvm::append_range(words, namesOf(*option));
  words.emplace_back("--help");
  return join(words, " ");
}

bool startsProgram(const CLI::App &command) { return command.get_option_no_throw("program"); }

// Every command with the words that lead to it, parents first.
void walk(const CLI::App &command, const std::string &path,
          function_ref<void(const CLI::App &, const std::string &)> visit) {
  visit(command, path);
  for (const CLI::App *below : commandsOf(command))
    walk(*below, path.empty() ? below->get_name() : path + " " + below->get_name(), visit);
}

std::string bash(const CLI::App &app) {
  std::string words, values, programs;
  walk(app, "", [&](const CLI::App &command, const std::string &path) {
    words += "    " + inQuotes(path) + ") words=" + inQuotes(wordsAfter(command)) +
             (commandsOf(command).empty() ? " takes_files=1" : "") + " ;;\n";
    if (startsProgram(command))
      programs += (programs.empty() ? "" : " | ") + inQuotes(path);
    for (const CLI::Option *option : optionsOf(command)) {
      std::vector<std::string> patterns;
      for (const std::string &name : namesOf(*option))
        patterns.push_back(inQuotes(path + " " + name));
      if (const std::vector<std::string> known = wordsOf(*option); !known.empty())
        values +=
            "    " + join(patterns, " | ") + ") words=" + inQuotes(join(known, " ")) + " ;;\n";
      else if (option->get_items_expected_max() > 0)
        values += "    " + join(patterns, " | ") + ") files=1 ;;\n";
    }
  });
  return R"(# SPDX-License-Identifier: Apache-2.0
# bash completion of rubia
_rubia() {
  local cur=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} path= words= files= takes_files= i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case $path in
    )" + programs +
         R"()
      # The program's name is the first word that is neither an option nor an option's value.
      if [[ ${COMP_WORDS[i]} != -* ]]; then
        words= files=
        _rubia_value "$path ${COMP_WORDS[i-1]}"
        [[ -z $words$files ]] && { _rubia_program "$i"; return; }
      fi ;;
    *) [[ ${COMP_WORDS[i]} != -* ]] && _rubia_has "$path" "${COMP_WORDS[i]}" && path="${path:+$path }${COMP_WORDS[i]}" ;;
    esac
  done
  words= files=
  _rubia_value "$path $previous"
  if [[ -z $words$files ]]; then
    _rubia_words "$path"
    [[ $cur != -* ]] && files=$takes_files
  fi
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
  [[ -n $files ]] && COMPREPLY+=($(compgen -f -- "$cur"))
  compopt -o filenames 2> /dev/null
  return 0
}
_rubia_program() {
  if declare -F _command_offset > /dev/null; then
    _command_offset "$1"
  elif ((COMP_CWORD == $1)); then
    COMPREPLY=($(compgen -c -f -- "$cur"))
  else
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
_rubia_has() {
  local words=
  _rubia_words "$1"
  [[ " $words " == *" $2 "* ]]
}
_rubia_words() {
  case $1 in
)" + words +
         R"(  esac
}
_rubia_value() {
  case $1 in
)" + values +
         R"(  esac
}
complete -F _rubia rubia
)";
}

// Of zsh's _arguments: in brackets, and with colons behind it.
std::string forArguments(StringRef text) {
  std::string result;
  for (char c : text)
    result += (StringRef("[]:\\").contains(c) ? "\\" : "") + std::string(1, c);
  return result;
}

std::string zshArguments(const CLI::App &command) {
  std::string text = "_arguments";
  for (const CLI::Option *option : optionsOf(command)) {
    const std::vector<std::string> known = wordsOf(*option);
    const std::string value = option->get_items_expected_max() < 1 ? ""
                              : known.empty() ? ":value:_files"
                                              : ":value:(" + join(known, " ") + ")";
    for (const std::string &name : namesOf(*option))
      text += " \\\n      " +
              inQuotes(name + "[" + forArguments(option->get_description()) + "]" + value);
  }
  return text + " \\\n      " +
         (startsProgram(command) ? "'(-)1:program:_command_names' '*::arguments:_normal'"
                                 : "'*:file:_files'");
}

std::string zsh(const CLI::App &app) {
  std::string list, cases;
  for (const CLI::App *command : commandsOf(app)) {
    list += "    " + inQuotes(command->get_name() + ":" + command->get_description()) + "\n";
    cases += "  " + command->get_name() + ")\n    ";
    std::vector<std::string> below;
    for (const CLI::App *sub : commandsOf(*command))
      below.push_back(sub->get_name());
    if (!below.empty())
      cases += "if (( CURRENT == 3 )); then compadd " + join(below, " ") + "; else _files; fi ;;\n";
    else
      cases += "shift words; (( CURRENT-- ))\n    " + zshArguments(*command) + " ;;\n";
  }
  return "#compdef rubia\n# SPDX-License-Identifier: Apache-2.0\nlocal -a commands=(\n" + list +
         "  )\nif (( CURRENT == 2 )); then\n  _describe command commands\n  return\nfi\n"
         "case $words[2] in\n" +
         cases + "esac\n";
}

std::string fish(const CLI::App &app) {
  std::string text = "# SPDX-License-Identifier: Apache-2.0\n# fish completion of rubia\n";
  for (const CLI::App *command : commandsOf(app)) {
    text += "complete -c rubia -f -n __fish_use_subcommand -a " + command->get_name() + " -d " +
            inQuotes(command->get_description()) + "\n";
    const std::string condition =
        " -n " + inQuotes("__fish_seen_subcommand_from " + command->get_name());
    for (const CLI::App *below : commandsOf(*command))
      text += "complete -c rubia -f" + condition + " -a " + below->get_name() + " -d " +
              inQuotes(below->get_description()) + "\n";
    for (const CLI::Option *option : optionsOf(*command)) {
      text += "complete -c rubia" + condition;
      for (const std::string &name : option->get_snames())
        text += " -s " + name;
      for (const std::string &name : option->get_lnames())
        text += " -l " + name;
      if (const std::vector<std::string> known = wordsOf(*option); !known.empty())
        text += " -x -a " + inQuotes(join(known, " "));
      else if (option->get_items_expected_max() > 0)
        text += " -r";
      text += " -d " + inQuotes(option->get_description()) + "\n";
    }
  }
  return text;
}
} // namespace

std::string completionFor(const CLI::App &app, StringRef shell) {
  return shell == "bash" ? bash(app) : shell == "zsh" ? zsh(app) : shell == "fish" ? fish(app) : "";
}

} // namespace rubia::tools
