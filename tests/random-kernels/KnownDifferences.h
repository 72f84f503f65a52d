// SPDX-License-Identifier: Apache-2.0
// Kernels of which it is known why something gives another result.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace rubia::random_kernels {

/// Rows "seed<TAB>processors<TAB>reason", the first two are expressions. For a processor,
/// "reference" or "unrecorded" may stand; "PROCESSOR flush=nvidia" is that of the option.
class KnownDifferences {
public:
  /// No path: none is known.
  static llvm::Expected<KnownDifferences> read(const std::string &path);
  bool has(uint64_t seed, llvm::StringRef processor) const;

private:
  std::vector<std::pair<std::string, std::string>> rows;
};

} // namespace rubia::random_kernels
