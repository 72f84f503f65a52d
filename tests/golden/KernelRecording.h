// SPDX-License-Identifier: Apache-2.0
// Files of what a device gave for kernels.
#pragma once

#include "llvm/Support/Error.h"
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rubia::golden {

/// What a device gave for one kernel.
struct Recorded {
  uint64_t digest = 0; // of the kernel
  std::vector<std::vector<uint8_t>> outputs;
};

struct Recording {
  std::string device, date;
  std::map<std::string, Recorded> kernels; // by name
};

llvm::Error write(const Recording &recording, llvm::StringRef path);
llvm::Expected<Recording> readRecording(llvm::StringRef path);

} // namespace rubia::golden
