// SPDX-License-Identifier: Apache-2.0
// The debugger for editors: the Debug Adapter Protocol. A thread of the protocol is a wave; the
// lane that is looked at is its first active one, or the one that the console's `lane` chooses.
#pragma once

#include "tools/debug/Breakpoints.h"
#include "tools/debug/DapChannel.h"
#include "tools/debug/Inspector.h"
#include <map>

namespace rubia::tools {

class DapSession {
public:
  using Prepare = std::function<llvm::Expected<Program>(const llvm::json::Object &launch)>;
  /// `prepare`: from the editor's launch request to the program.
  DapSession(Debuggee &debuggee, DapChannel &channel, Prepare prepare)
      : debuggee(debuggee), channel(channel), prepare(std::move(prepare)), inspector(debuggee) {}

  /// Until the editor disconnects. The exit status.
  int loop();

private:
  using Body = llvm::Expected<llvm::json::Value>;
  struct Breakpoint {
    int64_t id = 0;
    std::string group; // what the editor sets at a time: a file, functions, instructions
    llvm::json::Object message;
    bool isVerified = false;
    int64_t line = 0;
  };
  struct WavePlace {
    llvm::json::Array workgroup;
    int64_t wave = 0;
  };

  bool handle(const llvm::json::Object &request);
  Body answer(llvm::StringRef command, const llvm::json::Object &request,
              const llvm::json::Object &arguments);
  void show(Event event);
  void stopped(const llvm::json::Object &stop);
  llvm::Error startProgram();

  Body setBreakpoints(llvm::StringRef command, const llvm::json::Object &arguments);
  void note(const llvm::json::Array &places);
  Body threads();
  Body stackTrace(const llvm::json::Object &arguments);
  Body scopes(const llvm::json::Object &arguments);
  Body variables(const llvm::json::Object &arguments);
  Body evaluate(const llvm::json::Object &arguments);
  Body disassemble(const llvm::json::Object &arguments);
  Body readMemory(const llvm::json::Object &arguments);
  Body writeMemory(const llvm::json::Object &arguments);
  Body setVariable(const llvm::json::Object &arguments);
  Body setExpression(const llvm::json::Object &arguments);
  Body source(const llvm::json::Object &arguments);
  Body resume(llvm::StringRef command, const llvm::json::Object &arguments);

  int64_t threadOf(const llvm::json::Object &place);
  llvm::Error focus(int64_t thread);
  llvm::json::Object sourceOf(llvm::StringRef file);
  static llvm::json::Object described(const Breakpoint &breakpoint);

  Debuggee &debuggee;
  DapChannel &channel;
  Prepare prepare;
  Inspector inspector;
  llvm::json::Object launch, launchRequest;
  std::vector<Breakpoint> breakpoints;
  int64_t lastBreakpoint = 0;
  std::map<std::string, int64_t> threadIds; // by "(0,0,0) 1"
  std::map<int64_t, WavePlace> waves;
  int64_t focused = 0;               // the thread that the launch looks at
  std::vector<std::string> embedded; // files that the editor has to ask for
  std::string faultText;
  int status = 0;
  bool isDone = false;
};

} // namespace rubia::tools
