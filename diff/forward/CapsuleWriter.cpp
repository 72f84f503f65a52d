// SPDX-License-Identifier: Apache-2.0
#include "diff/forward/CapsuleWriter.h"
#include "llvm-c/blake3.h"
#include <cerrno>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace rubia::capsule;

namespace rubia::forward {

Digest digestOf(const void *data, size_t size) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init(&hasher);
  llvm_blake3_hasher_update(&hasher, data, size);
  Digest digest;
  llvm_blake3_hasher_finalize(&hasher, digest.bytes, sizeof(digest.bytes));
  return digest;
}

// Not by the C library, whose fstat only newer ones have under this name.
static bool describe(int file, struct stat &status) {
  return syscall(SYS_fstat, file, &status) == 0;
}

const char *CapsuleWriter::open(const char *path) {
  const int opened = ::open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (opened < 0)
    return strerror(errno);
  // Not under the number of a standard stream that the program was started without: what it prints
  // would go here.
  file = opened > STDERR_FILENO ? opened : fcntl(opened, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  if (file != opened)
    ::close(opened);
  struct stat status;
  if (file < 0 || !describe(file, status))
    return strerror(errno);
  device = status.st_dev;
  inode = status.st_ino;
  FileHeader header{};
  memcpy(header.magic, kMagic, sizeof(kMagic));
  header.version = kFormatVersion;
  header.pageBytes = kPageBytes;
  if (put(&header, sizeof(header)))
    return nullptr;
  const char *problem = strerror(errno);
  close();
  return problem;
}

// False where the program has closed all descriptors that it does not know: the number may be
// another file's.
bool CapsuleWriter::isOurs() const {
  struct stat status;
  return file >= 0 && describe(file, status) && status.st_dev == device && status.st_ino == inode;
}

void CapsuleWriter::close() {
  if (isOurs())
    ::close(file);
  file = -1;
}

bool CapsuleWriter::put(const void *data, size_t size) {
  if (!isOurs()) {
    errno = EBADF;
    return false;
  }
  const auto *from = static_cast<const uint8_t *>(data);
  while (size) {
    const ssize_t done = ::write(file, from, size);
    if (done < 0 && errno == EINTR)
      continue;
    if (done <= 0)
      return false;
    from += done;
    size -= size_t(done);
    written += uint64_t(done);
  }
  return true;
}

// Digests are as good as random: their first bytes are the place.
bool CapsuleWriter::isNew(const Digest &digest, RecordType type) {
  Digest key = digest;
  key.bytes[0] ^= uint8_t(type); // a page and an image of the same bytes are two records
  if (2 * (used + 1) > table.size()) {
    Array<Digest> old(static_cast<Array<Digest> &&>(table)); // the table is empty now
    table.resize(old.size() ? 2 * old.size() : 1024);
    used = 0;
    for (const Digest &entry : old)
      if (!(entry == Digest{}))
        isNew(entry, RecordType(0));
  }
  uint64_t place;
  memcpy(&place, key.bytes, sizeof(place));
  for (;; ++place) {
    Digest &entry = table[place % table.size()];
    if (entry == key)
      return false;
    if (entry == Digest{}) {
      entry = key;
      ++used;
      return true;
    }
  }
}

Digest CapsuleWriter::write(RecordType type, const void *data, size_t size) {
  const Digest digest = digestOf(data, size);
  const bool isShared =
      type == RecordType::Page || type == RecordType::Map || type == RecordType::Image;
  if (file < 0 || (isShared && !isNew(digest, type)))
    return digest;
  RecordHeader header{};
  header.type = uint32_t(type);
  header.codec = uint32_t(Codec::Stored);
  header.storedBytes = header.rawBytes = size;
  memcpy(header.digest, digest.bytes, sizeof(header.digest));
  const Digest check = digestOf(&header, offsetof(RecordHeader, check));
  memcpy(header.check, check.bytes, sizeof(header.check));
  const uint64_t before = written;
  if (put(&header, sizeof(header)) && put(data, size))
    return digest;
  fprintf(stderr, "rubia capture: the recording ends here: %s\n", strerror(errno));
  // What was begun is taken back; a file that cannot be cut has an incomplete last record, which
  // readers pass over.
  if (isOurs() && !ftruncate(file, off_t(before)))
    written = before;
  close();
  return digest;
}

} // namespace rubia::forward
