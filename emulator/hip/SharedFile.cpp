// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/SharedFile.h"
#include "input/Writing.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace rubia::emulator::hip {
namespace {

constexpr uint64_t kPage = 4096; // that the record lies in
constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;

struct Record {
  char magic[16] = {'r', 'u', 'b', 'i', 'a', ' ', 's', 'h', 'a', 'r', 'e', 'd', ' ', '1'};
  SharedFile::Use use = SharedFile::Use::Memory;
  uint32_t device = 0;
  uint32_t flags = 0;
  uint32_t reserved = 0;
  uint64_t bytes = 0;
};

uint64_t recordPlace(uint64_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

// Of a live process: field 22 of its stat, behind a name that may have blanks and parentheses.
uint64_t startOf(int process) {
  // Files of /proc have no size that could be asked for.
  auto text = llvm::MemoryBuffer::getFileAsStream("/proc/" + llvm::Twine(process) + "/stat");
  if (!text)
    return 0;
  llvm::SmallVector<llvm::StringRef, 64> fields;
  (*text)->getBuffer().rsplit(')').second.split(fields, ' ', -1, false);
  constexpr size_t kState = 0, kStart = 22 - 3;
  uint64_t start = 0;
  const bool isDead = fields.size() <= kStart || fields[kState] == "Z" || fields[kState] == "X" ||
                      fields[kStart].getAsInteger(10, start);
  return isDead ? 0 : start;
}

} // namespace

std::shared_ptr<SharedFile> SharedFile::create(uint64_t bytes, Use use, unsigned device,
                                               uint32_t flags) {
  const int fd =
      input::besideStandardStreams(memfd_create("rubia", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (fd < 0)
    return nullptr;
  std::shared_ptr<SharedFile> file(new SharedFile(fd, bytes, device, flags));
  Record record;
  record.use = use;
  record.device = device;
  record.flags = flags;
  record.bytes = bytes;
  const uint64_t place = recordPlace(bytes);
  const bool made = ftruncate(fd, off_t(place + kPage)) == 0 &&
                    pwrite(fd, &record, sizeof(record), off_t(place)) == sizeof(record) &&
                    fcntl(fd, F_ADD_SEALS, kSeals) == 0;
  return made ? file : nullptr;
}

std::shared_ptr<SharedFile> SharedFile::adopt(int descriptor, Use use) {
  std::shared_ptr<SharedFile> file(new SharedFile(descriptor, 0, 0, 0));
  struct stat status;
  Record record, expected;
  if (fcntl(descriptor, F_GET_SEALS) != kSeals || fstat(descriptor, &status) != 0 ||
      uint64_t(status.st_size) < kPage)
    return nullptr;
  const uint64_t place = uint64_t(status.st_size) - kPage;
  if (pread(descriptor, &record, sizeof(record), off_t(place)) != sizeof(record) ||
      memcmp(record.magic, expected.magic, sizeof(record.magic)) != 0 || record.use != use ||
      record.bytes > place || recordPlace(record.bytes) != place)
    return nullptr;
  file->size = record.bytes;
  file->onDevice = record.device;
  file->given = record.flags;
  return file;
}

SharedFile::~SharedFile() { close(fd); }

int SharedFile::duplicate() const { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }

bool SharedFile::mapAt(void *address, uint64_t length, uint64_t offset) const {
  return mmap(address, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED | MAP_NORESERVE, fd,
              off_t(offset)) != MAP_FAILED;
}

SharedName nameOf(const SharedFile &file) {
  struct stat status;
  if (fstat(file.descriptor(), &status) != 0)
    return {};
  return {getpid(), file.descriptor(), startOf(getpid()), status.st_ino};
}

std::shared_ptr<SharedFile> openNamed(const SharedName &name, SharedFile::Use use) {
  if (name.process <= 0 || name.descriptor < 0 || !isAlive(name))
    return nullptr;
  const std::string path =
      "/proc/" + std::to_string(name.process) + "/fd/" + std::to_string(name.descriptor);
  struct stat status;
  // Not opened before it is known to be a file: opening a device or a pipe may have effects.
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode) || status.st_ino != name.file)
    return nullptr;
  const int fd = input::besideStandardStreams(open(path.c_str(), O_RDWR | O_CLOEXEC));
  if (fd < 0)
    return nullptr;
  if (fstat(fd, &status) != 0 || status.st_ino != name.file) {
    close(fd);
    return nullptr;
  }
  return SharedFile::adopt(fd, use);
}

bool isAlive(const SharedName &name) {
  return name.processStart && startOf(name.process) == name.processStart;
}

} // namespace rubia::emulator::hip
