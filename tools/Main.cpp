// SPDX-License-Identifier: Apache-2.0
// rubia: run CUDA programs on AMD GPUs without their source.
#include "input/Printable.h"
#include "tools/Commands.h"
#include "tools/diff/DiffCommands.h"
#include "tools/help/Help.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

raw_ostream &printed() {
  static input::PrintableStream stream(outs());
  return stream;
}

raw_ostream &messages() {
  static input::PrintableStream stream(errs());
  return stream;
}

static bool isQuiet = false; // --quiet

raw_ostream &notices() { return isQuiet ? nulls() : messages(); }

// https://no-color.org: NO_COLOR, of any text but an empty one.
static bool isColoured() {
  static const bool coloured = errs().is_displayed() && errs().has_colors() &&
                               settings::systemVariable("NO_COLOR").value_or("").empty() &&
                               settings::systemVariable("TERM").value_or("dumb") != "dumb";
  return coloured;
}

int fail(StringRef message) {
  const bool placed = message.contains(": error: ");
  if (!placed && isColoured()) {
    messages() << "rubia: ";
    errs() << "\x1b[1;31merror:\x1b[0m ";
    messages() << message << "\n";
  } else {
    messages() << (placed ? "" : "rubia: error: ") << message << "\n";
  }
  return kFailed;
}

int fail(Error error) { return fail(toString(std::move(error))); }

std::string programFolder() {
  char path[4096];
  ssize_t n = readlink("/proc/self/exe", path, sizeof(path));
  return sys::path::parent_path(StringRef(path, n > 0 ? n : 0)).str();
}

} // namespace rubia::tools

int main(int argc, char **argv) {
  using namespace rubia::tools;
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
  app.add_flag("-q,--quiet", isQuiet, "only results, warnings and errors");
  for (CLI::App *command : app.get_subcommands([](CLI::App *) { return true; }))
    command->add_flag("-q,--quiet", isQuiet, "only results, warnings and errors");

  std::vector<std::string> words(argv + 1, argv + argc);
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
    if (const std::string problem = unknownOption(app); !problem.empty())
      fail(problem);
    else
      app.exit(error);
    return kUsage;
  }
  return status;
}
