// SPDX-License-Identifier: Apache-2.0
// rubia help: the options of a command, or what environment variables there are.
#include "tools/Commands.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
struct HelpOptions {
  std::string topic;
  bool markdown = false;
};

int help(const CLI::App &app, const HelpOptions &options) {
  if (options.topic == "environment") {
    outs() << (options.markdown ? settings::environmentAsMarkdown()
                                : settings::environmentAsText());
    return kDone;
  }
  if (options.markdown) {
    fail("--markdown is for `rubia help environment`");
    return kUsage;
  }
  if (options.topic.empty()) {
    outs() << app.get_formatter()->make_help(&app, "rubia", CLI::AppFormatMode::Normal);
    return kDone;
  }
  const std::vector<const CLI::App *> commands = app.get_subcommands(
      [&](const CLI::App *command) { return command->get_name() == options.topic; });
  if (commands.empty()) {
    fail("no command '" + options.topic + "'; `rubia help` lists them");
    return kUsage;
  }
  outs() << commands.front()->help("rubia");
  return kDone;
}
} // namespace

void addHelp(CLI::App &app, int &status) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App *command = app.add_subcommand("help", "The options of a command, or `environment`");
  command->add_option("topic", options->topic, "a command, or environment: the variables");
  command->add_flag("--markdown", options->markdown, "as docs/environment.md has it");
  command->callback([&app, options, &status] { status = help(app, *options); });
}

} // namespace rubia::tools
