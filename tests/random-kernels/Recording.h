// SPDX-License-Identifier: Apache-2.0
// What a GPU gave for random kernels, at two levels of its compiler's optimisation.
#pragma once

#include "Kernel.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"

namespace rubia::random_kernels {

/// The results of a kernel, condensed: a digest of each column. Columns are the threads' own
/// memory, the cells, and each word of the threads' results.
using Columns = std::vector<uint32_t>;
Columns columnsOf(const Kernel &kernel, llvm::ArrayRef<uint8_t> results);
/// "own memory", "cells" or "word 3".
std::string columnName(size_t column);

struct Recorded {
  uint32_t digest = 0;            // of digestOf()
  Columns optimised, unoptimised; // empty: it did not run
  bool isEqual() const { return optimised == unoptimised; }
};

struct Recording {
  std::string device, date;
  uint64_t first = 0;            // seed
  std::vector<Recorded> kernels; // of the seeds from there on
};

llvm::Error write(const Recording &recording, llvm::StringRef path);
llvm::Expected<Recording> readRecording(llvm::StringRef path);

} // namespace rubia::random_kernels
