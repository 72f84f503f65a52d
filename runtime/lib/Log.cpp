// One write(2) a message, so that lines of several threads and processes do not mix, and nothing is
// buffered at a crash.
#include "runtime/Log.h"
#include "input/Printable.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringRef.h"
#include <cstdlib>
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

static LogLevel configuredLevel() {
  const char *text = secure_getenv("RUBIA_LOG");
  if (!text || !*text)
    return LogLevel::Error;
  static constexpr StringRef kNames[] = {"error", "warn", "info", "debug"};
  StringRef best = kNames[0];
  for (size_t i = 0; i < std::size(kNames); ++i) {
    if (kNames[i] == text)
      return LogLevel(i);
    if (kNames[i].edit_distance(text) < best.edit_distance(text))
      best = kNames[i];
  }
  write("RUBIA_LOG is '" + Twine(text) + "', expected error, warn, info or debug (did you mean " +
        best + "?)");
  return LogLevel::Error;
}

bool logs(LogLevel level) {
  static const LogLevel configured = configuredLevel();
  return level <= configured;
}

void log(LogLevel level, const Twine &message) {
  if (logs(level))
    write(message);
}

} // namespace rubia::runtime
