// SPDX-License-Identifier: Apache-2.0
// One write(2) a message, so that lines of several threads and processes do not mix, and nothing is
// buffered at a crash.
#include "runtime/base/Log.h"
#include "input/Printable.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringRef.h"
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

static void write(const Twine &message) {
  std::string line = input::printable(("rubia: " + message + "\n").str());
  for (StringRef rest = line; !rest.empty();) {
    ssize_t n = ::write(2, rest.data(), rest.size());
    if (n <= 0)
      return; // stderr is closed: nobody is listening
    rest = rest.drop_front(n);
  }
}

bool logs(LogLevel level) {
  static const auto configured = LogLevel(settings::Settings().log());
  return level <= configured;
}

void log(LogLevel level, const Twine &message) {
  if (logs(level))
    write(message);
}

void tellTerminal(const Twine &message) {
  if (isatty(STDERR_FILENO))
    write(message);
}

} // namespace rubia::runtime
