// SPDX-License-Identifier: Apache-2.0
// A file of a JSON header and bytes, compressed: what recordings are kept in.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <nlohmann/json.hpp>
#include <string>

namespace rubia::golden {

struct PackedFile {
  nlohmann::json header;
  std::string blob;
};

/// zstd of the header's length, the header, and the blob.
llvm::Error write(const PackedFile &file, llvm::StringRef path);
llvm::Expected<PackedFile> readPacked(llvm::StringRef path);

} // namespace rubia::golden
