// SPDX-License-Identifier: Apache-2.0
// One write(2) a message, so that lines of several threads and processes do not mix, and nothing is
// buffered at a crash.
#include "runtime/base/Log.h"
#include "input/Printable.h"
#include "input/Writing.h"
#include "settings/Settings.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/FileSystem.h"
#include <cerrno>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting log, logFile;
} // namespace rubia::settings::Id

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

// Of the folder that the process was in when it had its first message.
static std::string configuredFile() {
  SmallString<128> name(settings::Settings().text(settings::Id::logFile));
  if (!name.empty())
    sys::fs::make_absolute(name);
  return name.str().str();
}

// RUBIA_LOG_FILE with the process in the place of %p; empty: none.
static std::string fileName() {
  static const auto &configured = *new std::string(configuredFile());
  std::string name = configured;
  for (size_t at; (at = name.find("%p")) != std::string::npos;)
    name.replace(at, 2, std::to_string(getpid()));
  return name;
}

// The file is open during a message only: a program may close descriptors that are not its own, and
// then have its own files under their numbers.
static bool appendTo(const std::string &name, const std::string &line) {
  const int file =
      open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0600);
  if (file < 0) {
    const std::string why = strerror(errno);
    static std::once_flag isTold;
    std::call_once(isTold, [&] {
      input::tell(input::printable("rubia: error: RUBIA_LOG_FILE: " + name + ": " + why +
                                   "; messages go to stderr\n"));
    });
    return false;
  }
  (void)input::writeAll(file, line); // where the disk is full, nobody is listening
  close(file);
  return true;
}

static std::string lineOf(const Twine &message, bool isStamped) {
  return input::printable(
      ("rubia: " + (isStamped ? stamp() : std::string()) + message + "\n").str());
}

static void write(const Twine &message) {
  const std::string name = fileName();
  if (name.empty() || !appendTo(name, lineOf(message, true)))
    input::tell(lineOf(message, logs(LogLevel::Debug)));
}

bool logs(LogLevel level) {
  static const auto configured = LogLevel(settings::Settings().word(settings::Id::log).index);
  return level <= configured;
}

void log(LogLevel level, const Twine &message) {
  if (logs(level))
    write(message);
}

void tellTerminal(const Twine &message) {
  if (isatty(STDERR_FILENO))
    input::tell(lineOf(message, false));
}

} // namespace rubia::runtime
