// SPDX-License-Identifier: Apache-2.0
#include "tools/Programs.h"
#include "runtime/base/Installation.h"
#include "runtime/device/Hip.h"
#include "targets/Target.h"
#include "tools/Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <csignal>
#include <cstring>
#include <sys/wait.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {
int hipDeviceGetName(char *name, int length, int device);
} // namespace rubia::runtime

namespace rubia::settings::Id {
extern const Setting arch, computeCapability;
} // namespace rubia::settings::Id
namespace rubia::settings::StandInsMode {
extern const Word Off;
} // namespace rubia::settings::StandInsMode

namespace rubia::tools {

// Of shells and of execvp.
static constexpr const char *kDefaultPath =
    "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

namespace {

/// As execve wants them.
std::vector<char *> pointersTo(std::vector<std::string> &texts) {
  std::vector<char *> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string &text : texts)
    pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

void tellDevice(StringRef arch, StringRef name, StringRef library) {
  notices() << "rubia: device 0 is " << arch << ", " << name << ", through " << library << "\n";
}

/// Says what the program will run on, and fails early if there is nothing. The program opens HIP
/// anew, so it is not opened here where the answer is known without.
Error tellDevice(const settings::Settings &settings) {
  if (std::optional<std::string> emulator = runtime::Hip::certainEmulator(settings)) {
    auto devices = targets::emulatedDevices(settings.text(settings::Id::arch));
    if (devices) {
      tellDevice(devices->front()->name, targets::nameOfEmulated(*devices->front()), *emulator);
      return Error::success();
    }
    consumeError(devices.takeError()); // the emulator says it
  }
  Expected<const runtime::Hip *> hip = runtime::Hip::open(settings);
  if (!hip)
    return hip.takeError();
  Expected<std::string> arch = (*hip)->archName(0);
  if (!arch)
    return arch.takeError();
  char name[256] = "";
  (*hip)->call<runtime::hipDeviceGetName>(name, sizeof(name), 0);
  tellDevice(*arch, name, (*hip)->path);
  return Error::success();
}

} // namespace

void Program::execute() {
  execve(path.c_str(), pointersTo(words).data(), pointersTo(variables).data());
}

// Signals from the terminal are the program's: it got them too.
Expected<int> Program::run() {
  const pid_t child = fork();
  if (child == 0) {
    execute();
    const std::string text =
        "rubia: error: cannot start " + path + ": " + std::strerror(errno) + "\n";
    (void)!write(STDERR_FILENO, text.data(), text.size());
    _exit(127);
  }
  if (child < 0)
    return createStringError("cannot start " + path + ": " + std::strerror(errno));
  signal(SIGINT, SIG_IGN);
  signal(SIGQUIT, SIG_IGN);
  int status = 0;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return createStringError("waitpid: " + Twine(std::strerror(errno)));
  signal(SIGINT, SIG_DFL);
  signal(SIGQUIT, SIG_DFL);
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// `byDefault`: what programs take where the variable is not set.
static void putInFront(std::vector<std::string> &variables, StringRef name, std::string folders,
                       StringRef byDefault) {
  const StringRef old = settings::systemVariable(name.str().c_str()).value_or(byDefault);
  if (!old.empty())
    folders += ":" + old.str();
  llvm::erase_if(variables, [&](StringRef variable) { return variable.split('=').first == name; });
  variables.push_back((name + "=" + folders).str());
}

std::vector<std::string> environmentOf(const settings::Settings &settings, std::string libraries) {
  std::vector<std::string> variables = settings.environment();
  putInFront(variables, "PATH", libraries + "/bin", kDefaultPath);
  putInFront(variables, "LD_LIBRARY_PATH", std::move(libraries), "");
  return variables;
}

// `NAME=...`; null: it is not set.
static std::string *variableNamed(std::vector<std::string> &variables, StringRef name) {
  auto found = llvm::find_if(variables,
                             [&](StringRef variable) { return variable.split('=').first == name; });
  return found == variables.end() ? nullptr : &*found;
}

// Puts a path in front of a list of paths, or behind the first `keep` of them.
static void addFolder(std::vector<std::string> &variables, StringRef name, const Twine &folder,
                      size_t keep) {
  std::string *variable = variableNamed(variables, name);
  if (!variable)
    variable = &variables.emplace_back((name + "=").str());
  const auto [begin, old] = StringRef(*variable).split('=');
  SmallVector<StringRef> folders;
  old.split(folders, ':', -1, /*KeepEmpty=*/!old.empty());
  const std::string added = folder.str();
  folders.insert(folders.begin() + std::min(keep, folders.size()), added);
  *variable = (begin + "=" + join(folders, ":")).str();
}

// XLA starts the tools in `bin` of this folder, unless the program's flags name another. Blanks end
// a flag.
static void addFlagOfXla(std::vector<std::string> &variables, const std::string &folder) {
  constexpr StringLiteral kFlag = "--xla_gpu_cuda_data_dir";
  std::string *flags = variableNamed(variables, "XLA_FLAGS");
  if (StringRef(folder).contains(' ') || (flags && StringRef(*flags).contains(kFlag)))
    return;
  if (!flags)
    flags = &variables.emplace_back("XLA_FLAGS=");
  *flags += (StringRef(*flags).ends_with("=") ? "" : " ") + kFlag.str() + "=" + folder;
}

void addStandIns(std::vector<std::string> &variables, const settings::Settings &settings,
                 const std::string &libraries) {
  const std::string folder = libraries + "/standins";
  if (settings.is(settings::StandInsMode::Off) || !sys::fs::exists(folder))
    return;
  addFolder(variables, "LD_LIBRARY_PATH", folder + "/lib", /*keep=*/1); // behind libcuda.so.1
  addFolder(variables, "PATH", folder + "/bin", /*keep=*/0);
  // The loader takes a blank in this list for the end of a path.
  const std::string preload = folder + "/lib/librubia-standins.so";
  if (sys::fs::exists(preload) && !StringRef(preload).contains(' '))
    addFolder(variables, "LD_PRELOAD", preload, /*keep=*/SIZE_MAX);
  // Triton 3.0 to 3.2 know no release after 12.6, which has PTX for capabilities below 10.0.
  const StringRef ptxas =
      settings.number(settings::Id::computeCapability) < 100 ? "ptxas-12.6" : "ptxas";
  for (auto [name, tool] : {std::pair<StringRef, StringRef>{"TRITON_PTXAS_PATH", ptxas},
                            {"TRITON_PTXAS_BLACKWELL_PATH", "ptxas"}})
    if (!variableNamed(variables, name))
      variables.push_back((name + "=" + folder + "/bin/" + tool).str());
  addFlagOfXla(variables, folder);
}

static SmallVector<StringRef> defaultFolders() {
  SmallVector<StringRef> folders;
  StringRef(kDefaultPath).split(folders, ':');
  return folders;
}

Expected<std::string> findProgram(const std::string &name, StringRef folder) {
  ErrorOr<std::string> path = name;
  if (!StringRef(name).contains('/')) {
    path = (folder + "/" + name).str();
    if (folder.empty() || !sys::fs::can_execute(*path))
      path = settings::systemVariable("PATH") ? sys::findProgramByName(name)
                                              : sys::findProgramByName(name, defaultFolders());
  }
  if (!path || !sys::fs::exists(*path)) {
    const bool isHere = !StringRef(name).contains('/') && sys::fs::can_execute(name);
    return createStringError("no such program: " + name +
                             (isHere ? ", did you mean ./" + name + "?" : ""));
  }
  if (!sys::fs::can_execute(*path))
    return createStringError(
        *path + " is not executable" +
        (StringRef(*path).ends_with(".ptx") ? "; `rubia launch` runs the kernels of a file" : ""));
  return *path;
}

std::string supportFolder() {
  std::string folder = runtime::installationFolder();
  if (sys::path::filename(folder) != "bin")
    return folder;
  folder += "/../lib/rubia";
  SmallString<256> real;
  return sys::fs::real_path(folder, real) ? folder : real.str().str();
}

Expected<std::string> libraryFolder() {
  std::string libraries = supportFolder();
  if (!sys::fs::exists(libraries + "/libcuda.so.1"))
    return createStringError("no libcuda.so.1 in " + libraries +
                             ": the installation is incomplete");
  return libraries;
}

Expected<Program> prepareProgram(const std::vector<std::string> &command,
                                 const settings::Settings &settings) {
  Expected<std::string> libraries = libraryFolder();
  if (!libraries)
    return libraries.takeError();
  Expected<std::string> path = findProgram(command.front(), *libraries + "/bin");
  if (!path)
    return path.takeError();
  if (Error error = tellDevice(settings))
    return std::move(error);
  Program program{*path, command, environmentOf(settings, *libraries)};
  addStandIns(program.variables, settings, *libraries);
  return program;
}

} // namespace rubia::tools
