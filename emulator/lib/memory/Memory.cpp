// SPDX-License-Identifier: Apache-2.0
// The registry of what kernels may touch: an ordered map of live allocations behind a shared mutex,
// and a generation number that tells the waves' own caches when to forget. Freed memory is kept for
// a while, unused, so that a use after free is recognised; small allocations are separated by red
// zones simply because nothing else is ever placed there.
#include "emulator/lib/memory/MemoryRegistry.h"
#include "emulator/lib/memory/WrittenBytes.h"
#include "settings/Settings.h"
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <sys/mman.h>
#include <unistd.h>

namespace rubia::settings::Id {
extern const Setting emulatorDebug, emulatorTrace;
} // namespace rubia::settings::Id

namespace rubia::emulator {

namespace {
constexpr uint64_t kRedZone = 256;
constexpr uint64_t kPage = 4096; // of Bounds::pages
constexpr uint64_t kQuarantineBytes = uint64_t(64) << 20;
constexpr size_t kQuarantineEntries = 256;
constexpr uint64_t kLargeBytes = uint64_t(1) << 20; // mapped on their own

struct Block {
  Allocation allocation;
  void *raw = nullptr; // what malloc or mmap gave
  uint64_t mapped = 0; // bytes of mmap; 0: malloc
  uint64_t reach = 0;  // bytes from the allocation's start on that kernels may access
};

/// Where memory lies while launches are traced, with room between allocations.
constexpr uint64_t kSteadyBase = uint64_t(0x20) << 40, kSteadyGap = uint64_t(1) << 20;

/// Fresh pages; null: there are none.
void *mapPages(uint64_t bytes, bool steady) {
  static std::atomic<uint64_t> next{kSteadyBase};
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  if (steady) {
    const uint64_t at = next.fetch_add((bytes + 2 * kSteadyGap - 1) / kSteadyGap * kSteadyGap);
    void *pages = ::mmap(reinterpret_cast<void *>(at), bytes, PROT_READ | PROT_WRITE,
                         kFlags | MAP_FIXED_NOREPLACE, -1, 0);
    if (pages != MAP_FAILED)
      return pages;
  }
  void *pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, kFlags, -1, 0);
  return pages == MAP_FAILED ? nullptr : pages;
}

void release(const Block &block) {
  if (block.mapped)
    ::munmap(block.raw, block.mapped);
  else
    std::free(block.raw);
}
} // namespace

struct Memory::State {
  mutable std::shared_mutex mutex;
  std::map<uint64_t, Block> live;
  std::deque<Block> quarantine;
  uint64_t quarantined = 0;
  uint64_t inUse = 0;
  std::atomic<uint64_t> generation{1};
  bool wholePages = false;
  /// Traces of two runs are to be equal, and sessions of a debugger, wherever the system puts
  /// memory.
  const bool isSteady = !hostSettings().text(settings::Id::emulatorTrace).empty() ||
                        !hostSettings().text(settings::Id::emulatorDebug).empty();
  WrittenBytes written;
  std::map<uint64_t, DeviceHeap> heaps; // by their first byte
  std::atomic<bool> hasHeaps = false;   // most programs have none

  /// The live block that starts at or before `address`.
  Block *before(uint64_t address) {
    auto next = live.upper_bound(address);
    return next == live.begin() ? nullptr : &std::prev(next)->second;
  }
  /// The live block that contains `address`.
  Block *containing(uint64_t address) {
    Block *block = before(address);
    return block && address < block->allocation.end() ? block : nullptr;
  }
};

static Bounds soundBounds() {
  llvm::Expected<Bounds> bounds = boundsOf(hostSettings());
  if (bounds)
    return *bounds;
  llvm::consumeError(bounds.takeError());
  return {};
}

Memory::Memory() : Memory(soundBounds()) {}
Memory::Memory(Bounds bounds) : state(std::make_unique<State>()) {
  state->wholePages = bounds.pages;
}

Memory::~Memory() {
  for (auto &[address, block] : state->live)
    if (block.allocation.owned)
      release(block);
  for (Block &block : state->quarantine)
    release(block);
}

llvm::Expected<void *> Memory::allocate(uint64_t size, MemoryKind kind, uint64_t alignment) {
  if (alignment == 0 || (alignment & (alignment - 1)) != 0)
    return llvm::createStringError("alignment %llu is not a power of two",
                                   static_cast<unsigned long long>(alignment));
  auto outOfMemory = [&] {
    return llvm::createStringError(std::make_error_code(std::errc::not_enough_memory),
                                   "cannot allocate %llu bytes",
                                   static_cast<unsigned long long>(size));
  };
  if (size > uint64_t(1) << 46 || alignment > uint64_t(1) << 40)
    return outOfMemory();
  Block block;
  block.reach = size;
  if (state->wholePages) {
    alignment = std::max(alignment, kPage);
    block.reach = (size + kPage - 1) / kPage * kPage;
  }
  const uint64_t total = block.reach + 2 * kRedZone + alignment;
  // Memory of the device has pages of its own, which can be given to other processes.
  if (total >= kLargeBytes || kind == MemoryKind::Device || state->isSteady) {
    const uint64_t page = uint64_t(::sysconf(_SC_PAGESIZE));
    block.mapped = (total + page - 1) / page * page;
    block.raw = mapPages(block.mapped, state->isSteady);
    if (!block.raw)
      return outOfMemory();
  } else {
    // What lies in the rest of a page must not be another program part's.
    block.raw = state->wholePages ? std::calloc(1, total) : std::malloc(total);
    if (!block.raw)
      return outOfMemory();
  }
  const uint64_t start = (uint64_t(block.raw) + kRedZone + alignment - 1) & ~(alignment - 1);
  block.allocation = {.address = start, .size = size, .kind = kind};
  std::unique_lock lock(state->mutex);
  state->live[start] = block;
  state->inUse += size;
  state->generation.fetch_add(1, std::memory_order_release);
  return reinterpret_cast<void *>(start);
}

llvm::Expected<void *> Memory::allocateZeroed(uint64_t size, MemoryKind kind, uint64_t alignment) {
  llvm::Expected<void *> address = allocate(size, kind, alignment);
  // What is that large, or the device's, has fresh pages of its own.
  if (address && size < kLargeBytes && kind != MemoryKind::Device)
    std::memset(*address, 0, size);
  return address;
}

llvm::Error Memory::registerHost(void *address, uint64_t size, MemoryKind kind) {
  const uint64_t start = uint64_t(address);
  if (!address || size == 0 || start + size < start)
    return llvm::createStringError("cannot register %llu bytes at %p",
                                   static_cast<unsigned long long>(size), address);
  std::unique_lock lock(state->mutex);
  auto next = state->live.lower_bound(start);
  const bool overlaps =
      state->containing(start) || (next != state->live.end() && next->first < start + size);
  if (overlaps)
    return llvm::createStringError("memory at %p is registered already", address);
  Block block;
  block.allocation = {.address = start, .size = size, .kind = kind, .owned = false};
  block.reach = size;
  state->live[start] = block;
  state->generation.fetch_add(1, std::memory_order_release);
  return llvm::Error::success();
}

llvm::Error Memory::free(void *address) {
  std::unique_lock lock(state->mutex);
  auto found = state->live.find(uint64_t(address));
  if (found == state->live.end())
    return llvm::createStringError("no allocation starts at %p", address);
  Block block = found->second;
  state->live.erase(found);
  state->generation.fetch_add(1, std::memory_order_release);
  if (!block.allocation.owned)
    return llvm::Error::success();
  state->inUse -= block.allocation.size;
  state->written.forget(block.allocation.address);
  state->heaps.erase(state->heaps.lower_bound(block.allocation.address),
                     state->heaps.lower_bound(block.allocation.end()));
  if (block.mapped) // keep the addresses, not the pages
    ::madvise(block.raw, block.mapped, MADV_DONTNEED);
  state->quarantine.push_back(block);
  state->quarantined += block.mapped ? 0 : block.allocation.size;
  while (state->quarantine.size() > kQuarantineEntries || state->quarantined > kQuarantineBytes) {
    Block &oldest = state->quarantine.front();
    state->quarantined -= oldest.mapped ? 0 : oldest.allocation.size;
    release(oldest);
    state->quarantine.pop_front();
  }
  return llvm::Error::success();
}

std::optional<Allocation> Memory::find(const void *address) const {
  std::shared_lock lock(state->mutex);
  const Block *block = state->containing(uint64_t(address));
  return block ? std::optional(block->allocation) : std::nullopt;
}

std::optional<Allocation> Memory::lookup(uint64_t address) const {
  std::shared_lock lock(state->mutex);
  const Block *block = state->before(address);
  if (!block || address >= block->allocation.address + block->reach)
    return std::nullopt;
  Allocation reachable = block->allocation;
  reachable.size = block->reach;
  return reachable;
}

std::optional<Allocation> Memory::findFreed(uint64_t address) const {
  std::shared_lock lock(state->mutex);
  for (auto block = state->quarantine.rbegin(); block != state->quarantine.rend(); ++block)
    if (address >= block->allocation.address && address < block->allocation.end())
      return block->allocation;
  return std::nullopt;
}

std::optional<Allocation> Memory::nearest(uint64_t address) const {
  std::shared_lock lock(state->mutex);
  auto next = state->live.upper_bound(address);
  const Block *best = next == state->live.end() ? nullptr : &next->second;
  if (next != state->live.begin()) {
    const Block &before = std::prev(next)->second;
    if (!best || address - before.allocation.address <= best->allocation.address - address ||
        (address >= before.allocation.end() &&
         address - before.allocation.end() < best->allocation.address - address))
      best = &before;
  }
  return best ? std::optional(best->allocation) : std::nullopt;
}

void Memory::setCoarseGrained(const void *address, bool coarseGrained) {
  std::unique_lock lock(state->mutex);
  Block *block = state->containing(uint64_t(address));
  if (!block || block->allocation.coarseGrained == coarseGrained)
    return;
  block->allocation.coarseGrained = coarseGrained;
  state->generation.fetch_add(1, std::memory_order_release);
}

void Memory::setDevices(const void *address, DeviceSet devices) {
  std::unique_lock lock(state->mutex);
  Block *block = state->containing(uint64_t(address));
  if (!block || block->allocation.devices == devices)
    return;
  block->allocation.devices = devices;
  state->generation.fetch_add(1, std::memory_order_release);
}

std::vector<Allocation> Memory::allocations() const {
  std::vector<Allocation> all;
  std::shared_lock lock(state->mutex);
  for (const auto &[address, block] : state->live)
    if (block.allocation.owned)
      all.push_back(block.allocation);
  return all;
}

void Memory::followWrites(const void *address) {
  if (std::optional<Allocation> allocation = find(address))
    state->written.follow(allocation->address, allocation->size);
}
void Memory::markWritten(uint64_t address, uint64_t bytes) { state->written.mark(address, bytes); }
void Memory::copyWritten(uint64_t to, uint64_t from, uint64_t bytes) {
  state->written.copy(to, from, bytes);
}
uint64_t Memory::unwritten(uint64_t address, unsigned bytes) const {
  return state->written.unwritten(address, bytes);
}

void Memory::setDeviceHeap(const DeviceHeap &heap) {
  std::unique_lock lock(state->mutex);
  state->heaps[heap.begin] = heap;
  state->hasHeaps = true;
}

std::optional<Memory::DeviceHeap> Memory::deviceHeapAt(uint64_t address) const {
  if (!state->hasHeaps.load(std::memory_order_relaxed))
    return std::nullopt;
  std::shared_lock lock(state->mutex);
  auto next = state->heaps.upper_bound(address);
  if (next == state->heaps.begin())
    return std::nullopt;
  const DeviceHeap &heap = std::prev(next)->second;
  return address < heap.end ? std::optional(heap) : std::nullopt;
}

uint64_t Memory::bytesInUse() const {
  std::shared_lock lock(state->mutex);
  return state->inUse;
}

uint64_t Memory::generation() const { return state->generation.load(std::memory_order_acquire); }

const std::atomic<uint64_t> &generationOf(const Memory &memory) { return memory.state->generation; }

std::vector<MemoryContents> contentsOf(const Memory &memory) {
  std::vector<MemoryContents> all;
  std::shared_lock lock(memory.state->mutex);
  for (const auto &[address, block] : memory.state->live) {
    const auto *first = reinterpret_cast<const uint8_t *>(address);
    all.push_back({address, std::vector<uint8_t>(first, first + block.allocation.size)});
  }
  return all;
}

void restoreContents(llvm::ArrayRef<MemoryContents> contents) {
  for (const MemoryContents &one : contents)
    std::memcpy(reinterpret_cast<void *>(one.address), one.bytes.data(), one.bytes.size());
}

} // namespace rubia::emulator
