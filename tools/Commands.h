// SPDX-License-Identifier: Apache-2.0
// The commands of `rubia`, one file each. Each adds its options to a CLI11 subcommand and sets what
// runs.
#pragma once

#include "settings/Settings.h"
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

/// Exit status of every command: 0 done, 1 the work failed, 2 usage, 3 a part of it failed.
inline constexpr int kDone = 0, kFailed = 1, kUsage = 2, kPartlyFailed = 3;

void addRun(CLI::App &app, int &status);
void addCheck(CLI::App &app, int &status);
void addDebug(CLI::App &app, int &status);
void addInspect(CLI::App &app, int &status);
void addExtract(CLI::App &app, int &status);
void addCompile(CLI::App &app, int &status);
void addLaunch(CLI::App &app, int &status);
void addPrecompile(CLI::App &app, int &status);
void addDoctor(CLI::App &app, int &status);
void addCache(CLI::App &app, int &status);
void addConfig(CLI::App &app, int &status);
void addHelp(CLI::App &app, int &status);

/// stdout and stderr for people: names and texts from files are written so that a terminal shows
/// them and does not obey them (input/Printable.h). Code, PTX and JSON go to outs() as they are.
llvm::raw_ostream &printed();
llvm::raw_ostream &messages();
/// messages() that --quiet leaves out: what is neither an error nor a warning.
llvm::raw_ostream &notices();

/// "rubia: error: ..." on stderr (a text that already has a place, "file:1:2: error: ...", as it
/// is); returns kFailed.
int fail(llvm::StringRef message);
int fail(llvm::Error error);

/// Options that set what an environment variable sets too: `--nan` and the others that change code
/// (settings/Settings.def), and one that is named here. They put what they are given into
/// `settings`, which must outlive the parsing.
void addCodeOptions(CLI::App &command, settings::Settings &settings);
void addSettingOption(CLI::App &command, settings::Settings &settings, settings::Setting id,
                      const std::string &option);

/// Adds --quiet, which notices() obeys.
void addQuietFlag(CLI::App &command);

/// lib/rubia of the installation that the running program belongs to, without a slash at the end.
/// The program lies there itself, or in bin.
std::string supportFolder();

} // namespace rubia::tools
