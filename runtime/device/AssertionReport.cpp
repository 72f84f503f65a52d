// SPDX-License-Identifier: Apache-2.0
#include "runtime/device/AssertionReport.h"
#include "input/Writing.h"
#include "runtime/base/Log.h"
#include "settings/Settings.h"
#include "llvm/Support/JSON.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorReports;
} // namespace rubia::settings::Id

namespace rubia::runtime {

static json::Array arrayOf(const uint32_t (&place)[3]) {
  return json::Array{int64_t(place[0]), int64_t(place[1]), int64_t(place[2])};
}

// One line at one go, as the emulator adds its own.
void reportAssertion(const abi::TrapRecord &record, StringRef text) {
  const std::string path = settings::Settings().text(settings::Id::emulatorReports);
  if (path.empty())
    return;
  std::string line;
  raw_string_ostream(line) << json::Value(json::Object{{"severity", "error"},
                                                       {"kind", "assertion"},
                                                       {"workgroup", arrayOf(record.ctaid)},
                                                       {"thread", arrayOf(record.tid)},
                                                       {"message", text},
                                                       {"process", int64_t(getpid())}})
                           << "\n";
  std::error_code error;
  std::unique_ptr<input::KeptFile> file = input::KeptFile::append(path, error);
  if (file) {
    *file << line;
    error = file->takeError();
  }
  if (error)
    log(LogLevel::Error, "RUBIA_EMULATOR_REPORTS: " + path + ": " + error.message());
}

} // namespace rubia::runtime
