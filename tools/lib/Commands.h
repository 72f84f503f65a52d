// The commands of `rubia`, one file each. Each adds its options to a CLI11 subcommand and sets what
// runs.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class raw_ostream;
}
namespace CLI {
class App;
}

namespace rubia::tools {

// Exit status of every command: 0 done, 1 the work failed, 2 usage, 3 a part of it failed.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kPartlyFailed = 3;

void addRun(CLI::App &app, int &status);
void addInspect(CLI::App &app, int &status);
void addExtract(CLI::App &app, int &status);
void addCompile(CLI::App &app, int &status);
void addLaunch(CLI::App &app, int &status);
void addPrecompile(CLI::App &app, int &status);
void addDoctor(CLI::App &app, int &status);
void addCache(CLI::App &app, int &status);

// stdout and stderr for people: names and texts from files are written so that a terminal shows
// them and does not obey them (input/Printable.h). Code, PTX and JSON go to outs() as they are.
llvm::raw_ostream &printed();
llvm::raw_ostream &messages();

// "rubia: error: ..." on stderr (a text that already has a place, "file:1:2: error: ...", as it
// is); returns kFailed.
int fail(llvm::StringRef message);
int fail(llvm::Error error);

// Sets an environment variable that the HIP library or the worker reads, if the option was given.
void setEnvironment(const char *name, const std::string &value);

// What all commands that compile can be told about the code. toEnvironment() makes it hold for the
// worker and for runtime::CompileOptions::fromEnvironment().
struct CodeOptions {
  std::string nan;      // --nan any|canonical
  std::string warpForm; // --warp-form auto|half-filled|packed
  std::string contract; // --contract nvidia|never

  void addTo(CLI::App &command);
  void toEnvironment() const;
};

// --sandbox auto|require|off: for commands whose compilations are the worker's.
void addSandboxOption(CLI::App &command);

// The folder of the running program, without a slash at the end.
std::string programFolder();

} // namespace rubia::tools
