// SPDX-License-Identifier: Apache-2.0
// What a launch executed, by call stack and as a page; from the JSON that the emulator writes
// (docs/debugging.md).
#pragma once

#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace llvm {
class raw_ostream;
}

namespace rubia::tools {

/// A place in the source, below those that it was inlined into.
struct Flame {
  uint64_t waveInstructions = 0; // with what was inlined
  std::map<std::string, Flame> inlined;
};

/// The kernels of all launches, by name. A function that was not inlined is below its kernel too:
/// who called it is not counted.
std::map<std::string, Flame> flamesOf(const nlohmann::ordered_json &launches);
/// A line for each stack, "kernel;place;place COUNT", as flame graph programs read them.
void writeFolded(llvm::raw_ostream &os, const std::map<std::string, Flame> &kernels);
/// The kernel is on top.
void writeFlames(llvm::raw_ostream &os, const std::string &kernel, const Flame &flame);

/// `file` is what was launched.
void writeLaunchPage(llvm::raw_ostream &os, llvm::StringRef file,
                     const nlohmann::ordered_json &launches);

} // namespace rubia::tools
