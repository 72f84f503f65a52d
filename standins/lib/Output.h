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

/// What --version prints. Compilers read the release and choose a version of PTX by it. It is 12.8,
/// which all current ones know; texts up to PTX 9.0 are taken all the same.
std::string versionText(llvm::StringRef tool, llvm::StringRef what);
std::string helpOf(llvm::StringRef tool, llvm::StringRef inputs, llvm::ArrayRef<Option> options);

/// The words with those of each file of options in the place of its name.
llvm::Expected<std::vector<std::string>> withOptionFiles(std::vector<std::string> words,
                                                         llvm::StringRef shortName);

/// Replaces a file, or writes to a pipe or device.
llvm::Error writeOutput(llvm::StringRef path, llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::standins
