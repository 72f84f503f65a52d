// SPDX-License-Identifier: Apache-2.0
// A launch of a capsule as `rubia launch` runs it: code, sizes and parameters in a folder.
#pragma once

#include "tools/diff/ReplayTargets.h"
#include <chrono>

namespace rubia::tools {

struct StandAlone {
  std::string ptx;
  uint32_t grid[3], block[3];
  struct Parameter {
    std::string word;           // "bytes:01000000"; empty: a buffer
    std::vector<uint8_t> bytes; // of a buffer
  };
  std::vector<Parameter> parameters;

  /// An error: `rubia launch` cannot run it. It has textures or attributes, a structure with
  /// pointers, or two parameters point into one allocation.
  static llvm::Expected<StandAlone> of(const capsule::Capsule &capsule,
                                       const capsule::Launch &launch, const ReplayWork &work);
};

class StandAloneRunner {
public:
  /// `launch` is kept by reference. The folder is made.
  static llvm::Expected<StandAloneRunner> open(const std::string &folder,
                                               const capsule::Launch &launch);
  /// kernel.ptx, and the buffers as N.in, by the parameter's number from 1.
  llvm::Error write(const StandAlone &one) const;
  /// Runs what is in `code`, a file of the folder. The exit status; 124: it took too long. Buffers
  /// are in N.`suffix` then.
  llvm::Expected<int> run(const StandAlone &one, llvm::StringRef code, llvm::StringRef suffix,
                          const settings::Settings &settings, bool isReference);
  llvm::Expected<bool> areEqual(const StandAlone &one, llvm::StringRef suffix,
                                llvm::StringRef other) const;
  /// `rubia launch` with all but the parameters.
  std::vector<std::string> wordsOf(const StandAlone &one, llvm::StringRef code) const;
  std::string fileOf(size_t parameter, llvm::StringRef suffix) const;
  const std::string &path() const { return folder; }

  /// From now on a run that needs more processor time takes too long. So a busy machine changes
  /// nothing.
  void limitRuns(std::chrono::seconds most) { limit = most; }
  /// The processor time of the last run, and of all.
  std::chrono::microseconds lastTime() const { return last; }
  std::chrono::microseconds time() const { return sum; }

private:
  StandAloneRunner(const capsule::Launch &launch) : launch(launch) {}

  const capsule::Launch &launch;
  std::string folder, program;
  std::chrono::seconds limit{60};
  std::chrono::microseconds last{0}, sum{0};
};

} // namespace rubia::tools
