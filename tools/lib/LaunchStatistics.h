// `rubia launch --stats`: what the emulator executed. It writes that to a file
// (RUBIA_EMULATOR_STATS), which is read back here.
#pragma once

#include "llvm/Support/Error.h"
#include "llvm/Support/FileUtilities.h"
#include <memory>
#include <string>

namespace rubia::tools {

class LaunchStatistics {
public:
  /// To be called before the HIP library is opened. The file is removed with the object.
  static llvm::Expected<LaunchStatistics> start();
  /// Prints the launches so far as tables, or as one JSON array.
  llvm::Error print(bool json) const;

private:
  explicit LaunchStatistics(std::string path)
      : file(std::make_unique<llvm::FileRemover>(path)), path(std::move(path)) {}
  std::unique_ptr<llvm::FileRemover> file;
  std::string path;
};

} // namespace rubia::tools
