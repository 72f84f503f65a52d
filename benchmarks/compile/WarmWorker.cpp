// SPDX-License-Identifier: Apache-2.0
// What a warm compile worker costs: reads lines `ARCH PATH` from its input, has all units of that
// PTX compiled by a worker that runs already, and prints a line of JSON for each with the processor
// time of this process and all below it, in milliseconds. compare.py drives it.
#include "runtime/compiler/Compiler.h"
#include "settings/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <sys/prctl.h>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace rubia;
using namespace rubia::runtime;

namespace rubia::settings::Id {
extern const Setting compile, workerProcesses;
} // namespace rubia::settings::Id

namespace {

using std::filesystem::path;

// Field 4 of proc_pid_stat, behind the name, which may contain anything.
int parentOf(const path &process) {
  std::string text;
  std::getline(std::ifstream(process / "stat"), text);
  int parent = 0;
  std::istringstream rest(text.substr(std::min(text.size(), text.rfind(')') + 3)));
  rest >> parent;
  return parent;
}

// The first field of proc_pid_schedstat is time on a processor in ns, of each thread.
uint64_t nanosecondsOf(const path &process) {
  uint64_t all = 0;
  std::error_code gone;
  for (const auto &thread : std::filesystem::directory_iterator(process / "task", gone)) {
    uint64_t time = 0;
    std::ifstream(thread.path() / "schedstat") >> time;
    all += time;
  }
  return all;
}

using Times = std::map<int, uint64_t>; // by process, in ns

void addBelow(int process, const std::multimap<int, path> &byParent, Times &times) {
  for (auto [child, end] = byParent.equal_range(process); child != end; ++child) {
    const int number = std::stoi(child->second.filename());
    times[number] = nanosecondsOf(child->second);
    addBelow(number, byParent, times);
  }
}

// Of all processes below this one: the supervisor and its compile process.
Times timesBelow() {
  std::multimap<int, path> byParent;
  for (const auto &entry : std::filesystem::directory_iterator("/proc"))
    if (isDigit(entry.path().filename().native().front()))
      byParent.emplace(parentOf(entry.path()), entry.path());
  Times times;
  addBelow(getpid(), byParent, times);
  return times;
}

uint64_t ownNanoseconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return uint64_t(time.tv_sec) * 1'000'000'000 + uint64_t(time.tv_nsec);
}

Expected<uint64_t> compileAll(Compiler &compiler, std::string text, StringRef arch) {
  // A text that nobody has asked for: what the compiler remembers does not count.
  static unsigned asked = 0;
  text += "\n// " + std::to_string(++asked) + "\n";
  ModuleImage image(std::vector<uint8_t>(text.begin(), text.end()), 89);
  Expected<std::shared_ptr<const Manifest>> manifest = compiler.manifest(image);
  if (!manifest)
    return manifest.takeError();
  uint64_t bytes = 0;
  for (uint32_t unit = 0; unit < (*manifest)->unitCount; ++unit) {
    auto object = compiler.codeObject(image, unit, arch);
    if (!object)
      return object.takeError();
    bytes += (*object)->size();
  }
  return bytes;
}

json::Object measure(Compiler &compiler, StringRef arch, StringRef path) {
  auto file = MemoryBuffer::getFile(path, /*IsText=*/true);
  if (!file)
    return json::Object{{"error", file.getError().message()}};
  // A compile process that has done its share ends, and its time is not known: once more.
  for (int attempt = 0; attempt < 3; ++attempt) {
    const Times before = timesBelow();
    const uint64_t own = ownNanoseconds();
    Expected<uint64_t> bytes = compileAll(compiler, (*file)->getBuffer().str(), arch);
    uint64_t time = ownNanoseconds() - own;
    if (!bytes)
      return json::Object{{"error", toString(bytes.takeError())}};
    const Times after = timesBelow();
    if (!all_of(before, [&](const auto &process) { return after.contains(process.first); }))
      continue;
    for (const auto &[process, spent] : after)
      time += spent - (before.contains(process) ? before.at(process) : 0);
    return json::Object{{"ms", double(time) / 1e6}, {"bytes", *bytes}};
  }
  return json::Object{{"error", "the compile process ended each time"}};
}

} // namespace

int main() {
  // The supervisor's parent ends at once: it is to be ours then.
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  settings::Settings settings;
  // One process: it must be there still when its time is read.
  settings.set(settings::Id::compile, "lazy").set(settings::Id::workerProcesses, "1");
  Compiler &compiler = Compiler::create({std::nullopt, {}}, settings);
  for (std::string line; std::getline(std::cin, line);) {
    auto [arch, path] = StringRef(line).split(' ');
    outs() << json::Value(measure(compiler, arch, path)) << "\n";
    outs().flush();
  }
}
