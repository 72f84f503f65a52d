// SPDX-License-Identifier: Apache-2.0
// The members of an archive that may hold CUDA code, by libarchive: tar with any compression, zip
// (wheels), and Debian packages.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <memory>

namespace rubia::tools {

/// Whether the bytes begin like an archive, or like something compressed that may be one.
bool startsLikeArchive(llvm::StringRef bytes);

/// Whether the bytes begin like a file that can hold CUDA code, or `name` ends so.
bool startsLikeCudaCode(llvm::StringRef bytes, llvm::StringRef name);

/// Calls `take` with each member that begins like CUDA code or like an archive; the buffer's
/// identifier is "ARCHIVE(MEMBER)". Members lie in unlinked temporary files, so that they cost
/// address space and not memory. The error, which may come after some members: it is no archive, is
/// damaged or encrypted, or a member is larger than kMaxMemberBytes.
llvm::Error readArchive(
    const llvm::MemoryBuffer &archive,
    const std::function<void(llvm::StringRef name, std::unique_ptr<llvm::MemoryBuffer>)> &take);

/// A zip bomb is larger. A library is not: with the small code model of x86-64, all of it lies
/// within 2 GiB. PTX is bounded by fatbin::kMaxPayloadBytes.
inline constexpr uint64_t kMaxMemberBytes = uint64_t(2) << 30;

} // namespace rubia::tools
