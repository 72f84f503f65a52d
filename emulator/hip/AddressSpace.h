// SPDX-License-Identifier: Apache-2.0
// Address ranges that programs reserve and map memory into. HIP: "Virtual Memory Management".
//
// A reservation is a mapping without access, memory a file (SharedFile.h), and what is mapped
// becomes known to the kernels' memory when it is made accessible: mapping by mapping, which no
// aligned access crosses.
#pragma once

#include "emulator/hip/Api.h"
#include "emulator/hip/SharedFile.h"

namespace rubia::emulator::hip {

/// hipMemLocationType, which HIP 5.2's headers have the first of.
enum class Location : int { Device = 1, Host = 2, HostNode = 3 };

/// A hipMemGenericAllocationHandle_t: the same for all who ask for it in this process.
struct PhysicalMemory {
  std::shared_ptr<SharedFile> file;
  Location place = Location::Device;
  bool isExportable = false;
  unsigned handles = 1;  // that have to be released
  unsigned mappings = 0; // it lives as long as there are either
};

class AddressSpace {
public:
  static AddressSpace &instance();

  hipError_t reserve(void **address, uint64_t bytes, uint64_t alignment, void *wanted);
  hipError_t freeReservation(void *address, uint64_t bytes);

  /// `id`: of the device or the host's node.
  hipError_t create(PhysicalMemory **out, uint64_t bytes, Location place, int id,
                    bool isExportable);
  hipError_t import(PhysicalMemory **out, int descriptor);
  hipError_t release(PhysicalMemory *memory);
  hipError_t retain(PhysicalMemory **out, const void *address);
  /// A descriptor of the caller's own.
  hipError_t exportTo(int *descriptor, PhysicalMemory *memory);
  hipError_t describe(PhysicalMemory *memory, Location &place, int &id, bool &isExportable);

  hipError_t map(void *address, uint64_t bytes, uint64_t offset, PhysicalMemory *memory);
  hipError_t unmap(void *address, uint64_t bytes);
  hipError_t setAccess(void *address, uint64_t bytes, llvm::ArrayRef<hipMemAccessDesc> wanted);
  hipError_t getAccess(unsigned long long &flags, const hipMemLocation &location,
                       const void *address);

  /// Bytes of devices' memory that was created here or is mapped here.
  uint64_t bytesInUse() const { return inUse; }
  uint64_t bytesInUseOf(const Device &device);
  /// Whether an address lies in a reservation, accessible or not.
  bool isReserved(const void *address);

private:
  struct Mapping {
    uint64_t bytes = 0;
    PhysicalMemory *memory = nullptr;
    std::map<int, hipMemAccessFlags> access; // by device
    hipMemAccessFlags byHost = hipMemAccessFlagsProtNone;
    DeviceSet granted = 0; // the devices with any access: none, and it is no memory of kernels
    DeviceSet readers = 0; // of these, the ones that may only read
  };
  using Mappings = std::map<uint64_t, Mapping>;

  bool isLive(PhysicalMemory *memory) const { return memories.contains(memory); }
  void add(PhysicalMemory **out, std::unique_ptr<PhysicalMemory> made);
  void drop(PhysicalMemory *memory);
  bool isWithinReservation(uint64_t address, uint64_t bytes) const;
  /// The mappings that are exactly [address, address + bytes): none if there is no such row.
  llvm::SmallVector<Mappings::iterator> rowOf(uint64_t address, uint64_t bytes);
  Mappings::iterator mappingAt(uint64_t address);
  hipError_t apply(Mappings::iterator mapping);

  std::mutex mutex;
  std::map<uint64_t, uint64_t> reservations; // bytes by address
  Mappings mappings;
  std::map<PhysicalMemory *, std::unique_ptr<PhysicalMemory>> memories;
  std::atomic<uint64_t> inUse = 0;
};

/// Of all devices: what hipMalloc and hipMemCreate gave.
uint64_t deviceBytesInUse();
/// Of one device.
uint64_t bytesInUseOf(const Device &device);
/// Whether a device has so much free memory.
bool hasRoomFor(const Device &device, uint64_t bytes);

} // namespace rubia::emulator::hip
