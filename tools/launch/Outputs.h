// SPDX-License-Identifier: Apache-2.0
// What `rubia launch` does with buffers once the launch is done: it writes, prints and compares
// them.
#pragma once

#include "tools/LaunchArguments.h"

namespace rubia::tools {

/// `prints` and `compares` as the command line has them.
llvm::Expected<std::vector<BufferView>> parseViews(llvm::ArrayRef<std::string> prints,
                                                   llvm::ArrayRef<std::string> compares);

/// Writes a buffer to its output, if it has one.
llvm::Error writeOutput(const LaunchArgument &argument);

/// Prints to stdout, and compares. The error says where a buffer differs, of all that do; or that a
/// view is of no buffer, or needs a type.
llvm::Error lookAtBuffers(llvm::ArrayRef<BufferView> views,
                          llvm::ArrayRef<LaunchArgument> arguments, const Tolerance &tolerance);

} // namespace rubia::tools
