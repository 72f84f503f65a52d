// SPDX-License-Identifier: Apache-2.0
#include "tools/Programs.h"
#include "runtime/device/Hip.h"
#include "tools/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::tools {
namespace {

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

/// Opened only to say what the program will run on, and to fail early if there is nothing.
Error tellDevice(const settings::Settings &settings) {
  Expected<const runtime::Hip *> hip = runtime::Hip::open(settings);
  if (!hip)
    return hip.takeError();
  Expected<std::string> arch = (*hip)->archName(0);
  if (!arch)
    return arch.takeError();
  char name[256] = "";
  (*hip)->hipDeviceGetName(name, sizeof(name), 0);
  messages() << "rubia: device 0 is " << *arch << ", " << name << ", through " << (*hip)->path
             << "\n";
  return Error::success();
}

} // namespace

void Program::execute() {
  execve(path.c_str(), pointersTo(words).data(), pointersTo(variables).data());
}

Expected<Program> prepareProgram(const std::vector<std::string> &command,
                                 const settings::Settings &settings) {
  ErrorOr<std::string> path = command.front();
  if (!StringRef(command.front()).contains('/'))
    path = sys::findProgramByName(command.front());
  if (!path || !sys::fs::exists(*path))
    return createStringError("no such program: " + command.front());
  if (!sys::fs::can_execute(*path))
    return createStringError(*path + " is not executable");
  if (Error error = tellDevice(settings))
    return std::move(error);
  std::string libraries = programFolder() + "/../lib/rubia";
  SmallString<256> real;
  if (!sys::fs::real_path(libraries, real))
    libraries = real.str().str();
  if (!sys::fs::exists(libraries + "/libcuda.so.1"))
    return createStringError("no libcuda.so.1 in " + libraries +
                             ": the installation is incomplete");
  return Program{*path, command, environmentOf(settings, libraries)};
}

} // namespace rubia::tools
