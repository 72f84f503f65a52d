// SPDX-License-Identifier: Apache-2.0
// The arguments of `rubia launch`: "i32:5", "f64:0.1", "buf:in.bin:out.bin", "buf:in.npy",
// "zero:4096", "zero:f32[4,8]:out.npy", "bytes:00ff".
#pragma once

#include "tools/launch/Elements.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace rubia::tools {

struct LaunchArgument {
  std::string text; // as given, for messages
  bool isBuffer = false;
  std::vector<uint8_t> bytes; // the value, or the buffer's initial contents
  std::string output;         // where the buffer goes afterwards; empty: nowhere
  std::optional<Shape> shape; // of the buffer's elements, where that is known
};

/// What is done with a buffer once the launch is done: "2:f32", "2", "4=ref.npy".
struct BufferView {
  std::optional<size_t> argument;  // from 0; nullopt: the only one with an output
  std::optional<ElementType> type; // nullopt: the buffer's own
  std::string reference;           // the file to compare with
};

/// "2" or "2:f32": the second argument.
llvm::Expected<BufferView> parsePrint(llvm::StringRef text);
/// "REF" or "2=REF": what the second argument is compared with.
llvm::Expected<BufferView> parseCompare(llvm::StringRef text);

/// The error repeats the text and says what was expected.
llvm::Expected<LaunchArgument> parseLaunchArgument(llvm::StringRef text);

/// "8", "8,4" or "8,4,2": unnamed dimensions are 1; none may be 0.
llvm::Error parseDimensions(llvm::StringRef text, uint32_t (&dimensions)[3]);

/// Splits a line of a batch file as a shell would: blanks, 'single' and "double" quotes, #
/// comments.
llvm::Expected<std::vector<std::string>> splitLine(llvm::StringRef line);

} // namespace rubia::tools
