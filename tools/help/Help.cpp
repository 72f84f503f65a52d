// SPDX-License-Identifier: Apache-2.0
// rubia help: a command's options, a topic, and the same as manual pages and completions.
#include "tools/help/Help.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

using namespace llvm;

namespace rubia::tools {

namespace {
struct HelpOptions {
  std::vector<std::string> topic;
  std::string completion;
  bool markdown = false, man = false, commands = false;
};

int usage(const Twine &message) {
  fail(message.str());
  return kUsage;
}

void printAll(const CLI::App &app) {
  outs() << app.get_formatter()->make_help(
      &app, "rubia", CLI::AppFormatMode::Normal); // help() is the selected command's
  outs() << "\nTopics of `rubia help TOPIC`:\n";
  for (const auto &[name, about] : topics())
    outs() << "  " << left_justify(name, 25) << " " << about << "\n";
}

int help(const CLI::App &app, const HelpOptions &options) {
  if (options.commands) {
    for (const CLI::App *command : commandsOf(app))
      outs() << command->get_name() << "\n";
    return kDone;
  }
  if (!options.completion.empty()) {
    outs() << completionFor(app, options.completion);
    return kDone;
  }
  const std::string topic = options.topic.empty() ? "" : options.topic.front();
  if (options.markdown && topic != "environment")
    return usage("--markdown is for `rubia help environment`");
  if (topic == "environment") {
    outs() << (options.man        ? environmentPage()
               : options.markdown ? settings::environmentAsMarkdown()
                                  : settings::environmentAsText());
    return kDone;
  }
  if (std::string text = topicText(topic); !text.empty()) {
    if (options.man)
      return usage("--man is for commands and `rubia help environment`");
    outs() << text;
    return kDone;
  }
  const CLI::App *command = &app;
  for (const std::string &word : options.topic) {
    const std::vector<const CLI::App *> below = commandsOf(*command);
    const auto found =
        find_if(below, [&](const CLI::App *known) { return known->get_name() == word; });
    if (found == below.end()) {
      const std::string problem = unknownCommand(app, options.topic);
      return usage((problem.empty() ? "no command '" + word + "'" : problem) + "; topics: " +
                   join(map_range(topics(), [](const auto &known) { return known.first; }), ", "));
    }
    command = *found;
  }
  if (options.man)
    outs() << manualPage(*command);
  else if (command == &app)
    printAll(app);
  else
    outs() << command->help(fullName(*command->get_parent()));
  return kDone;
}
} // namespace

void addHelp(CLI::App &app, int &status) {
  auto options = std::make_shared<HelpOptions>();
  CLI::App *command = app.add_subcommand("help", "The options of a command, or a topic");
  command->add_option("topic", options->topic, "a command, or a topic: `rubia help` lists them");
  command->add_flag("--markdown", options->markdown, "as docs/environment.md has it");
  command->add_flag("--man", options->man, "as a manual page");
  command->add_flag("--commands", options->commands, "the names of all commands");
  command->add_option("--completion", options->completion, "the completion script of a shell")
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([&app, options, &status] { status = help(app, *options); });
}

} // namespace rubia::tools
