#include "runtime/WorkerLimits.h"
#include "runtime/Log.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <cstdlib>
#include <string>
#include <thread>

namespace rubia::runtime {

static constexpr const char kProcesses[] = "RUBIA_WORKER_PROCESSES";
static constexpr const char kSeconds[] = "RUBIA_WORKER_SECONDS";
static constexpr const char kBytes[] = "RUBIA_WORKER_BYTES";

// Below that no compile process starts: its own code takes 100 MiB of addresses.
static constexpr uint64_t kMinBytes = uint64_t(128) << 20;

namespace {
template <class Number> struct Range {
  Number least, most;
};
} // namespace

template <class Number>
static void read(const char *name, Range<Number> range, Number &number, bool tell) {
  const char *text = secure_getenv(name);
  if (!text || !*text)
    return;
  Number value = 0;
  if (!llvm::StringRef(text).getAsInteger(10, value) && value >= range.least &&
      value <= range.most) {
    number = value;
    return;
  }
  if (tell)
    log(LogLevel::Error, llvm::Twine(name) + " is '" + text + "', expected a number from " +
                             llvm::Twine(range.least) + " to " + llvm::Twine(range.most) +
                             "; it has no effect");
}

WorkerLimits WorkerLimits::fromEnvironment(bool tell) {
  WorkerLimits limits;
  read(kProcesses, Range<unsigned>{1, 1024}, limits.processes, tell);
  read(kSeconds, Range<unsigned>{1, 1000000}, limits.secondsPerUnit, tell);
  read(kBytes, Range<uint64_t>{kMinBytes, uint64_t(1) << 46}, limits.bytesPerProcess, tell);
  return limits;
}

// A second process only pays where there is a core for it.
unsigned WorkerLimits::processCount() const {
  return processes ? processes : std::clamp(std::thread::hardware_concurrency(), 1u, 16u);
}

void WorkerLimits::toEnvironment() const {
  if (processes)
    setenv(kProcesses, std::to_string(processes).c_str(), 1);
  setenv(kSeconds, std::to_string(secondsPerUnit).c_str(), 1);
  setenv(kBytes, std::to_string(bytesPerProcess).c_str(), 1);
}

} // namespace rubia::runtime
