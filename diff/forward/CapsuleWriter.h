// SPDX-License-Identifier: Apache-2.0
// A capsule being written, record by record, uncompressed (`rubia capsule pack` compresses it).
// What has been written once is not written again.
#pragma once

#include "diff/CapsuleFormat.h"
#include "diff/forward/Containers.h"

namespace rubia::forward {

struct Digest {
  uint8_t bytes[capsule::kDigestBytes];
  bool operator==(const Digest &other) const { return !memcmp(bytes, other.bytes, sizeof(bytes)); }
};
Digest digestOf(const void *data, size_t size);

class CapsuleWriter {
public:
  /// Makes the file, which must not exist, for its owner only. Null, or what went wrong.
  const char *open(const char *path);
  bool isOpen() const { return file >= 0; }
  uint64_t bytes() const { return written; }

  /// The digest of the payload. A failure (a full disk) removes the incomplete record and closes
  /// the file; all later records are dropped, and isOpen() is false.
  Digest write(capsule::RecordType type, const void *data, size_t size);
  void close();

private:
  bool isNew(const Digest &digest, capsule::RecordType type);
  bool isOurs() const;
  bool put(const void *data, size_t size);

  int file = -1;
  dev_t device = 0; // with `inode`: of the file, whatever has its number
  ino_t inode = 0;
  uint64_t written = 0;
  Array<Digest> table; // open addressing; zeros are free
  size_t used = 0;
};

} // namespace rubia::forward
