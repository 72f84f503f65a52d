// SPDX-License-Identifier: Apache-2.0
// `rubia launch --stats --profile --trace`: what the emulator executed. The emulator writes it to
// files that environment variables name (docs/debugging.md), which are read back and shown here.
#pragma once

#include "settings/Settings.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace CLI {
class App;
}

namespace rubia::tools {

struct ObservationOptions {
  std::string stats;   // empty, "all" or "counts"
  std::string profile; // empty, "lines" or "instructions"
  std::string trace;   // empty, or how many instructions of each wave
  std::string workgroup = "0", wave = "0", thread;
  std::vector<std::string> sources; // folders
  std::string json, html, folded;   // empty, "-" or a file
  void addTo(CLI::App &command);
  bool any() const { return !stats.empty() || !trace.empty() || profiles(); }
  /// Whether more than the counts of --stats=counts is wanted.
  bool profiles() const {
    return stats == "all" || !profile.empty() || !folded.empty() ||
           (!html.empty() && stats.empty());
  }
};

class LaunchObservation {
public:
  /// Sets what the emulator reads, so to be called before the HIP library is opened. The files are
  /// removed with the object.
  static llvm::Expected<LaunchObservation> start(const ObservationOptions &options,
                                                 settings::Settings &settings);
  /// Prints what the launches of kernels of `file` left so far.
  llvm::Error print(const std::string &file) const;
  /// Whether a trace was asked for and none of the launches had what it is to be of.
  llvm::Expected<bool> missedTrace() const;

private:
  struct File {
    std::string path;
    std::unique_ptr<llvm::FileRemover> remover;
  };
  explicit LaunchObservation(const ObservationOptions &options) : options(options) {}
  static llvm::Error makeFile(File &file, settings::Settings &settings, settings::Setting id);
  llvm::Error printJson(const nlohmann::ordered_json &launches) const;
  void printTables(const nlohmann::ordered_json &launches) const;

  ObservationOptions options;
  File launches, trace;
};

/// A launch as tables of text.
void printStatistics(const nlohmann::ordered_json &launch);
void printSourceLines(const nlohmann::ordered_json &launch);
void printInstructions(const nlohmann::ordered_json &launch);

} // namespace rubia::tools
