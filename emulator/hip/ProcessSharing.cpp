// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/ProcessSharing.h"
#include "emulator/hip/Allocations.h"
#include <cstring>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>

namespace rubia::emulator::hip {
namespace {

constexpr uint64_t kMagic = 0x31307265'64616873; // "shader01", of this layout
constexpr uint64_t kPage = 4096;

Memory &memory() { return Machine::instance().memory; }
uint64_t numberOf(const void *pointer) { return reinterpret_cast<uint64_t>(pointer); }
void *pointerTo(uint64_t number) { return reinterpret_cast<void *>(number); }

/// The pages of an allocation of the device, which has them for itself.
struct Pages {
  explicit Pages(const Allocation &allocation)
      : first(allocation.address / kPage * kPage),
        bytes((allocation.end() + kPage - 1) / kPage * kPage - first) {}
  uint64_t first, bytes;
};

// Pages of another process's memory, with one before and one behind that nothing may access.
struct Mapping {
  Mapping(void *reserved, uint64_t bytes) : reserved(reserved), bytes(bytes) {}
  Mapping(const Mapping &) = delete;
  ~Mapping() { munmap(reserved, bytes); }
  bool contains(uint64_t address) const { return address - numberOf(reserved) < bytes; }
  void *reserved;
  uint64_t bytes;
};

struct Opened {
  std::shared_ptr<SharedFile> file;
  SharedName name;
  unsigned device; // that it was opened on
  std::shared_ptr<const Mapping> mapping;
  unsigned users = 1;
};

struct Sharing {
  std::mutex mutex;
  std::map<uint64_t, std::shared_ptr<SharedFile>> given; // by the allocation's address
  std::map<uint64_t, Opened> opened;                     // by the allocation's address here
};
Sharing &sharing() {
  static auto *all = new Sharing;
  return *all;
}

bool isSame(const SharedName &a, const SharedName &b) {
  return a.process == b.process && a.processStart == b.processStart && a.file == b.file;
}

// Moves the pages to a file. With the mutex.
std::shared_ptr<SharedFile> give(const Allocation &allocation, unsigned device) {
  auto &known = sharing().given[allocation.address];
  if (known)
    return known;
  const Pages pages(allocation);
  auto file = SharedFile::create(pages.bytes, SharedFile::Use::Allocation, device);
  if (!file)
    return nullptr;
  std::unique_lock alone(executing());
  for (uint64_t done = 0; done < pages.bytes;) {
    const ssize_t written =
        pwrite(file->descriptor(), pointerTo(pages.first + done), pages.bytes - done, off_t(done));
    if (written <= 0)
      return nullptr;
    done += uint64_t(written);
  }
  if (!file->mapAt(pointerTo(pages.first), pages.bytes, 0))
    return nullptr;
  return known = std::move(file);
}

} // namespace

std::shared_mutex &executing() {
  static auto *mutex = new std::shared_mutex;
  return *mutex;
}

hipError_t nameAllocation(const void *pointer, uint64_t pool, AllocationName &name) {
  auto allocation = memory().find(pointer);
  if (!allocation || allocation->kind != MemoryKind::Device || !allocation->owned)
    return hipErrorInvalidValue;
  const Placement place = placementOf(allocation->address);
  std::lock_guard<std::mutex> lock(sharing().mutex);
  auto file = give(*allocation, place.device);
  if (!file) {
    sharing().given.erase(allocation->address);
    return hipErrorOutOfMemory;
  }
  name = {kMagic,           nameOf(*file), allocation->address - Pages(*allocation).first,
          allocation->size, pool,          place.device};
  return hipSuccess;
}

bool unshare(void *pointer) {
  auto allocation = memory().find(pointer);
  if (!allocation || allocation->address != numberOf(pointer))
    return true;
  std::lock_guard<std::mutex> lock(sharing().mutex);
  const auto given = sharing().given.find(allocation->address);
  if (given == sharing().given.end())
    return true;
  const Pages pages(*allocation);
  if (mmap(pointerTo(pages.first), pages.bytes, PROT_READ | PROT_WRITE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) == MAP_FAILED)
    return false;
  sharing().given.erase(given);
  return true;
}

hipError_t openAllocation(const AllocationName &name, uint64_t pool, unsigned device,
                          void **pointer) {
  if (name.magic != kMagic || name.pool != pool)
    return hipErrorInvalidValue;
  if (name.file.process == getpid())
    return hipErrorInvalidContext; // it has the memory already
  if (!isDevice(int(name.device)))
    return hipErrorNotSupported; // of a process that has other devices
  std::lock_guard<std::mutex> lock(sharing().mutex);
  for (auto &[address, known] : sharing().opened)
    if (isSame(known.name, name.file) && known.device == device) {
      ++known.users;
      *pointer = pointerTo(address);
      return hipSuccess;
    }
  auto file = openNamed(name.file, SharedFile::Use::Allocation);
  if (!file && !isAlive(name.file))
    return hipErrorInvalidHandle;
  if (!file || name.offset > file->bytes() || name.bytes > file->bytes() - name.offset)
    return hipErrorInvalidValue; // the memory is gone
  const uint64_t bytes = file->bytes() + 2 * kPage;
  void *reserved =
      mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED)
    return hipErrorOutOfMemory;
  const uint64_t first = numberOf(reserved) + kPage, start = first + name.offset;
  auto mapping = std::make_shared<const Mapping>(reserved, bytes);
  llvm::Error error = file->mapAt(pointerTo(first), file->bytes(), 0)
                          ? memory().registerHost(pointerTo(start), name.bytes, MemoryKind::Device)
                          : llvm::createStringError("no pages");
  if (error) {
    llvm::consumeError(std::move(error));
    return hipErrorOutOfMemory;
  }
  remember(pointerTo(start), {.device = device, .isMapped = true});
  sharing().opened[start] = {std::move(file), name.file, device, std::move(mapping)};
  *pointer = pointerTo(start);
  return hipSuccess;
}

bool isOpened(const void *pointer) {
  std::lock_guard<std::mutex> lock(sharing().mutex);
  return sharing().opened.contains(numberOf(pointer));
}

hipError_t closeAllocation(void *pointer) {
  if (!isOpened(pointer))
    return hipErrorInvalidValue;
  std::lock_guard<std::mutex> lock(sharing().mutex);
  auto found = sharing().opened.find(numberOf(pointer));
  if (found == sharing().opened.end())
    return hipErrorInvalidValue;
  if (--found->second.users)
    return hipSuccess;
  if (llvm::Error error = memory().free(pointer)) {
    llvm::consumeError(std::move(error));
    return hipErrorInvalidValue;
  }
  forget(pointer);
  sharing().opened.erase(found);
  return hipSuccess;
}

std::shared_ptr<const void> pagesOf(const void *pointer) {
  std::lock_guard<std::mutex> lock(sharing().mutex);
  auto next = sharing().opened.upper_bound(numberOf(pointer));
  if (next == sharing().opened.begin())
    return nullptr;
  const std::shared_ptr<const Mapping> &mapping = std::prev(next)->second.mapping;
  return mapping->contains(numberOf(pointer)) ? mapping : nullptr;
}

// ---------- Events

std::shared_ptr<SharedEvent> SharedEvent::mapped(std::shared_ptr<SharedFile> file) {
  static_assert(std::atomic<uint64_t>::is_always_lock_free);
  if (!file || file->bytes() < sizeof(Page))
    return nullptr;
  void *page = mmap(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED, file->descriptor(), 0);
  if (page == MAP_FAILED)
    return nullptr;
  return std::shared_ptr<SharedEvent>(new SharedEvent(std::move(file), static_cast<Page *>(page)));
}

std::shared_ptr<SharedEvent> SharedEvent::create(unsigned device) {
  return mapped(SharedFile::create(kPage, SharedFile::Use::Event, device));
}
std::shared_ptr<SharedEvent> SharedEvent::open(const SharedName &name) {
  return mapped(openNamed(name, SharedFile::Use::Event));
}
SharedEvent::~SharedEvent() { munmap(page, kPage); }

uint64_t SharedEvent::begin() {
  const SharedName own = nameOf(*file);
  page->process = own.process;
  page->processStart = own.processStart;
  return ++page->begun;
}

void SharedEvent::finish(uint64_t number) {
  uint64_t done = page->done;
  while (done < number && !page->done.compare_exchange_weak(done, number)) {
  }
}

uint64_t SharedEvent::last() const { return page->begun; }
bool SharedEvent::isDone(uint64_t number) const { return page->done >= number; }

bool SharedEvent::wait(uint64_t number) const {
  using namespace std::chrono_literals;
  constexpr auto kLongest = 1ms;
  auto pause = std::chrono::microseconds(20);
  for (unsigned times = 0; !isDone(number); ++times) {
    std::this_thread::sleep_for(pause);
    pause = std::min<std::chrono::microseconds>(2 * pause, kLongest);
    constexpr unsigned kTimesBetweenLooks = 50;
    const SharedName other{page->process, -1, page->processStart, 0};
    if (times % kTimesBetweenLooks == kTimesBetweenLooks - 1 && !isAlive(other))
      return isDone(number);
  }
  return true;
}

} // namespace rubia::emulator::hip
