// SPDX-License-Identifier: Apache-2.0
// Memory that the library itself needs for kernels: freed when its owner goes.
#pragma once

#include "emulator/hip/Device.h"

namespace rubia::emulator::hip {

class DeviceMemory {
public:
  DeviceMemory() = default;
  static llvm::Expected<DeviceMemory> zeroed(size_t bytes, uint64_t alignment = 256) {
    auto address = Machine::instance().memory.allocateZeroed(bytes, MemoryKind::Device, alignment);
    if (!address)
      return address.takeError();
    return DeviceMemory(*address);
  }
  DeviceMemory(DeviceMemory &&other) noexcept : memory(std::exchange(other.memory, nullptr)) {}
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    std::swap(memory, other.memory);
    return *this;
  }
  ~DeviceMemory() {
    if (memory)
      llvm::consumeError(Machine::instance().memory.free(memory)); // it is ours, so it is there
  }
  template <typename T> T *as() const { return static_cast<T *>(memory); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(memory); }

private:
  explicit DeviceMemory(void *memory) : memory(memory) {}
  void *memory = nullptr;
};

} // namespace rubia::emulator::hip
