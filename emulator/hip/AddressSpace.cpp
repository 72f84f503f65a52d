// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/AddressSpace.h"
#include "emulator/hip/Allocations.h"
#include "emulator/lib/memory/ReadOnlyRanges.h"
#include <fcntl.h>
#include <sys/mman.h>

namespace rubia::emulator::hip {

static Memory &memory() { return Machine::instance().memory; }
static uint64_t numberOf(const void *address) { return reinterpret_cast<uint64_t>(address); }
static void *pointerTo(uint64_t address) { return reinterpret_cast<void *>(address); }

constexpr uint64_t kPage = 4096;

AddressSpace &AddressSpace::instance() {
  static auto *space = new AddressSpace;
  return *space;
}

uint64_t deviceBytesInUse() {
  return memory().bytesInUse() + AddressSpace::instance().bytesInUse();
}

uint64_t AddressSpace::bytesInUseOf(const Device &device) {
  std::lock_guard<std::mutex> lock(mutex);
  uint64_t bytes = 0;
  for (const auto &[key, one] : memories)
    if (one->place == Location::Device && one->file->device() == device.ordinal)
      bytes += one->file->bytes();
  return bytes;
}

bool hasRoomFor(const Device &device, uint64_t bytes) {
  const uint64_t limit = device.model.memoryBytes;
  if (bytes > limit)
    return false;
  // What all devices have in use is quick to know, and mostly enough.
  return deviceBytesInUse() <= limit - bytes || bytesInUseOf(device) <= limit - bytes;
}

uint64_t bytesInUseOf(const Device &device) {
  if (Machine::instance().devices.size() == 1)
    return deviceBytesInUse();
  uint64_t bytes = AddressSpace::instance().bytesInUseOf(device);
  for (const Allocation &allocation : memory().allocations())
    if (placementOf(allocation.address).device == device.ordinal)
      bytes += allocation.size;
  return bytes;
}

// ---------- Reservations

hipError_t AddressSpace::reserve(void **address, uint64_t bytes, uint64_t alignment, void *wanted) {
  alignment = std::max(alignment, kPage);
  uint64_t whole;
  if (!bytes || bytes % kPage || (alignment & (alignment - 1)) || numberOf(wanted) % kPage)
    return hipErrorInvalidValue;
  if (__builtin_add_overflow(bytes, alignment, &whole))
    return hipErrorOutOfMemory;
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  // A hint that cannot be followed, because something lies there, is not.
  const bool followsHint = wanted && numberOf(wanted) % alignment == 0;
  void *found = MAP_FAILED;
  if (followsHint)
    found = mmap(wanted, bytes, PROT_NONE, kFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (found == MAP_FAILED) {
    found = mmap(nullptr, whole, PROT_NONE, kFlags, -1, 0);
    if (found == MAP_FAILED)
      return hipErrorOutOfMemory;
    const uint64_t first = numberOf(found);
    const uint64_t start = (first + alignment - 1) & ~(alignment - 1);
    if (start > first)
      munmap(found, start - first);
    if (first + whole > start + bytes)
      munmap(pointerTo(start + bytes), first + whole - start - bytes);
    found = pointerTo(start);
  }
  std::lock_guard<std::mutex> lock(mutex);
  reservations[numberOf(found)] = bytes;
  *address = found;
  return hipSuccess;
}

hipError_t AddressSpace::freeReservation(void *address, uint64_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  auto found = reservations.find(numberOf(address));
  if (found == reservations.end() || found->second != bytes)
    return hipErrorInvalidValue;
  auto mapped = mappings.lower_bound(found->first);
  if (mapped != mappings.end() && mapped->first < found->first + bytes)
    return hipErrorInvalidValue;
  reservations.erase(found);
  munmap(address, bytes);
  return hipSuccess;
}

bool AddressSpace::isWithinReservation(uint64_t address, uint64_t bytes) const {
  auto after = reservations.upper_bound(address);
  if (after == reservations.begin())
    return false;
  auto [start, size] = *std::prev(after);
  return address - start < size && bytes <= size - (address - start);
}

bool AddressSpace::isReserved(const void *address) {
  std::lock_guard<std::mutex> lock(mutex);
  return isWithinReservation(numberOf(address), 1);
}

// ---------- Memory

// With the mutex, as what follows.
void AddressSpace::add(PhysicalMemory **out, std::unique_ptr<PhysicalMemory> made) {
  if (made->place == Location::Device)
    inUse += made->file->bytes();
  *out = made.get();
  memories[made.get()] = std::move(made);
}

void AddressSpace::drop(PhysicalMemory *memory) {
  if (memory->handles || memory->mappings)
    return;
  if (memory->place == Location::Device)
    inUse -= memory->file->bytes();
  memories.erase(memory);
}

hipError_t AddressSpace::create(PhysicalMemory **out, uint64_t bytes, Location place, int id,
                                bool isExportable) {
  if (!bytes || bytes % kPage)
    return hipErrorInvalidValue;
  const bool isOnDevice = place == Location::Device;
  if (isOnDevice ? !hasRoomFor(deviceAt(id), bytes) : bytes > deviceAt(0).model.memoryBytes)
    return hipErrorOutOfMemory;
  auto made = std::make_unique<PhysicalMemory>();
  made->file = SharedFile::create(bytes, SharedFile::Use::Memory, unsigned(id), uint32_t(place));
  if (!made->file)
    return hipErrorOutOfMemory;
  made->place = place;
  made->isExportable = isExportable;
  std::lock_guard<std::mutex> lock(mutex);
  add(out, std::move(made));
  return hipSuccess;
}

hipError_t AddressSpace::import(PhysicalMemory **out, int descriptor) {
  const int own = fcntl(descriptor, F_DUPFD_CLOEXEC, 0); // the program's stays its own
  if (own < 0)
    return hipErrorInvalidValue;
  auto made = std::make_unique<PhysicalMemory>();
  made->file = SharedFile::adopt(own, SharedFile::Use::Memory);
  if (!made->file)
    return hipErrorInvalidValue;
  made->place = Location(made->file->flags());
  if (made->place == Location::Device && !isDevice(int(made->file->device())))
    return hipErrorNotSupported; // of a process that has other devices
  made->isExportable = true;
  std::lock_guard<std::mutex> lock(mutex);
  add(out, std::move(made));
  return hipSuccess;
}

hipError_t AddressSpace::release(PhysicalMemory *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLive(memory) || !memory->handles)
    return hipErrorInvalidValue;
  --memory->handles;
  drop(memory);
  return hipSuccess;
}

hipError_t AddressSpace::retain(PhysicalMemory **out, const void *address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto mapping = mappingAt(numberOf(address));
  if (mapping == mappings.end())
    return hipErrorInvalidValue;
  *out = mapping->second.memory;
  ++(*out)->handles;
  return hipSuccess;
}

hipError_t AddressSpace::exportTo(int *descriptor, PhysicalMemory *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLive(memory) || !memory->handles || !memory->isExportable)
    return hipErrorInvalidValue;
  const int made = memory->file->duplicate();
  if (made < 0)
    return hipErrorOutOfMemory;
  *descriptor = made;
  return hipSuccess;
}

hipError_t AddressSpace::describe(PhysicalMemory *memory, Location &place, int &id,
                                  bool &isExportable) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!isLive(memory) || !memory->handles)
    return hipErrorInvalidValue;
  place = memory->place;
  id = int(memory->file->device());
  isExportable = memory->isExportable;
  return hipSuccess;
}

// ---------- Mappings

AddressSpace::Mappings::iterator AddressSpace::mappingAt(uint64_t address) {
  auto after = mappings.upper_bound(address);
  if (after == mappings.begin())
    return mappings.end();
  auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : mappings.end();
}

llvm::SmallVector<AddressSpace::Mappings::iterator> AddressSpace::rowOf(uint64_t address,
                                                                        uint64_t bytes) {
  llvm::SmallVector<Mappings::iterator> row;
  uint64_t next = address, rest = bytes;
  for (auto i = mappings.find(address); i != mappings.end() && i->first == next && rest; ++i) {
    if (i->second.bytes > rest)
      return {};
    row.push_back(i);
    next += i->second.bytes;
    rest -= i->second.bytes;
  }
  if (rest || !isWithinReservation(address, bytes))
    return {};
  return row;
}

hipError_t AddressSpace::map(void *address, uint64_t bytes, uint64_t offset,
                             PhysicalMemory *memory) {
  std::lock_guard<std::mutex> lock(mutex);
  const uint64_t start = numberOf(address);
  if (!isLive(memory) || !memory->handles || !bytes || bytes % kPage || offset % kPage ||
      start % kPage || offset > memory->file->bytes() || bytes > memory->file->bytes() - offset ||
      !isWithinReservation(start, bytes))
    return hipErrorInvalidValue;
  auto next = mappings.lower_bound(start);
  if (mappingAt(start) != mappings.end() || (next != mappings.end() && next->first - start < bytes))
    return hipErrorInvalidValue;
  if (!memory->file->mapAt(address, bytes, offset))
    return hipErrorOutOfMemory;
  ++memory->mappings;
  Mapping &mapping = mappings[start];
  mapping.bytes = bytes;
  mapping.memory = memory;
  return hipSuccess;
}

// Who may access a mapping, and how. It is memory of the emulator's while any device may.
hipError_t AddressSpace::apply(Mappings::iterator mapping) {
  auto &[address, what] = *mapping;
  DeviceSet granted = 0, readers = 0;
  for (auto [device, flags] : what.access) {
    granted |= flags == hipMemAccessFlagsProtNone ? 0 : setOf(unsigned(device));
    readers |= flags == hipMemAccessFlagsProtRead ? setOf(unsigned(device)) : 0;
  }
  if (granted == what.granted && readers == what.readers)
    return hipSuccess;
  const bool isOnDevice = what.memory->place == Location::Device;
  void *pointer = pointerTo(address);
  setReadOnly(memory(), address, what.bytes, readers);
  // Ended and registered anew when it changes: waves forget what they knew of it.
  llvm::Error error = llvm::Error::success();
  if (what.granted)
    error = joinErrors(std::move(error), memory().free(pointer));
  if (granted)
    error =
        joinErrors(std::move(error),
                   memory().registerHost(pointer, what.bytes,
                                         isOnDevice ? MemoryKind::Device : MemoryKind::HostPinned));
  if (error) {
    llvm::consumeError(std::move(error));
    return hipErrorInvalidValue;
  }
  what.granted = granted;
  what.readers = readers;
  if (granted)
    remember(pointer, {.device = isOnDevice ? what.memory->file->device() : 0,
                       .isMapped = true,
                       .granted = granted});
  return hipSuccess;
}

static void waitForAll() {
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
}

hipError_t AddressSpace::unmap(void *address, uint64_t bytes) {
  waitForAll();
  std::lock_guard<std::mutex> lock(mutex);
  auto row = rowOf(numberOf(address), bytes);
  if (row.empty())
    return hipErrorInvalidValue;
  for (auto mapping : row) {
    mapping->second.access.clear();
    if (hipError_t error = apply(mapping))
      return error;
    forget(pointerTo(mapping->first));
    void *pages = mmap(pointerTo(mapping->first), mapping->second.bytes, PROT_NONE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0);
    if (pages == MAP_FAILED)
      return hipErrorOutOfMemory;
    --mapping->second.memory->mappings;
    drop(mapping->second.memory);
    mappings.erase(mapping);
  }
  return hipSuccess;
}

hipError_t AddressSpace::setAccess(void *address, uint64_t bytes,
                                   llvm::ArrayRef<hipMemAccessDesc> wanted) {
  waitForAll();
  std::lock_guard<std::mutex> lock(mutex);
  auto row = rowOf(numberOf(address), bytes);
  if (row.empty())
    return hipErrorInvalidValue;
  auto isOfHost = [](const hipMemAccessDesc &one) {
    return Location(one.location.type) != Location::Device;
  };
  if (llvm::any_of(wanted, isOfHost) && llvm::any_of(row, [](auto mapping) {
        return mapping->second.memory->place == Location::Device;
      }))
    return hipErrorInvalidValue; // the host does not reach memory of devices
  for (auto mapping : row) {
    for (const hipMemAccessDesc &one : wanted)
      (isOfHost(one) ? mapping->second.byHost : mapping->second.access[one.location.id]) =
          one.flags;
    if (hipError_t error = apply(mapping))
      return error;
  }
  return hipSuccess;
}

hipError_t AddressSpace::getAccess(unsigned long long &flags, const hipMemLocation &location,
                                   const void *address) {
  std::lock_guard<std::mutex> lock(mutex);
  auto mapping = mappingAt(numberOf(address));
  if (mapping == mappings.end())
    return hipErrorInvalidValue;
  if (Location(location.type) != Location::Device) {
    flags = mapping->second.byHost;
    return hipSuccess;
  }
  auto set = mapping->second.access.find(location.id);
  flags = set == mapping->second.access.end() ? hipMemAccessFlagsProtNone : set->second;
  return hipSuccess;
}

} // namespace rubia::emulator::hip
