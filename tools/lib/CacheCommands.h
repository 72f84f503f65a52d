// What the files of `rubia cache` share.
#pragma once

#include "runtime/KernelCache.h"
#include "llvm/ADT/StringRef.h"
#include <functional>
#include <string>

namespace CLI {
class App;
}

namespace rubia::tools {

// The tiers of the environment, the directory being --dir if it was given.
runtime::KernelCache openCache(const std::string &folder);

// Every entry of the directory, then of the packs. `place` is the file, or the pack and its row.
using EntryVisitor = std::function<void(const std::string &place, uint64_t bytes, int64_t lastUse,
                                        llvm::Expected<runtime::CacheEntry> entry)>;
void forEachEntry(const runtime::KernelCache &cache, const EntryVisitor &visit);

// rubia cache explain.
void addCacheExplain(CLI::App &cache, std::shared_ptr<std::string> folder, int &status);

} // namespace rubia::tools
