#include "emulator/hip/LaunchRecords.h"
#include "emulator/hip/Api.h"
#include "llvm/Support/FileSystem.h"
#include <cstdlib>

using namespace llvm;

namespace rubia::emulator::hip {

/// Null if the variable is not set.
static Expected<std::shared_ptr<raw_fd_ostream>> open(const char *variable) {
  const char *path = secure_getenv(variable);
  if (!path || !*path)
    return nullptr;
  std::error_code error;
  auto file = std::make_shared<raw_fd_ostream>(path, error, sys::fs::OF_Append);
  if (error)
    return createStringError(Twine(variable) + ": " + path + ": " + error.message());
  file->SetUnbuffered();
  return file;
}

Expected<LaunchRecords> LaunchRecords::fromEnvironment() {
  LaunchRecords records;
  for (auto [variable, file] : {std::pair("RUBIA_EMULATOR_STATS", &records.stats),
                                std::pair("RUBIA_EMULATOR_PROFILE", &records.profile),
                                std::pair("RUBIA_EMULATOR_TRACE", &records.trace)}) {
    auto opened = open(variable);
    if (!opened)
      return opened.takeError();
    *file = std::move(*opened);
  }
  if (!records.trace)
    return records;
  const char *select = secure_getenv("RUBIA_EMULATOR_TRACE_SELECT");
  Expected<TraceRequest> request = parseTraceRequest(select ? select : "");
  if (!request)
    return createStringError("RUBIA_EMULATOR_TRACE_SELECT: " + toString(request.takeError()));
  records.traceRequest = std::move(*request);
  records.traceRequest.out = records.trace.get();
  return records;
}

void LaunchRecords::request(Launch &launch) const {
  launch.countOperations = stats != nullptr;
  launch.profile = profile != nullptr;
  if (trace)
    launch.trace = traceRequest;
}

void LaunchRecords::write(const Launch &launch, const Statistics &statistics) const {
  for (raw_fd_ostream *file : {stats.get(), profile.get()}) {
    if (!file)
      continue;
    Statistics shown = statistics;
    if (file == stats.get())
      shown.profile.reset();
    std::string text;
    raw_string_ostream os(text);
    writeJson(os, launch, shown);
    *file << text + "\n";
    if (file->has_error()) {
      complain("statistics: " + file->error().message());
      file->clear_error();
    }
  }
  if (trace && trace->has_error()) {
    complain("RUBIA_EMULATOR_TRACE: " + trace->error().message());
    trace->clear_error();
  }
}

} // namespace rubia::emulator::hip
