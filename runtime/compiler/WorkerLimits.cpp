// SPDX-License-Identifier: Apache-2.0
#include "runtime/compiler/WorkerLimits.h"
#include "settings/Settings.h"
#include <algorithm>
#include <thread>

namespace rubia::settings::Id {
extern const Setting workerBytes, workerProcesses, workerSeconds;
} // namespace rubia::settings::Id

namespace rubia::runtime {

WorkerLimits WorkerLimits::from(const settings::Settings &settings) {
  return {unsigned(settings.number(settings::Id::workerProcesses)),
          unsigned(settings.number(settings::Id::workerSeconds)),
          settings.number(settings::Id::workerBytes)};
}

// A second process only pays where there is a core for it.
unsigned WorkerLimits::processCount() const {
  return processes ? processes : std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

} // namespace rubia::runtime
