// SPDX-License-Identifier: Apache-2.0
// What names a cache entry: every field that changes the result, by name, and nothing else (no
// path, user, clock or locale). The text of the key is stored in the entry and compared when it is
// read.
#pragma once

#include "settings/Code.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace rubia::runtime {

using Digest = std::array<uint8_t, 32>; // BLAKE3
Digest digestOf(llvm::ArrayRef<uint8_t> bytes);

/// `image`: of the raw bytes, as the program hands them over; `compiler`: compilerIdentity().
std::string manifestKey(const Digest &image, unsigned computeCapability, llvm::StringRef compiler);
std::string codeObjectKey(const Digest &image, unsigned computeCapability, uint32_t unit,
                          llvm::StringRef arch, const settings::Code &code,
                          llvm::StringRef compiler);

/// The fields of a key's text, in order; what is no field is left out.
std::vector<std::pair<llvm::StringRef, llvm::StringRef>> fieldsOfKey(llvm::StringRef key);
/// Empty if there is no such field.
llvm::StringRef fieldOfKey(llvm::StringRef key, llvm::StringRef name);

} // namespace rubia::runtime
