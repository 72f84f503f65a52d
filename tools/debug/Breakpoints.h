// SPDX-License-Identifier: Apache-2.0
// The breakpoints of a session, which launches take over.
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace rubia::tools {

struct DebugBreakpoint {
  int64_t id = 0;
  std::string text; // as it was asked for
  llvm::json::Object message;
  uint64_t places = 0; // in the code of the last launch that has any
  uint64_t line = 0;   // where it came to lie there
};

/// The message of a breakpoint from FILE:LINE, LINE, *PC or the name of a kernel or function, with
/// `thread X,Y,Z` and `workgroup X,Y,Z` behind. `file`: of a line alone; empty: any.
llvm::Expected<llvm::json::Object> parseBreakpoint(llvm::StringRef text, llvm::StringRef file);

class DebugBreakpoints {
public:
  llvm::Expected<const DebugBreakpoint *> add(llvm::StringRef text, llvm::StringRef file);
  const DebugBreakpoint &add(std::string text, llvm::json::Object message);
  bool remove(int64_t id);
  void clear() { all.clear(); }
  llvm::ArrayRef<DebugBreakpoint> list() const { return all; }
  llvm::json::Array messages() const;
  /// Takes what a launch says of where they lie. Returns those that have come to lie somewhere.
  std::vector<const DebugBreakpoint *> note(const llvm::json::Array &places);

private:
  std::vector<DebugBreakpoint> all;
  int64_t last = 0;
};

} // namespace rubia::tools
