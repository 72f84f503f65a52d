// SPDX-License-Identifier: Apache-2.0
// Virtual memory management: ranges of addresses, and memory that is mapped into them. CUDA Driver
// API: "Virtual Memory Management".
//
// HIP has the same functions, one mapping at a time; CUDA's take rows of mappings. So the runtime
// keeps its own record of what is reserved and mapped, and asks HIP for each mapping. None of it
// belongs to a context.
#include "runtime/cuda/Memory.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <unistd.h>

namespace rubia::runtime {
int hipMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *wanted,
                         unsigned long long flags);
int hipMemAddressFree(void *pointer, size_t bytes);
int hipMemCreate(void **handle, size_t bytes, const void *properties, unsigned long long flags);
int hipMemRelease(void *handle);
int hipMemMap(void *pointer, size_t bytes, size_t offset, void *handle, unsigned long long flags);
int hipMemUnmap(void *pointer, size_t bytes);
int hipMemSetAccess(void *pointer, size_t bytes, const void *list, size_t count);
int hipMemGetAllocationPropertiesFromHandle(void *properties, void *handle);
int hipMemExportToShareableHandle(void *out, void *handle, int type, unsigned long long flags);
int hipMemImportFromShareableHandle(void **handle, void *given, int type);
} // namespace rubia::runtime

namespace rubia::runtime::cuda {
namespace {

constexpr size_t kGranularity = 2 << 20; // NVIDIA's, of device memory
constexpr int kPinned = 1;               // CUmemAllocationType
constexpr int kNoAccess = 0, kReadAccess = 1, kFullAccess = 3;
enum Location { kDeviceLocation = 1, kHostLocation, kNumaLocation, kCurrentNumaLocation };
enum HandleType { kFileDescriptor = 1, kWindowsHandle = 2, kWindowsGlobalHandle = 4, kFabric = 8 };

/// Memory behind a handle; the handle is its address.
struct PhysicalMemory {
  void *hip;
  size_t bytes;
  MemoryLocation location;
  int handleTypes;
  unsigned handles = 1, mappings = 0; // it lives as long as there are either
};

struct Mapping {
  size_t bytes = 0;
  PhysicalMemory *memory = nullptr;
  uint64_t allocation = 0;   // its id
  std::map<int, int> access; // by device
  int byHost = kNoAccess;
};

using Mappings = std::map<uintptr_t, Mapping>;

struct Tables {
  std::mutex mutex;
  std::map<uintptr_t, size_t> reservations; // bytes by address
  Mappings mappings;
  std::map<uint64_t, std::unique_ptr<PhysicalMemory>> memories; // by handle
};
Tables &tables() {
  static auto *all = new Tables;
  return *all;
}

uintptr_t numberOf(const void *pointer) { return reinterpret_cast<uintptr_t>(pointer); }
void *pointerTo(uintptr_t number) { return reinterpret_cast<void *>(number); }
size_t hostPage() {
  static const auto size = size_t(sysconf(_SC_PAGESIZE));
  return size;
}

/// The frame of all of these: they need no context, and HIP's functions.
template <class Body> Result callVirtual(const TracedCall &entry, Body body) {
  return call(entry, [&]() -> Result {
    const Hip &library = hip();
    if (!library.has<hipMemAddressReserve>() || !library.has<hipMemCreate>() ||
        !library.has<hipMemMap>() || !library.has<hipMemUnmap>() ||
        !library.has<hipMemSetAccess>() || !library.has<hipMemRelease>() ||
        !library.has<hipMemAddressFree>())
      return fail(kNotSupported, "virtual memory management: HIP is too old for it");
    std::lock_guard<std::mutex> lock(tables().mutex);
    return body();
  });
}

// ---------- Properties

// CUmemAllocationProp as HIP's hipMemAllocationProp, whose fields HIP 5.3 put in CUDA's order.
struct OldHipProperties {
  unsigned char compression;
  MemoryLocation location;
  int handleTypes, type;
  unsigned short usage;
  void *windows;
};
union HipProperties {
  AllocationProperties current;
  OldHipProperties old;
};

constexpr int kCurrentOrder = 50300000; // HIP 5.3

// As HIP counts its devices.
MemoryLocation forHip(const MemoryLocation &location) {
  return {location.type,
          location.type == kDeviceLocation ? deviceAt(location.id)->hipDevice : location.id};
}

HipProperties forHip(const AllocationProperties &wanted) {
  HipProperties properties = {};
  const MemoryLocation location = forHip(wanted.location);
  const int handleTypes = wanted.handleTypes & kFileDescriptor;
  if (hip().version >= kCurrentOrder)
    properties.current = {kPinned, handleTypes, location, nullptr, 0, 0, 0, {}};
  else
    properties.old = {0, location, handleTypes, kPinned, 0, nullptr};
  return properties;
}

// Of what HIP imported. Null: of a device that is not used here.
std::optional<MemoryLocation> placeOf(const HipProperties &properties) {
  const MemoryLocation location =
      hip().version >= kCurrentOrder ? properties.current.location : properties.old.location;
  if (location.type != kDeviceLocation)
    return location;
  for (const auto &device : theDriver.load()->devices)
    if (device->hipDevice == location.id)
      return MemoryLocation{kDeviceLocation, device->ordinal};
  return std::nullopt;
}

bool isHostNode(int id) {
  const std::string folder = "/sys/devices/system/node/node" + std::to_string(id);
  return id == 0 || (id > 0 && access(folder.c_str(), F_OK) == 0);
}

Result check(const MemoryLocation &location) {
  switch (location.type) {
  case kDeviceLocation:
    return deviceAt(location.id) ? kSuccess : kInvalidDevice;
  case kHostLocation:
    return kSuccess;
  case kNumaLocation:
    return isHostNode(location.id) ? kSuccess : kInvalidValue;
  default:
    return kInvalidValue;
  }
}

Result check(const AllocationProperties *properties) {
  if (!properties || properties->type != kPinned || properties->windows)
    return kInvalidValue;
  if (Result result = check(properties->location))
    return result;
  constexpr int kRefused = kWindowsHandle | kWindowsGlobalHandle; // what only Windows has
  if (properties->handleTypes < 0 || (properties->handleTypes & kRefused) ||
      (properties->handleTypes && properties->location.type == kHostLocation) ||
      properties->compression)
    return kInvalidValue;
  if (properties->handleTypes & kFabric)
    return fail(kNotSupported, "virtual memory management: handles of a fabric");
  if (properties->directRdma)
    return fail(kNotSupported, "virtual memory management: memory that other hardware reaches");
  return kSuccess;
}

PhysicalMemory *find(uint64_t handle) {
  auto found = tables().memories.find(handle);
  return found == tables().memories.end() || !found->second->handles ? nullptr
                                                                     : found->second.get();
}

uint64_t add(std::unique_ptr<PhysicalMemory> memory) {
  const auto handle = uint64_t(numberOf(memory.get()));
  tables().memories[handle] = std::move(memory);
  return handle;
}

/// Gives HIP's handle back with the last of ours: mappings keep the memory.
Result drop(PhysicalMemory *memory) {
  if (memory->handles || memory->mappings)
    return kSuccess;
  const int error = hip().call<hipMemRelease>(memory->hip);
  tables().memories.erase(numberOf(memory));
  return fromHip(error);
}

// ---------- Ranges

const std::pair<const uintptr_t, size_t> *reservationAt(uintptr_t address) {
  auto &reservations = tables().reservations;
  auto after = reservations.upper_bound(address);
  if (after == reservations.begin())
    return nullptr;
  const auto &found = *std::prev(after);
  return address - found.first < found.second ? &found : nullptr;
}

bool isWithinReservation(uintptr_t address, size_t bytes) {
  const auto *found = reservationAt(address);
  return found && bytes <= found->second - (address - found->first);
}

Mappings::iterator mappingAt(uintptr_t address) {
  Mappings &mappings = tables().mappings;
  auto after = mappings.upper_bound(address);
  if (after == mappings.begin())
    return mappings.end();
  auto found = std::prev(after);
  return address - found->first < found->second.bytes ? found : mappings.end();
}

using Row = llvm::SmallVector<Mappings::iterator, 8>;

/// The mappings that are exactly [address, address + bytes), in one reservation. Empty: they are
/// not.
Row rowOf(const void *pointer, size_t bytes) {
  uintptr_t next = numberOf(pointer);
  if (!bytes || !isWithinReservation(next, bytes))
    return {};
  Mappings &mappings = tables().mappings;
  Row row;
  size_t rest = bytes;
  for (auto i = mappings.find(next); rest; ++i) {
    if (i == mappings.end() || i->first != next || i->second.bytes > rest)
      return {};
    row.push_back(i);
    next += i->second.bytes;
    rest -= i->second.bytes;
  }
  return row;
}

/// All mappings in [address, address + bytes), which begins in a reservation; there may be none.
/// False: it has a part of one.
bool mappingsIn(const void *pointer, size_t bytes, Row &row) {
  const uintptr_t start = numberOf(pointer);
  if (!bytes || bytes % kGranularity || !reservationAt(start))
    return false;
  Mappings &mappings = tables().mappings;
  auto first = mappings.lower_bound(start);
  if (auto around = mappingAt(start); around != mappings.end() && around->first != start)
    return false;
  for (auto i = first; i != mappings.end() && i->first - start < bytes; ++i) {
    if (i->second.bytes > bytes - (i->first - start))
      return false;
    row.push_back(i);
  }
  return true;
}

// Which node of the host does not matter.
Result checkAccess(const MemoryAccess &access) {
  if (access.flags != kNoAccess && access.flags != kReadAccess && access.flags != kFullAccess)
    return kInvalidValue;
  return access.location.type == kNumaLocation ? kSuccess : check(access.location);
}

int &accessOf(Mapping &mapping, const MemoryLocation &location) {
  return location.type == kDeviceLocation ? mapping.access[location.id] : mapping.byHost;
}

} // namespace

std::optional<Range> reservationOf(const void *pointer) {
  std::lock_guard<std::mutex> lock(tables().mutex);
  const auto *found = reservationAt(numberOf(pointer));
  return found ? std::optional(Range{static_cast<char *>(pointerTo(found->first)), found->second})
               : std::nullopt;
}

int mappedAccess(const void *pointer, int ordinal) {
  std::lock_guard<std::mutex> lock(tables().mutex);
  auto mapping = mappingAt(numberOf(pointer));
  if (mapping == tables().mappings.end())
    return kNoAccess;
  auto set = mapping->second.access.find(ordinal);
  return set == mapping->second.access.end() ? kNoAccess : set->second;
}

int mappedHandleTypes(const void *pointer) {
  std::lock_guard<std::mutex> lock(tables().mutex);
  auto mapping = mappingAt(numberOf(pointer));
  return mapping == tables().mappings.end() ? 0 : mapping->second.memory->handleTypes;
}

} // namespace rubia::runtime::cuda

using namespace rubia::runtime;
using namespace rubia::runtime::cuda;

extern "C" {

Result cuMemGetAllocationGranularity(size_t *granularity, const AllocationProperties *properties,
                                     int option) {
  return callVirtual(RUBIA_CALL(granularity, properties, option), [&]() -> Result {
    constexpr int kMinimum = 0, kRecommended = 1;
    // The same for all; what memory there is only cuMemCreate tells.
    if (!granularity || !properties || (option != kMinimum && option != kRecommended))
      return kInvalidValue;
    *granularity = kGranularity;
    return kSuccess;
  });
}

Result cuMemAddressReserve(void **pointer, size_t bytes, size_t alignment, void *wanted,
                           unsigned long long flags) {
  return callVirtual(RUBIA_CALL(pointer, bytes, alignment, wanted, flags), [&]() -> Result {
    if (!pointer || !bytes || bytes % kGranularity || (alignment & (alignment - 1)) ||
        numberOf(wanted) % hostPage() || flags)
      return kInvalidValue;
    void *reserved = nullptr;
    if (int error = hip().call<hipMemAddressReserve>(&reserved, bytes,
                                                     std::max(alignment, kGranularity), wanted, 0))
      return error == kHipErrorInvalidValue ? kOutOfMemory : fromHip(error);
    tables().reservations[numberOf(reserved)] = bytes;
    *pointer = reserved;
    return kSuccess;
  });
}

Result cuMemAddressFree(void *pointer, size_t bytes) {
  if (isExiting())
    return kSuccess;
  return callVirtual(RUBIA_CALL(pointer, bytes), [&]() -> Result {
    auto found = tables().reservations.find(numberOf(pointer));
    if (found == tables().reservations.end() || found->second != bytes)
      return kInvalidValue;
    auto mapped = tables().mappings.lower_bound(found->first);
    if (mapped != tables().mappings.end() && mapped->first - found->first < bytes)
      return fail(kInvalidValue, "cuMemAddressFree: memory is still mapped there");
    tables().reservations.erase(found);
    return fromHip(hip().call<hipMemAddressFree>(pointer, bytes));
  });
}

Result cuMemCreate(uint64_t *handle, size_t bytes, const AllocationProperties *properties,
                   unsigned long long flags) {
  return callVirtual(RUBIA_CALL(handle, bytes, properties, flags), [&]() -> Result {
    if (!handle || !bytes || bytes % kGranularity || flags)
      return kInvalidValue;
    if (Result result = check(properties))
      return result;
    HipProperties wanted = forHip(*properties);
    void *made = nullptr;
    if (int error = hip().call<hipMemCreate>(&made, bytes, &wanted, 0))
      return fromHip(error);
    if (properties->location.type != kDeviceLocation)
      DeviceServices::shareHostMemory();
    *handle = add(std::make_unique<PhysicalMemory>(
        PhysicalMemory{made, bytes, properties->location, properties->handleTypes}));
    return kSuccess;
  });
}

Result cuMemRelease(uint64_t handle) {
  if (isExiting())
    return kSuccess;
  return callVirtual(RUBIA_CALL(handle), [&]() -> Result {
    PhysicalMemory *memory = find(handle);
    if (!memory)
      return kInvalidValue;
    --memory->handles;
    return drop(memory);
  });
}

Result cuMemRetainAllocationHandle(uint64_t *handle, void *pointer) {
  return callVirtual(RUBIA_CALL(handle, pointer), [&]() -> Result {
    auto mapping = mappingAt(numberOf(pointer));
    if (!handle || mapping == tables().mappings.end())
      return kInvalidValue;
    ++mapping->second.memory->handles;
    *handle = numberOf(mapping->second.memory);
    return kSuccess;
  });
}

Result cuMemGetAllocationPropertiesFromHandle(AllocationProperties *properties, uint64_t handle) {
  return callVirtual(RUBIA_CALL(properties, handle), [&]() -> Result {
    PhysicalMemory *memory = find(handle);
    if (!properties || !memory)
      return kInvalidValue;
    *properties = {kPinned, memory->handleTypes, memory->location, nullptr, 0, 0, 0, {}};
    return kSuccess;
  });
}

Result cuMemMap(void *pointer, size_t bytes, size_t offset, uint64_t handle,
                unsigned long long flags) {
  return callVirtual(RUBIA_CALL(pointer, bytes, offset, handle, flags), [&]() -> Result {
    PhysicalMemory *memory = find(handle);
    const uintptr_t start = numberOf(pointer);
    if (!memory || !bytes || !start || flags)
      return kInvalidValue;
    if (offset || bytes != memory->bytes || start % kGranularity)
      return fail(kNotSupported, "cuMemMap: other than all of a handle's memory");
    if (!isWithinReservation(start, bytes))
      return kInvalidValue;
    auto next = tables().mappings.lower_bound(start);
    if (mappingAt(start) != tables().mappings.end() ||
        (next != tables().mappings.end() && next->first - start < bytes))
      return fail(kInvalidValue, "cuMemMap: memory is mapped there already");
    if (int error = hip().call<hipMemMap>(pointer, bytes, 0, memory->hip, 0))
      return fromHip(error);
    ++memory->mappings;
    Allocation allocation;
    allocation.base = allocation.device = static_cast<char *>(pointer);
    allocation.size = bytes;
    allocation.kind = AllocationKind::Mapped;
    allocation.isOnHost = memory->location.type != kDeviceLocation;
    allocation.ordinal = allocation.isOnHost ? 0 : memory->location.id;
    tables().mappings[start] = {bytes, memory, addAllocation(allocation), {}};
    return kSuccess;
  });
}

Result cuMemUnmap(void *pointer, size_t bytes) {
  if (isExiting())
    return kSuccess;
  return callVirtual(RUBIA_CALL(pointer, bytes), [&]() -> Result {
    Row row;
    if (!mappingsIn(pointer, bytes, row))
      return kInvalidValue;
    for (auto mapping : row) {
      auto [start, what] = *mapping;
      if (int error = hip().call<hipMemUnmap>(pointerTo(start), what.bytes))
        return fromHip(error);
      removeAllocation(pointerTo(start), what.allocation);
      tables().mappings.erase(mapping);
      --what.memory->mappings;
      if (Result result = drop(what.memory))
        return result;
    }
    return kSuccess;
  });
}

Result cuMemSetAccess(void *pointer, size_t bytes, const MemoryAccess *list, size_t count) {
  return callVirtual(RUBIA_CALL(pointer, bytes, list, count), [&]() -> Result {
    if (!list || !count)
      return kInvalidValue;
    llvm::SmallVector<MemoryAccess> wanted; // one by one: the count may be any number
    for (const MemoryAccess &access : llvm::ArrayRef(list, count)) {
      if (Result result = checkAccess(access))
        return result == kInvalidDevice ? kInvalidValue : result;
      wanted.push_back({forHip(access.location), access.flags});
    }
    Row row = rowOf(pointer, bytes);
    if (row.empty())
      return kInvalidValue;
    const bool byHost = llvm::any_of(
        wanted, [](const MemoryAccess &one) { return one.location.type != kDeviceLocation; });
    for (auto mapping : row)
      if (byHost && mapping->second.memory->location.type == kDeviceLocation)
        return fail(kNotSupported, "cuMemSetAccess: the host does not reach memory of devices");
    for (auto mapping : row) {
      if (int error = hip().call<hipMemSetAccess>(pointerTo(mapping->first), mapping->second.bytes,
                                                  wanted.data(), count))
        return fromHip(error);
      for (const MemoryAccess &access : llvm::ArrayRef(list, count))
        accessOf(mapping->second, access.location) = access.flags;
    }
    return kSuccess;
  });
}

Result cuMemGetAccess(unsigned long long *flags, const MemoryLocation *location, void *pointer) {
  return callVirtual(RUBIA_CALL(flags, location, pointer), [&]() -> Result {
    if (!flags || !location)
      return kInvalidValue;
    if (checkAccess({*location, kNoAccess}))
      return kInvalidDevice;
    auto mapping = mappingAt(numberOf(pointer));
    if (mapping == tables().mappings.end()) {
      if (findAllocation(pointer)) { // nobody has set any
        *flags = kNoAccess;
        return kSuccess;
      }
      if (reservationAt(numberOf(pointer)))
        *flags = kNoAccess;
      return kInvalidValue;
    }
    *flags = unsigned(accessOf(mapping->second, *location));
    return kSuccess;
  });
}

Result cuMemExportToShareableHandle(void *out, uint64_t handle, int type,
                                    unsigned long long flags) {
  return callVirtual(RUBIA_CALL(out, handle, type, flags), [&]() -> Result {
    PhysicalMemory *memory = find(handle);
    if (!out || !memory || flags)
      return kInvalidValue;
    // Only what was asked for when it was made.
    if (type != kFileDescriptor || !(memory->handleTypes & type))
      return kInvalidValue;
    if (!hip().has<hipMemExportToShareableHandle>())
      return fail(kNotSupported, "cuMemExportToShareableHandle: HIP is too old for it");
    return fromHip(hip().call<hipMemExportToShareableHandle>(out, memory->hip, type, 0));
  });
}

Result cuMemImportFromShareableHandle(uint64_t *handle, void *given, int type) {
  return callVirtual(RUBIA_CALL(handle, given, type), [&]() -> Result {
    constexpr int kByNumber = 70100000; // HIP 7.1; a pointer to it before
    int descriptor = int(numberOf(given));
    if (!handle)
      return kInvalidValue;
    if (type == kWindowsHandle || type == kWindowsGlobalHandle || type == kFabric)
      return fail(kNotSupported, "cuMemImportFromShareableHandle: handles but file descriptors");
    if (type != kFileDescriptor)
      return kInvalidValue;
    const off_t bytes = lseek(descriptor, 0, SEEK_END);
    if (bytes < off_t(kGranularity))
      return fail(kUnknown, "cuMemImportFromShareableHandle: not a descriptor of memory");
    if (!hip().has<hipMemImportFromShareableHandle>() ||
        !hip().has<hipMemGetAllocationPropertiesFromHandle>())
      return fail(kNotSupported, "cuMemImportFromShareableHandle: HIP is too old for it");
    void *made = nullptr;
    void *passed = hip().version >= kByNumber ? given : static_cast<void *>(&descriptor);
    if (int error = hip().call<hipMemImportFromShareableHandle>(&made, passed, type))
      return ofImport(error);
    HipProperties properties = {};
    const int error = hip().call<hipMemGetAllocationPropertiesFromHandle>(&properties, made);
    const std::optional<MemoryLocation> location = placeOf(properties);
    if (error || !location) {
      (void)hip().call<hipMemRelease>(made); // the first error counts
      return error ? fromHip(error)
                   : fail(kNotSupported, "the memory is of a device that is not used here");
    }
    *handle = add(std::make_unique<PhysicalMemory>(PhysicalMemory{
        made, size_t(bytes) / kGranularity * kGranularity, *location, 0})); // not to be given on
    return kSuccess;
  });
}

} // extern "C"
