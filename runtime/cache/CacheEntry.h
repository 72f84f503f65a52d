// SPDX-License-Identifier: Apache-2.0
// The bytes of one cache entry, the same in a directory and in a pack: a self-describing header,
// the key material, metadata, the payload (zstd). Every byte is covered by a digest, so that
// whatever is not as it was written is found when it is read. Equal entries have equal bytes.
#pragma once

#include "runtime/cache/CacheKey.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"

namespace rubia::runtime {

/// How long an error is kept at most.
inline constexpr uint64_t kMaxLifetimeSeconds = 86400;

struct CacheEntry {
  /// Refused: the payload is the text of an error; it holds until `expires`.
  enum class Kind : uint32_t { Result = 1, Refused = 2 };

  std::string key;      // the whole key material
  std::string metadata; // JSON, for people and tools: what the payload is
  std::vector<uint8_t> payload;
  Kind kind = Kind::Result;
  uint64_t expires =
      0; // seconds since 1970; 0: never. Later than kMaxLifetimeSeconds from now: expired
};

/// Bounds of what is believed in a header.
inline constexpr uint64_t kMaxEntryBytes = uint64_t(1) << 31;
inline constexpr uint64_t kMaxPayloadBytes = uint64_t(256) << 20; // plain

llvm::Expected<std::vector<uint8_t>> encodeEntry(const CacheEntry &entry);

/// What the caller finds wrong with an entry whose bytes have this digest; empty: nothing. It has
/// no payload yet.
using EntryCheck = llvm::function_ref<std::string(const CacheEntry &entry, const Digest &digest)>;

/// The error says what is wrong with the bytes. All digests are those of whoever made the bytes:
/// `check` is asked before anything is decompressed.
llvm::Expected<CacheEntry> decodeEntry(llvm::ArrayRef<uint8_t> bytes, EntryCheck check = nullptr);

/// The key alone, out of the first bytes of an entry: nothing else is verified. An error also if
/// they are too few.
llvm::Expected<std::string> decodeKey(llvm::ArrayRef<uint8_t> beginning);

/// The digest that is in the header and covers all other bytes of an entry; the bytes must have
/// been decoded or just encoded.
Digest digestOfEncoded(llvm::ArrayRef<uint8_t> bytes);

} // namespace rubia::runtime
