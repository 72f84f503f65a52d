// SPDX-License-Identifier: Apache-2.0
// The debugger's command line.
#pragma once

#include "tools/debug/Breakpoints.h"
#include "tools/debug/Inspector.h"
#include <cstdio>

namespace rubia::tools {

class Console {
public:
  /// `program`: what `run` starts. `input`: where commands are read; on a terminal with a prompt.
  Console(Debuggee &debuggee, Program program, int input);

  /// Before commands are read: `break WHERE` of the command line.
  llvm::Error addBreakpoint(llvm::StringRef where);
  /// Until `quit` or the end of the commands. The exit status: the program's, if it has ended.
  int loop();

private:
  bool execute(llvm::StringRef line);
  llvm::Error start(llvm::StringRef command);
  void resume(llvm::StringRef request, bool isOver);
  void waitForStop();
  bool show(const Event &event);
  void showStop(const llvm::json::Object &stop);
  void showBreakpoints();
  void showHelp();
  void sendBreakpoints();
  void note(const llvm::json::Array &places);
  std::optional<std::string> readLine();

  Debuggee &debuggee;
  Program program;
  Inspector inspector;
  DebugBreakpoints breakpoints;
  int input;
  bool isTerminal;
  std::string pending;     // of the input
  std::string last;        // what an empty line repeats
  std::string file;        // of the last stop
  int64_t firstLaunch = 0; // the breakpoint of `start`
  int status = 0;
  bool isKilled = false; // by a signal: no more commands
};

} // namespace rubia::tools
