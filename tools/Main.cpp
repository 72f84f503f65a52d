// SPDX-License-Identifier: Apache-2.0
// rubia-commands: every command of `rubia`, which starts it (tools/start/Main.cpp).
#include "runtime/base/HeapPages.h"
#include "tools/Commands.h"
#include "tools/diff/DiffCommands.h"
#include "tools/help/Help.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>

int main(int argc, char **argv) {
  using namespace rubia::tools;
  rubia::runtime::keepHeapInHugePages();
  CLI::App app("Run CUDA programs on AMD GPUs without their source", "rubia");
  app.require_subcommand(1);
  app.set_version_flag("--version", versionText());
  // Before any command does its work. What `run` starts reports itself.
  app.parse_complete_callback([&app] {
    if (!app.got_subcommand("run") && !app.got_subcommand("check") &&
        !app.got_subcommand("debug") && !app.got_subcommand("capture"))
      for (const std::string &problem : rubia::settings::Settings().problems())
        messages() << "rubia: " << problem << "\n";
  });
  int status = kDone;
  addRun(app, status);
  addCheck(app, status);
  addDebug(app, status);
  addInspect(app, status);
  addExtract(app, status);
  addCompile(app, status);
  addLaunch(app, status);
  addPrecompile(app, status);
  addDoctor(app, status);
  addCache(app, status);
  addConfig(app, status);
  addCapsule(app, status);
  addCapture(app, status);
  addReplay(app, status);
  addDiff(app, status);
  addHelp(app, status);
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
