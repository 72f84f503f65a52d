// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/CompilerIdentity.h"
#include "runtime/compiler/Protocol.h"
#include "runtime/compiler/SpawnSupervisor.h"
#include "llvm/ADT/StringExtras.h"
#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

template <typename T> static bool readAt(int fd, uint64_t offset, T &value) {
  return pread(fd, &value, sizeof(T), offset) == ssize_t(sizeof(T));
}

static std::string buildId(int fd) {
  Elf64_Ehdr header;
  if (!readAt(fd, 0, header))
    return {};
  for (unsigned i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!readAt(fd, header.e_phoff + i * sizeof(segment), segment) || segment.p_type != PT_NOTE)
      continue;
    for (uint64_t at = segment.p_offset, end = at + segment.p_filesz;
         at + sizeof(Elf64_Nhdr) <= end;) {
      Elf64_Nhdr note;
      if (!readAt(fd, at, note))
        break;
      uint64_t description = at + sizeof(note) + (note.n_namesz + 3) / 4 * 4;
      if (note.n_type == NT_GNU_BUILD_ID && note.n_descsz <= 64) {
        std::string bytes(note.n_descsz, 0);
        if (pread(fd, bytes.data(), bytes.size(), off_t(description)) == ssize_t(bytes.size()))
          return toHex(bytes, true);
      }
      at = description + (note.n_descsz + 3) / 4 * 4;
    }
  }
  return {};
}

static Expected<std::string> readIdentity() {
  Expected<std::string> path = workerPath();
  if (!path)
    return path.takeError();
  FileDescriptor file(open(path->c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return createStringError(inconvertibleErrorCode(), "cannot read %s: %s", path->c_str(),
                             strerror(errno));
  const std::string id = buildId(file.get());
  if (id.empty())
    return createStringError(inconvertibleErrorCode(), *path + " has no build identifier");
  return id;
}

Expected<std::string> compilerIdentity() {
  struct Identity {
    std::string id, error;
  };
  static const Identity *identity = [] {
    Expected<std::string> id = readIdentity();
    return id ? new Identity{*id, ""} : new Identity{"", toString(id.takeError())};
  }();
  if (!identity->error.empty())
    return createStringError(inconvertibleErrorCode(), identity->error);
  return identity->id;
}

} // namespace rubia::runtime
