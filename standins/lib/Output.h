// SPDX-License-Identifier: Apache-2.0
// What the tools have in common beside their work: versions, help, files.
#pragma once

#include "standins/lib/Options.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/raw_ostream.h"

namespace rubia::standins {

/// The exit status of NVIDIA's tools when anything is wrong.
inline constexpr int kFailed = 255;

/// Messages of a tool: texts from outside (names in PTX, paths) as a terminal may show them.
llvm::raw_ostream &messages();

/// The main() of a tool: reads its words, those in files of options too, answers --help and
/// --version, or runs it.
struct Tool {
  llvm::StringLiteral name, inputs, description;
  llvm::ArrayRef<Option> options;
  int (*fail)(const llvm::Twine &message); // prints it, and gives the exit status
  int (*run)(const CommandLine &line);
  bool helpsWithoutWords = false;
};
int runTool(const Tool &tool, int count, char **words);

/// Replaces a file, or writes to a pipe or device.
llvm::Error writeOutput(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::standins
