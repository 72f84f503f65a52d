// SPDX-License-Identifier: Apache-2.0
// Memory that several mappings and several processes can have: a file of the kernel's without a
// name (memfd), which is gone when the last descriptor and the last mapping are. A record behind
// its bytes says what it is, so that a descriptor of anything else is refused, and seals keep its
// size what it is, so that no other process can take pages away.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace rubia::emulator::hip {

class SharedFile {
public:
  enum class Use : uint32_t { Memory = 1, Allocation = 2, Pool = 3, Event = 4 };
  /// Of zeroes. Null: the kernel has no memory or no descriptors left.
  static std::shared_ptr<SharedFile> create(uint64_t bytes, Use use, unsigned device,
                                            uint32_t flags = 0);
  /// Takes a descriptor over, closing it if it is of something else: then null.
  static std::shared_ptr<SharedFile> adopt(int descriptor, Use use);
  SharedFile(const SharedFile &) = delete;
  SharedFile &operator=(const SharedFile &) = delete;
  ~SharedFile();

  uint64_t bytes() const { return size; } // without the record
  unsigned device() const { return onDevice; }
  uint32_t flags() const { return given; }
  int descriptor() const { return fd; }
  /// Of the caller's own, to be closed by it; -1: there are none left.
  int duplicate() const;
  /// At `address`, whose pages are the caller's to replace. False: the kernel has no memory left.
  bool mapAt(void *address, uint64_t length, uint64_t offset) const;

private:
  SharedFile(int fd, uint64_t bytes, unsigned device, uint32_t flags)
      : fd(fd), size(bytes), onDevice(device), given(flags) {}
  int fd;
  uint64_t size;
  unsigned onDevice;
  uint32_t given;
};

/// How other processes name a file of this process that lives: by the process, when that began, the
/// descriptor and the file, so that neither a dead process nor a number that was used again is
/// taken for it.
struct SharedName {
  int32_t process = 0, descriptor = -1;
  uint64_t processStart = 0, file = 0;
};
SharedName nameOf(const SharedFile &file);
/// Null: the process or the file is gone, or is not the caller's user's.
std::shared_ptr<SharedFile> openNamed(const SharedName &name, SharedFile::Use use);
/// Whether that process still lives.
bool isAlive(const SharedName &name);

} // namespace rubia::emulator::hip
