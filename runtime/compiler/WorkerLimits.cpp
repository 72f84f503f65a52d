// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/WorkerLimits.h"
#include "settings/Settings.h"
#include <algorithm>
#include <thread>

namespace rubia::runtime {

WorkerLimits WorkerLimits::from(const settings::Settings &settings) {
  return {unsigned(settings.workerProcesses()), unsigned(settings.workerSeconds()),
          settings.workerBytes()};
}

// A second process only pays where there is a core for it.
unsigned WorkerLimits::processCount() const {
  return processes ? processes : std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

} // namespace rubia::runtime
