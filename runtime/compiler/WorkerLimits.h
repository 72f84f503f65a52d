// SPDX-License-Identifier: Apache-2.0
// What the compile worker may take: set by whoever starts it, through its environment.
#pragma once

#include <cstdint>

namespace rubia::settings {
class Settings;
}

namespace rubia::runtime {

struct WorkerLimits {
  unsigned processes = 0; // compile processes at the same time; 0: one per core, at most 16
  unsigned secondsPerUnit;
  uint64_t bytesPerProcess; // address space

  unsigned processCount() const;

  static WorkerLimits from(const settings::Settings &settings);
};

} // namespace rubia::runtime
