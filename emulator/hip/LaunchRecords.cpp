// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/LaunchRecords.h"
#include "emulator/hip/Api.h"
#include "settings/Settings.h"

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorProfile, emulatorStats, emulatorTrace, emulatorTraceSelect;
} // namespace rubia::settings::Id

namespace rubia::emulator::hip {

/// Null if the setting names none.
static Expected<std::shared_ptr<input::KeptFile>> open(settings::Setting id,
                                                       const std::string &path) {
  if (path.empty())
    return nullptr;
  std::error_code error;
  std::shared_ptr<input::KeptFile> file = input::KeptFile::append(path, error);
  if (!file)
    return createStringError(settings::rowOf(id).variable + ": " + path + ": " + error.message());
  return file;
}

Expected<LaunchRecords> LaunchRecords::of(const settings::Settings &settings) {
  namespace Id = settings::Id;
  LaunchRecords records;
  const struct {
    settings::Setting id;
    std::string path;
    std::shared_ptr<input::KeptFile> &file;
  } files[] = {{Id::emulatorStats, settings.text(Id::emulatorStats), records.stats},
               {Id::emulatorProfile, settings.text(Id::emulatorProfile), records.profile},
               {Id::emulatorTrace, settings.text(Id::emulatorTrace), records.trace}};
  for (const auto &[id, path, file] : files) {
    auto opened = open(id, path);
    if (!opened)
      return opened.takeError();
    file = std::move(*opened);
  }
  if (!records.trace)
    return records;
  Expected<TraceRequest> request = parseTraceRequest(settings.text(Id::emulatorTraceSelect));
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
  for (input::KeptFile *file : {stats.get(), profile.get()}) {
    if (!file)
      continue;
    Statistics shown = statistics;
    if (file == stats.get())
      shown.profile.reset();
    std::string text;
    raw_string_ostream os(text);
    writeJson(os, launch, shown);
    *file << text + "\n";
    if (std::error_code error = file->takeError())
      complain("statistics: " + error.message());
  }
  if (!trace)
    return;
  if (std::error_code error = trace->takeError())
    complain("RUBIA_EMULATOR_TRACE: " + error.message());
}

} // namespace rubia::emulator::hip
