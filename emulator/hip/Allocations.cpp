// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/Allocations.h"
#include "emulator/hip/AddressSpace.h"
#include "emulator/hip/CheckReports.h"
#include "emulator/hip/ProcessSharing.h"

namespace rubia::emulator::hip {

static Memory &memory() { return Machine::instance().memory; }

static bool reaches(const Device &device, const Placement &place) {
  if (device.ordinal == place.device)
    return true;
  if (!place.pool)
    return device.peers.contains(place.device);
  const auto access = place.pool->access.find(int(device.ordinal));
  return access != place.pool->access.end() && access->second != hipMemAccessFlagsProtNone;
}

// Few programs have several devices: for those with one nothing is looked up.
void updateDevices(uint64_t address, const Placement &place) {
  Machine &machine = Machine::instance();
  auto *pointer = reinterpret_cast<void *>(address);
  if (machine.devices.size() < 2)
    return;
  if (auto found = memory().find(pointer); !found || found->kind != MemoryKind::Device)
    return;
  DeviceSet devices = place.granted;
  for (const auto &device : machine.devices)
    if (!place.granted && reaches(*device, place))
      devices |= setOf(device->ordinal);
  memory().setDevices(pointer, devices);
}

void updateDevices() {
  for (const auto &[address, place] : Machine::instance().placements)
    updateDevices(address, place);
}

void remember(void *pointer, const Placement &placement) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  const auto address = reinterpret_cast<uint64_t>(pointer);
  machine.placements[address] = placement;
  updateDevices(address, placement);
}

void forget(void *pointer) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  machine.placements.erase(reinterpret_cast<uint64_t>(pointer));
}

Placement placementOf(uint64_t address) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto place = machine.placements.find(address);
  return place == machine.placements.end() ? Placement{} : place->second;
}

/// The kernel driver maps whole pages: what fills one begins at one. Programs rely on it.
static uint64_t alignmentOf(size_t bytes) {
  constexpr uint64_t kPage = 4096;
  return bytes >= kPage ? kPage : 256;
}

hipError_t allocate(void **pointer, size_t bytes, MemoryKind kind, unsigned flags) {
  if (hipError_t error = usable())
    return error;
  if (!pointer)
    return hipErrorInvalidValue;
  *pointer = nullptr;
  if (bytes == 0)
    return hipSuccess;
  if (!hasRoomFor(currentDevice(), bytes))
    return hipErrorOutOfMemory;
  auto address = memory().allocate(bytes, kind, alignmentOf(bytes));
  if (!address) {
    llvm::consumeError(address.takeError());
    return hipErrorOutOfMemory;
  }
  *pointer = *address;
  if (kind == MemoryKind::Device && followsWrites())
    memory().followWrites(*pointer);
  remember(*pointer, {unsigned(currentDeviceOrdinal()), flags});
  return hipSuccess;
}

hipError_t releaseNow(void *pointer) {
  auto allocation = memory().find(pointer);
  if (isExternalBuffer(pointer))
    return freeExternalBuffer(pointer);
  if (allocation && placementOf(allocation->address).isMapped)
    return placementOf(allocation->address).pool ? closeAllocation(pointer) : hipErrorInvalidValue;
  if (!unshare(pointer))
    return hipErrorOutOfMemory; // what is still shared must not be given to others
  if (llvm::Error error = memory().free(pointer)) {
    llvm::consumeError(std::move(error));
    return hipErrorInvalidValue;
  }
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  auto place = machine.placements.find(reinterpret_cast<uint64_t>(pointer));
  if (place == machine.placements.end())
    return hipSuccess;
  if (MemoryPool *pool = place->second.pool.get())
    pool->used -= allocation->size;
  machine.placements.erase(place);
  return hipSuccess;
}

hipError_t release(void *pointer) {
  if (!pointer)
    return hipSuccess;
  if (Machine::instance().devices.empty())
    return hipErrorNoDevice;
  for (auto &device : Machine::instance().devices)
    device->streams.synchronizeAll();
  return releaseNow(pointer);
}

} // namespace rubia::emulator::hip
