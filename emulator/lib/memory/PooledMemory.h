// SPDX-License-Identifier: Apache-2.0
// Memory of workgroups, kept for those of the next launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

namespace rubia::emulator {

/// Memory that begins at a page and holds anything. The process keeps what is given back, up to a
/// bound: fresh pages cost more than many a launch.
class PooledMemory {
public:
  PooledMemory() = default;
  explicit PooledMemory(size_t size);
  PooledMemory(PooledMemory &&other) noexcept
      : data(std::exchange(other.data, nullptr)), size(std::exchange(other.size, 0)) {}
  PooledMemory &operator=(PooledMemory &&other) noexcept {
    std::swap(data, other.data);
    std::swap(size, other.size);
    return *this;
  }
  ~PooledMemory();
  uint8_t *get() const { return data; }

private:
  uint8_t *data = nullptr;
  size_t size = 0;
};

} // namespace rubia::emulator
