// SPDX-License-Identifier: Apache-2.0
// The commands that look at a launch which stands still or change it, for the command line and for
// an editor's console.
#pragma once

#include "tools/debug/Debuggee.h"

namespace rubia::tools {

/// A command: how it is written, and what it does.
struct DebugCommandHelp {
  llvm::StringLiteral usage, meaning;
};

class Inspector {
public:
  explicit Inspector(Debuggee &debuggee) : debuggee(debuggee) {}

  /// What the command prints. None: it is no command of these.
  std::optional<llvm::Expected<std::string>> run(llvm::StringRef line);
  static llvm::ArrayRef<DebugCommandHelp> help();

  /// The value of a name of the program or of a register. An error: nothing of that name is known
  /// here.
  llvm::Expected<llvm::json::Object> find(llvm::StringRef name);
  /// Gives it another value, and tells what it is then.
  llvm::Expected<llvm::json::Object> set(llvm::StringRef name, llvm::StringRef value);

private:
  using Text = llvm::Expected<std::string>;
  llvm::Expected<llvm::json::Array> list(llvm::StringRef request);
  Text focus(llvm::StringRef what, llvm::StringRef rest);
  Text print(llvm::StringRef name);
  Text values();
  Text registers();
  Text lanes(llvm::StringRef name);
  Text waves();
  Text backtrace();
  Text source(llvm::StringRef rest);
  Text disassemble(llvm::StringRef rest);
  Text memory(llvm::StringRef rest);
  Text set(llvm::StringRef rest);
  Text setMemory(llvm::ArrayRef<llvm::StringRef> words);
  llvm::Expected<uint64_t> address(llvm::StringRef word);

  Debuggee &debuggee;
};

} // namespace rubia::tools
