// SPDX-License-Identifier: Apache-2.0
// rubia, as users start it. LLVM's code generators cost a program 5 ms before main(), and no
// program that `run` starts needs them there. So this small program does `run` and `--version`, and
// becomes rubia-commands for all else. That one has `run` too: it writes its help, and says what is
// wrong with a command line.
#include "tools/Commands.h"
#include "tools/Programs.h"
#include "tools/help/Help.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <optional>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

// The status of `run`; nothing: the words are another command, or there is something to say of
// them.
static std::optional<int> run(const std::vector<std::string> &words) {
  const auto command = find_if(words, [](StringRef word) { return !word.starts_with("-"); });
  if (command == words.end() || *command != "run")
    return std::nullopt;
  CLI::App app;
  int status = kDone;
  addRun(app, status);
  addQuietFlag(app);
  addQuietFlag(*app.get_subcommand("run"));
  std::vector<std::string> separated = withProgramSeparated(app, words);
  std::reverse(separated.begin(), separated.end()); // as CLI11 takes them
  try {
    app.parse(separated);
  } catch (const CLI::ParseError &) {
    return std::nullopt;
  }
  return status;
}

static int becomeCommands(char **argv) {
  const std::string program = supportFolder() + "/rubia-commands";
  execv(program.c_str(), argv);
  return fail("cannot start " + program + ": " + strerror(errno));
}

} // namespace rubia::tools

int main(int argc, char **argv) {
  using namespace rubia::tools;
  const std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (words == std::vector<std::string>{"--version"}) {
    outs() << versionText() << "\n";
    return kDone;
  }
  if (std::optional<int> status = run(words))
    return *status;
  return becomeCommands(argv);
}
