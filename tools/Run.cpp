// SPDX-License-Identifier: Apache-2.0
// rubia run: starts a program with our libcuda.so.1 in front of all others.
#include "tools/Commands.h"
#include "tools/Programs.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, device, recordKernels, sandbox, timeline;
} // namespace rubia::settings::Id

namespace rubia::tools {

namespace {
struct RunOptions {
  settings::Settings settings;
  std::vector<std::string> command;
};

int run(RunOptions options) {
  // A program may change its folder before it calls CUDA.
  const std::pair<settings::Setting, std::string> files[] = {
      {settings::Id::timeline, options.settings.text(settings::Id::timeline)},
      {settings::Id::recordKernels, options.settings.text(settings::Id::recordKernels)}};
  for (const auto &[id, name] : files) {
    SmallString<256> path(name);
    if (path.empty())
      continue;
    if (std::error_code error = sys::fs::make_absolute(path))
      return fail((path + ": " + error.message()).str());
    options.settings.set(id, path);
  }
  Expected<Program> program = prepareProgram(options.command, options.settings);
  if (!program)
    return fail(program.takeError());
  program->execute();
  return fail("cannot start " + program->path + ": " + strerror(errno));
}
} // namespace

void addRun(CLI::App &app, int &status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run an unmodified CUDA program");
  addSettingOption(*command, options->settings, settings::Id::device, "--device");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addCodeOptions(*command, options->settings);
  addSettingOption(*command, options->settings, settings::Id::timeline, "--timeline");
  addSettingOption(*command, options->settings, settings::Id::recordKernels, "--record-kernels");
  addSettingOption(*command, options->settings, settings::Id::sandbox, "--sandbox");
  command->add_option("program", options->command, "the program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run(*options); });
}

} // namespace rubia::tools
