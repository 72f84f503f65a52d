// SPDX-License-Identifier: Apache-2.0
// What the files of `rubia cache` share.
#pragma once

#include "runtime/cache/KernelCache.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace CLI {
class App;
}

namespace rubia::tools {

/// The tiers of the environment, the directory being --dir if it was given.
runtime::KernelCache openCache(const std::string &folder);

/// The key of an option --sign; nothing if the option was not given.
llvm::Expected<std::optional<runtime::SigningKey>> signingKey(const std::string &path);

/// Size and events as Prometheus' text. A file is replaced at once, as who collects it needs; "-"
/// is standard output.
llvm::Error writeCacheMetrics(const runtime::KernelCache &cache, llvm::StringRef path);

/// rubia cache explain.
void addCacheExplain(CLI::App &cache, const std::shared_ptr<std::string> &folder, int &status);

} // namespace rubia::tools
