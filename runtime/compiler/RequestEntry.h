// SPDX-License-Identifier: Apache-2.0
// What a request's result is called in a cache and what it looks like there: for the program, which
// keeps entries in its directory, and for the worker, which fetches and stores remote ones.
#pragma once

#include "runtime/compiler/Protocol.h"

namespace rubia::runtime {

/// `compiler`: compilerIdentity().
std::string keyOf(const protocol::Request &request, llvm::StringRef compiler);

/// `payload` is the manifest or the code object; the metadata name its kernels.
CacheEntry resultEntry(protocol::Want want, llvm::StringRef key, std::vector<uint8_t> payload);

} // namespace rubia::runtime
