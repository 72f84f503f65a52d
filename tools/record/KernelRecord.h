// SPDX-License-Identifier: Apache-2.0
// What `rubia run --record-kernels` has written (runtime/device/KernelRecord.h).
#pragma once

#include "runtime/compiler/ModuleImage.h"
#include "settings/Code.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::tools {

/// Kernels that were compiled together, and for what.
struct RecordedKernels {
  std::vector<std::string> names; // at least one
  settings::Code code;            // that the program had
};

struct KernelRecord {
  struct Image {
    runtime::ModuleImage image;
    std::vector<RecordedKernels> kernels; // in the order of the file, which may repeat them
  };
  std::vector<Image> images; // each once
};

/// The error names file and line: it is no record, of another version, or damaged.
llvm::Expected<KernelRecord> readKernelRecord(const std::string &path);

} // namespace rubia::tools
