// SPDX-License-Identifier: Apache-2.0
// rubia run: starts a program with our libcuda.so.1 in front of all others.
#include "runtime/device/Hip.h"
#include "tools/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {

namespace {
struct RunOptions {
  settings::Settings settings;
  std::vector<std::string> command;
};

/// The environment with what the command line set, and our libraries in front of all others.
std::vector<std::string> environmentOf(const settings::Settings &settings, std::string libraries) {
  constexpr const char *kPath = "LD_LIBRARY_PATH";
  if (std::optional<StringRef> old = settings::systemVariable(kPath); old && !old->empty())
    libraries += ":" + old->str();
  std::vector<std::string> variables = settings.environment();
  llvm::erase_if(variables, [](StringRef variable) { return variable.split('=').first == kPath; });
  variables.push_back(kPath + ("=" + libraries));
  return variables;
}

/// As execve wants them.
std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

int run(const RunOptions &options) {
  ErrorOr<std::string> program = options.command.front();
  if (!StringRef(options.command.front()).contains('/'))
    program = sys::findProgramByName(options.command.front());
  if (!program || !sys::fs::exists(*program))
    return fail("no such program: " + options.command.front());
  if (!sys::fs::can_execute(*program))
    return fail(*program + " is not executable");

  // Opened here only to say what the program will run on, and to fail early if there is nothing.
  Expected<const runtime::Hip *> hip = runtime::Hip::open(options.settings);
  if (!hip)
    return fail(hip.takeError());
  Expected<std::string> arch = (*hip)->archName(0);
  if (!arch)
    return fail(arch.takeError());
  char name[256] = "";
  (*hip)->hipDeviceGetName(name, sizeof(name), 0);
  messages() << "rubia: device 0 is " << *arch << ", " << name << ", through " << (*hip)->path
             << "\n";

  std::string libraries = programFolder() + "/../lib/rubia";
  SmallString<256> real;
  if (!sys::fs::real_path(libraries, real))
    libraries = real.str().str();
  if (!sys::fs::exists(libraries + "/libcuda.so.1"))
    return fail("no libcuda.so.1 in " + libraries + ": the installation is incomplete");
  std::vector<std::string> variables = environmentOf(options.settings, libraries);
  std::vector<std::string> words = options.command;
  execve(program->c_str(), pointersTo(words).data(), pointersTo(variables).data());
  return fail("cannot start " + *program + ": " + strerror(errno));
}
} // namespace

void addRun(CLI::App &app, int &status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run an unmodified CUDA program");
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addCodeOptions(*command, options->settings);
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->add_option("program", options->command, "the program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run(*options); });
}

} // namespace rubia::tools
