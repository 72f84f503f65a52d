// SPDX-License-Identifier: Apache-2.0
// rubia debug: runs a CUDA program on the emulator under a debugger of its kernels.
#include "tools/Commands.h"
#include "tools/debug/Console.h"
#include "tools/debug/Dap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting arch, debugInfo, device, emulatorDebug, emulatorSeed, emulatorSources;
} // namespace rubia::settings::Id

namespace rubia::tools {

namespace {

struct DebugOptions {
  settings::Settings settings;
  std::vector<std::string> command, breakpoints, sources = {"."};
  std::string commands, lines = "source";
  bool dap = false;
};

/// What is to be set for a program whose launches come to `socket`.
Error configure(settings::Settings &settings, const DebugOptions &options, StringRef socket) {
  namespace Id = settings::Id;
  std::string folders;
  for (const std::string &folder : options.sources) {
    SmallString<256> path(folder); // the program may change its folder
    if (std::error_code error = sys::fs::make_absolute(path))
      return createStringError(path + ": " + error.message());
    folders += (folders.empty() ? "" : ":") + path.str().str();
  }
  settings.set(Id::device, "emulator")
      .set(Id::emulatorDebug, socket.str())
      .set(Id::emulatorSources, folders)
      .set(Id::debugInfo, options.lines == "ptx" ? "ptx" : "registers");
  return Error::success();
}

int runConsole(DebugOptions &options, Debuggee &debuggee) {
  if (options.command.empty()) {
    fail("which program is to be debugged?");
    return kUsage;
  }
  if (Error error = configure(options.settings, options, debuggee.socket()))
    return fail(std::move(error));
  Expected<Program> program = prepareProgram(options.command, options.settings);
  if (!program)
    return fail(program.takeError());
  int input = STDIN_FILENO;
  if (!options.commands.empty()) {
    input = ::open(options.commands.c_str(), O_RDONLY | O_CLOEXEC);
    if (input < 0)
      return fail(options.commands + ": " + std::strerror(errno));
  }
  Console console(debuggee, std::move(*program), input);
  for (const std::string &where : options.breakpoints)
    if (Error error = console.addBreakpoint(json::fixUTF8(where))) {
      fail(std::move(error));
      return kUsage;
    }
  return console.loop();
}

std::vector<std::string> wordsIn(const json::Object &launch, StringRef key) {
  std::vector<std::string> words;
  if (const json::Array *list = launch.getArray(key))
    for (const json::Value &word : *list)
      words.push_back(word.getAsString().value_or("").str());
  return words;
}

/// The program of an editor's launch request. What the request lacks, the command line has.
Expected<Program> programOf(const json::Object &launch, DebugOptions options,
                            const Debuggee &debuggee) {
  if (const std::optional<StringRef> program = launch.getString("program"))
    options.command = {program->str()};
  if (options.command.empty())
    return createStringError("the launch request names no program");
  for (std::string &word : wordsIn(launch, "args"))
    options.command.push_back(std::move(word));
  if (const std::optional<StringRef> folder = launch.getString("cwd"))
    if (::chdir(folder->str().c_str()) < 0)
      return createStringError(*folder + ": " + std::strerror(errno));
  if (launch.get("sources"))
    options.sources = wordsIn(launch, "sources");
  options.lines = launch.getString("lines").value_or(options.lines).str();
  if (const std::optional<StringRef> arch = launch.getString("arch"))
    options.settings.set(settings::Id::arch, arch->str());
  if (Error error = configure(options.settings, options, debuggee.socket()))
    return std::move(error);
  Expected<Program> program = prepareProgram(options.command, options.settings);
  if (!program)
    return program.takeError();
  if (const json::Object *variables = launch.getObject("env"))
    for (const auto &[name, value] : *variables)
      if (const std::optional<StringRef> text = value.getAsString()) {
        const std::string variable = (StringRef(name) + "=").str();
        llvm::erase_if(program->variables,
                       [&](StringRef other) { return other.starts_with(variable); });
        program->variables.push_back(variable + text->str());
      }
  return program;
}

int debug(DebugOptions &options) {
  Expected<std::unique_ptr<Debuggee>> debuggee = Debuggee::make();
  if (!debuggee)
    return fail(debuggee.takeError());
  if (!options.dap)
    return runConsole(options, **debuggee);
  DapChannel channel(STDIN_FILENO, STDOUT_FILENO);
  DapSession session(**debuggee, channel, [&](const json::Object &launch) {
    return programOf(launch, options, **debuggee);
  });
  return session.loop();
}

} // namespace

void addDebug(CLI::App &app, int &status) {
  auto options = std::make_shared<DebugOptions>();
  CLI::App *command =
      app.add_subcommand("debug", "Run a CUDA program under a debugger of its kernels");
  addSettingOption(*command, options->settings, settings::Id::arch, "--arch");
  addSettingOption(*command, options->settings, settings::Id::emulatorSeed, "--seed");
  for (const settings::Row &row : settings::rows())
    if (!row.key.empty() && row.id != settings::Id::debugInfo)
      addSettingOption(*command, options->settings, row.id, "--" + row.key.str());
  command
      ->add_option("--break", options->breakpoints,
                   "where kernels stop: FILE:LINE, LINE, a kernel or function, *PC")
      ->allow_extra_args(false);
  command
      ->add_option("--lines", options->lines,
                   "source: lines of the CUDA source where the PTX has them; ptx: of the PTX")
      ->check(CLI::IsMember({"source", "ptx"}))
      ->capture_default_str();
  command->add_option("--source", options->sources, "folders in which source files may be read")
      ->allow_extra_args(false)
      ->capture_default_str();
  command->add_option("-x,--commands", options->commands,
                      "the file with the debugger's commands; else they come from stdin");
  command->add_flag("--dap", options->dap,
                    "for editors: the Debug Adapter Protocol over stdin and stdout");
  command->add_option("program", options->command, "the program and its arguments, after --");
  command->callback([options, &status] { status = debug(*options); });
}

} // namespace rubia::tools
