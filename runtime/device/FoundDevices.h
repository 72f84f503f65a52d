// SPDX-License-Identifier: Apache-2.0
// The devices of the machine, as the driver and NVML both tell of them.
#pragma once

#include "runtime/device/Hip.h"
#include <array>
#include <string>
#include <vector>

namespace rubia::runtime {

struct FoundDevice {
  int hipDevice = 0; // as HIP counts
  std::string name, arch, pciBusId;
  int pciDomain = 0, pciBus = 0, pciDevice = 0;
  std::array<uint8_t, 16> uuid{};
  size_t totalMemory = 0;
};

/// Those that are supported, in HIP's order. `refused`: why others are not used.
llvm::Expected<std::vector<FoundDevice>> findDevices(const Hip &hip,
                                                     std::vector<std::string> &refused);

} // namespace rubia::runtime
