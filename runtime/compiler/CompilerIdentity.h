// SPDX-License-Identifier: Apache-2.0
// Which compiler made a cached object: the build identifier that the linker put into rubia-worker.
#pragma once

#include "llvm/Support/Error.h"
#include <string>

namespace rubia::runtime {

/// Hexadecimal; read once from the program's PT_NOTE. An error if there is no worker or it has no
/// identifier.
llvm::Expected<std::string> compilerIdentity();

} // namespace rubia::runtime
