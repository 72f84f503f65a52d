// The local kernel cache: one self-describing file per entry, named by the digest of its key. Any
// trouble with it costs a compile, never an answer.
#pragma once

#include "runtime/Compiler.h"
#include <optional>

namespace rubia::runtime {

// Where entries live: RUBIA_CACHE_DIR, else CUDA_CACHE_PATH/rubia, else XDG_CACHE_HOME/rubia, else
// ~/.cache/rubia. Nothing if the cache is off (RUBIA_CACHE_DISABLE or CUDA_CACHE_DISABLE is 1) or
// there is no such folder to be had.
std::optional<std::string> cacheDirectory();

class CacheDirectory {
public:
  explicit CacheDirectory(std::string folder) : folder(std::move(folder)) {}

  // The payload stored under `key` (the whole key material, as text). Nothing if there is none, or
  // if any byte of the file is not as it was written; a damaged file is removed.
  std::optional<std::vector<uint8_t>> read(llvm::StringRef key) const;
  // Atomic: other processes see the whole entry or none.
  void write(llvm::StringRef key, llvm::ArrayRef<uint8_t> payload) const;

private:
  std::string pathOf(llvm::StringRef key) const;
  std::string folder;
};

} // namespace rubia::runtime
