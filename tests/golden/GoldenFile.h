// SPDX-License-Identifier: Apache-2.0
// Recorded cases in a file: texts, types, inputs and outputs, compressed.
#pragma once

#include "Case.h"
#include "llvm/Support/Error.h"

namespace rubia::golden {

struct GoldenCase {
  Case test;
  unsigned inputs = 0;           // index into GoldenFile::inputs
  std::vector<uint64_t> outputs; // [tuple][destination]
};

struct GoldenFile {
  std::string device, date;                  // "NVIDIA H100 80GB HBM3, driver 13000", "2026-11-21"
  std::vector<std::vector<uint64_t>> inputs; // [tuple][source]
  std::vector<GoldenCase> cases;
};

/// zstd of a JSON header, its length before it, and the columns of all inputs and outputs, each of
/// as many bytes as its operand needs.
llvm::Error write(const GoldenFile &file, llvm::StringRef path);
llvm::Expected<GoldenFile> read(llvm::StringRef path);

} // namespace rubia::golden
