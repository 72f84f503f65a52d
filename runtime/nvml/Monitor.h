// SPDX-License-Identifier: Apache-2.0
// What a device does at this moment, as ROCm SMI measures it (librocm_smi64, opened at run time).
// Without that library, and of the emulator's devices, nothing is known.
#pragma once

#include "runtime/device/FoundDevices.h"
#include <optional>

namespace rubia::runtime::nvml {

class Monitor {
public:
  /// Null: there is no ROCm SMI, or it does not know the device.
  static const Monitor *of(const FoundDevice &device, bool isEmulated);

  std::optional<unsigned> busyPercent() const;
  std::optional<unsigned> memoryBusyPercent() const;
  std::optional<int> temperature() const; // degrees Celsius, at the edge
  std::optional<unsigned> powerInMilliwatts() const;
  std::optional<unsigned> powerLimitInMilliwatts() const;
  std::optional<unsigned> fanPercent() const;
  std::optional<uint64_t> usedMemory() const; // of all processes

private:
  explicit Monitor(uint32_t index) : index(index) {}
  uint32_t index; // ROCm SMI's
};

} // namespace rubia::runtime::nvml
