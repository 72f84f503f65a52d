// SPDX-License-Identifier: Apache-2.0
// The ring lies in pinned host memory, so that it can be read while kernels run and after a fault
// on the device. The device has copied formats and strings into it: nothing else has to be read.
// Kernels can write all of it, at any time: the host keeps its size itself, and copies what it
// looks at.
#include "runtime/device/DeviceServices.h"
#include "lowering/Abi.h"
#include "runtime/base/Log.h"
#include "runtime/device/PrintfText.h"
#include "targets/Target.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/Support/MathExtras.h"
#include <atomic>
#include <cstring>
#include <vector>

using namespace llvm;

namespace rubia::runtime {
int rubiaEmulatorSharedSlots(void *used, void *first, size_t stride, uint32_t count);
int rubiaEmulatorDeviceHeap(void *heap, size_t bytes, const void *blocks);
} // namespace rubia::runtime

namespace rubia::targets::Fact {
extern const GenerationFact maxLdsBytes;
} // namespace rubia::targets::Fact

namespace rubia::runtime {

static Error hipFailure(const Hip &hip, const Twine &what, int error) {
  return createStringError(inconvertibleErrorCode(), what + ": " + hip.hipGetErrorString(error));
}

void DeviceServices::release(const Hip &hip) {
  {
    std::lock_guard<std::mutex> lock(mutex);
    auto given = [&](const char *what, int error) {
      if (error)
        log(LogLevel::Warning, Twine(what) + ": " + hip.hipGetErrorString(error));
    };
    if (ringOnHost)
      given("hipHostFree", hip.call<hipHostFree>(ringOnHost));
    if (heapOnDevice)
      given("hipFree", hip.call<hipFree>(heapOnDevice));
    if (sharedPoolOnDevice)
      given("hipFree", hip.call<hipFree>(sharedPoolOnDevice));
    if (clusterPoolOnDevice)
      given("hipFree", hip.call<hipFree>(clusterPoolOnDevice));
    given("hipStreamDestroy", ownStream.release(hip));
  }
  forget();
}

void DeviceServices::forget() {
  ownStream.forget();
  std::lock_guard<std::mutex> lock(mutex);
  ringOnHost = nullptr;
  ringOnDevice = heapOnDevice = sharedPoolOnDevice = clusterPoolOnDevice = nullptr;
  ringSize = kDefaultRing;
  heapSize = kDefaultHeap;
}

bool DeviceServices::setRingSize(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ringOnHost)
    return false;
  ringSize = bytes;
  return true;
}

bool DeviceServices::setHeapSize(size_t bytes) {
  std::lock_guard<std::mutex> lock(mutex);
  if (heapOnDevice)
    return false;
  heapSize = bytes;
  return true;
}

Expected<void *> DeviceServices::ring(const Hip &hip) {
  std::lock_guard<std::mutex> lock(mutex);
  if (ringOnHost)
    return ringOnDevice;
  const uint64_t capacity =
      PowerOf2Ceil(std::clamp<uint64_t>(ringSize, kLeastRing, uint64_t(1) << 62));
  void *memory = nullptr;
  if (int error = hip.call<hipHostMalloc>(&memory, sizeof(abi::PrintfRing) + capacity, 0))
    return hipFailure(hip, "the ring of printf (" + Twine(capacity) + " bytes)", error);
  if (int error = hip.call<hipHostGetDevicePointer>(&ringOnDevice, memory, 0)) {
    hip.call<hipHostFree>(memory);
    return hipFailure(hip, "hipHostGetDevicePointer", error);
  }
  ownedByRuntime(hip, memory);
  ringOnHost = new (memory) abi::PrintfRing{};
  ringOnHost->capacity = ringCapacity = capacity;
  printed = 0;
  return ringOnDevice;
}

// Sizes are rounded up to classes and pages by less than a factor of two, so that twice the memory
// holds whatever CUDA's heap of this size holds.
Expected<void *> DeviceServices::heap(const Hip &hip) {
  std::lock_guard<std::mutex> lock(mutex);
  if (heapOnDevice)
    return heapOnDevice;
  // For the emulator's checks: more room, as blocks are longer then, and a table behind the pages.
  const bool isChecked =
      hip.has<rubiaEmulatorDeviceHeap>() && hip.call<rubiaEmulatorDeviceHeap>(nullptr, 0, nullptr);
  const uint32_t pages = uint32_t(
      std::min<uint64_t>((isChecked ? 4 : 2) * divideCeil(std::max<uint64_t>(heapSize, kLeastHeap),
                                                          abi::kHeapPageBytes),
                         0xfffffff));
  const uint64_t first =
      alignTo(sizeof(abi::DeviceHeap) + pages * sizeof(abi::HeapPage), abi::kHeapPageBytes);
  const uint64_t bytes = first + uint64_t(pages) * abi::kHeapPageBytes;
  const uint64_t tableBytes =
      isChecked ? uint64_t(pages) * abi::kHeapPageBytes / abi::kHeapSmallest * sizeof(uint32_t) : 0;
  void *memory = nullptr;
  if (int error = hip.call<hipMalloc>(&memory, bytes + tableBytes))
    return hipFailure(hip, "the heap of malloc (" + Twine(bytes) + " bytes)", error);
  ownedByRuntime(hip, memory);
  abi::DeviceHeap header{};
  header.pages = reinterpret_cast<uint64_t>(memory) + first;
  header.pageCount = pages;
  if (isChecked)
    header.blocks = reinterpret_cast<uint64_t>(memory) + bytes;
  int error = ownStream.fill(hip, memory, 0, first);
  if (!error && isChecked)
    error = ownStream.fill(hip, static_cast<char *>(memory) + bytes, 0, tableBytes);
  if (!error)
    error = ownStream.copy(hip, memory, &header, sizeof(header), kHipMemcpyHostToDevice);
  if (error) {
    hip.call<hipFree>(memory);
    return hipFailure(hip, "the heap of malloc", error);
  }
  if (isChecked) {
    char *start = static_cast<char *>(memory);
    hip.call<rubiaEmulatorDeviceHeap>(start + first, bytes - first, start + bytes);
  }
  return heapOnDevice = memory;
}

// The slots that CTAs which run at once can need, on the device that is current. HIP may count an
// RDNA workgroup processor, which has LDS for two compute units, as one multiprocessor.
static Expected<uint32_t> sharedSlots(const Hip &hip) {
  int device = 0;
  if (int error = hip.call<hipGetDevice>(&device))
    return hipFailure(hip, "hipGetDevice", error);
  Expected<std::string> arch = hip.archName(device);
  if (!arch)
    return arch.takeError();
  const targets::Target *target = targets::find(*arch);
  if (!target)
    return createStringError(inconvertibleErrorCode(), targets::messageForUnknown(*arch));
  const uint32_t ldsBytes = targets::Fact::maxLdsBytes(*target) * (target->hasWave32 ? 2 : 1);
  return abi::sharedSlotsFor(ldsBytes) *
         uint32_t(std::max(hip.attribute(HipAttribute::MultiprocessorCount, device), 1));
}

Expected<void *>
DeviceServices::makePool(const Hip &hip, uint32_t count, size_t headerBytes, size_t usedAt,
                         function_ref<void(uint8_t *header, uint64_t firstSlot)> makeHeader) {
  const uint64_t first = alignTo(headerBytes, abi::kSharedSlotAlignment);
  const uint64_t bytes =
      first + uint64_t(count) * abi::kSharedSlotBytes + abi::kSharedSlotAlignment;
  const std::string what = "shared memory in device memory (" + std::to_string(bytes) + " bytes)";
  void *memory = nullptr;
  if (int error = hip.call<hipMalloc>(&memory, bytes))
    return hipFailure(hip, what, error);
  ownedByRuntime(hip, memory);
  const uint64_t firstSlot =
      alignTo(reinterpret_cast<uint64_t>(memory) + first, abi::kSharedSlotAlignment);
  std::vector<uint8_t> header(headerBytes);
  makeHeader(header.data(), firstSlot);
  if (int error =
          ownStream.copy(hip, memory, header.data(), header.size(), kHipMemcpyHostToDevice)) {
    hip.call<hipFree>(memory);
    return hipFailure(hip, what, error);
  }
  if (hip.has<rubiaEmulatorSharedSlots>())
    hip.call<rubiaEmulatorSharedSlots>(static_cast<char *>(memory) + usedAt,
                                       reinterpret_cast<void *>(firstSlot), abi::kSharedSlotBytes,
                                       count);
  return memory;
}

Expected<void *> DeviceServices::sharedPool(const Hip &hip) {
  std::lock_guard<std::mutex> lock(mutex);
  if (sharedPoolOnDevice)
    return sharedPoolOnDevice;
  Expected<uint32_t> slots = sharedSlots(hip);
  if (!slots)
    return slots.takeError();
  const size_t usedAt = sizeof(abi::SharedPool) + abi::sharedPoolWords(*slots) * sizeof(uint32_t);
  Expected<void *> pool = makePool(hip, *slots, abi::sharedPoolHeaderBytes(*slots), usedAt,
                                   [&](uint8_t *header, uint64_t firstSlot) {
                                     abi::makeSharedPoolHeader(header, *slots, firstSlot);
                                   });
  if (pool)
    sharedPoolOnDevice = *pool;
  return pool;
}

Expected<uint64_t> DeviceServices::clustersAtOnce(const Hip &hip, uint64_t ctas,
                                                  uint64_t resident) {
  if (ctas == 1)
    return resident;
  Expected<uint32_t> slots = sharedSlots(hip);
  if (!slots)
    return slots.takeError();
  return std::min(resident / ctas, abi::clusterPoolSlots(*slots) / llvm::bit_ceil(ctas));
}

Expected<void *> DeviceServices::clusterPool(const Hip &hip) {
  std::lock_guard<std::mutex> lock(mutex);
  if (clusterPoolOnDevice)
    return clusterPoolOnDevice;
  Expected<uint32_t> needed = sharedSlots(hip);
  if (!needed)
    return needed.takeError();
  const uint32_t slots = abi::clusterPoolSlots(*needed);
  Expected<void *> pool =
      makePool(hip, slots, abi::clusterPoolHeaderBytes(slots), abi::clusterPoolUsedAt(slots),
               [&](uint8_t *header, uint64_t firstSlot) {
                 abi::makeClusterPoolHeader(header, slots, firstSlot);
               });
  if (pool)
    clusterPoolOnDevice = *pool;
  return pool;
}

namespace {

// The records of a ring from a position on.
class RingReader {
public:
  RingReader(const abi::PrintfRing &ring, uint64_t capacity, uint64_t position)
      : ring(ring), capacity(capacity), data(reinterpret_cast<const uint64_t *>(&ring + 1)),
        position(position), end(__atomic_load_n(&ring.reserved, __ATOMIC_ACQUIRE)) {}

  bool atEnd() const { return position >= end; }
  // The end only grows; kernels can write it nevertheless.
  bool isDamaged() const { return end < position || end > kMaxPosition; }
  bool isOverwritten() const { return end - position > capacity; }

  // Whether a whole record stands at the position.
  bool isWhole() const {
    return __atomic_load_n(&word(position), __ATOMIC_ACQUIRE) == abi::stampOf(position);
  }
  // At most to `limit`.
  void skipToWhole(uint64_t limit) {
    if (isOverwritten())
      position = end - capacity;
    while (position < std::min(end, limit) && !isWhole())
      position += 8;
  }
  // Whether what was read there may be something else's by now. Places are reserved before they
  // are written.
  bool wasOverwritten(uint64_t at) const {
    std::atomic_thread_fence(std::memory_order_acquire);
    return __atomic_load_n(&ring.reserved, __ATOMIC_ACQUIRE) - at > capacity;
  }

  // The record at the position, without its stamp word; empty if it is none that can be.
  std::vector<uint64_t> take() {
    abi::PrintfRecord header;
    uint64_t words[3] = {word(position), word(position + 8), word(position + 16)};
    memcpy(&header, words, sizeof(header));
    std::vector<uint64_t> record;
    if (header.bytes >= sizeof(header) && header.bytes % 8 == 0 && header.bytes <= end - position)
      for (uint64_t at = 0; at < header.bytes; at += 8)
        record.push_back(word(position + at));
    position += record.empty() ? 8 : header.bytes;
    return record;
  }

  static constexpr uint64_t kMaxPosition = UINT64_MAX / 2; // nobody prints so much

  const abi::PrintfRing &ring;
  const uint64_t capacity;
  const uint64_t *data;
  uint64_t position, end;

private:
  const uint64_t &word(uint64_t at) const { return data[(at & (capacity - 1)) / 8]; }
};

} // namespace

uint64_t DeviceServices::reserved() {
  std::lock_guard<std::mutex> lock(mutex);
  return ringOnHost ? __atomic_load_n(&ringOnHost->reserved, __ATOMIC_ACQUIRE) : 0;
}

void DeviceServices::print(uint64_t ended, FILE *out, FILE *err) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!ringOnHost)
    return;
  RingReader reader(*ringOnHost, ringCapacity, printed);
  if (reader.isDamaged()) {
    log(LogLevel::Error, "printf: a kernel has damaged the ring, whose text is lost");
    __atomic_store_n(&ringOnHost->reserved, printed = 0, __ATOMIC_RELEASE);
    memset(ringOnHost + 1, 0, ringCapacity);
    return;
  }
  if (reader.isOverwritten()) {
    log(LogLevel::Warning,
        "printf: the oldest text was overwritten; see CU_LIMIT_PRINTF_FIFO_SIZE");
    reader.skipToWhole(kEverything);
  }
  while (!reader.atEnd()) {
    if (!reader.isWhole()) {
      if (reader.position >= ended)
        break; // still being written: it is printed the next time
      reader.skipToWhole(ended);
      continue;
    }
    const uint64_t start = reader.position;
    std::vector<uint64_t> record = reader.take();
    if (reader.wasOverwritten(start)) { // while we read it: the next call says so and goes on
      reader.position = start;
      break;
    }
    auto bytes = ArrayRef(reinterpret_cast<const uint8_t *>(record.data()), record.size() * 8);
    bool isAssertion = false;
    std::string text = textOfRecord(bytes, isAssertion);
    fwrite(text.data(), 1, text.size(), isAssertion ? err : out);
  }
  printed = reader.position;
}

} // namespace rubia::runtime
