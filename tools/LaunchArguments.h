// SPDX-License-Identifier: Apache-2.0
// The arguments of `rubia launch`: "i32:5", "f64:0.1", "buf:in.bin:out.bin", "zero:4096",
// "bytes:00ff".
#pragma once

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace rubia::tools {

struct LaunchArgument {
  std::string text; // as given, for messages
  bool isBuffer = false;
  std::vector<uint8_t> bytes; // the value, or the buffer's initial contents
  std::string output;         // where the buffer goes afterwards; empty: nowhere
};

/// The error repeats the text and says what was expected.
llvm::Expected<LaunchArgument> parseLaunchArgument(llvm::StringRef text);

/// "8", "8,4" or "8,4,2": unnamed dimensions are 1; none may be 0.
llvm::Error parseDimensions(llvm::StringRef text, uint32_t (&dimensions)[3]);

/// Splits a line of a batch file as a shell would: blanks, 'single' and "double" quotes, #
/// comments.
llvm::Expected<std::vector<std::string>> splitLine(llvm::StringRef line);

} // namespace rubia::tools
