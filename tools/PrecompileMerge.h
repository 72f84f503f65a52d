// SPDX-License-Identifier: Apache-2.0
// The reports of shards as one.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json_fwd.hpp>
#include <string>

namespace rubia::tools {

/// `files` are reports of `rubia precompile --report FILE.json`. An error: a file is no report,
/// they are for other targets, or a shard is missing.
llvm::Expected<nlohmann::ordered_json> mergeReports(llvm::ArrayRef<std::string> files);

} // namespace rubia::tools
