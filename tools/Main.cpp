// SPDX-License-Identifier: Apache-2.0
// rubia-commands: every command of `rubia`, which starts it (tools/start/Main.cpp).
#include "runtime/base/HeapPages.h"
#include "runtime/worker/sampler/ReadySampler.h"
#include "tools/Commands.h"
#include "tools/diff/DiffCommands.h"
#include "tools/help/Help.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

namespace rubia::tools {
namespace {

struct Command {
  const char *name;
  void (*add)(CLI::App &app, int &status);
};

constexpr Command kCommands[] = {
    {"run", addRun},         {"check", addCheck},           {"debug", addDebug},
    {"inspect", addInspect}, {"extract", addExtract},       {"compile", addCompile},
    {"launch", addLaunch},   {"precompile", addPrecompile}, {"doctor", addDoctor},
    {"cache", addCache},     {"config", addConfig},         {"capsule", addCapsule},
    {"capture", addCapture}, {"replay", addReplay},         {"diff", addDiff},
};

/// Where a command is named first, that alone: CLI11 compares each new option with all others, and
/// those of all commands cost a millisecond. `help` looks at all.
void addCommands(CLI::App &app, int &status, llvm::StringRef first) {
  const Command *named =
      llvm::find_if(kCommands, [&](const Command &c) { return first == c.name; });
  if (named != std::end(kCommands))
    return named->add(app, status);
  for (const Command &command : kCommands)
    command.add(app, status);
  addHelp(app, status);
}

} // namespace
} // namespace rubia::tools

int main(int argc, char **argv) {
  using namespace rubia::tools;
  rubia::runtime::keepHeapInHugePages();
  rubia::runtime::useReadySampler();
  CLI::App app("Run CUDA programs on AMD GPUs without their source", "rubia");
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText());
  // Before any command does its work. What `run` starts reports itself.
  app.parse_complete_callback([&app] {
    const bool runsPrograms = llvm::any_of(app.get_subcommands(), [](const CLI::App *command) {
      return llvm::is_contained({"run", "check", "debug", "capture"}, command->get_name());
    });
    if (!runsPrograms)
      for (const std::string &problem : rubia::settings::Settings().problems())
        messages() << "rubia: " << problem << "\n";
  });
  int status = kDone;
  addCommands(app, status, argc > 1 ? argv[1] : "");
  addExamples(app);
  addQuietFlag(app);
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    addQuietFlag(*command);

  std::vector<std::string> words(argv + 1, argv + argc);
  if (words.empty()) {
    messages() << app.help();
    return kUsage;
  }
  if (const std::string problem = unknownCommand(app, words); !problem.empty()) {
    fail(problem);
    return kUsage;
  }
  words = withProgramSeparated(app, std::move(words));
  std::reverse(words.begin(), words.end()); // as CLI11 takes them
  try {
    app.parse(words);
  } catch (const CLI::ParseError &error) {
    if (!error.get_exit_code())
      return app.exit(error), kDone;
    const std::string problem = unknownOption(app);
    fail(problem.empty() ? usageProblem(app, error.what()) : problem);
    return kUsage;
  }
  return status;
}
