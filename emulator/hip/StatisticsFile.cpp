#include "emulator/hip/StatisticsFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdlib>
#include <mutex>

using namespace llvm;

namespace rubia::emulator {

static const char *path() {
  const char *variable = getenv("RUBIA_EMULATOR_STATS");
  return variable && *variable ? variable : nullptr;
}

bool statisticsAreWanted() { return path() != nullptr; }

void writeStatistics(const Kernel &kernel, const Statistics &statistics) {
  static std::mutex mutex; // streams run at the same time
  std::lock_guard lock(mutex);
  std::error_code error;
  raw_fd_ostream os(path(), error, sys::fs::OF_Append);
  if (error) {
    errs() << "rubia emulator: RUBIA_EMULATOR_STATS: " << path() << ": " << error.message() << "\n";
    return;
  }
  json::OStream j(os);
  j.object([&] {
    j.attribute("kernel", kernel.name);
    j.attribute("workgroups", int64_t(statistics.workgroups));
    j.attribute("waves", int64_t(statistics.waves));
    j.attribute("instructions", int64_t(statistics.instructions));
    j.attributeArray("operations", [&] {
      for (const OperationCount &operation : statistics.operations)
        j.object([&] {
          j.attribute("name", operation.name);
          j.attribute("waves", int64_t(operation.waves));
          j.attribute("exactness", operation.exactness);
        });
    });
  });
  os << "\n";
}

} // namespace rubia::emulator
