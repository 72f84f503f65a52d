// SPDX-License-Identifier: Apache-2.0
// A program under the debugger: its process, and the messages of the launches that it runs
// (docs/debugger.md). One of its processes is looked at, the first one that launches a kernel.
#pragma once

#include "tools/Programs.h"
#include "llvm/Support/JSON.h"
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>

namespace rubia::tools {

struct Event {
  enum class Kind : uint8_t {
    Message,     // of a launch
    Output,      // of the program, where it is captured
    Input,       // there is something to read from what wait() was given
    Interrupted, // Ctrl-C
    Ended,       // the program
    Killed,      // SIGTERM or SIGHUP: the debugger is to end
  };
  Kind kind = Kind::Ended;
  llvm::json::Object message;
  bool isError = false; // Output: of stderr
  std::string text;
  int status = 0; // Ended: as a shell tells it
};

class Debuggee {
public:
  /// Makes the socket, so that settings can name it.
  static llvm::Expected<std::unique_ptr<Debuggee>> make();
  ~Debuggee(); // ends the program
  const std::string &socket() const { return path; }

  /// `captures`: what the program prints becomes events.
  llvm::Error start(Program program, bool captures);
  /// The next event; Input only where a descriptor is given.
  Event wait(int input = -1);

  bool isRunning() const { return child > 0; }
  /// A launch stands still and answers.
  bool isStopped() const { return stopped; }
  /// The breakpoints from now on. A launch that runs takes them soon.
  /// Returns where one that stands still has them; null: it runs.
  llvm::Expected<llvm::json::Value> setBreakpoints(llvm::json::Array list);
  /// Stops the launch that runs, or the next one.
  void pause();
  /// Lets the launch that stands still go on. `request`: continue, step, stepi, finish.
  llvm::Error resume(llvm::json::Object request);
  /// What a launch that stands still answers. An error: its own, or there is none.
  llvm::Expected<llvm::json::Value> ask(llvm::json::Object request);
  void kill();

private:
  Debuggee() = default;
  void send(llvm::json::Object message);
  llvm::json::Object breakpointMessage() const;
  std::optional<Event> receive();
  void accept();
  bool readOutput(int &descriptor, bool isError, Event &event);
  std::optional<Event> readSignals();

  std::string folder, path;
  int listener = -1, connection = -1, signals = -1;
  int outputs[2] = {-1, -1};
  pid_t child = -1, group = -1;
  int endSignal = 0;
  bool stopped = false, isPausing = false;
  int64_t lastId = 0;
  std::optional<int> endStatus; // told when all output has been read
  std::string received;
  std::deque<Event> queued;
  llvm::json::Array breakpoints;
};

} // namespace rubia::tools
