// SPDX-License-Identifier: Apache-2.0
#include "emulator/hip/CheckReports.h"
#include "emulator/hip/Allocations.h"
#include "input/Writing.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting emulatorCheck, emulatorMaxReports, emulatorReports;
} // namespace rubia::settings::Id
namespace rubia::settings::EmulatorCheck {
extern const Word All, Leaks, Memory, Uninitialised;
} // namespace rubia::settings::EmulatorCheck

namespace rubia::emulator::hip {
namespace {

/// The file, opened when it is first asked for. Lines are appended at one go, so that the processes
/// of a program may share it.
class ReportFile {
public:
  static ReportFile &instance() {
    static auto &file = *new ReportFile; // programs call us after their static destructors
    return file;
  }
  const std::string &openProblem() const { return problem; }
  void add(json::Object report) {
    if (!out)
      return;
    report["process"] = int64_t(getpid());
    std::string line;
    raw_string_ostream(line) << json::Value(std::move(report)) << "\n";
    std::lock_guard<std::mutex> lock(mutex);
    *out << line;
    if (std::error_code error = out->takeError())
      complain("RUBIA_EMULATOR_REPORTS: " + error.message());
  }

private:
  ReportFile() {
    const std::string path = hostSettings().text(settings::Id::emulatorReports);
    if (path.empty())
      return;
    std::error_code error;
    out = input::KeptFile::append(path, error);
    if (!out)
      problem = "RUBIA_EMULATOR_REPORTS: " + path + ": " + error.message();
  }
  std::unique_ptr<input::KeptFile> out;
  std::string problem;
  std::mutex mutex;
};

json::Array arrayOf(Dim3 place) {
  return json::Array{int64_t(place.x), int64_t(place.y), int64_t(place.z)};
}

json::Object jsonOf(const Fault &fault) {
  json::Object report{
      {"severity", fault.severity == Fault::Severity::Warning ? "warning" : "error"},
      {"kind", wordOf(fault.kind)},
      {"kernel", json::fixUTF8(fault.kernel)},
      {"workgroup", arrayOf(fault.workgroup)},
      {"thread", arrayOf(fault.thread)},
      {"pc", int64_t(fault.pc)},
      {"disassembly", json::fixUTF8(fault.disassembly)},
      {"source", json::fixUTF8(fault.source)},
      {"detail", json::fixUTF8(fault.detail)},
      {"message", json::fixUTF8(fault.message())}};
  if (fault.accessSize) {
    report["address"] = "0x" + utohexstr(fault.address, true);
    report["bytes"] = int64_t(fault.accessSize);
    report["access"] = fault.isWrite ? "write" : "read";
  }
  return report;
}

pid_t checkedProcess = 0;

void reportLeaks() {
  if (getpid() != checkedProcess)
    return; // a copy that the program forked: it owns none of this
  Machine &machine = Machine::instance();
  for (const Allocation &allocation : machine.memory.allocations()) {
    {
      std::lock_guard<std::mutex> lock(machine.mutex);
      const auto place = machine.placements.find(allocation.address);
      if (place == machine.placements.end() || place->second.isRuntimes)
        continue;
    }
    const std::string what = allocation.kind == MemoryKind::HostPinned ? "pinned memory of the host"
                             : allocation.kind == MemoryKind::Managed  ? "managed memory"
                                                                       : "device memory";
    const std::string text = std::to_string(allocation.size) + " bytes of " + what + " at 0x" +
                             utohexstr(allocation.address, true) + " were never freed";
    complain("leak: " + text);
    ReportFile::instance().add(json::Object{{"severity", "error"},
                                            {"kind", "leak"},
                                            {"address", "0x" + utohexstr(allocation.address, true)},
                                            {"bytes", int64_t(allocation.size)},
                                            {"detail", what},
                                            {"message", "leak: " + text}});
  }
}

settings::WordSet wanted() { return hostSettings().words(settings::Id::emulatorCheck); }

} // namespace

bool followsWrites() {
  namespace EmulatorCheck = settings::EmulatorCheck;
  static const bool follows =
      wanted().has(EmulatorCheck::Uninitialised) || wanted().has(EmulatorCheck::All);
  return follows;
}

bool checksDeviceHeap() {
  namespace EmulatorCheck = settings::EmulatorCheck;
  static const bool checks =
      wanted().has(EmulatorCheck::Memory) || wanted().has(EmulatorCheck::All);
  return checks;
}

Error requestReports(Launch &launch) {
  if (Error error = hostSettings().check(settings::Id::emulatorMaxReports))
    return error;
  ReportFile &file = ReportFile::instance();
  if (!file.openProblem().empty())
    return createStringError(file.openProblem());
  launch.maxReports = hostSettings().number(settings::Id::emulatorMaxReports);
  launch.report = [&file](const Fault &fault, bool goesOn) {
    if (fault.severity == Fault::Severity::Warning)
      complain("warning: " + fault.message());
    else if (goesOn) // else reportFailure() says it
      complain(fault.message());
    file.add(jsonOf(fault));
  };
  launch.warn = [&file, kernel = launch.kernel->name](const std::string &text) {
    complain(text);
    file.add(json::Object{{"severity", "warning"},
                          {"kind", "note"},
                          {"kernel", json::fixUTF8(kernel)},
                          {"message", json::fixUTF8(text)}});
  };
  return Error::success();
}

void reportLeaksAtExit() {
  if (!wanted().has(settings::EmulatorCheck::Leaks))
    return;
  checkedProcess = getpid();
  std::atexit(reportLeaks);
}

} // namespace rubia::emulator::hip

using namespace rubia::emulator::hip;

// For Rubia's runtime. The allocation that starts there is not the program's own. Returns 0.
HIP_EXPORT int rubiaEmulatorOwn(void *pointer) {
  Machine &machine = Machine::instance();
  std::lock_guard<std::mutex> lock(machine.mutex);
  const auto place = machine.placements.find(reinterpret_cast<uint64_t>(pointer));
  if (place != machine.placements.end())
    place->second.isRuntimes = true;
  return 0;
}

// Likewise: the heap of malloc() in device code, and the table of its blocks
// (rubia::emulator::Memory::DeviceHeap). Without a heap: only the answer. Returns whether
// anybody looks at the table.
HIP_EXPORT int rubiaEmulatorDeviceHeap(void *heap, size_t bytes, const void *blocks) {
  if (!checksDeviceHeap())
    return 0;
  const auto begin = reinterpret_cast<uint64_t>(heap);
  if (heap)
    Machine::instance().memory.setDeviceHeap(
        {begin, begin + bytes, static_cast<const uint32_t *>(blocks)});
  return 1;
}
