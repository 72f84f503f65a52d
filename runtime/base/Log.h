// SPDX-License-Identifier: Apache-2.0
// RUBIA_LOG=error|warn|info|debug: what the runtime says on stderr, one line a message, "rubia: "
// in front. Default: error.
#pragma once

#include "llvm/ADT/Twine.h"

namespace rubia::runtime {

enum class LogLevel { Error, Warning, Info, Debug };

bool logs(LogLevel level);
void log(LogLevel level, const llvm::Twine &message);

/// For people, whatever RUBIA_LOG is; nothing if stderr is no terminal.
void tellTerminal(const llvm::Twine &message);

} // namespace rubia::runtime
