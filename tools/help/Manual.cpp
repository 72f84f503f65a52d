// SPDX-License-Identifier: Apache-2.0
// Manual pages in roff's macros for manuals, man(7).
#include "settings/Settings.h"
#include "tools/help/Help.h"
#include "llvm/ADT/StringExtras.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
// Text as it is: no line begins a request, no hyphen becomes another sign.
std::string escaped(StringRef text) {
  std::string result;
  bool isLineStart = true;
  for (char c : text) {
    if (isLineStart && (c == '.' || c == '\''))
      result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else if (c != '`')
      result += c;
    isLineStart = c == '\n';
  }
  return result;
}

std::string title(StringRef name, unsigned section) {
  return ".\\\" SPDX-License-Identifier: Apache-2.0\n.TH " + name.upper() + " " +
         std::to_string(section) + " \"\" \"Rubia " RUBIA_VERSION "\" \"Rubia\"\n";
}

std::string dashed(std::string name) {
  llvm::replace(name, ' ', '-');
  return name;
}

std::string sentence(StringRef text) {
  return escaped(text) + (text.ends_with(".") ? "\n" : ".\n");
}

std::string describe(const CLI::Option &option) {
  std::vector<std::string> names;
  for (const std::string &name : option.get_snames())
    names.push_back("-" + name);
  for (const std::string &name : option.get_lnames())
    names.push_back("--" + name);
  std::string text = ".TP\n\\fB" + escaped(join(names, ", ")) + "\\fR";
  const std::vector<std::string> words = wordsOf(option);
  if (!words.empty())
    text += " \\fI" + escaped(join(words, "|")) + "\\fR";
  else if (option.get_items_expected_max() > 0)
    text += " \\fIvalue\\fR";
  text += "\n" + escaped(option.get_description()) + "\n";
  if (!option.get_default_str().empty())
    text += "(default: " + escaped(option.get_default_str()) + ")\n";
  return text;
}

std::string synopsis(const CLI::App &command) {
  std::string text = ".SY \"" + escaped(fullName(command)) + "\"\n";
  if (!optionsOf(command).empty())
    text += ".OP options\n";
  if (!commandsOf(command).empty())
    text += "\\fIcommand\\fR\n";
  for (const CLI::Option *option :
       command.get_options([](const CLI::Option *o) { return o->get_positional(); }))
    text += "\\fI" + escaped(option->get_name(true)) + "\\fR" +
            (option->get_items_expected_max() > 1 ? " ..." : "") + "\n";
  return text + ".YS\n";
}

std::string positionals(const CLI::App &command) {
  std::string text;
  for (const CLI::Option *option :
       command.get_options([](const CLI::Option *o) { return o->get_positional(); }))
    text += ".TP\n\\fI" + escaped(option->get_name(true)) + "\\fR\n" +
            escaped(option->get_description()) + "\n";
  return text;
}

std::string options(const CLI::App &command) {
  std::string text;
  for (const CLI::Option *option : optionsOf(command))
    text += describe(*option);
  return text;
}

std::string examples(const CLI::App &command) {
  const std::string footer = command.get_footer();
  const StringRef text = StringRef(footer).split("Examples:\n").second;
  return text.empty() ? "" : ".SH EXAMPLES\n.EX\n" + escaped(text.rtrim()) + "\n.EE\n";
}
} // namespace

std::string manualPage(const CLI::App &command) {
  const std::string name = dashed(fullName(command));
  std::string text = title(name, 1) + ".SH NAME\n" + escaped(name) + " \\- " +
                     escaped(StringRef(command.get_description()).rtrim('.')) + "\n.SH SYNOPSIS\n" +
                     synopsis(command);
  if (std::string known = positionals(command) + options(command); !known.empty())
    text += ".SH OPTIONS\n" + known;
  const std::vector<const CLI::App *> commands = commandsOf(command);
  const bool isTop = !command.get_parent();
  if (!commands.empty())
    text += ".SH COMMANDS\n";
  for (const CLI::App *below : commands) {
    text += isTop ? ".TP\n\\fB" + escaped(below->get_name()) + "\\fR\n"
                  : ".SS \"" + escaped(fullName(*below)) + "\"\n";
    text += sentence(below->get_description());
    if (!isTop)
      text += positionals(*below) + options(*below);
  }
  text += examples(command);
  text += ".SH \"EXIT STATUS\"\n" + escaped(topicText("exit-status")) + ".SH \"SEE ALSO\"\n";
  if (isTop) {
    for (const CLI::App *below : commands)
      text += ".BR rubia\\-" + escaped(below->get_name()) + " (1),\n";
  } else {
    text += ".BR rubia (1),\n";
  }
  return text + ".BR rubia\\-environment (7)\n";
}

std::string environmentPage() {
  std::string text =
      title("rubia-environment", 7) +
      ".SH NAME\nrubia\\-environment \\- environment variables and settings of Rubia\n"
      ".SH DESCRIPTION\nAn empty value is as if the variable were not set.\n"
      "The settings named RUBIA_... may also stand in a file; see rubia\\-config(1).\n";
  StringRef group;
  for (const settings::Row &row : settings::rows()) {
    if (row.group != group)
      text += ".SH \"" + (group = row.group).upper() + "\"\n";
    text += ".TP\n\\fB" + escaped(row.variable) + "\\fR=\\fI" + escaped(row.expected) + "\\fR\n" +
            escaped(row.meaning) + "\n";
    if (!row.defaultText.empty())
      text += "(default: " + escaped(row.defaultText) + ")\n";
  }
  return text + ".SH \"SEE ALSO\"\n.BR rubia (1)\n";
}

} // namespace rubia::tools
