// SPDX-License-Identifier: Apache-2.0
// The "JSON array format" of Chrome's trace events: an array of objects, one a line.
#include "runtime/base/Timeline.h"
#include "input/Writing.h"
#include "runtime/base/Log.h"
#include "settings/Settings.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace rubia::settings::Id {
extern const Setting timeline;
} // namespace rubia::settings::Id

namespace rubia::runtime {

namespace {
constexpr uint64_t kFirstTrack = uint64_t(1) << 31; // behind the numbers of threads
constexpr size_t kBufferBytes = 1 << 16;

struct Output {
  std::mutex mutex; // guards what follows
  std::unique_ptr<input::KeptFile> file;
  std::string text;
  uint64_t tracks = 0;
  pid_t process = 0; // a child of fork() writes nothing: the file is its parent's
};
Output &output() {
  static Output &all = *new Output; // used by threads that outlive main()
  return all;
}

// The lock is held.
void write(Output &out) {
  if (out.process == getpid()) {
    *out.file << out.text;
    if (std::error_code error = out.file->takeError()) {
      log(LogLevel::Error, "RUBIA_TIMELINE: " + error.message());
      out.process = -1;
    }
  }
  out.text.clear();
}

void addEvent(Output &out, json::Object event) {
  std::lock_guard lock(out.mutex);
  raw_string_ostream(out.text) << ",\n" << json::Value(std::move(event));
  if (out.text.size() >= kBufferBytes)
    write(out);
}

double microseconds(Timeline::Clock::time_point time) {
  return std::chrono::duration<double, std::micro>(time.time_since_epoch()).count();
}

int openFile(const std::string &path) {
  constexpr int kFlags = O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC;
  const int file = open(path.c_str(), kFlags, 0644);
  // Another process of the program has it.
  return file < 0 && errno == EEXIST
             ? open((path + "." + std::to_string(getpid())).c_str(), kFlags, 0644)
             : file;
}
} // namespace

struct TimelineFile {
  static Timeline *make() {
    const std::string path = settings::Settings().text(settings::Id::timeline);
    if (path.empty())
      return nullptr;
    Output &out = output();
    out.file = std::make_unique<input::KeptFile>(input::besideStandardStreams(openFile(path)));
    if (!out.file->isOpen()) {
      log(LogLevel::Error, "RUBIA_TIMELINE: " + path + ": " + strerror(errno));
      return nullptr;
    }
    out.process = getpid();
    const json::Value first =
        json::Object{{"ph", "M"},
                     {"name", "process_name"},
                     {"pid", int64_t(getpid())},
                     {"args", json::Object{{"name", program_invocation_short_name}}}};
    raw_string_ostream(out.text) << "[" << first;
    atexit([] {
      Output &all = output();
      std::lock_guard lock(all.mutex);
      all.text += "\n]\n";
      write(all);
      all.process = -1;
    });
    return new Timeline;
  }
};

Timeline *Timeline::wanted() {
  static Timeline *const only = TimelineFile::make();
  return only;
}

void Timeline::add(StringRef category, StringRef name, Clock::time_point begin,
                   Clock::time_point end, uint64_t track) {
  addEvent(output(), json::Object{{"ph", "X"},
                                  {"cat", category},
                                  {"name", json::fixUTF8(name)},
                                  {"pid", int64_t(getpid())},
                                  {"tid", int64_t(track ? track : uint64_t(syscall(SYS_gettid)))},
                                  {"ts", microseconds(begin)},
                                  {"dur", microseconds(end) - microseconds(begin)}});
}

uint64_t Timeline::addTrack(StringRef name) {
  Output &out = output();
  uint64_t track = 0;
  {
    std::lock_guard lock(out.mutex);
    track = kFirstTrack + out.tracks++;
  }
  addEvent(out, json::Object{{"ph", "M"},
                             {"name", "thread_name"},
                             {"pid", int64_t(getpid())},
                             {"tid", int64_t(track)},
                             {"args", json::Object{{"name", json::fixUTF8(name)}}}});
  return track;
}

} // namespace rubia::runtime
