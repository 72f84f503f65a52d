#include "tools/lib/LaunchStatistics.h"
#include "tools/lib/Commands.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <nlohmann/json.hpp>

using namespace llvm;
using nlohmann::ordered_json;

namespace rubia::tools {

Expected<LaunchStatistics> LaunchStatistics::start() {
  SmallString<128> path;
  if (std::error_code error = sys::fs::createTemporaryFile("rubia-stats", "json", path))
    return createStringError(error, "no temporary file for --stats");
  setEnvironment("RUBIA_EMULATOR_STATS", path.str().str());
  return LaunchStatistics(path.str().str());
}

static void printTable(const ordered_json &launch) {
  const uint64_t total = launch["instructions"];
  outs() << launch["kernel"].get<std::string>() << ": " << launch["workgroups"].get<uint64_t>()
         << " workgroups, " << launch["waves"].get<uint64_t>() << " waves, " << total
         << " wave instructions\n";
  for (const ordered_json &operation : launch["operations"])
    outs() << formatv("  {0,12}  {1,-15} {2}\n", operation["waves"].get<uint64_t>(),
                      operation["exactness"].get<std::string>(),
                      operation["name"].get<std::string>());
}

Error LaunchStatistics::print(bool json) const {
  auto buffer = MemoryBuffer::getFile(path);
  if (!buffer)
    return createStringError(path + ": " + buffer.getError().message());
  ordered_json all = ordered_json::array();
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, false);
  for (StringRef line : lines) {
    ordered_json launch = ordered_json::parse(line.begin(), line.end(), nullptr, false);
    if (launch.is_discarded())
      return createStringError(path + ": not what the emulator writes: " + line);
    all.push_back(std::move(launch));
  }
  if (json)
    outs() << all.dump(2) << "\n";
  else
    for (const ordered_json &launch : all)
      printTable(launch);
  return Error::success();
}

} // namespace rubia::tools
