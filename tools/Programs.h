// SPDX-License-Identifier: Apache-2.0
// CUDA programs that a command starts: with our libcuda.so.1 in front of all others.
#pragma once

#include "settings/Settings.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::tools {

struct Program {
  std::string path;
  std::vector<std::string> words;     // of the command line, the program's name first
  std::vector<std::string> variables; // its environment

  /// Replaces this process. Returns only if that fails, with errno.
  void execute();
  /// In a child, and waits for it: its exit status, 128 and the signal's number if one ended it.
  llvm::Expected<int> run();
};

/// The path of a program as a shell finds it, in `folder` first. An error: there is none, or it is
/// not executable.
llvm::Expected<std::string> findProgram(const std::string &name, llvm::StringRef folder = "");
/// The environment with what is set, with `libraries` in front of LD_LIBRARY_PATH and the programs
/// in its folder bin in front of PATH.
std::vector<std::string> environmentOf(const settings::Settings &settings, std::string libraries);
/// Puts the stand-ins for NVIDIA's tools in the way (docs/standins.md), unless they are switched
/// off.
void addStandIns(std::vector<std::string> &variables, const settings::Settings &settings,
                 const std::string &libraries);
/// The folder with our libcuda.so.1. An error: the installation is incomplete.
llvm::Expected<std::string> libraryFolder();

/// The program with what is set. Says on stderr which device it will have. An error: no such
/// program, no device, an incomplete installation.
llvm::Expected<Program> prepareProgram(const std::vector<std::string> &command,
                                       const settings::Settings &settings);

} // namespace rubia::tools
