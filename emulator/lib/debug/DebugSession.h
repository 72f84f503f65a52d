// SPDX-License-Identifier: Apache-2.0
// The debugger of this process (RUBIA_EMULATOR_DEBUG), and what it wants launches to stop at.
// docs/debugger.md has the messages.
#pragma once

#include "emulator/Emulator.h"
#include "emulator/lib/debug/Connection.h"
#include <mutex>
#include <vector>

namespace rubia::emulator {

struct Breakpoint {
  enum class Kind : uint8_t { Line, Function, Pc, Launch };
  int64_t id = 0;
  Kind kind = Kind::Launch;
  std::string file; // of Line; empty: any
  uint64_t line = 0;
  std::string name;                      // of Function
  uint64_t pc = 0;                       // of Pc
  std::optional<Dim3> workgroup, thread; // that it is for; none: all
};

class DebugSession {
public:
  /// Null: there is no debugger, or it looks at another process. An error: nobody is at the socket.
  static llvm::Expected<DebugSession *> ofProcess();

  /// Held by the launch that talks with the debugger: one at a time stands still.
  std::mutex mutex;
  Connection connection;
  std::vector<Breakpoint> breakpoints;
  uint64_t changes = 1; // of the breakpoints
  uint64_t launches = 0;

  /// Takes the breakpoints of a message. An error: one of them makes no sense.
  llvm::Error setBreakpoints(const llvm::json::Object &message);
  void reply(const llvm::json::Object &request, llvm::Expected<llvm::json::Value> body);

private:
  explicit DebugSession(Connection connection) : connection(std::move(connection)) {}
  friend struct ProcessSession;
};

/// The numbers of a place, such as a workgroup's.
std::optional<Dim3> placeIn(const llvm::json::Object &message, llvm::StringRef key);

} // namespace rubia::emulator
