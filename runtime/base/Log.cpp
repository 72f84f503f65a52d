// SPDX-License-Identifier: Apache-2.0
// One write(2) a message, so that lines of several threads and processes do not mix, and nothing is
// buffered at a crash.
#include "runtime/base/Log.h"
#include "input/Printable.h"
#include "settings/Settings.h"
#include "llvm/ADT/StringRef.h"
#include <ctime>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::runtime {

// 14:03:07.123456 1234.1240: the local time, the process and the thread.
static std::string stamp() {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  tm local;
  localtime_r(&now.tv_sec, &local);
  char text[64];
  snprintf(text, sizeof(text), "%02d:%02d:%02d.%06ld %d.%ld ", local.tm_hour, local.tm_min,
           local.tm_sec, now.tv_nsec / 1000, getpid(), syscall(SYS_gettid));
  return text;
}

static void write(const Twine &message) {
  const std::string prefix = "rubia: " + (logs(LogLevel::Debug) ? stamp() : std::string());
  std::string line = input::printable((prefix + message + "\n").str());
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
