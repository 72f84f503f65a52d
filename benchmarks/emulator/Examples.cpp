// SPDX-License-Identifier: Apache-2.0
// Told by RUBIA_EMULATOR_LAUNCHES, the emulator does each launch of a program once to count its
// lane operations and then, from the same memory, several times to take the shortest time,
// everything from the call to the return. The program is bound to one core, so that a launch has
// one host thread.
#include "benchmarks/emulator/Examples.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <sched.h>
#include <vector>

using namespace llvm;

namespace {

struct Sum {
  double laneOperations = 0, seconds = 0;
  unsigned launches = 0;
  std::string failure; // the last line that the program wrote to stderr
};

std::string lastLine(StringRef path) {
  auto text = MemoryBuffer::getFile(path);
  const StringRef all = text ? (*text)->getBuffer().rtrim() : "";
  return all.substr(all.rfind('\n') + 1).str();
}

/// The sum over all launches of a program; none if it failed.
Sum runProgram(StringRef program, StringRef target) {
  SmallString<128> log, errors;
  (void)sys::fs::createTemporaryFile("launches", "txt", log);
  (void)sys::fs::createTemporaryFile("errors", "txt", errors);
  ::setenv("RUBIA_EMULATOR_LAUNCHES", log.c_str(), 1);
  const StringRef arguments[] = {RUBIA_PROGRAM, "run",  "--device", "emulator",
                                 "--arch",      target, "--",       program};
  Sum sum;
  const std::optional<StringRef> silent[] = {std::nullopt, StringRef(""), errors.str()};
  const int status =
      sys::ExecuteAndWait(RUBIA_PROGRAM, arguments, std::nullopt, silent, 0, 0, &sum.failure);
  if (status != 0 && sum.failure.empty())
    sum.failure = lastLine(errors);
  if (auto text = MemoryBuffer::getFile(log); text && status == 0) {
    SmallVector<StringRef> lines, fields;
    (*text)->getBuffer().split(lines, '\n', -1, false);
    for (StringRef line : lines) {
      fields.clear();
      line.split(fields, '\t'); // kernel, workgroups, lane operations, seconds
      double operations = 0, seconds = 0;
      if (fields.size() == 4 && !fields[2].getAsDouble(operations) &&
          !fields[3].getAsDouble(seconds))
        sum.laneOperations += operations, sum.seconds += seconds, ++sum.launches;
    }
  }
  (void)sys::fs::remove(log);
  (void)sys::fs::remove(errors);
  return sum;
}

void runFor(StringRef target, ArrayRef<std::string> programs) {
  double logarithms = 0;
  unsigned measured = 0;
  for (const std::string &program : programs) {
    const Sum sum = runProgram(program, target);
    outs() << left_justify((target + " " + sys::path::filename(program)).str(), 32);
    if (!sum.launches) {
      outs() << "failed: " << sum.failure << "\n";
      continue;
    }
    const double rate = sum.laneOperations / sum.seconds;
    outs() << format("%6.2f G lane operations/s, %8.2f M in %7.3f ms, %u launches\n", rate * 1e-9,
                     sum.laneOperations * 1e-6, sum.seconds * 1e3, sum.launches);
    outs().flush();
    logarithms += std::log(rate);
    ++measured;
  }
  if (measured)
    outs() << left_justify((target + " geometric mean").str(), 32)
           << format("%6.2f G lane operations/s over %u examples\n",
                     std::exp(logarithms / measured) * 1e-9, measured);
}

} // namespace

void runExamples() {
  std::vector<std::string> programs;
  std::error_code error;
  for (sys::fs::directory_iterator at(RUBIA_EXAMPLES, error), end; !error && at != end;
       at.increment(error))
    if (sys::fs::can_execute(at->path()))
      programs.push_back(at->path());
  llvm::sort(programs);
  if (programs.empty() || !sys::fs::can_execute(RUBIA_PROGRAM)) {
    outs() << "examples: skipped, they or rubia are not built (there must be an nvcc)\n";
    return;
  }
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(::sched_getcpu(), &one);
  ::sched_setaffinity(0, sizeof(one), &one);
  for (StringRef target : {"gfx1100", "gfx942"})
    runFor(target, programs);
}
