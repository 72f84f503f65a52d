// SPDX-License-Identifier: Apache-2.0
// Command-line options of settings, made of their rows.
#include "tools/Commands.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

static std::string plain(StringRef text) {
  std::string result = text.str();
  llvm::erase(result, '`');
  return result;
}

void addSettingOption(CLI::App &command, settings::Settings &settings, settings::Setting id,
                      const std::string &option) {
  const settings::Row &row = settings::rowOf(id);
  CLI::Option *added = command.add_option_function<std::string>(
      option, [&settings, id](const std::string &value) { settings.set(id, value); },
      plain(row.meaning));
  std::vector<std::string> words;
  for (size_t i = 0; !row.words.empty() && i < settings::countWords(row.words); ++i)
    words.emplace_back(settings::name(settings::wordAt(row.words, i)));
  if (!words.empty())
    added->check(CLI::IsMember(words));
  if (!row.defaultText.empty())
    added->default_str(words.empty()
                           ? row.defaultText.str()
                           : std::string(settings::name(settings::wordAt(
                                 row.words, settings::indexOfWord(row.words, row.defaultText)))));
}

void addCodeOptions(CLI::App &command, settings::Settings &settings) {
  for (const settings::Row &row : settings::rows())
    if (!row.key.empty())
      addSettingOption(command, settings, row.id, "--" + row.key.str());
}

} // namespace rubia::tools
