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
};

/// The program with what is set. Says on stderr which device it will have. An error: no such
/// program, no device, an incomplete installation.
llvm::Expected<Program> prepareProgram(const std::vector<std::string> &command,
                                       const settings::Settings &settings);

} // namespace rubia::tools
