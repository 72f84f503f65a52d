// SPDX-License-Identifier: Apache-2.0
// The file with settings: TOML, a key for each variable of Settings.def that begins with RUBIA_.
#pragma once

#include "settings/Settings.h"

namespace rubia::settings {

struct ConfigFile {
  std::string path;     // where it is looked for; empty: nowhere
  bool isThere = false; // and could be read
  std::vector<std::pair<Setting, std::string>> values;
  /// One sentence, without its end, for each key or value that has no effect; with file and line.
  std::vector<std::string> problems;
};

/// RUBIA_CONFIG, else rubia/rubia.toml in XDG_CONFIG_HOME, else ~/.config/rubia/rubia.toml; never
/// the current folder. Read once in a process. A program with rights that its caller lacks
/// (AT_SECURE) reads none.
const ConfigFile &configFile();

/// `cache_max_size` for RUBIA_CACHE_MAX_SIZE; empty: the variable is none that a file may set.
std::string configKey(const Row &row);

/// The values in a text; `path` is for messages.
ConfigFile parseConfig(llvm::StringRef text, llvm::StringRef path);

} // namespace rubia::settings
