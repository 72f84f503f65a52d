// SPDX-License-Identifier: Apache-2.0
// A read-only cache in one immutable file: an index sorted by key digest, then the entries. The
// header's digest covers the index and the index holds the digest of every entry, so that the one
// digest stands for all bytes, and a signature of it, which may be appended, for who made them. The
// same entries give the same file, whatever made them.
#pragma once

#include "runtime/cache/CacheEntry.h"
#include "runtime/cache/Signature.h"
#include <memory>
#include <optional>

namespace rubia::runtime {

class CachePack {
public:
  struct Row {
    Digest key, entry; // of the key material; of the entry's bytes
    uint64_t offset, size;
  };

  /// Reads and verifies header, index and signature. The error names the file.
  static llvm::Expected<CachePack> open(const std::string &path, const TrustedKeys &trusted = {});

  /// Nothing if the pack has no entry under this key. An error: there is one, and it is not as it
  /// was written.
  llvm::Expected<std::optional<CacheEntry>> find(llvm::StringRef key) const;
  llvm::Expected<CacheEntry> read(const Row &row) const;
  llvm::Expected<std::string> readKey(const Row &row) const; // decodeKey

  llvm::ArrayRef<Row> rows() const { return index; }
  const std::string &path() const { return file; }
  const Digest &digest() const { return packDigest; }
  const std::string &signer() const { return signedBy; } // signerOf

private:
  std::string file, signedBy;
  uint64_t fileBytes = 0;
  Digest packDigest{};
  std::vector<Row> index;
};

/// Writes a pack, atomically (a temporary beside `path`, then renamed). Entries are given in any
/// order, one for each key; those that expire are left out. Signed if there is a key to sign with.
class CachePackWriter {
public:
  void add(const CacheEntry &entry);
  size_t size() const { return entries.size(); }
  llvm::Error write(const std::string &path, const SigningKey *signer = nullptr) const;

private:
  struct Encoded {
    Digest key;
    std::vector<uint8_t> bytes;
  };
  std::vector<Encoded> entries;
  std::string problem; // of the first entry that could not be encoded
};

} // namespace rubia::runtime
