#include "runtime/WorkerLimits.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

namespace rubia::runtime {

static constexpr const char kProcesses[] = "RUBIA_WORKER_PROCESSES";
static constexpr const char kSeconds[] = "RUBIA_WORKER_SECONDS";
static constexpr const char kBytes[] = "RUBIA_WORKER_BYTES";

template <class Number> static void read(const char *name, Number &number) {
  const char *text = secure_getenv(name);
  Number value = 0;
  if (text && !llvm::StringRef(text).getAsInteger(10, value) && value)
    number = value;
}

WorkerLimits WorkerLimits::fromEnvironment() {
  WorkerLimits limits;
  read(kProcesses, limits.processes);
  read(kSeconds, limits.secondsPerUnit);
  read(kBytes, limits.bytesPerProcess);
  return limits;
}

// A second process only pays where there is a core for it.
unsigned WorkerLimits::processCount() const {
  return processes ? processes : std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

void WorkerLimits::toEnvironment() const {
  setenv(kProcesses, std::to_string(processes).c_str(), 1);
  setenv(kSeconds, std::to_string(secondsPerUnit).c_str(), 1);
  setenv(kBytes, std::to_string(bytesPerProcess).c_str(), 1);
}

} // namespace rubia::runtime
