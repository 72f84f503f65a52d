// rubia run: starts a program with our libcuda.so.1 in front of all others.
#include "runtime/Hip.h"
#include "tools/lib/Commands.h"
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
  std::string device, arch;
  CodeOptions code;
  std::vector<std::string> command;
};

int run(const RunOptions &options) {
  setEnvironment("RUBIA_DEVICE", options.device);
  setEnvironment("RUBIA_ARCH", options.arch);
  options.code.toEnvironment();

  ErrorOr<std::string> program = options.command.front();
  if (!StringRef(options.command.front()).contains('/'))
    program = sys::findProgramByName(options.command.front());
  if (!program || !sys::fs::exists(*program))
    return fail("no such program: " + options.command.front());
  if (!sys::fs::can_execute(*program))
    return fail(*program + " is not executable");

  // Opened here only to say what the program will run on, and to fail early if there is nothing.
  Expected<const runtime::Hip *> hip = runtime::Hip::open();
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
  const char *old = getenv("LD_LIBRARY_PATH");
  setEnvironment("LD_LIBRARY_PATH", old && *old ? libraries + ":" + old : libraries);

  std::vector<char *> arguments;
  for (const std::string &argument : options.command)
    arguments.push_back(const_cast<char *>(argument.c_str()));
  arguments.push_back(nullptr);
  execv(program->c_str(), arguments.data());
  return fail("cannot start " + *program + ": " + strerror(errno));
}
} // namespace

void addRun(CLI::App &app, int &status) {
  auto options = std::make_shared<RunOptions>();
  CLI::App *command = app.add_subcommand("run", "Run an unmodified CUDA program");
  command->add_option("--device", options->device, "auto (default), hip or emulator")
      ->check(CLI::IsMember({"auto", "hip", "emulator"}));
  command->add_option("--arch", options->arch, "what the emulator emulates, such as gfx1100");
  options->code.addTo(*command);
  addSandboxOption(*command);
  command->add_option("program", options->command, "the program and its arguments, after --")
      ->required();
  command->callback([options, &status] { status = run(*options); });
}

} // namespace rubia::tools
