// SPDX-License-Identifier: Apache-2.0
// rubia config: each setting, its value, and where that came from.
#include "settings/ConfigFile.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

namespace {
const char *nameOf(settings::Source source) {
  switch (source) {
  case settings::Source::Default:
    return "default";
  case settings::Source::File:
    return "file";
  case settings::Source::Environment:
    return "environment";
  case settings::Source::CommandLine:
    return "command line";
  }
  return "";
}

ordered_json describe(const settings::Row &row, const settings::Settings &settings) {
  const settings::Source source = settings.sourceOf(row.id);
  const StringRef value =
      source == settings::Source::Default ? row.defaultText : *settings.given(row.id);
  ordered_json entry{{"variable", row.variable.str()},
                     {"key", nullptr},
                     {"value", nullptr},
                     {"source", nameOf(source)},
                     {"valid", source == settings::Source::Default || settings.isUsable(row.id)}};
  if (const std::string key = settings::configKey(row); !key.empty())
    entry["key"] = key;
  if (!value.empty())
    entry["value"] = value.str();
  return entry;
}

int config(bool asJson) {
  const settings::Settings settings;
  const settings::ConfigFile &file = settings::configFile();
  ordered_json all{{"version", 1},
                   {"file", {{"path", file.path}, {"is_there", file.isThere}}},
                   {"problems", settings.problems()},
                   {"settings", ordered_json::array()}};
  for (const settings::Row &row : settings::rows())
    all["settings"].push_back(describe(row, settings));
  if (asJson) {
    outs() << all.dump(2, ' ', true, ordered_json::error_handler_t::replace) << "\n";
    return kDone;
  }
  printed() << "file: "
            << (file.path.empty() ? "none"
                                  : file.path + (file.isThere ? "" : " (no settings are read)"))
            << "\n";
  for (const ordered_json &entry : all["settings"]) {
    const std::string value = entry["value"].is_null() ? "" : entry["value"].get<std::string>();
    printed() << left_justify(entry["variable"].get<std::string>(), 28) << " "
              << left_justify(value, 24) << " " << entry["source"].get<std::string>()
              << (entry["valid"].get<bool>() ? "" : ", not valid") << "\n";
  }
  return kDone;
}
} // namespace

void addConfig(CLI::App &app, int &status) {
  auto json = std::make_shared<bool>(false);
  CLI::App *command =
      app.add_subcommand("config", "Each setting, its value, and where that came from");
  command->add_flag("--json", *json, "machine-readable");
  command->callback([json, &status] { status = config(*json); });
}

} // namespace rubia::tools
